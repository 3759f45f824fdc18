#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# make run: build everything, boot a virtual cluster of two nodes joined by
# Soft-RoCE, load the module on both, and do the main job on it: train a
# classifier of handwritten digits on four ranks, two on each node.
#
#   NODES=2 RANKS=2 CPUS=2 KERNEL=stock-6.12 tools/run.sh

cd "$(dirname "$0")/.." || exit 1
NODES=${NODES:-2}
RANKS=${RANKS:-2}
CPUS=${CPUS:-2}
KERNEL=${KERNEL:-stock-6.12}
LAB=run-$$
OUT=build/run
START=$SECONDS

say() { printf '\n[%3ds] == %s\n' $((SECONDS - START)) "$*"; }
die() { echo "run: $*" >&2; exit 1; }

mkdir -p "$OUT"
say "packages"
tools/lab/deps.sh build rdma "kernel-${KERNEL#stock-}" lab data || die "packages are missing"

say "kernel $KERNEL, with its headers"
tools/lab/kernel.sh "$KERNEL" || die "no kernel"
eval "$(tools/lab/kernel.sh path "$KERNEL")"
data=$(tools/lab/digits.sh) || die "no data set"

say "hcomm.ko for $KREL"
make -s kmod KVER="$KERNEL" KDIR="$BUILDDIR" 2>&1 | tail -n 20
ko=build/kmod/$KERNEL/kmod/hcomm.ko
[ -f "$ko" ] || die "the module did not build"
say "libhcomm-user and tools"
make -s lib tools || die "library or tools did not build"

say "booting $NODES nodes with $CPUS CPUs each"
trap 'tools/lab/lab down --name "$LAB" >/dev/null 2>&1' EXIT
trap 'exit 130' INT TERM HUP
tools/lab/lab up --name "$LAB" --nodes "$NODES" --cpus "$CPUS" --mem 2G \
	--kernel "$KERNEL" --module "$PWD/$ko" || die "the cluster did not boot"
tools/lab/lab run --name "$LAB" --all -- sh -c 'modprobe hcomm && rdma link show' ||
	die "the module did not load"

secret=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
# job PORT COMMAND...: RANKS ranks of it on every node, rank 0 on node 0
job() {
	local port=$1
	shift
	tools/lab/lab run --name "$LAB" --all -q --cwd "$PWD" --env HCOMM_SECRET="$secret" -- \
		bash -c 'build/bin/hcomm_run -n "$1" --node "$LAB_NODE/$LAB_NODES" \
			--root "${LAB_ADDRS%% *}:$2" "${@:3}"' job "$RANKS" "$port" "$@"
}
rc=0
say "the first program, on one node and across two"
tools/lab/lab run --name "$LAB" --node 0 -q --cwd "$PWD" -- \
	build/bin/hcomm_run -n 2 build/bin/first || rc=1
RANKS=1 job 7001 build/bin/first || rc=1

say "training: $((NODES * RANKS)) ranks on $NODES nodes, beside a single process"
echo "(emulated processors and networks make several ranks slower than one: this proves results, not speed)"
job 7002 build/bin/train_digits "$data" || rc=1

say "hcomm_perf: AllReduce on $((NODES * RANKS)) ranks"
job 7003 build/bin/hcomm_perf allreduce -b 8 -e 4M -f 8 -n 10 -w 3 || rc=1

say "hcomm_test: all operations over all links"
job 7004 build/bin/hcomm_test -e 128K || rc=1

say "links, as sysfs shows them while a job runs"
# Once the links are up and until the job ends there is something to see.
job 7005 sh -c 'if [ "$HCOMM_RANK" = 0 ]; then
		(cd /sys/class/hcomm
		for i in $(seq 100); do
			grep -qs ready comm*/link*/state && break
			sleep 0.1
		done
		for l in comm*/link*; do
			printf "%-12s" "$l"
			for a in peer transport state device qp_num mtu rtt_ns tx_bytes rx_bytes; do
				read -r v <"$l/$a" || v=
				printf " %s=%s" $a "${v:--}"
			done
			echo
		done) &
	fi
	build/bin/hcomm_perf allreduce -b 64K -e 64K -n 120 -w 3 -c 0 >/dev/null
	wait' || rc=1

say "what the kernels say"
tools/lab/lab down --name "$LAB" && echo "no complaints" || rc=1
trap - EXIT
[ $rc -eq 0 ] && say "all done" || say "SOMETHING FAILED, see above"
exit $rc
