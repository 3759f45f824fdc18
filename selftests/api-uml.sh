#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The library among ranks of one UML kernel: over local links with few and many ranks,
# and over RDMA alone: Soft-RoCE, and iWARP, which has no write with immediate data;
# KTAP.

cd "$(dirname "$0")/.." || exit 1
out=build/api-uml
rm -rf "$out"
mkdir -p "$out"
fail() { echo "1..1"; echo "not ok 1 - $*"; exit 1; }

eval "$(tools/lab/kernel.sh path uml)" || fail "no kernel"
{
	make -s lib tools selftests-host &&
	make -s kmod KVER=uml KDIR="$BUILDDIR" KARGS="ARCH=$ARCH"
} >"$out/build.log" 2>&1 || { cat "$out/build.log" >&2; fail "it does not build"; }

n=0 bad=0 mem=1G setup='' last=''
# job DEVICE RANKS COMMAND...; DEVICE none: local links
job() {
	local device=$1 ranks=$2 rc=0 transport=rdma name skip
	shift 2
	n=$((n + 1))
	last=$out/$n.log
	[ "$device" != none ] || transport=local
	name="$device, $ranks ranks: ${*##*/}"
	tools/lab/uml-run --timeout 200 --rdma "$device" --module build/kmod/uml/kmod/hcomm.ko \
		--mem "$mem" --env HCOMM_TRANSPORT=$transport --cwd "$PWD" --log "$out/$n.dmesg" -- \
		sh -c "$setup modprobe hcomm"' && build/bin/hcomm_run -n "$@"' job "$ranks" "$@" \
		>"$last" 2>&1 </dev/null || rc=$?
	skip=$(sed -n 's/^1\.\.0 # SKIP/ # SKIP/p' "$last" | head -n 1)
	if [ $rc -eq 0 ]; then
		echo "ok $n - $name$skip"
	else
		bad=1
		tail -n 25 "$last" | sed 's/^/# /'
		echo "not ok $n - $name # status $rc"
	fi
}

# expect TEXT: the last job printed it
expect() {
	n=$((n + 1))
	if grep -q "$1" "$last"; then
		echo "ok $n - it says \"$1\""
	else
		bad=1
		echo "not ok $n - it says \"$1\""
	fi
}

# The kernel's memory is the host's: it must not run out.  Pages that are freed one by
# one come back in reverse, each of them a mapping on the host, which allows but 65530.
huge() {
	local free
	free=$(awk '/^MemAvailable:/ { print int($2 / 1024) }' /proc/meminfo)
	if [ "$free" -lt 8192 ]; then
		n=$((n + 1))
		echo "ok $n - none, 2 ranks: test_api_huge # SKIP $free MiB of memory are free, 8192 are needed"
		return
	fi
	mem=7G setup='echo 1000000 >/proc/sys/vm/percpu_pagelist_high_fraction &&'
	job none 2 build/selftests/lib/test_api_huge
	mem=1G setup=
}

huge
for t in build/selftests/lib/test_api_*; do
	[ -x "$t" ] || continue
	case $t in
	*_huge) continue ;;
	*_calls | *_classic | *_errors | *_memory | *_messages) ;;		# of two ranks at least
	*) job none 1 "$t" ;;
	esac
	job none 2 "$t"
	job none 5 "$t"
done
job none 3 selftests/lib/test_perf_tool.sh build/bin/hcomm_perf
job none 2 build/bin/hcomm_test -e 1
job none 1 build/bin/hcomm_test -o p2p
expect "SKIP  send and receive"
for device in rxe siw; do
	job $device 2 build/bin/first
	for t in build/selftests/lib/test_api_*; do
		[[ -x $t && $t != *_huge ]] || continue
		job $device 3 "$t"
	done
	# enough calls of a kind that two algorithms are measured and one is settled on
	for coll in allreduce reduce_scatter allgather alltoall; do
		job $device 4 env HCOMM_DEBUG=1 HCOMM_PROBE=1 HCOMM_TUNE=1 \
			build/bin/hcomm_perf $coll -b 64 -e 64K -f 32 -n 60 -w 1 -c 1
		expect "probed: node-local: latency"
		expect "probed: between groups: not measured"
		expect "tuned: ${coll/_/-}"
	done
	job $device 3 env HCOMM_PROBE=1 HCOMM_TUNE=1 build/selftests/lib/test_api_random
	job $device 2 build/bin/hcomm_test
	job $device 4 build/bin/hcomm_test
done
echo "1..$n"
exit $bad
