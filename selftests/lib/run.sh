#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The library's parts without the module; prints KTAP.
#
#   run.sh [--asan]     under the address and undefined-behaviour sanitizers

cd "$(dirname "$0")/../.." || exit 1
b=build
opt=()
if [ "$1" = --asan ]; then
	b=build/asan
	opt=(OPT="-O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all")
fi
mkdir -p $b
make -s B=$b "${opt[@]}" selftests-host >$b/lib-tests.log 2>&1 || {
	cat $b/lib-tests.log >&2
	echo "1..1"
	echo "not ok 1 - the tests do not build"
	exit 1
}
# What needs the module runs elsewhere.
tests=()
for t in selftests/lib/test_*.c; do
	case $t in
	*/test_api_*) ;;
	*) tests+=("$b/selftests/lib/$(basename "$t" .c)") ;;
	esac
done
tests+=(selftests/lib/test_{sched,run,perf}_tool.sh selftests/lib/test_install.sh)
[ "$1" != --asan ] || tests+=("$b/selftests/test_reduce" "$b/selftests/test_mem")

echo "KTAP version 1"
echo "1..${#tests[@]}"
n=0 bad=0
for t in "${tests[@]}"; do
	n=$((n + 1))
	name=$(basename "$t")
	arg=()
	case $name in
	test_install.sh) arg=("$b") ;;
	*_tool.sh) arg=("$b/bin/hcomm_$(cut -d_ -f2 <<<"$name")") ;;
	esac
	echo "    # Subtest: $name"
	timeout 400 "$t" "${arg[@]}" >"$b/$name.tap" 2>"$b/$name.err" </dev/null
	rc=$?
	sed 's/^/    /' "$b/$name.tap"
	if [ $rc -eq 0 ]; then
		echo "ok $n $name"
	else
		bad=1
		tail -n 20 "$b/$name.err" | sed 's/^/# /'
		echo "not ok $n $name # status $rc"
	fi
done
exit $bad
