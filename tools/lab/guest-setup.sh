#!/bin/busybox sh
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# Set up a lab node, on the host's userland, before commands are run on it.
# Its exit status reaches "lab up". What holds for all nodes is in the file
# "settings" beside this one; which node this is, the kernel command line says.
# Busybox runs nearly all of it inside one process, which matters under
# emulation, where starting a program takes a tenth of a second.

set -u
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
guest=$(dirname "$0")

status=0
warn() { echo "lab-setup: $*"; status=1; }

node=0
# shellcheck disable=SC2013
for word in $(cat /proc/cmdline); do
	case $word in
	lab.node=*) node=${word#*=} ;;
	esac
done
# shellcheck disable=SC1091
. "$guest/settings"

mount -t tmpfs -o mode=1777,size=50% tmp /tmp || warn "no /tmp"
mkdir -p /dev/pts /dev/shm /dev/mqueue /dev/hugepages
mount -t devpts -o mode=620,ptmxmode=666 devpts /dev/pts || warn "no /dev/pts"
mount -t tmpfs -o mode=1777,size=50% shm /dev/shm || warn "no /dev/shm"
mount -t mqueue mqueue /dev/mqueue 2>/dev/null
mount -t hugetlbfs hugetlbfs /dev/hugepages 2>/dev/null
ln -sf /proc/self/fd /dev/fd
ln -sf /proc/self/fd/0 /dev/stdin
ln -sf /proc/self/fd/1 /dev/stdout
ln -sf /proc/self/fd/2 /dev/stderr
mount -t debugfs debugfs /sys/kernel/debug || warn "no debugfs"
mount -t tracefs tracefs /sys/kernel/tracing 2>/dev/null
mount -t cgroup2 cgroup2 /sys/fs/cgroup || warn "no cgroups"
mkdir -p /run/lock /run/user/0
rm -rf /var/run && ln -s /run /var/run

# Directories of the host that change while the node runs, as they are now.
for dir in $LAB_LIVE; do
	if ! mkdir -p "$dir" ||
	   ! mount --bind "/run/lab/live$dir" "$dir"; then
		warn "cannot show $dir"
	fi
done

krel=$(uname -r)
mkdir -p "/lib/modules/$krel"
mount --bind "$guest/lib/modules/$krel" "/lib/modules/$krel" ||
	warn "no modules for $krel"

echo "node$node" >/proc/sys/kernel/hostname
{
	echo "127.0.0.1 localhost"
	echo "::1 localhost ip6-localhost"
	i=0
	while [ $i -lt "$LAB_NODES" ]; do
		k=0
		while [ $k -lt "$LAB_NICS" ]; do
			name=node$i-$k
			[ $k -gt 0 ] || name="node$i $name"
			echo "10.77.$k.$((i + 1)) $name"
			k=$((k + 1))
		done
		i=$((i + 1))
	done
} >/etc/hosts
printf 'hosts: files\n' >/etc/nsswitch.conf
: >/etc/resolv.conf

ip link set lo up
for module in virtio_console virtio_net virtio_rng; do
	modprobe -q $module
done
# Addresses count at once, without waiting for a duplicate to answer.
for file in /proc/sys/net/ipv6/conf/*/accept_dad; do
	echo 0 >"$file"
done
case $LAB_RDMA in
rxe)
	# Asked for by rxe through the kernel's slower way, if missing.
	for module in crc32_pclmul crc32_generic; do
		modprobe -q $module
	done
	modprobe rdma_rxe || warn "no rdma_rxe"
	;;
siw) modprobe siw || warn "this kernel has no siw" ;;
esac
if [ "$LAB_RDMA" != none ]; then
	for module in ib_uverbs rdma_ucm; do
		modprobe $module || warn "no $module"
	done
fi
# NIC k is to be ethk, in whatever order the kernel found them. They pass
# through other names, as the right one may still be another's.
for pass in nic eth; do
	k=0
	while [ $k -lt "$LAB_NICS" ]; do
		mac=$(printf '52:54:00:77:%02x:%02x' $k $((node + 1)))
		for address in /sys/class/net/*/address; do
			[ "$(cat "$address")" = "$mac" ] || continue
			dev=$(basename "$(dirname "$address")")
			ip link set "$dev" name $pass$k ||
				warn "cannot name $dev $pass$k"
			break
		done
		k=$((k + 1))
	done
done
k=0
while [ $k -lt "$LAB_NICS" ]; do
	dev=eth$k
	if [ ! -e /sys/class/net/$dev ]; then
		warn "NIC $k is missing"
	fi
	ip link set "$dev" mtu "$LAB_MTU" || warn "$dev: no MTU $LAB_MTU"
	ip addr add "10.77.$k.$((node + 1))/24" dev "$dev" || warn "$dev: no address"
	ip link set "$dev" up || warn "$dev does not come up"
	if [ -n "$LAB_NETEM" ]; then
		modprobe -q sch_netem
		# shellcheck disable=SC2086
		/sbin/tc qdisc add dev "$dev" root netem $LAB_NETEM ||
			warn "$dev: no netem $LAB_NETEM"
	fi
	if [ "$LAB_RDMA" != none ]; then
		rdma link add "$LAB_RDMA$k" type "$LAB_RDMA" netdev "$dev" ||
			warn "$dev: no $LAB_RDMA"
	fi
	k=$((k + 1))
done

for module in $LAB_LOAD; do
	modprobe "$module" || warn "cannot load $module"
done
echo 60 >/proc/sys/kernel/hung_task_timeout_secs 2>/dev/null
echo 7 >/proc/sys/kernel/printk
exit $status
