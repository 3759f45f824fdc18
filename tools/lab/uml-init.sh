#!/bin/busybox sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Init of the kernel that uml-run starts: runs one command on the host's file
# system and leaves its exit status on the host. The first part runs on the
# read-only file system of the host, the second on an overlay of it.

export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

if [ "${1-}" != inside ]; then
	# Busybox runs its applets through /proc/self/exe, which is still the
	# host's: there it is the kernel we run in.
	/bin/mount -n -t proc proc /proc
	for word in $(busybox cat /proc/cmdline); do
		case $word in
		uml.state=*) state=${word#*=} ;;
		esac
	done
	busybox mount -t tmpfs tmpfs /tmp
	busybox mkdir -p /tmp/upper /tmp/work /tmp/root
	busybox mount -t overlay -o lowerdir=/,upperdir=/tmp/upper,workdir=/tmp/work \
		overlay /tmp/root || echo "uml-init: no overlay"
	root=/tmp/root
	busybox mount -t proc proc $root/proc
	busybox mount -t sysfs sys $root/sys
	busybox mount -t devtmpfs dev $root/dev
	busybox mount -t tmpfs -o mode=755 run $root/run
	busybox mkdir $root/run/uml
	busybox mount -t hostfs -o "$state" none $root/run/uml
	exec busybox chroot $root /bin/busybox sh /run/uml/init inside
fi

state=/run/uml
# shellcheck disable=SC1091
. $state/settings

# Standard output as the command writes it, without carriage returns.
exec </dev/null >/dev/tty0 2>&1
stty -opost </dev/tty0
mount -t tmpfs -o mode=1777 tmp /tmp
mkdir -p /dev/pts /dev/shm /dev/mqueue /run/lock
mount -t devpts -o mode=620,ptmxmode=666 devpts /dev/pts
mount -t tmpfs -o mode=1777 shm /dev/shm
mount -t mqueue mqueue /dev/mqueue
mount -t debugfs debugfs /sys/kernel/debug
mount -t tracefs tracefs /sys/kernel/tracing
mount -t cgroup2 cgroup2 /sys/fs/cgroup
ln -sf /proc/self/fd /dev/fd
rm -rf /var/run && ln -s /run /var/run
for dir in $UML_LIVE; do
	mkdir -p "$dir" && mount -t hostfs -o "$dir,ro" none "$dir"
done
if [ -n "$UML_SHARE" ]; then
	mkdir -p /lab
	mount -t hostfs -o "$UML_SHARE" none /lab
fi
krel=$(uname -r)
mkdir -p "/lib/modules/$krel"
mount --bind "$state/lib/modules/$krel" "/lib/modules/$krel"

echo uml >/proc/sys/kernel/hostname
printf '127.0.0.1 localhost uml\n::1 localhost\n' >/etc/hosts
for file in /proc/sys/net/ipv6/conf/*/accept_dad; do
	echo 0 >"$file"
done
ip link set lo up
if [ "$UML_RDMA" != none ]; then
	# One end carries the RDMA device, the other keeps the link up.
	/sbin/ip link add veth0 type veth peer name veth1
	ip link set veth1 up
	ip addr add 10.78.0.1/24 dev veth0
	ip link set veth0 up
	rdma link add "${UML_RDMA}0" type "$UML_RDMA" netdev veth0 ||
		echo "uml-init: no $UML_RDMA device"
fi
ulimit -l unlimited

cd "$UML_CWD" 2>/dev/null || cd /
/bin/sh $state/command </dev/null
echo $? >$state/status.tmp
mv $state/status.tmp $state/status
poweroff -f
