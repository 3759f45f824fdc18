#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# KUnit under User Mode Linux: builds hcomm.ko with its suites, loads it, and
# prints their KTAP.  Fails when a suite that exists did not run.
#
#   kunit.sh [uml|debug]      (default: uml)

cd "$(dirname "$0")/.." || exit 1
kind=${1:-uml}
out=build/kunit-$kind
mkdir -p "$out"

facts=$(tools/lab/kernel.sh path "$kind") || exit 1
eval "$facts"
make -s kmod KVER="kunit-$kind" KDIR="$BUILDDIR" \
	KARGS="ARCH=$ARCH HCOMM_KUNIT=1" >"$out/build.log" 2>&1 || {
	tail -n 30 "$out/build.log" >&2
	exit 1
}

cat >"$out/load.sh" <<'LOAD'
#!/bin/sh
for m in ib_core rdma_cm; do modprobe -q $m; done
insmod "$1" || exit 1
rmmod hcomm || exit 1
dmesg --color=never
LOAD
chmod +x "$out/load.sh"
rc=0
tools/lab/uml-run --timeout 240 "$PWD/$out/load.sh" \
	"$PWD/build/kmod/kunit-$kind/kmod/hcomm.ko" >"$out/dmesg" 2>"$out/err" || rc=$?

# The kernel prints a KTAP of its own suites (none) at boot: ours is the last.
sed 's/^\[ *[0-9.]*\] //' "$out/dmesg" | tr -d '\r' >"$out/log"
start=$(grep -n '^KTAP version' "$out/log" | tail -n 1 | cut -d: -f1)
sed -n "${start:-1},\$p" "$out/log" | grep -E '^ *(KTAP|# Subtest|1\.\.|ok|not ok|# .*(EXPECT|ASSERT))|^ +# ' 

exist=$(grep -lE '^kunit_test_suites?\(' kmod/tests/*_test.c | wc -l)
ran=$(sed -n "${start:-1},\$p" "$out/log" | grep -cE '^ok [0-9]+ hcomm_')
if [ "$ran" -ne "$exist" ]; then
	echo "not ok - $exist suites exist, $ran passed"
	rc=1
fi
if grep -qE 'BUG:|WARNING:|Oops|KASAN|possible circular' "$out/log"; then
	echo "not ok - kernel log is not clean"
	grep -E -A5 'BUG:|WARNING:|Oops|KASAN' "$out/log" | sed 's/^/# /' | head -40
	rc=1
fi
exit $rc
