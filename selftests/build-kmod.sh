#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Build the module for a kernel with all warnings and sparse; prints TAP.
#
#   build-kmod.sh KIND

cd "$(dirname "$0")/.." || exit 1
kind=$1
log=build/build-kmod-$kind.log
mkdir -p build
eval "$(tools/lab/kernel.sh path "$kind")" || exit 1

# A tree of its own, so that every object is compiled and checked here.
rm -rf "build/kmod/check-$kind"
rc=0
make -s kmod KVER="check-$kind" KDIR="$BUILDDIR" KARGS="ARCH=$ARCH W=1 C=2" \
	>"$log" 2>&1 || rc=$?
echo 1..3
[ $rc -eq 0 ] && echo "ok 1 - $kind: builds" || echo "not ok 1 - $kind: builds"
# Old headers of the kernel itself may not be clean: only our files count.
if grep -E 'kmod/[^ ]*:[0-9]+:[0-9]+: (warning|error)' "$log" | sed 's/^/# /' | head -30 |
	grep .; then
	echo "not ok 2 - $kind: no warnings (W=1, sparse)"
else
	echo "ok 2 - $kind: no warnings (W=1, sparse)"
fi
ko=build/kmod/check-$kind/kmod/hcomm.ko
if modinfo -F license "$ko" 2>/dev/null | grep -q '^GPL'; then
	echo "ok 3 - $kind: module with its license"
else
	echo "not ok 3 - $kind: module with its license"
fi
