#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# What hcomm_run does about ranks that end: no module is needed.
#
#   test_run_tool.sh HCOMM_RUN

run=$1
n=0 bad=0

# name, expected status, text that must be in the output, command of a rank
case_of() {
	local out rc

	n=$((n + 1))
	out=$(timeout -k 1 20 "$run" -n 2 sh -c "$4" 2>&1)
	rc=$?
	if [ $rc -eq "$2" ] && grep -qF "$3" <<<"$out"; then
		echo "ok $n $1"
	else
		bad=1
		echo "not ok $n $1 # status $rc, output: ${out//$'\n'/ | }"
	fi
}

echo "KTAP version 1"
echo "1..6"
case_of "a signal is told by its name" 137 "rank 1 was killed by signal 9 (SIGKILL)" \
	'[ $HCOMM_RANK = 0 ] || kill -9 $$; exec sleep 30'
case_of "what was killed is told of, too" 3 "rank 1 was killed by signal 9 (SIGKILL)" \
	'[ $HCOMM_RANK = 0 ] && exit 3; sleep 0.5; kill -9 $$'
case_of "a survivor can tell what it knows" 3 "the other died" \
	'[ $HCOMM_RANK = 0 ] || exit 3; sleep 1; echo the other died'
case_of "who does not end by itself is ended" 3 "got SIGTERM" \
	'[ $HCOMM_RANK = 0 ] || exit 3; trap "echo got SIGTERM; exit" TERM; sleep 30 >/dev/null 2>&1 & wait'
case_of "who ignores SIGTERM is killed" 3 "rank 1 ended with status 3" \
	'[ $HCOMM_RANK = 0 ] || exit 3; trap "" TERM; exec sleep 30'
case_of "a rank that went early is told of" 0 "rank 1 has ended with status 0; still running: 1" \
	'[ $HCOMM_RANK = 1 ] || sleep 8'
exit $bad
