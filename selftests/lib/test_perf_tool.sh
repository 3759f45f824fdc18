#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# hcomm_perf: what it refuses; as a rank of a job, what it does with sizes below one
# element and with a file that can't be written.  Prints TAP.
#
#   test_perf_tool.sh HCOMM_PERF

perf=$1
n=0 bad=0

# name, expected status, text that must be in the output, arguments
case_of() {
	local name=$1 want=$2 text=$3 rc=0
	shift 3
	n=$((n + 1))
	out=$("$perf" "$@" 2>&1 </dev/null) || rc=$?
	if [ $rc -eq "$want" ] && grep -qE "$text" <<<"$out"; then
		echo "ok $n - $name"
	else
		bad=1
		echo "not ok $n - $name # status $rc, output: ${out//$'\n'/ | }"
	fi
}

case_of "a bitwise reduction of floats is refused" 64 "is of integers" -o band
case_of "an average in scans is refused" 64 "scans have no average" -o avg -d all scan
case_of "known types are listed" 64 "known are int8, .*e5m2" -d complex
case_of "known reductions are listed" 64 "known are sum, .*lxor" -o foo
case_of "known collectives are listed" 64 "known are allreduce, .*barrier" foo
if [ -n "$HCOMM_RANK" ]; then
	row='^ +12 +1 +fp32' failed=': No such file or directory$'
	# who is not rank 0 has nothing to say
	[ "$HCOMM_RANK" = 0 ] || row='^$' failed='^$'
	case_of "a call has an element at least" 0 "$row" allgather -b 1 -e 16 -n 1 -w 0
	[ "$(grep -cE ' fp32 ' <<<"$out")" -le 1 ] || { bad=1; echo "# a size is there twice"; }
	case_of "only rank 0 reports a bad file" 2 "$failed" -J /nonexistent/x
	[ "$(wc -l <<<"$out")" -eq 1 ] || { bad=1; echo "# more is reported: $out"; }
fi
echo "1..$n"
exit $bad
