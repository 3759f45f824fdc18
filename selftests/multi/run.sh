#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The multi-node tests on a virtual cluster; prints TAP.
#
#   run.sh [--kernel stock-6.12|stock-6.1|debug] [--nodes N] [--rdma rxe|siw]
#          [WORD...]          only scenarios whose name has one of the words

cd "$(dirname "$0")/../.." || exit 1

usage() { sed -n '6,7s/^# \{0,1\}//p' "$0" >&2; exit 2; }
fail() { echo "1..1"; echo "not ok 1 - $*"; exit 1; }

kind=stock-6.12 nodes=3 rdma=rxe words=()
while [ $# -gt 0 ]; do
	case $1 in
	--kernel) kind=${2:-} ; shift ;;
	--nodes) nodes=${2:-} ; shift ;;
	--rdma) rdma=${2:-} ; shift ;;
	-*) usage ;;
	*) words+=("$1") ;;
	esac
	shift || usage
done

out=build/multi-$kind
rm -rf "$out"
mkdir -p "$out/logs"

tools/lab/deps.sh rdma >"$out/deps.log" 2>&1 || fail "packages are missing"
${CC:-cc} -std=gnu11 -O2 -g -Wall -Wextra -Werror -Iuapi selftests/multi/*.c \
	-o "$out/multi_test" -lrdmacm -libverbs >"$out/build.log" 2>&1 || {
	cat "$out/build.log" >&2
	fail "the test does not build"
}
facts=$(tools/lab/kernel.sh path "$kind") || fail "no kernel $kind"
eval "$facts"
make -s kmod KVER="$kind" KDIR="$BUILDDIR" KARGS="ARCH=$ARCH" >>"$out/build.log" 2>&1 || {
	cat "$out/build.log" >&2
	fail "the module does not build"
}

lab() {
	local command=$1
	shift
	tools/lab/lab "$command" --name "$name" "$@"
}
name=multi-$kind-$$
trap 'lab down >/dev/null 2>&1' EXIT
trap 'exit 1' INT TERM HUP
lab up --nodes "$nodes" --cpus 1 --mem 1G --kernel "$kind" --rdma "$rdma" \
	--module "build/kmod/$kind/kmod/hcomm.ko" --load hcomm >"$out/up.log" 2>&1 || {
	cat "$out/up.log" >&2
	fail "the nodes do not boot"
}

rc=0
lab run --all -q --timeout 800 -- "$PWD/$out/multi_test" "${words[@]}" \
	>"$out/tap" 2>"$out/err" || rc=$?
tr -d '\r' <"$out/tap" | grep -v '^1\.\.'
cat "$out/err" >&2
n=$(grep -c -E '^(not )?ok ' "$out/tap")
bad=$rc
if ! grep -q '^1\.\.' "$out/tap"; then
	echo "not ok $((++n)) - the test came to its end # status $rc"
	bad=1
fi

# verdict NAME COMMAND...: one more test
verdict() {
	local what=$1
	shift
	if "$@" >"$out/last" 2>&1; then
		echo "ok $((++n)) - $what"
	else
		sed 's/^/# /' "$out/last" | tail -n 40
		echo "not ok $((++n)) - $what"
		bad=1
	fi
}
verdict "$nodes nodes: nothing is left in the class" \
	lab run --all --timeout 60 -- sh -c '! ls -d /sys/class/hcomm/comm* 2>/dev/null'
verdict "$nodes nodes: the module leaves" \
	lab run --all --timeout 60 -- modprobe -r hcomm
verdict "$nodes nodes: the kernel logs are clean" lab check-log
echo "1..$n"
lab down --logs "$out/logs" >"$out/down.log" 2>&1
[ "$bad" -eq 0 ]
