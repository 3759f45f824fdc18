#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The library over RDMA alone, among ranks of one UML kernel: Soft-RoCE, and iWARP,
# which has no write with immediate data; KTAP.

cd "$(dirname "$0")/.." || exit 1
out=build/api-uml
rm -rf "$out"
mkdir -p "$out"
fail() { echo "1..1"; echo "not ok 1 - $*"; exit 1; }

eval "$(tools/lab/kernel.sh path uml)" || fail "no kernel"
{
	make -s lib tools selftests-host &&
	make -s kmod KVER=uml KDIR="$BUILDDIR" KARGS="ARCH=$ARCH"
} >"$out/build.log" 2>&1 || { cat "$out/build.log" >&2; fail "it does not build"; }

n=0 bad=0
# job DEVICE RANKS COMMAND...
job() {
	local device=$1 ranks=$2 rc=0
	shift 2
	n=$((n + 1))
	tools/lab/uml-run --timeout 200 --rdma "$device" --module build/kmod/uml/kmod/hcomm.ko \
		--env HCOMM_TRANSPORT=rdma --cwd "$PWD" --log "$out/$n.dmesg" -- \
		sh -c 'modprobe hcomm && build/bin/hcomm_run -n "$@"' job "$ranks" "$@" \
		>"$out/$n.log" 2>&1 </dev/null || rc=$?
	if [ $rc -eq 0 ]; then
		echo "ok $n - $device, $ranks ranks: $(basename "$1")"
	else
		bad=1
		tail -n 25 "$out/$n.log" | sed 's/^/# /'
		echo "not ok $n - $device, $ranks ranks: $(basename "$1") # status $rc"
	fi
}

for device in rxe siw; do
	job $device 2 build/bin/first
	for t in build/selftests/lib/test_api_*; do
		[ -x "$t" ] || continue
		job $device 3 "$t"
	done
	job $device 2 build/bin/hcomm_test
	job $device 4 build/bin/hcomm_test
done
echo "1..$n"
exit $bad
