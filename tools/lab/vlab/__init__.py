# SPDX-License-Identifier: GPL-2.0-only
"""A virtual cluster of QEMU machines for tests; see Documentation/lab.rst.

cli.py        the command line
config.py     what a lab consists of, and where its state is
prepare.py    kernel, modules, initramfs and agent for the guests
machine.py    QEMU command lines
daemon.py     the process that owns a running lab
client.py     talking to that process
wire.py       frames between client, daemon and the guests' agents
console.py    finding kernel complaints in console logs
"""
