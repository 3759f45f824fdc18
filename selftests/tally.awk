# SPDX-License-Identifier: GPL-2.0-only
#
# Counts TAP and KTAP: prints "passed failed skipped".  In KTAP only the leaves
# count: a result line that is followed up by an indented subtest's is the
# subtest's sum.  A missing plan, or one that does not match, is a failure, and
# so is an exit status (rc) that is not 0 without a failed test.

function level(line) { match(line, /^ */); return int(RLENGTH / 4) }

/^ *(KTAP|TAP) version/ { next }
/^ *(# )?1\.\.[0-9]+/ {
	lv = level($0); sub(/^[# ]*1\.\./, ""); plan[lv] = $0 + 0; planned[lv] = 1
	if (lv == 0) top = 1
	next
}
/^ *(ok|not ok)( |$)/ {
	lv = level($0)
	count[lv]++
	if (planned[lv + 1]) {			# the sum of a subtest
		if (plan[lv + 1] != count[lv + 1]) { fail++; why = why " plan" }
		planned[lv + 1] = 0; count[lv + 1] = 0
		if ($0 ~ /^ *not ok/ && sub_fail == 0) fail++
		sub_fail = 0
		next
	}
	if ($0 ~ /# *SKIP/) { skip++; if ($0 !~ /# *SKIP +[^ ]/) { fail++ } }
	else if ($0 ~ /^ *not ok/) { fail++; if (lv) sub_fail++ }
	else pass++
	next
}
END {
	if (!top) fail++
	else if (plan[0] != count[0]) fail++
	if (rc != 0 && !fail) fail++
	if (!(pass + fail + skip)) fail++
	print pass + 0, fail + 0, skip + 0
}
