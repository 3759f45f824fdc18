#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Install the Debian packages that parts of the project need.
#
#   deps.sh [-l] [group...]       (default: build lab)
#   deps.sh -l group...           list the packages and install nothing
#
# Nothing is run but dpkg-query when everything is already there. The machine
# may be a fresh installation without Python, a compiler or package lists.

# Package lists are words on purpose, hence:
# shellcheck disable=SC2086

set -u

say() { echo "deps: $*" >&2; }

packages_of() {
	case $1 in
	build)	echo "gcc make pkg-config libc6-dev nettle-dev zlib1g-dev kmod" ;;
	rdma)	echo "libibverbs-dev librdmacm-dev rdma-core ibverbs-utils" \
		     "ibverbs-providers perftest iproute2" ;;
	# kernel.sh unpacks the headers themselves into the cache.
	kernel-6.12 | kernel-6.1)
		echo "gcc-12 make libc6-dev libelf1 kmod pahole" ;;
	lab)	echo "python3 qemu-system-x86 busybox-static kmod cpio iproute2" \
		     "gcc libc6-dev zstd xz-utils" ;;
	source)	echo "linux-source-6.12 gcc make flex bison bc libelf-dev" \
		     "libssl-dev xz-utils kmod perl cpio python3" ;;
	check)	echo "sparse clang clang-tidy libclang-rt-14-dev valgrind perl" \
		     "git shellcheck" ;;
	peers)	echo "openmpi-bin libopenmpi-dev mpich libmpich-dev perftest" ;;
	data)	echo "gzip" ;;
	charts)	echo "gnuplot-nox" ;;
	*)	return 1 ;;
	esac
}

groups="build rdma kernel-6.12 kernel-6.1 lab source check peers data charts"

usage() {
	sed -n '3,11s/^# \{0,1\}//p' "$0" >&2
	echo "groups: $groups" >&2
	exit 2
}

list=false
while getopts lh opt; do
	case $opt in
	l) list=true ;;
	*) usage ;;
	esac
done
shift $((OPTIND - 1))
[ $# -gt 0 ] || set -- build lab

wanted=
for group; do
	names=$(packages_of "$group") || {
		say "unknown group '$group' (known: $groups)"
		exit 2
	}
	wanted="$wanted $names"
done
wanted=$(printf '%s\n' $wanted | sort -u)

if $list; then
	printf '%s\n' "$wanted"
	exit 0
fi

# Prints the packages of $wanted that are not fully installed.
missing_packages() {
	installed=$(dpkg-query -W -f '${db:Status-Abbrev} ${Package}\n' $wanted \
			2>/dev/null | awk '$1 == "ii" { print $2 }')
	for name in $wanted; do
		printf '%s\n' "$installed" | grep -qx "$name" || echo "$name"
	done
}

missing=$(missing_packages)
[ -n "$missing" ] || exit 0

if [ "$(id -u)" -ne 0 ]; then
	say "these packages are missing and only root can install them:"
	printf '%s\n' "$missing" >&2
	exit 1
fi

# One installation at a time; apt itself also waits for whoever holds dpkg.
exec 9>/run/lock/hcomm-deps.lock && flock 9
missing=$(missing_packages)
[ -n "$missing" ] || exit 0

export DEBIAN_FRONTEND=noninteractive
apt="apt-get -q -y -o DPkg::Lock::Timeout=600 -o Acquire::Retries=3"
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# Runs a command quietly, showing one line of its output now and then.
progress() {
	title=$1
	shift
	("$@") >"$log" 2>&1 9>&- &
	pid=$!
	ticks=0
	while kill -0 $pid 2>/dev/null; do
		sleep 1
		ticks=$((ticks + 1))
		if [ $((ticks % 15)) -eq 0 ]; then
			say "$title, ${ticks} s: $(tail -n 1 "$log" | cut -c1-90)"
		fi
	done
	wait $pid && return 0
	status=$?
	say "$title failed:"
	tail -n 20 "$log" >&2
	return $status
}

say "installing $(echo "$missing" | wc -l) packages:" $missing
# Package lists older than a day may name versions that are gone.
if [ -z "$(find /var/lib/apt/lists -name '*_Packages*' -mtime -1 \
		2>/dev/null | head -n 1)" ]; then
	progress "reading package lists" $apt update || exit 1
fi
if ! progress "installing" $apt install --no-install-recommends $missing; then
	say "trying again with new package lists"
	progress "reading package lists" $apt update &&
	progress "installing" $apt install --no-install-recommends $missing ||
		exit 1
fi
say "done"
