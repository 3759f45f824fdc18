#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The library's API on the real module, on one node and across two; KTAP.
#
#   api.sh [stock-6.12|stock-6.1|debug]

cd "$(dirname "$0")/.." || exit 1
kind=${1:-stock-6.12}
out=build/api-$kind
lab=api-$kind-$$
rm -rf "$out"
mkdir -p "$out"
fail() { echo "1..1"; echo "not ok 1 - $*"; exit 1; }

eval "$(tools/lab/kernel.sh path "$kind")" || fail "no kernel $kind"
data=$(tools/lab/digits.sh) || fail "no data set"
{
	make -s lib tools selftests-host &&
	make -s kmod KVER="$kind" KDIR="$BUILDDIR" KARGS="ARCH=$ARCH"
} >"$out/build.log" 2>&1 || { cat "$out/build.log" >&2; fail "it does not build"; }

trap 'tools/lab/lab down --name "$lab" >/dev/null 2>&1' EXIT
trap 'exit 1' INT TERM HUP
tools/lab/lab up --name "$lab" --nodes 2 --cpus 2 --mem 2G --kernel "$kind" \
	--module "$PWD/build/kmod/$kind/kmod/hcomm.ko" --load hcomm >"$out/up.log" 2>&1 || {
	cat "$out/up.log" >&2
	fail "the nodes do not boot"
}

n=0 bad=0 port=7100 last=
result() {	# result STATUS NAME LOG
	n=$((n + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $n - $2"
	else
		bad=1
		tail -n 25 "$3" | sed 's/^/# /'
		echo "not ok $n - $2 # status $1"
	fi
}
# on_one RANKS NAME COMMAND...; on_two RANKS_EACH NAME COMMAND...
on_one() {
	local ranks=$1 name=$2 rc=0
	shift 2
	tools/lab/lab run --name "$lab" --node 0 -q --timeout 400 --cwd "$PWD" -- \
		build/bin/hcomm_run -n "$ranks" "$@" >"$out/$n.log" 2>&1 || rc=$?
	result $rc "$name" "$out/$((n)).log"
}
on_two() {
	local ranks=$1 name=$2 rc=0
	shift 2
	last=$out/$n.log
	port=$((port + 1))
	tools/lab/lab run --name "$lab" --all -q --timeout 400 --cwd "$PWD" \
		--env HCOMM_SECRET=api-test -- \
		bash -c 'build/bin/hcomm_run -n "$1" --node "$LAB_NODE/$LAB_NODES" \
			--root "${LAB_ADDRS%% *}:$2" "${@:3}"' job "$ranks" "$port" "$@" \
		>"$last" 2>&1 || rc=$?
	result $rc "$name" "$out/$((n)).log"
}
# expect TEXT: the last on_two printed it
expect() {
	local rc=0
	grep -q "$1" "$last" || rc=$?
	result $rc "it says \"$1\"" "$last"
}

on_one 2 "first program, one node" build/bin/first
on_two 1 "first program, two nodes" build/bin/first
for t in build/selftests/lib/test_api_*; do
	# huge: more memory than a node has
	[[ -x $t && $t != *_huge ]] || continue
	on_one 3 "$(basename "$t"), 3 ranks on one node" "$t"
	on_two 2 "$(basename "$t"), 4 ranks on two nodes" "$t"
done
on_one 1 "hcomm_test, one rank" build/bin/hcomm_test
on_one 3 "hcomm_test, one node" build/bin/hcomm_test
on_two 2 "hcomm_test, two nodes" build/bin/hcomm_test
# Enough calls of a kind that two algorithms are measured and one is settled on.
for coll in allreduce reduce_scatter allgather alltoall; do
	on_two 2 "$coll with HCOMM_PROBE and HCOMM_TUNE, two nodes" \
		env HCOMM_DEBUG=1 HCOMM_PROBE=1 HCOMM_TUNE=1 \
		build/bin/hcomm_perf $coll -b 64 -e 64K -f 32 -n 60 -w 1 -c 1
	expect "probed: "
	expect "tuned: ${coll/_/-}"
done
on_two 2 "random calls with HCOMM_PROBE and HCOMM_TUNE, two nodes" \
	env HCOMM_PROBE=1 HCOMM_TUNE=1 build/selftests/lib/test_api_random
on_two 2 "training on two nodes" build/bin/train_digits "$data"
on_two 1 "hcomm_perf checks its results" build/bin/hcomm_perf allreduce -b 8 -e 1M -f 16 -n 3 -w 1 -c 1

# As a package does it, then from elsewhere, with nothing of this tree.
rc=0
make -s install DESTDIR="$PWD/$out/root" KVER="$KREL" KTREE="build/kmod/$kind" \
	KDIR="$BUILDDIR" KARGS="ARCH=$ARCH" >"$out/$n.log" 2>&1 &&
	tools/lab/lab run --name "$lab" --node 0 -q --timeout 200 --cwd /tmp -- \
		bash "$PWD/selftests/installed.sh" "$PWD/$out/root" "$PWD/tools/examples/first.c" \
		>>"$out/$n.log" 2>&1 || rc=$?
result $rc "installed on a node" "$out/$n.log"

rc=0
tools/lab/lab check-log --name "$lab" >"$out/complaints" 2>&1 || rc=$?
result $rc "kernel logs are clean" "$out/complaints"
echo "1..$n"
exit $bad
