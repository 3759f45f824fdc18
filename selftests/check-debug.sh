#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The slower proofs: core, library and simulator under sanitizers, fuzzers for a
# bounded time, and the module on a kernel with KASAN, lockdep and kmemleak, on one
# node and between two.  By hand, as they take long: sim/run.sh --long and
# api.sh debug.

. "$(dirname "$0")/suites.sh"

SUITE_LIST="lib-asan sim-asan fuzz build-debug kselftest-debug multi-debug"

say "packages"
tools/lab/deps.sh build rdma lab source check data || exit 1
say "debug kernel (built once, kept in $CACHE)"
tools/lab/kernel.sh debug >"$OUT/kernel.log" 2>&1 &
kernel=$!
trap 'kill $kernel 2>/dev/null' EXIT

suite lib-asan 900 selftests/lib/run.sh --asan
suite sim-asan 900 selftests/sim/run.sh --asan
suite fuzz 600 selftests/fuzz/run.sh 30

say "debug kernel"
while kill -0 $kernel 2>/dev/null; do
	sleep 10
	say "$(tail -n 1 "$OUT/kernel.log")"
done
wait $kernel || { tail -n 20 "$OUT/kernel.log"; exit 1; }
suite build-debug 600 selftests/build-kmod.sh debug
suite kselftest-debug 1800 selftests/kselftest/run.sh debug
suite multi-debug 900 selftests/multi/run.sh --kernel debug --nodes 2

tally $SUITE_LIST
