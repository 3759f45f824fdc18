#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The single-node tests in one kernel; prints KTAP.
#
#   run.sh [uml|stock-6.12|stock-6.1|debug]     (default: stock-6.12)

cd "$(dirname "$0")/../.." || exit 1
kind=${1:-stock-6.12}
out=build/kselftest-$kind
rm -rf "$out"
mkdir -p "$out"

fail() { echo "1..1"; echo "not ok 1 - $*"; exit 1; }

facts=$(tools/lab/kernel.sh path "$kind") || fail "no kernel $kind"
eval "$facts"
src=$(tools/lab/kernel.sh source) || fail "no kernel source"
make -s kselftests KSRC="$src" >"$out/build.log" 2>&1 || {
	cat "$out/build.log" >&2
	fail "the tests do not build"
}
make -s kmod KVER="$kind" KDIR="$BUILDDIR" KARGS="ARCH=$ARCH" >>"$out/build.log" 2>&1 || {
	cat "$out/build.log" >&2
	fail "the module does not build"
}
ko=$PWD/build/kmod/$kind/kmod/hcomm.ko

# Runs inside: each test's TAP to a file of its own.
cat >"$out/inside.sh" <<'INSIDE'
#!/bin/sh
out=$1
shift
modprobe hcomm || exit 1
for t; do
	name=$(basename "$t")
	rc=0
	timeout 400 "$t" >"$out/$name.tap" 2>"$out/$name.err" </dev/null || rc=$?
	echo $rc >"$out/$name.rc"
done
modprobe -r hcomm || { echo "not ok - rmmod" >>"$out/$name.tap"; exit 1; }
INSIDE
chmod +x "$out/inside.sh"

tests=()
for t in selftests/kselftest/*_test.c; do
	tests+=("$PWD/build/selftests/kselftest/$(basename "$t" .c)")
done
for t in selftests/kselftest/*_test.sh; do
	[ ! -x "$t" ] || tests+=("$PWD/$t")
done

# on_node CPUS TEST...
on_node() {
	local cpus=$1
	shift
	lab=kself-$kind-$$-$cpus
	tools/lab/lab up --name "$lab" --nodes 1 --cpus "$cpus" --mem 2G --kernel "$kind" \
		--share "$PWD/$out" --module "$ko" >"$out/up.log" 2>&1 || {
		cat "$out/up.log" >&2
		fail "the node does not boot"
	}
	tools/lab/lab run --name "$lab" --node 0 -q --timeout 1500 -- \
		"$PWD/$out/inside.sh" /lab "$@" >>"$out/log" 2>&1 || rc=$?
	tools/lab/lab check-log --name "$lab" >>"$out/complaints" 2>&1 || rc=4
	tools/lab/lab down --name "$lab" >/dev/null 2>&1
}

rc=0
if [ "$kind" = uml ]; then
	# iWARP here, Soft-RoCE on the stock kernels
	tools/lab/uml-run --timeout 1500 --rdma siw --share "$PWD/$out" --module "$ko" -- \
		"$PWD/$out/inside.sh" /lab "${tests[@]}" >"$out/log" 2>&1 || rc=$?
else
	trap 'tools/lab/lab down --name "$lab" >/dev/null 2>&1' EXIT
	trap 'exit 1' INT TERM HUP
	# Tracing patches the kernel's code while it runs.  Software emulation of
	# several CPUs does not get that right, and the guest stands still.
	several=() one=()
	for t in "${tests[@]}"; do
		case $t in
		*/trace_test) one+=("$t") ;;
		*) several+=("$t") ;;
		esac
	done
	on_node 2 "${several[@]}"
	on_node 1 "${one[@]}"
fi
cat "$out/log" >&2

echo "KTAP version 1"
echo "1..$((${#tests[@]} + 1))"
n=0
for t in "${tests[@]}"; do
	name=$(basename "$t")
	n=$((n + 1))
	echo "    # Subtest: $name"
	sed 's/^/    /' "$out/$name.tap" 2>/dev/null
	if [ "$(cat "$out/$name.rc" 2>/dev/null)" = 0 ]; then
		echo "ok $n $name"
	else
		tail -n 15 "$out/$name.err" 2>/dev/null | sed 's/^/# /'
		echo "not ok $n $name # status $(cat "$out/$name.rc" 2>/dev/null || echo none)"
	fi
done
n=$((n + 1))
if [ $rc -eq 0 ]; then
	echo "ok $n kernel log is clean and the module leaves"
else
	sed 's/^/# /' "$out/complaints" 2>/dev/null
	echo "not ok $n kernel log is clean and the module leaves # status $rc"
fi
grep -q '^not ok' <(cat "$out"/*.tap) && rc=1
exit $rc
