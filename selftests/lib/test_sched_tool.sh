#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# hcomm_sched: what it prints, proves, simulates and draws.  Prints TAP.
#
#   test_sched_tool.sh HCOMM_SCHED

sched=$1
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
n=0 bad=0

result() {	# result STATUS NAME
	n=$((n + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $n - $2"
	else
		bad=1
		head -n 20 "$dir/out" | sed 's/^/# /'
		echo "not ok $n - $2"
	fi
}
# run STATUS OPTION...: its output is in $dir/out
run() {
	local want=$1 rc=0
	shift
	"$sched" "$@" >"$dir/out" 2>&1 || rc=$?
	[ "$rc" -eq "$want" ]
}
says() { grep -qE -- "$1" "$dir/out"; }

run 0 -n 16 -k 4 -c 16K && says '^\* [a-z/-]+ ' && says 'because of the model'
result $? "the choice has a star and a reason"

# Each candidate of the list, cheapest first, and as many simulated as asked for.
run 0 -n 8 -k 2 -c 4K --simulate=3 && says '^simulated: [0-9.]+ us' &&
	[ "$(grep -cE '^[* ] [a-z/-]+ +[0-9]+K.* [0-9.]+ +[0-9.]+$' "$dir/out")" -eq 3 ] &&
	grep -E '^[* ] [a-z/-]+ +[0-9]+[KM]?  ' "$dir/out" | awk '{
		t = $1 == "*" ? $8 : $7
		if (t + 0 < last + 0) exit 1
		last = t
	}'
result $? "candidates are in order, some are simulated"

rc=0
for coll in barrier broadcast reduce allreduce reduce-scatter allgather gather scatter \
	alltoall scan exscan; do
	run 0 -C $coll -n 7 -k 2 -c 1000 --check --simulate || rc=1
	says 'checked: right' && says '^simulated:' || rc=1
done
result $rc "every collective is planned, proven and simulated"

run 0 -n 5 -c 100 -a ring --print all && [ "$(grep -c '^rank' "$dir/out")" -eq 5 ] &&
	says 'recv-reduce from 4 #0 src send' && says 'after 1~'
result $? "plans are printed"
run 0 -n 5 -c 100 -a ring --print 3 && [ "$(grep -c '^rank' "$dir/out")" -eq 1 ]
result $? "one rank's plan is printed"

# A box per step, and a line per message: 2 (n - 1) of both kinds on each rank.
run 0 -n 4 -c 64 -a ring --svg "$dir/a.svg" --dot "$dir/a.dot" &&
	[ "$(grep -c '<title>' "$dir/a.svg")" -eq 48 ] &&
	[ "$(grep -c '^<line x1="[0-9]*" y1' "$dir/a.svg")" -eq 24 ] &&
	tail -n 1 "$dir/a.svg" | grep -q '^</svg>$' &&
	[ "$(grep -c 'color="#c05020"' "$dir/a.dot")" -eq 24 ] &&
	head -n 1 "$dir/a.dot" | grep -q '^digraph'
result $? "pictures have all steps and messages"

run 0 --print-model && cp "$dir/out" "$dir/model" && run 0 --model "$dir/model" --print-model &&
	cmp -s "$dir/model" "$dir/out"
result $? "a model that is printed can be read"
sed 's/^reduce_rate = .*/reduce_rate = 1e6/' "$dir/model" >"$dir/slow"
run 0 -n 8 -c 64K && fast=$(grep '^\*' "$dir/out") && run 0 -n 8 -c 64K --model "$dir/slow" &&
	[ "$fast" != "$(grep '^\*' "$dir/out")" ]
result $? "another model, another prediction"

run 0 -n 8 -c 1K --table 'allreduce: 0-4K=ring,4K-=dbtree' &&
	says 'chosen: double-tree, because of the table'
result $? "a table decides"
run 0 -n 8 -c 1K --wish 'allreduce:^hd,^rd,^direct' && ! says 'recursive-doubling|halving'
result $? "what is excluded is no candidate"
run 0 -n 8 -c 64K --proto eager && ! says ' (direct|write) '
result $? "only eager candidates"

run 64 -a rings && says 'double-tree \(dbtree\)'
result $? "an unknown algorithm is refused, with those that are known"
rc=0
for last in nhr nb rd ring hd mesh; do
	run 0 -n 12 -k 4 -c 1000 -a hier/$last -x && says 'checked: right' || rc=1
	run 0 -n 12 -k 4 -c 1000 --wish "hier/$last" && says "chosen: hierarchical/$last," || rc=1
done
run 64 -a hier/star && says 'hierarchical/rd' && run 64 --wish reduce:hier/rd || rc=1
result $rc "the last level of a hierarchical allreduce can be named"
run 64 -C sum && says 'known are barrier' && run 64 -d complex && says 'known are int8' &&
	run 64 --op foo && says 'known are sum'
result $? "an unknown collective, type or reduction is refused"
run 64 --table 'allreduce: ring' && run 64 --proto read && run 64 --model /nonexistent &&
	run 64 -n 0 && run 64 extra
result $? "other bad arguments are refused"
rc=0
for built in '--grain 4K' '--channels 2' '--radix 4' '-a ring --radix 4' '-a hier --radix 4' \
	'-a hier -C barrier --radix 2' '-a hier/rd --radix 2' '-a hier/rd -C barrier'; do
	# shellcheck disable=SC2086
	run 64 $built && says 'need --algo|--radix .: use it for|last level is for' || rc=1
done
for wish in '--wish ring' '--proto eager' '--tuner x.so' '--simulate=2'; do
	# shellcheck disable=SC2086
	run 64 -a ring $wish && says 'leaves no choice' || rc=1
done
run 0 -a knomial --radix 8 && run 0 -a hier --radix 3 || rc=1
result $rc "options that have no effect are refused"
run 64 --chunk 5000 && says 'a multiple of 4K, from 4K to' && run 64 --chunk 1000 &&
	says 'a multiple of 4K' && run 64 --eager 100
result $? "sizes that the library does not take are refused"
run 2 -n 4 -k 5 && says 'too many' && run 2 -n 5 -k 4 && says 'do not fill' && run 2 -k 2 --groups 3 && says 'too many' &&
	run 2 -n 4 --print 4 && run 2 -r 9 && says 'root 9: there are 4 ranks' &&
	run 2 --op band && says 'is of integers' && run 0 --op band -d int8 &&
	run 2 --op avg -C scan && says 'no average'
result $? "what can't be planned is refused, with the reason"
run 2 -C barrier -a ring && says 'barrier can.t be done by ring; it can be by dissem' &&
	run 2 --wish allreduce:ring --fixed-order && says 'in fixed order .*by what --wish'
result $? "who can do it is told"
run 2 --tuner /nonexistent.so && [ "$(grep -o /nonexistent "$dir/out" | wc -l)" -eq 1 ]
result $? "a missing file is named once"
run 0 -C barrier -c 5 -n 4 -k 2 --svg "$dir/b.svg" && says 'hierarchical .* 0 eager' &&
	! grep -q elements "$dir/b.svg"
result $? "a barrier has no elements"
rc=0
for coll in reduce_scatter ReduceScatter reduce-scatter all_reduce; do
	run 0 -C $coll --wish "$coll:ring" && says '^\* ring' || rc=1
done
result $rc "hyphens and underscores do not count"

echo "1..$n"
exit $bad
