#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# make bench: all benchmarks, in virtual machines, against their peers from the
# distribution; writes build/bench/: JSON, and the tables of
# Documentation/performance.rst.
#
#   KERNEL=stock-6.12 CPUS=2 PARTS="build allreduce peers nodes launch idle fabric" \
#	tools/bench/bench.sh
#
# A table of "peers" (each number of RANKS, each peer) and of "nodes" (each number
# of NODES) ends after TABLE_SECONDS: its largest sizes may be missing then.

cd "$(dirname "$0")/../.." || exit 1
KERNEL=${KERNEL:-stock-6.12}
CPUS=${CPUS:-2}
PARTS=${PARTS:-build allreduce peers nodes launch idle fabric}
RANKS=${RANKS:-2 3 4 8}
NODES=${NODES:-2 3 4}
PEERS=${PEERS:-openmpi mpich}			# on one node
NODE_PEERS=${NODE_PEERS:-openmpi openmpi-verbs mpich}
SIZES=${SIZES:-8,64,512,4K,64K,256K,1M,4M,16M}
TABLE_SECONDS=${TABLE_SECONDS:-540}
OUT=build/bench
ONE=bench1-$$
MANY=bench2-$$
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
for mpi in openmpi mpich; do
	[ -x "build/bin/bench_mpi_$mpi" ] || die "bench_mpi_$mpi was not built: no mpicc.$mpi"
done

# /lab of the guests is the directory of the results.
up() {
	tools/lab/lab up --name "$1" --nodes "$2" --cpus "$3" --mem 2G \
		--kernel "$KERNEL" --module "$ko" --share "$PWD/$OUT" || die "the lab did not boot"
	tools/lab/lab run --name "$1" --all -- modprobe hcomm || die "the module did not load"
}
# the kernel's complaints count
down() { tools/lab/lab down --name "$1" || rc=1; }
trap 'tools/lab/lab down --name $ONE >/dev/null 2>&1; tools/lab/lab down --name $MANY >/dev/null 2>&1' EXIT
trap 'exit 130' INT TERM HUP
# of what a guest is asked to run
export LIMIT=$((TABLE_SECONDS + 300))
one() { tools/lab/lab run --name "$ONE" --node 0 -q --timeout "$LIMIT" --cwd "$PWD" -- "$@"; }

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
# A size has 7 turns, or as many (but 3) as 2 s have room for.
table() {
	part "$1" tools/bench/bench_peers.sh "$2" "$3" "$4" -C all -s "$SIZES" -n 7 -t 2000 \
		-T "$TABLE_SECONDS" -J "/lab/$1.json"
}
if wants allreduce || wants peers; then
	up "$ONE" 1 "$CPUS"
	# Emulation is slow by a factor of 30: what comes takes longer to come.
	one sh -c 'echo 2000 >/sys/module/hcomm/parameters/spin_us'
	for peer in $PEERS; do
		wants allreduce && part "allreduce-$peer" tools/bench/bench_peers.sh "$ONE" \
			"$peer" 2 -T "$TABLE_SECONDS" -J "/lab/allreduce-$peer.json"
		wants peers || continue
		for n in $RANKS; do
			table "peers-$peer-$n" "$ONE" "$peer" "$n"
		done
	done
	down "$ONE"
fi
if wants nodes; then
	up "$MANY" "$(tr ' ' '\n' <<<"$NODES" | sort -n | tail -n 1)" "$CPUS"
	for peer in $NODE_PEERS; do
		for n in $NODES; do
			table "nodes-$peer-$n" "$MANY" "$peer" "nodes=$n"
		done
	done
	down "$MANY"
fi
if wants fabric; then
	up "$MANY" 2 "$CPUS"
	part fabric tools/bench/bench_fabric.sh "$MANY" "$OUT/fabric.json"
	down "$MANY"
fi
trap - EXIT
python3 tools/bench/tables.py $OUT >$OUT/performance.rst || rc=1
say "tables in $OUT/performance.rst"
exit $rc
