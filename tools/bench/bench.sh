#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# make bench: all benchmarks, in virtual machines, against their peers from the
# distribution; writes build/bench/: JSON, and the tables of
# Documentation/performance.rst.
#
#   KERNEL=stock-6.12 CPUS=2 PARTS="build allreduce peers launch idle fabric" tools/bench/bench.sh

cd "$(dirname "$0")/../.." || exit 1
KERNEL=${KERNEL:-stock-6.12}
CPUS=${CPUS:-2}
PARTS=${PARTS:-build allreduce peers launch idle fabric}
RANKS=${RANKS:-2 3 4}		# of the part "peers"
OUT=build/bench
ONE=bench1-$$
TWO=bench2-$$
rc=0

say() { printf '\n== %s\n' "$*"; }
die() { echo "bench: $*" >&2; exit 1; }
wants() { [[ " $PARTS " == *" $1 "* ]]; }

mkdir -p $OUT
say "packages, kernel, module, library, tools"
tools/lab/deps.sh build rdma "kernel-${KERNEL#stock-}" lab peers || die "packages are missing"
tools/lab/kernel.sh "$KERNEL" || die "no kernel"
eval "$(tools/lab/kernel.sh path "$KERNEL")"
make -s kmod KVER="$KERNEL" KDIR="$BUILDDIR" || die "the module did not build"
make -s lib tools || die "library or tools did not build"
ko=$PWD/build/kmod/$KERNEL/kmod/hcomm.ko
[ -x build/bin/bench_mpi ] || die "bench_mpi was not built: no mpicc"

# /lab of the guests is the directory of the results.
up() {
	tools/lab/lab up --name "$1" --nodes "$2" --cpus "$3" --mem 2G \
		--kernel "$KERNEL" --module "$ko" --share "$PWD/$OUT" || die "the lab did not boot"
	tools/lab/lab run --name "$1" --all -- modprobe hcomm || die "the module did not load"
}
# the kernel's complaints count
down() { tools/lab/lab down --name "$1" || rc=1; }
trap 'tools/lab/lab down --name $ONE >/dev/null 2>&1; tools/lab/lab down --name $TWO >/dev/null 2>&1' EXIT
trap 'exit 130' INT TERM HUP
one() { tools/lab/lab run --name "$ONE" --node 0 -q --timeout 900 --cwd "$PWD" -- "$@"; }

# Runs a part, shows its output and keeps it.
part() {
	local name=$1
	shift
	say "$name"
	"$@" 2>&1 | tee "$OUT/$name.txt"
	[ "${PIPESTATUS[0]}" -eq 0 ] || { echo "bench: $name failed" >&2; rc=1; }
}

if wants build; then
	part build build/bin/bench_build -J "$OUT/build.json"
fi
# Tracing patches the kernel's code, which software emulation of several CPUs does
# not get right: one CPU.
if wants launch || wants idle; then
	up "$ONE" 1 1
	wants launch && part launch one build/bin/bench_launch -J /lab/launch.json
	wants idle && part idle one build/bin/bench_idle -J /lab/idle.json
	down "$ONE"
fi
# Shared memory with single copies by the kernel (CMA) is Open MPI's fastest way
# between processes of one node.
mpi() {
	local ranks=$1
	shift
	one mpirun --allow-run-as-root --oversubscribe -np "$ranks" --mca pml ob1 \
		--mca btl vader,self --mca btl_vader_single_copy_mechanism cma \
		build/bin/bench_mpi "$@"
}
if wants allreduce || wants peers; then
	up "$ONE" 1 "$CPUS"
	# Emulation is slow by a factor of 30: what comes takes longer to come.
	one sh -c 'echo 2000 >/sys/module/hcomm/parameters/spin_us'
	wants allreduce && part allreduce mpi 2 -J /lab/allreduce.json
	if wants peers; then
		for n in $RANKS; do
			part "peers-$n" mpi "$n" -C all -b 1K -e 4M -n 7 -J "/lab/peers-$n.json"
		done
	fi
	down "$ONE"
fi
if wants fabric; then
	up "$TWO" 2 "$CPUS"
	part fabric tools/bench/bench_fabric.sh "$TWO" "$OUT/fabric.json"
	down "$TWO"
fi
trap - EXIT
python3 tools/bench/tables.py $OUT >$OUT/performance.rst || rc=1
say "tables in $OUT/performance.rst"
exit $rc
