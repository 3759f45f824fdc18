#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Build the simulator and run its sets; TAP on standard output.
#
#   run.sh [--asan] [--long] [--seed S]
#
# --asan: with address and undefined-behaviour sanitizers, without the largest
# simulations.  --long: more seeds, every moment of a death, 4,096 ranks.
# --seed: of the one set that is new each time (collectives-new), to see it again.

cd "$(dirname "$0")/../.." || exit 1
asan=
long=
seed=$((RANDOM << 30 | RANDOM << 15 | RANDOM))
while [ $# -gt 0 ]; do
	case $1 in
	--asan) asan=1 ;;
	--long) long=1 ;;
	--seed) seed=${2:-} ; shift ;;
	*) set -- ;;
	esac
	shift || { echo "usage: $0 [--asan] [--long] [--seed S]" >&2; exit 2; }
done

dir=build/sim${asan:+-asan}
log=$dir/run.log
mkdir -p "$dir"
if ! make --no-print-directory -C selftests/sim ${asan:+SAN=1} >"$dir/build.log" 2>&1; then
	echo "1..1"
	echo "not ok 1 build"
	sed 's/^/# /' "$dir/build.log"
	exit 1
fi
sim=$dir/hcomm_sim

# Sanitizers make a simulation four times slower.
less=$((asan ? 4 : 1))

# Deaths and breaks are swept in full for a few seeds, sampled for more.
tests=()
add() { tests+=("$*"); }	# name, options

add random --random --seeds "1..$(((${long:+20}000 + 1500) / less))"
# One chunk is late, and more pass it than a step can tell apart.
add late-chunk --colls --seed 6787
add collectives --colls --seeds "1..$(((${long:+10}000 + 800) / less))"
add collectives-new --colls --seed "$seed" --cases "$(((${long:+40}000 + 3000) / less))"
add p2p --p2p --seeds "1..$(((${long:+3}000 + 200) / less))"
add mismatch --mismatch --seeds "1..$(((${long:+50}000 + 3000) / less))"
add alloc --alloc --seeds "1..$((${long:+30} + 3))"
add replay --replay --seeds "1..$(((${long:+500} + 50) / less))"
add death-sampled --death --limit 20 --seeds "1..$(((${long:+1000} + 60) / less))"
add death-full --death --seeds "1001..$((${long:+40} + 1003))"
add break-sampled --break --limit 20 --seeds "1..$(((${long:+1000} + 40) / less))"
add break-full --break --seeds "2001..$((${long:+20} + 2002))"
add scalar --random --scalar --seeds 1..100
# Seeds that catch what went wrong once, or what would if a rule of the engine
# were broken (each was seen to fail without it).
add seed-req-overtakes-eager --random --seeds 1..1
add seed-link-without-room --random --seeds 5..5
add seed-little-room --colls --seed 33568514011337
add seed-told-after-bye --random --seeds 169..169
add seed-bye-ack-with-writes --random --seeds 169..169
add seed-staging-in-step-order --random --seeds 103..103
add seed-staging-reserve --random --seeds 12..12
add seed-recv-from-left --mismatch --seeds 35..35
add seed-announced-to-left --mismatch --seeds 244..244
add seed-send-to-left --mismatch --seeds 351..351
# One rank in each of many nodes; a node with many ranks; both; what hurts.
if [ -z "$asan" ]; then
	add ring-1024 --ranks 1024 --count 4096 --max-runs 1 --chunk 16384
	add double-tree-1024 --ranks 1024 --algo double-tree --count 16384 \
		--chunk 4096 --dtype bf16 --max-runs 2
	add binomial-1024 --ranks 1024 --ranks-per-node 8 --algo binomial --count 4096 \
		--op max --dtype int64 --runs 2
fi
add ring-96 --ranks 96 --ranks-per-node 8 --count 100003 --dtype fp16 --runs 3 \
	--chunk 4096 --window 2 --eager-slots 2 --reorder 20000 --eagain 0.2
add broadcast-200 --ranks 200 --ranks-per-node 4 --coll broadcast --algo double-tree \
	--root 77 --count 300001 --dtype uint8 --chunk 4096 --reorder 5000
add barrier-500 --ranks 500 --ranks-per-node 16 --coll barrier --algo dissemination \
	--skew 100000 --launches 3
add slow-rank --ranks 16 --count 1000000 --slow-rank 3 --slow-node 9 --in-place
# The plans alone: as long as with the engine, and for many more ranks.
add plans-ring --ranks 64 --count 1000000 --agree 8
add plans-small --ranks 256 --algo recursive-doubling --count 64 --agree 8
add plans-tree --ranks 200 --ranks-per-node 4 --coll broadcast --algo double-tree \
	--count 500000 --agree 8
add plans-nodes --ranks 96 --ranks-per-node 8 --coll allgather --count 10003 --agree 8
# A grant that waited for all data before it would take six times as long.
add plans-direct --ranks 64 --algo direct --agree 35
add plans-fat-tree --ranks 128 --fabric fat-tree --taper 4 --algo halving-doubling \
	--count 1000000 --agree 25
add plans-65536 --cost --ranks 65536 --algo recursive-doubling --count 65536
if [ -z "$asan" ]; then
	add plans-million --cost --ranks 1000000 --coll broadcast --algo binomial --count 1024
fi
if [ -n "$long" ] && [ -z "$asan" ]; then
	add binomial-4096 --ranks 4096 --ranks-per-node 16 --algo binomial --count 1024 \
		--max-runs 1
	add reduce-4096 --ranks 4096 --coll reduce --algo double-tree --count 16384 \
		--chunk 4096 --max-runs 1
	add ring-2048 --ranks 2048 --ranks-per-node 8 --coll allgather --count 16 --max-runs 1
fi

echo "1..${#tests[@]}"
: >"$log"
n=0
failed=0
for t in "${tests[@]}"; do
	n=$((n + 1))
	read -r -a words <<<"$t"
	begin=$SECONDS
	echo "== $t" >>"$log"
	if timeout 900 "$sim" "${words[@]:1}" >"$dir/out" 2>&1; then
		echo "ok $n ${words[0]}"
	else
		echo "not ok $n ${words[0]}"
		failed=$((failed + 1))
		echo "# $sim ${words[*]:1}"
	fi
	grep -v '^#' "$dir/out" | tail -n 3 | sed 's/^/# /'
	grep '^#' "$dir/out" | head -n 40
	echo "# $((SECONDS - begin)) s"
	cat "$dir/out" >>"$log"
done
[ "$failed" -eq 0 ]
