#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# On a node: take what make install made, load the module from there, build a
# program against it, run it and the tools.
#
#   installed.sh ROOT FIRST.C

set -eux
# The lab's nodes can't write to their modules: a copy takes their place.
modules=/lib/modules/$(uname -r)
copy=$(mktemp -d)
cp -a "$modules/." "$copy"
mount --bind "$copy" "$modules"

tar -C "$1" -c . | tar -C / -x --keep-directory-symlink
depmod
ldconfig
modprobe -r hcomm
case $(modinfo -n hcomm) in
*/updates/hcomm.ko) ;;
*) exit 1 ;;
esac
modprobe hcomm
export PKG_CONFIG_PATH=/usr/local/lib/pkgconfig
dir=$(mktemp -d)
cd "$dir"
# Words of compiler options:
# shellcheck disable=SC2046
cc "$2" -o by-name $(pkg-config --cflags --libs hcomm-user)
cc "$2" -o by-alias -lhcomm
hcomm_run -n 2 ./by-name
hcomm_run -n 2 ./by-alias
hcomm_run -n 2 hcomm_test
hcomm_run -n 2 hcomm_perf -e 4K -n 3
hcomm_sched -n 8 -k 2 --check --simulate
