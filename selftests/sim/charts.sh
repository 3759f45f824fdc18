#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# make charts: simulated times of collectives against the bounds of the model, as
# tables (CSV) and charts (SVG) in build/charts.  Takes some minutes.
#
#   charts.sh [--install]     also copy the charts to Documentation/charts

cd "$(dirname "$0")/../.." || exit 1
out=build/charts
sim=build/sim/hcomm_sim

die() { echo "charts: $*" >&2; exit 1; }

case ${1:-} in
''|--install) ;;
*) die "usage: $0 [--install]" ;;
esac
tools/lab/deps.sh build charts >/dev/null || die "packages are missing"
make -s -C selftests/sim || die "the simulator does not build"
mkdir -p "$out"
rm -f "$out"/*.csv "$out"/*.dat "$out"/*.svg

# run FILE OPTIONS...: one line of a table
run() { nice "$sim" --csv --in-place "${@:2}" >>"$out/$1.csv" || die "$*"; }

# Ranks of a table, and the most for a ring, whose plans grow with all of them.
ranks=(8 16 32 64 128 256 512 1024 2048 4096 8192 16384 32768 65536)
long=1024
# Engines and their data: what fits into memory and some seconds.
engine=(8 32 128 512 2048 8192)

# sweep FILE BYTES ALGORITHM...: AllReduce of fp32 on a flat network
sweep() {
	local file=$1 bytes=$2 algo n
	shift 2
	for algo; do
		for n in "${ranks[@]}"; do
			[ "$algo" != ring ] || [ "$n" -le $long ] || continue
			run "$file" --cost --algo "$algo" --ranks "$n" --count $((bytes / 4))
		done
	done
}

# series FILE COLUMN VALUE...: the lines of a table that have these values, one
# file each: ranks, time, bound, ratio
series() {
	local file=$1 column=$2 value
	shift 2
	for value; do
		awk -F, -v c="$column" -v v="$value" '$c == v { print $5, $8, $9, $10 }' \
			"$out/$file.csv" >"$out/$file.$value.dat"
	done
}

echo "charts: AllReduce of 1 KiB, 64 KiB and 16 MiB, flat" >&2
small=(recursive-doubling k-nomial double-tree ring)
medium=(recursive-doubling halving-doubling double-tree ring)
large=(halving-doubling double-tree ring)
sweep small 1024 "${small[@]}"
sweep medium 65536 "${medium[@]}"
sweep large 16777216 "${large[@]}"
# A million ranks, for those whose plans are short.
for algo in k-nomial double-tree; do
	run small --cost --algo $algo --ranks 1048576 --count 256
done
echo "charts: the same with engines" >&2
for n in "${engine[@]}"; do
	run small-engine --algo recursive-doubling --ranks "$n" --count 256
	run medium-engine --algo halving-doubling --ranks "$n" --count 16384
	run nodes-engine --algo hierarchical --radix 3 --ranks "$n" --ranks-per-node 8 \
		--count 16384 --max-runs 1
done

# named FILE NAME MOST OPTIONS...: lines of a table with a name of their own in column 11
named() {
	local file=$1 name=$2 most=$3 n
	shift 3
	for n in "${ranks[@]}"; do
		[ "$n" -le "$most" ] || continue
		run "$file" --cost --ranks "$n" "$@"
		sed -i "\$s/\$/,$name/" "$out/$file.csv"
	done
}

echo "charts: AllReduce of 1 MiB on other networks" >&2
net() { named net "$1" "$2" --count 262144 "${@:3}"; }
hd=(--algo halving-doubling)
net flat 65536 "${hd[@]}"
net two-level 65536 "${hd[@]}" --ranks-per-node 8
net fat-tree 65536 "${hd[@]}" --fabric fat-tree --taper 4
net dragonfly 65536 "${hd[@]}" --fabric dragonfly
net slow-link 65536 "${hd[@]}" --slow-node 3
net slow-rank 65536 "${hd[@]}" --slow-rank 3
net two-level-hierarchical 65536 --algo hierarchical --radix 2 --ranks-per-node 8

# Radixes of trees, and one as large as a level: all of it at once.
echo "charts: Gather and Scatter of 64 bytes a rank, 8 ranks a node" >&2
rooted=(hierarchical hierarchical-64 k-nomial binomial star)
for coll in gather scatter; do
	row() { named $coll "$1" "$2" --coll $coll --ranks-per-node 8 --count 16 "${@:3}"; }
	row hierarchical 65536 --algo hierarchical --radix 4
	row hierarchical-64 65536 --algo hierarchical --radix 64
	row k-nomial 65536 --algo k-nomial --radix 4
	row binomial 65536 --algo binomial
	row star 4096 --algo star
	for n in "${engine[@]}"; do
		run $coll-engine --coll $coll --algo hierarchical --radix 4 --ranks "$n" \
			--ranks-per-node 8 --count 16 --max-runs 1
	done
	series $coll 11 "${rooted[@]}"
	series $coll-engine 4 hierarchical
done

series small 4 "${small[@]}"
series medium 4 "${medium[@]}"
series large 4 "${large[@]}"
series small-engine 4 recursive-doubling
series medium-engine 4 halving-doubling
series nodes-engine 4 hierarchical
series net 11 flat two-level fat-tree dragonfly slow-link slow-rank two-level-hierarchical

# plot NAME TITLE YLABEL EXPRESSION...: log-log over ranks
plot() {
	local name=$1 title=$2 ylabel=$3
	shift 3
	gnuplot <<-END || die "$name"
		set terminal svg size 800,500 font "sans-serif,13" background "#ffffff"
		set output "$out/$name.svg"
		set title "$title"
		set xlabel "ranks"
		set ylabel "$ylabel"
		set logscale x 2
		set logscale y 10
		set format x "%.0f"
		set xtics rotate by -40
		set grid xtics ytics lc rgb "#dddddd"
		set key outside right
		set linetype 1 lc rgb "#0072b2" lw 2 pt 7 ps 0.5
		set linetype 2 lc rgb "#d55e00" lw 2 pt 5 ps 0.5
		set linetype 3 lc rgb "#009e73" lw 2 pt 9 ps 0.6
		set linetype 4 lc rgb "#cc79a7" lw 2 pt 11 ps 0.6
		set linetype 5 lc rgb "#e69f00" lw 2 pt 13 ps 0.6
		set linetype 6 lc rgb "#56b4e9" lw 2 pt 3 ps 0.6
		set linetype 7 lc rgb "#555555" lw 2 pt 1 ps 0.6
		set linetype 8 lc rgb "#000000" lw 2 dt 2
		plot $(printf '%s, ' "$@")
	END
	sed -i '2i<!-- SPDX-License-Identifier: GPL-2.0-only; made by make charts -->' \
		"$out/$name.svg"
}

# lines TABLE COLUMN SERIES...: expressions of plot()
lines() {
	local file=$1 column=$2 s i=0
	shift 2
	for s; do
		i=$((i + 1))
		echo "'$out/$file.$s.dat' using 1:$column with linespoints lt $i title '$s'"
	done
}
mapfile -t e < <(lines small 2 "${small[@]}")
plot allreduce-1k "AllReduce, 1 KiB, flat network" "time, us" "${e[@]}" \
	"'$out/small-engine.recursive-doubling.dat' using 1:2 with points lt 1 pt 6 ps 1.3 title 'with engines'" \
	"'$out/small.k-nomial.dat' using 1:3 with lines lt 8 title 'bound'"
mapfile -t e < <(lines medium 2 "${medium[@]}")
plot allreduce-64k "AllReduce, 64 KiB, flat network" "time, us" "${e[@]}" \
	"'$out/medium-engine.halving-doubling.dat' using 1:2 with points lt 2 pt 4 ps 1.3 title 'with engines'" \
	"'$out/nodes-engine.hierarchical.dat' using 1:2 with linespoints lt 5 title 'hierarchical, 8 a node, engines'" \
	"'$out/medium.halving-doubling.dat' using 1:3 with lines lt 8 title 'bound'"
mapfile -t e < <(lines large 2 "${large[@]}")
plot allreduce-16m "AllReduce, 16 MiB, flat network" "time, us" "${e[@]}" \
	"'$out/large.halving-doubling.dat' using 1:3 with lines lt 8 title 'bound'"
mapfile -t e < <(lines net 4 flat two-level fat-tree dragonfly slow-link slow-rank \
	two-level-hierarchical)
plot networks "AllReduce, 1 MiB: halving-doubling on several networks, and hierarchical" "time / bound" "${e[@]}"
for coll in gather scatter; do
	mapfile -t e < <(lines $coll 2 "${rooted[@]}")
	plot $coll-64 "${coll^}, 64 bytes a rank, 8 ranks a node" "time, us" "${e[@]}" \
		"'$out/$coll-engine.hierarchical.dat' using 1:2 with points lt 1 pt 6 ps 1.3 title 'hierarchical, engines'" \
		"'$out/$coll.binomial.dat' using 1:3 with lines lt 8 title 'bound'"
done

if [ "${1:-}" = --install ]; then
	mkdir -p Documentation/charts
	cp "$out"/*.svg Documentation/charts/
fi
echo "charts: $out/*.svg" >&2
