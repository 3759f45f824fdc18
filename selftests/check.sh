#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# All standard tests: static checks, the core and the library in user space,
# KUnit under UML, and the module on both stock kernels, on one node and on
# several.  Installs what it needs.

. "$(dirname "$0")/suites.sh"

SUITE_LIST="style build-6.12 build-6.1 reduce mem lib sim kunit kselftest-uml
	kselftest-6.12 kselftest-6.1 multi-6.12 multi-6.1 api-uml api-6.12 api-6.1"

say "packages"
tools/lab/deps.sh build rdma kernel-6.12 kernel-6.1 lab source check data || exit 1
say "kernels (built once, kept in $CACHE)"
{ tools/lab/kernel.sh stock-6.12 stock-6.1 && tools/lab/kernel.sh source; } >"$OUT/kernels.log" 2>&1 || {
	tail -n 20 "$OUT/kernels.log"
	exit 1
}
tools/lab/kernel.sh uml >"$OUT/kernel-uml.log" 2>&1 &
uml=$!
trap 'kill $uml 2>/dev/null' EXIT

say "library and tools"
make -s lib tools selftests-host >"$OUT/make.log" 2>&1 || {
	tail -n 40 "$OUT/make.log"
	exit 1
}

suite style 300 selftests/style.sh
suite build-6.12 400 selftests/build-kmod.sh stock-6.12
suite build-6.1 400 selftests/build-kmod.sh stock-6.1
suite reduce 200 build/selftests/test_reduce
suite mem 100 build/selftests/test_mem
suite lib 600 selftests/lib/run.sh
suite sim 600 selftests/sim/run.sh

say "UML kernel"
while kill -0 $uml 2>/dev/null; do
	sleep 5
	say "$(tail -n 1 "$OUT/kernel-uml.log")"
done
wait $uml || { tail -n 20 "$OUT/kernel-uml.log"; exit 1; }
suite kunit 400 selftests/kunit.sh
suite kselftest-uml 900 selftests/kselftest/run.sh uml
suite kselftest-6.12 1500 selftests/kselftest/run.sh stock-6.12
suite kselftest-6.1 1500 selftests/kselftest/run.sh stock-6.1
suite multi-6.12 900 selftests/multi/run.sh --kernel stock-6.12
suite multi-6.1 900 selftests/multi/run.sh --kernel stock-6.1
suite api-uml 900 selftests/api-uml.sh
suite api-6.12 1500 selftests/api.sh stock-6.12
suite api-6.1 1200 selftests/api.sh stock-6.1

tally $SUITE_LIST
