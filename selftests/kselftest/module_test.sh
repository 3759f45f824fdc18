#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Loading and unloading hcomm: parameters, the device node, refusals, leftovers.
# The module is loaded before and after.  Prints TAP.

CYCLES=${HCOMM_CYCLES:-50}
DEV=/dev/hcomm
CLASS=/sys/class/hcomm
MOD=/sys/module/hcomm

n=0 bad=0

# t NAME COMMAND...: one test
t() {
	local name=$1 out
	shift
	n=$((n + 1))
	if out=$("$@" 2>&1); then
		echo "ok $n $name"
	else
		[ -z "$out" ] || sed 's/^/# /' <<<"$out" | tail -n 10
		echo "not ok $n $name"
		bad=1
	fi
}

# The node is made by devtmpfs at once, by udev a little later.
node_is() {
	local i
	for i in {1..50}; do
		[ "$1" = there ] && [ -c $DEV ] && return
		[ "$1" = gone ] && [ ! -e $DEV ] && return
		sleep 0.1
	done
	echo "$DEV is not $1"
	return 1
}

load() { modprobe hcomm "$@" && node_is there; }
unload() { modprobe -r hcomm; }
loaded() { [ -d $MOD ]; }

loaded_twice() { load && load && loaded; }

mode_and_class() {
	local mode
	mode=$(stat -c '%F %a' $DEV)
	echo "$mode"
	[ "$mode" = "character special file 666" ] && [ -d $CLASS ] && [ -d /sys/class/misc/hcomm ]
}

refused_while_open() {
	local refused=1
	exec 3<>$DEV || return 1
	rmmod hcomm && refused=0
	[ "$(cat $MOD/refcnt)" = 1 ] || { echo "refcnt $(cat $MOD/refcnt)"; refused=0; }
	exec 3>&-
	[ $refused -eq 1 ] && loaded
}

leaves_after_close() {
	exec 3<>$DEV || return 1
	exec 3>&-
	unload && ! loaded
}

# What must not be there after the module has gone.
nothing_left() {
	local left=0
	node_is gone || left=1
	[ ! -e $CLASS ] || { echo "$CLASS"; left=1; }
	[ ! -e /sys/class/misc/hcomm ] || { echo "misc device"; left=1; }
	! grep -s hcomm /proc/slabinfo || left=1
	! grep hcomm /proc/misc || left=1
	! grep -s '\[hcomm\]' /proc/kallsyms || left=1
	! grep -s hcomm /proc/vmallocinfo || left=1
	[ ! -e /sys/kernel/tracing/events/hcomm ] || { echo "trace events"; left=1; }
	! ls -d /sys/devices/virtual/workqueue/hcomm* 2>/dev/null || left=1
	return $left
}

cycles() {
	local i
	for ((i = 0; i < CYCLES; i++)); do
		load && unload || { echo "cycle $i"; return 1; }
	done
	! loaded
}

# Kilobytes that cycles keep; the first ones fill the caches of the kernel.
slab() { awk '$1 == "SUnreclaim:" { print $2 }' /proc/meminfo; }

cycles_keep_no_memory() {
	local before after
	before=$(slab)
	cycles || return 1
	after=$(slab)
	echo "SUnreclaim: $before kB before, $after kB after $CYCLES cycles"
	[ $((after - before)) -lt 2048 ]
}

parameter() {
	load spin_us=77 simd=0 || return 1
	[ "$(cat $MOD/parameters/spin_us)" = 77 ] || { echo "spin_us"; return 1; }
	[ "$(cat $MOD/parameters/simd)" = N ] || { echo "simd"; return 1; }
	echo 33 >$MOD/parameters/spin_us || return 1
	[ "$(cat $MOD/parameters/spin_us)" = 33 ] || { echo "spin_us stays"; return 1; }
	[ "$(stat -c %a $MOD/parameters/simd)" = 444 ] || { echo "mode of simd"; return 1; }
	unload
}

defaults() {
	load || return 1
	[ "$(cat $MOD/parameters/spin_us)" = 200 ] && [ "$(cat $MOD/parameters/simd)" = Y ]
}

bad_parameter() {
	unload || return 1
	# modprobe itself fails for a value that does not parse
	! modprobe hcomm spin_us=many 2>/dev/null && ! loaded || return 1
	! modprobe hcomm rdma_tos=256 2>/dev/null && ! loaded
}

parameters_have_limits() {
	local name value before
	load || return 1
	while read -r name value; do
		before=$(cat $MOD/parameters/$name)
		! echo $value 2>/dev/null >$MOD/parameters/$name || { echo "$name $value"; return 1; }
		[ "$(cat $MOD/parameters/$name)" = "$before" ] || { echo "$name changed"; return 1; }
	done <<-END
		rdma_retry_count 8
		rdma_ack_timeout 32
		rdma_tos 256
	END
	echo 255 >$MOD/parameters/rdma_tos && [ "$(cat $MOD/parameters/rdma_tos)" = 255 ] && unload
}

facts() {
	local info
	info=$(modinfo hcomm) || return 1
	echo "$info"
	grep -q '^license: *GPL' <<<"$info" &&
		grep -q '^alias: *devname:hcomm' <<<"$info" &&
		grep -q '^parm: *spin_us:' <<<"$info" &&
		grep -q '^parm: *simd:' <<<"$info" &&
		grep -q '^description: *[A-Za-z]' <<<"$info"
}

# A process that is killed with an open context holds nothing.
killed_process() {
	local pid
	(exec 3<>$DEV && exec sleep 100) &
	pid=$!
	for _ in {1..50}; do
		[ "$(cat $MOD/refcnt)" = 1 ] && break
		sleep 0.1
	done
	! rmmod hcomm 2>/dev/null || { echo "removed while in use"; return 1; }
	kill -KILL $pid
	wait $pid 2>/dev/null
	for _ in {1..50}; do
		[ "$(cat $MOD/refcnt)" = 0 ] && break
		sleep 0.1
	done
	unload
}

log_is_clean() {
	local from=$1 lines
	lines=$(dmesg | tail -n +$((from + 1)) |
		grep -E 'BUG|WARNING|Oops|Call Trace|hcomm.*(fail|error)|refcount|use-after-free')
	echo "$lines"
	[ -z "$lines" ]
}

echo "TAP version 13"
mark=$(dmesg | wc -l)
t "modprobe twice" loaded_twice
t "device node, mode 0666, class" mode_and_class
t "modinfo" facts
t "rmmod while open is refused" refused_while_open
t "rmmod after close" leaves_after_close
t "nothing is left" nothing_left
t "$CYCLES load and unload cycles" cycles
t "cycles keep no memory" cycles_keep_no_memory
t "nothing is left after the cycles" nothing_left
t "parameters" parameter
t "defaults of parameters" defaults
t "a killed process does not hold the module" killed_process
load
t "a bad parameter is refused" bad_parameter
t "parameters have limits" parameters_have_limits
t "nothing is left at the end" nothing_left
t "kernel log is clean" log_is_clean "$mark"
t "loaded again" load
echo "1..$n"
[ $bad -eq 0 ]
