#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Between node 0 and node 1 of a running lab, in turns: what ib_write_bw
# (perftest) moves, and what hcomm does.  Prints a table, writes JSON.
#
#   bench_fabric.sh LAB [JSON]
#
# Read from the environment: ROUNDS, SIZES, ITERS, DEVICE, GID (index of the IPv4
# address).
#
# Variables of the guests are expanded there:
# shellcheck disable=SC2016

cd "$(dirname "$0")/../.." || exit 1
lab=${1:?name of a running lab}
json=${2:-/dev/null}
# perftest estimates the clock rate of the CPU, now and then wrongly: medians
rounds=${ROUNDS:-5}
sizes=${SIZES:-4194304 16777216}
iters=${ITERS:-8}
device=${DEVICE:-rxe0}
gid=${GID:-1}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"; [ -z "$server" ] || kill "$server" 2>/dev/null' EXIT
server=
port=18600

die() { echo "bench_fabric: $*" >&2; exit 1; }
on() { tools/lab/lab run --name "$lab" --node "$1" -q --timeout 300 --cwd "$PWD" -- "${@:2}"; }

addr=$(on 0 sh -c 'echo $LAB_ADDR') || die "node 0 does not answer"
# five iterations is the least that ib_write_bw takes
[ "$iters" -ge 5 ] || iters=5

# MB/s (10^6 bytes) of RDMA writes from node 1 to node 0
perftest() {
	local size=$1 extra=${2:-} out
	port=$((port + 1))
	# With -b the client adds up what both report: the same unit on both.
	# shellcheck disable=SC2086
	on 0 ib_write_bw -d "$device" -x "$gid" -F -p $port -s "$size" \
		-n "$iters" $extra --report_gbits >"$tmp/server" 2>&1 &
	server=$!
	# The server needs a moment, longer on a busy machine.
	out=$(on 1 sh -c 'for i in $(seq 20); do "$@" && exit 0; sleep 0.5; done; exit 1' \
		sh ib_write_bw -d "$device" -x "$gid" -F -p $port -s "$size" \
		-n "$iters" $extra --report_gbits "$addr" 2>&1) ||
		{ echo "$out" >&2; return 1; }
	wait "$server"
	server=
	# bytes, iterations, peak, average, message rate; Gb/s
	echo "$out" | awk -v size="$size" '$1 == size && NF >= 4 { print $4 * 125; found = 1 }
		END { exit !found }'
}

# busbw in MB/s, medians of the iterations; one rank on each node
perf() {
	local coll=$1 size=$2
	port=$((port + 1))
	tools/lab/lab run --name "$lab" --all -q --timeout 300 --cwd "$PWD" \
		--env HCOMM_SECRET=bench-fabric -- sh -c \
		'exec build/bin/hcomm_run -n 1 --node "$LAB_NODE/$LAB_NODES" \
			--root "${LAB_ADDRS%% *}:$1" build/bin/hcomm_perf "$2" \
			-b "$3" -e "$3" -n "$4" -w 2 -c 1 -s median' \
		sh $port "$coll" "$size" "$iters" >"$tmp/perf" 2>&1 ||
		{ cat "$tmp/perf" >&2; return 1; }
	awk -v size="$size" '$1 == size { print $8 * 1000; found = 1 }
		END { exit !found }' "$tmp/perf"
}

median() { sort -g | awk '{ v[NR] = $1 } END { print (NR % 2) ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'; }

printf '%10s %14s %14s %14s %14s %8s %8s\n' size "write MB/s" "write both" \
	"oneway MB/s" "allreduce" "ratio" "ratio"
echo '{"results": [' >"$tmp/json"
first=1
for size in $sizes; do
	: >"$tmp/w"; : >"$tmp/b"; : >"$tmp/o"; : >"$tmp/a"
	for _ in $(seq "$rounds"); do
		perftest "$size" >>"$tmp/w" || die "ib_write_bw failed"
		perf oneway "$size" >>"$tmp/o" || die "hcomm_perf oneway failed"
		perftest "$size" -b >>"$tmp/b" || die "ib_write_bw -b failed"
		perf allreduce "$size" >>"$tmp/a" || die "hcomm_perf allreduce failed"
	done
	w=$(median <"$tmp/w") b=$(median <"$tmp/b")
	o=$(median <"$tmp/o") a=$(median <"$tmp/a")
	# An AllReduce of two ranks moves its size each way: ib_write_bw -b adds
	# both ways up, busbw does not.
	awk -v size="$size" -v w="$w" -v b="$b" -v o="$o" -v a="$a" 'BEGIN {
		printf "%10d %14.1f %14.1f %14.1f %14.1f %8.2f %8.2f\n", size, w,
			b, o, a, o / w, 2 * a / b }'
	[ -n "$first" ] || echo ',' >>"$tmp/json"
	first=
	printf '{"size": %s, "ib_write_bw": %s, "ib_write_bw_both": %s, "oneway": %s, "allreduce": %s,\n "samples": {"ib_write_bw": [%s], "ib_write_bw_both": [%s], "oneway": [%s], "allreduce": [%s]}}\n' \
		"$size" "$w" "$b" "$o" "$a" "$(paste -sd, "$tmp/w")" \
		"$(paste -sd, "$tmp/b")" "$(paste -sd, "$tmp/o")" \
		"$(paste -sd, "$tmp/a")" >>"$tmp/json"
done
echo ']}' >>"$tmp/json"
cat "$tmp/json" >"$json"
echo "ratios: oneway to ib_write_bw; twice the busbw of allreduce to ib_write_bw -b; medians of $rounds rounds"
