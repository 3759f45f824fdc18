#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Provide the kernels that hcomm is built for and tested on, in the cache
# ${XDG_CACHE_HOME:-$HOME/.cache}/hcomm. Nothing on the machine is changed
# except for the build tools that are missing (see deps.sh).
#
#   kernel.sh KIND...        provide these kernels, unless they are there
#   kernel.sh path KIND      provide it, then print what is where, as
#                            shell assignments: KIND KREL ARCH IMAGE BUILDDIR
#                            MODROOT (holds lib/modules/$KREL) SRCDIR
#   kernel.sh show KIND      the same without providing it: fails if missing
#   kernel.sh source         provide and print the 6.12 kernel source tree
#
# KIND:
#   stock-6.12, stock-6.1    the distribution's kernel with its headers
#   uml                      6.12, User Mode Linux with KUnit
#   debug                    6.12, for QEMU, with KASAN, lockdep, kmemleak ...
#
# The stock packages are only unpacked: installing an image, which the headers
# of some versions ask for, would change how this machine boots.

set -u

here=$(cd "$(dirname "$0")" && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/hcomm
jobs=${LAB_JOBS:-$(nproc)}

say() { echo "kernel: $*" >&2; }
die() { say "$*"; exit 1; }

usage() {
	sed -n '4,22s/^# \{0,1\}//p' "$0" >&2
	exit 2
}

# Runs a command with its output in a log file; says every 15 s what it does.
progress() {
	title=$1 log=$2
	shift 2
	"$@" >"$log" 2>&1 </dev/null &
	pid=$!
	trap 'kill $pid 2>/dev/null' EXIT
	trap 'exit 130' INT TERM HUP
	start=$(date +%s)
	shown=$start
	while kill -0 $pid 2>/dev/null; do
		sleep 0.2
		now=$(date +%s)
		if [ $((now - shown)) -ge 15 ]; then
			shown=$now
			say "$title, $((now - start)) s: $(wc -l <"$log") steps," \
			    "$(tail -n 1 "$log" | tr -s ' ' | cut -c1-70)"
		fi
	done
	wait $pid
	status=$?
	trap - EXIT INT TERM HUP
	if [ $status -ne 0 ]; then
		say "$title failed, last lines of $log:"
		tail -n 20 "$log" >&2
	fi
	return $status
}

# Serialises everything that writes to one entry of the cache.
lock() {
	mkdir -p "$cache" || exit 1
	exec 8>"$cache/$1.lock" || exit 1
	if ! flock -n 8; then
		say "waiting for another process that provides $1"
		flock 8
	fi
}

# ---- the distribution's kernels ----

# Prints the newest package that a metapackage depends on by pattern.
dependency() {
	apt-cache depends --no-recommends --no-suggests "$1" 2>/dev/null |
		awk -v want="$2" '$1 ~ /Depends:$/ && $2 ~ want {
			print $2; exit }'
}

# Sets the names of the packages that make up a kernel; fails without lists.
resolve_stock() {
	case $1 in
	stock-6.12) image=linux-image-6.12-amd64 ;;
	stock-6.1) image=linux-image-amd64 ;;
	esac
	image=$(dependency "$image" '^linux-image-6')
	headers=linux-headers-${image#linux-image-}
	common=$(dependency "$headers" '^linux-headers-.*-common$')
	kbuild=$(dependency "$headers" '^linux-kbuild-')
	[ -n "$image" ] && [ -n "$common" ] && [ -n "$kbuild" ]
}

download_stock() {
	rm -rf "$dir.tmp"
	mkdir -p "$dir.tmp/deb" || return 1
	say "$kind: downloading $image and its headers"
	# shellcheck disable=SC2016
	progress "$kind: downloading" "$dir.log" sh -c \
		'cd "$1" && shift && apt-get -q -o APT::Sandbox::User=root \
			-o Acquire::Retries=3 download "$@"' sh \
		"$dir.tmp/deb" "$image" "$headers" "$common" "$kbuild"
}

fetch_stock() {
	kind=$1 dir=$2
	if ! resolve_stock "$kind" || ! download_stock; then
		say "reading package lists"
		apt-get -qq update >&2 || return 1
		resolve_stock "$kind" ||
			die "this system has no package for $kind"
		download_stock || return 1
	fi
	for deb in "$dir.tmp"/deb/*.deb; do
		progress "$kind: unpacking ${deb##*/}" "$dir.log" \
			dpkg -x "$deb" "$dir.tmp" || return 1
	done
	rm -rf "$dir.tmp/deb" "$dir.tmp/usr/share"

	krel=${image#linux-image-}
	build=usr/src/$headers
	for f in "$build/Makefile" "boot/vmlinuz-$krel" "lib/modules/$krel"; do
		[ -e "$dir.tmp/$f" ] || die "$kind: the packages lack $f"
	done
	# The header packages name the place where they would be installed.
	sed -i "s|/usr/src/|$dir/usr/src/|g" "$dir.tmp/$build/Makefile"
	rm -f "$dir.tmp/lib/modules/$krel/build" \
	      "$dir.tmp/lib/modules/$krel/source"
	progress "$kind: depmod" "$dir.log" depmod -b "$dir.tmp" "$krel" ||
		return 1
	cat >"$dir.tmp/facts" <<-FACTS
	KIND=$kind
	KREL=$krel
	ARCH=x86_64
	IMAGE=$dir/boot/vmlinuz-$krel
	BUILDDIR=$dir/$build
	MODROOT=$dir
	SRCDIR=
	FACTS
	rm -rf "$dir"
	mv "$dir.tmp" "$dir"
}

provide_stock() {
	dir=$cache/kernel-$1
	if [ ! -f "$dir/facts" ]; then
		"$here/deps.sh" "kernel-${1#stock-}" || return 1
		lock "kernel-$1"
		[ -f "$dir/facts" ] || fetch_stock "$1" "$dir" || return 1
		exec 8>&-
	fi
}

# ---- our own kernels ----

source_version() {
	dpkg-query -W -f '${Version}' linux-source-6.12 2>/dev/null
}

provide_source() {
	version=$(source_version)
	if [ -z "$version" ]; then
		"$here/deps.sh" source || return 1
		version=$(source_version)
	fi
	src=$cache/src-$version
	[ ! -d "$src" ] || return 0
	lock source
	if [ ! -d "$src" ]; then
		rm -rf "$src.tmp"
		mkdir -p "$src.tmp" || return 1
		say "unpacking the kernel source $version"
		progress "unpacking the kernel source" "$src.log" \
			tar -C "$src.tmp" --strip-components=1 \
			-xf /usr/src/linux-source-6.12.tar.xz || return 1
		mv "$src.tmp" "$src"
	fi
	exec 8>&-
}

fragments() {
	echo "$here/configs/common.config $here/configs/$1.config"
}

own_dir() {
	# shellcheck disable=SC2046
	key=$({ source_version; echo; cat $(fragments "$1"); } |
		sha256sum | cut -c1-12)
	echo "$cache/kernel-$1-$key"
}

# Fails when an option of the fragments did not make it into .config.
check_config() {
	# shellcheck disable=SC2046
	sed -n 's/^# \(CONFIG_[A-Z0-9_]*\) is not set$/\1=n/p; t
		s/^\(CONFIG_[A-Z0-9_]*=.*\)$/\1/p' $(fragments "$1") |
	while IFS= read -r line; do
		case $line in
		*=n) ! grep -q "^${line%=n}=" "$2" ;;
		*)   grep -qxF "$line" "$2" ;;
		esac || echo "$line"
	done >"$2.refused"
	[ ! -s "$2.refused" ] ||
		die "$1: the kernel refuses: $(tr '\n' ' ' <"$2.refused")"
}

build_own() {
	kind=$1 dir=$2
	case $kind in
	uml)   arch=um image=linux targets="linux modules" ;;
	debug) arch=x86_64 image=arch/x86/boot/bzImage
	       targets="bzImage modules" ;;
	esac
	set -- make -C "$src" O="$dir" "ARCH=$arch"
	mkdir -p "$dir" || return 1
	say "$kind: configuring in $dir"
	"$@" tinyconfig >"$dir.log" 2>&1 || return 1
	# shellcheck disable=SC2046
	cat $(fragments "$kind") >>"$dir/.config"
	"$@" olddefconfig >>"$dir.log" 2>&1 || return 1
	check_config "$kind" "$dir/.config"
	say "$kind: building the kernel with $jobs jobs (some minutes)"
	# shellcheck disable=SC2086
	progress "$kind: building" "$dir.log" \
		nice -n 5 "$@" -j"$jobs" $targets || return 1
	krel=$(cat "$dir/include/config/kernel.release")
	mods=$dir/root/lib/modules/$krel
	mkdir -p "$mods" || return 1
	for f in modules.order modules.builtin modules.builtin.modinfo; do
		cp "$dir/$f" "$mods/" || return 1
	done
	depmod -b "$dir/root" "$krel" || return 1
	cat >"$dir/facts.tmp" <<-FACTS
	KIND=$kind
	KREL=$krel
	ARCH=$arch
	IMAGE=$dir/$image
	BUILDDIR=$dir
	MODROOT=$dir/root
	SRCDIR=$src
	FACTS
	mv "$dir/facts.tmp" "$dir/facts"
}

provide_own() {
	provide_source || return 1
	dir=$(own_dir "$1")
	if [ ! -f "$dir/facts" ]; then
		"$here/deps.sh" source || return 1
		lock "${dir##*/}"
		[ -f "$dir/facts" ] || build_own "$1" "$dir" || return 1
		exec 8>&-
	fi
}

# ---- commands ----

provide() {
	case $1 in
	stock-6.12 | stock-6.1) provide_stock "$1" ;;
	uml | debug)		provide_own "$1" ;;
	*)			die "there is no kind '$1'" ;;
	esac || die "cannot provide $1"
}

[ $# -gt 0 ] || usage
case $1 in
path)
	[ $# -eq 2 ] || usage
	provide "$2"
	cat "$dir/facts"
	;;
show)
	[ $# -eq 2 ] || usage
	case $2 in
	stock-6.12 | stock-6.1) dir=$cache/kernel-$2 ;;
	uml | debug)		dir=$(own_dir "$2") ;;
	*)			die "there is no kind '$2'" ;;
	esac
	[ -f "$dir/facts" ] || die "$2 has not been provided yet"
	cat "$dir/facts"
	;;
source)
	provide_source || die "cannot provide the kernel source"
	echo "$src"
	;;
-*)
	usage
	;;
*)
	for kind; do
		provide "$kind"
	done
	;;
esac
