#!/bin/busybox sh
# SPDX-License-Identifier: GPL-2.0-only
#
# /init of a lab node's initramfs: the host's file system under a tmpfs
# overlay becomes the root, and the agent becomes init.

busybox=/bin/busybox
$busybox mkdir -p /proc /sys /dev /lower /rw /root
$busybox mount -t proc proc /proc
$busybox mount -t sysfs sys /sys
$busybox mount -t devtmpfs dev /dev

fail() {
	echo "lab-init: $*"
	$busybox sleep 1
	echo o >/proc/sysrq-trigger
	$busybox sleep 60
}

for word in $($busybox cat /proc/cmdline); do
	case $word in
	lab.dir=*) dir=${word#*=} ;;
	esac
done

if [ -f /modules ]; then
	while read -r module; do
		$busybox insmod "/lib/$module" || fail "cannot load $module"
	done </modules
fi

opts=trans=virtio,version=9p2000.L,msize=512000
$busybox mount -t 9p -o ro,$opts,cache=loose host /lower ||
	fail "cannot mount the host's file system"
$busybox mount -t tmpfs -o size=50% rw /rw
$busybox mkdir /rw/upper /rw/work
$busybox mount -t overlay -o lowerdir=/lower,upperdir=/rw/upper,workdir=/rw/work \
	root /root || fail "cannot mount the overlay"
$busybox mount -t tmpfs -o mode=755 run /root/run
$busybox mkdir -p /root/run/lab/live
# The same once more, uncached: for what changes while the node runs.
$busybox mount -t 9p -o ro,$opts,cache=none live /root/run/lab/live ||
	fail "cannot mount the host's file system uncached"
$busybox mkdir -p /root/lab
$busybox mount -t 9p -o rw,$opts,cache=none share /root/lab ||
	fail "cannot mount the shared directory"
$busybox mount --move /proc /root/proc
$busybox mount --move /sys /root/sys
$busybox mount --move /dev /root/dev
cd /root || fail "no root"
exec $busybox switch_root /root "/run/lab/live$dir/guest/agent" \
	"/run/lab/live$dir/guest/setup"
