#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Build the fuzz targets and run each for a while; TAP on standard output.
#
#   run.sh [SECONDS]	for each target, 20 without an argument
#
# Seeds are made by the targets themselves.  Inputs that failed are kept in
# build/fuzz/crash-*; run one again with build/fuzz/fuzz_x FILE.

cd "$(dirname "$0")/../.." || exit 1
seconds=${1:-20}
case $seconds in
''|*[!0-9]*) echo "usage: $0 [SECONDS]" >&2; exit 2 ;;
esac
dir=build/fuzz
targets="fuzz_wire fuzz_prog fuzz_rx"
mkdir -p "$dir"
export ASAN_OPTIONS=detect_stack_use_after_return=0

have_lf=
if echo 'int LLVMFuzzerTestOneInput(const char *p, unsigned long n) { return p && n > 1ul << 60; }' |
	"${CLANG:-clang}" -x c -fsanitize=fuzzer - -o "$dir/probe" 2>/dev/null; then
	have_lf=1
fi
echo 1..6
n=0
failed=0
result() {	# status, name, log
	n=$((n + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $n $2"
	else
		echo "not ok $n $2"
		failed=$((failed + 1))
		grep -vE '^#[0-9]+|^INFO' "$3" | tail -n 40 | sed 's/^/# /'
	fi
}

make --no-print-directory -C selftests/fuzz plain >"$dir/build.log" 2>&1
built=$?
half=$(((seconds + 1) / 2))
for t in $targets; do
	if [ $built -ne 0 ]; then
		result 1 "$t" "$dir/build.log"
		continue
	fi
	"$dir/$t" -seconds $half -seed "$(date +%s)" -keep "$dir/crash-$t" >"$dir/$t.log" 2>&1
	result $? "$t" "$dir/$t.log"
	tail -n 1 "$dir/$t.log" | sed 's/^/# /'
done

if [ -z "$have_lf" ]; then
	for t in $targets; do
		n=$((n + 1))
		echo "ok $n $t.lf # SKIP no clang with libFuzzer"
	done
	[ "$failed" -eq 0 ]
	exit
fi
make --no-print-directory -C selftests/fuzz libfuzzer >"$dir/build.log" 2>&1
built=$?
for t in $targets; do
	if [ $built -ne 0 ]; then
		result 1 "$t.lf" "$dir/build.log"
		continue
	fi
	corpus=${XDG_CACHE_HOME:-$HOME/.cache}/hcomm/fuzz/$t
	mkdir -p "$corpus"
	"$dir/$t" -corpus "$corpus" 200
	"$dir/$t.lf" "$corpus" -max_total_time=$half -max_len=8192 -timeout=20 \
		-rss_limit_mb=2048 -artifact_prefix="$dir/crash-$t-" >"$dir/$t.lf.log" 2>&1
	result $? "$t.lf" "$dir/$t.lf.log"
	grep -E 'DONE|^Done' "$dir/$t.lf.log" | tail -n 1 | sed 's/^/# /'
done
[ "$failed" -eq 0 ]
