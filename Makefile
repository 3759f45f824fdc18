# SPDX-License-Identifier: GPL-2.0-only
#
# hcomm: the module, the library, the tools and their tests.
#
#   make                 module for KVER (or KDIR), library, tools
#   make install         into PREFIX, DESTDIR honoured
#   make run             virtual cluster of two nodes, trains a classifier on it
#   make check           all standard tests
#   make check-debug     sanitizers, fuzzers, debug kernel
#   make bench           benchmarks; writes build/bench/
#   make charts          simulated scale, as charts in build/charts/
#   make help

MAKEFLAGS += --no-builtin-rules
.SUFFIXES:
.DEFAULT_GOAL := all

TOP	:= $(CURDIR)
B	:= build
VERSION	:= 0.1

KVER	?= $(shell uname -r)
KDIR	?= /lib/modules/$(KVER)/build

PREFIX	?= /usr/local
BINDIR	?= $(PREFIX)/bin
LIBDIR	?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
MANDIR	?= $(PREFIX)/share/man
UDEVDIR	?= /lib/udev/rules.d
DESTDIR	?=

CC	?= cc
OPT	?= -O2 -g
WARN	:= -Wall -Wextra -Werror
CFLAGS_ALL = -std=gnu11 $(OPT) $(WARN) $(CFLAGS) -MMD -MP \
	-I$(TOP)/uapi -I$(TOP)/lib/include

all: kmod lib tools

# The kernel's build writes beside the sources, and there is one build per
# kernel: each gets a tree of links of its own.
KTREE	= $(B)/kmod/$(KVER)

.PHONY: all kmod
kmod:
	@test -d "$(KDIR)" || { \
	  echo "no kernel headers at $(KDIR); install linux-headers-$(KVER) or set KVER= or KDIR=" >&2; \
	  exit 1; }
	@mkdir -p $(KTREE)
	@cp -asuf $(TOP)/Kbuild $(TOP)/kmod $(TOP)/uapi $(KTREE)/
	@find $(KTREE) -xtype l -delete
	$(MAKE) -C $(KDIR) M=$(TOP)/$(KTREE) $(KARGS) modules

include lib/build.mk
include tools/build.mk
include selftests/build.mk
include tools/hcomm_sched/build.mk

.PHONY: install uninstall
install: all install-lib install-tools
	install -D -m 644 tools/hcomm.rules $(DESTDIR)$(UDEVDIR)/90-hcomm.rules
	install -D -m 644 $(KTREE)/kmod/hcomm.ko \
		$(DESTDIR)/lib/modules/$(KVER)/updates/hcomm.ko
	if [ -z "$(DESTDIR)" ]; then depmod $(KVER); ldconfig; fi

uninstall: uninstall-lib uninstall-tools
	rm -f $(DESTDIR)$(UDEVDIR)/90-hcomm.rules \
		$(DESTDIR)/lib/modules/$(KVER)/updates/hcomm.ko
	if [ -z "$(DESTDIR)" ]; then depmod $(KVER); ldconfig; fi

.PHONY: run check check-debug bench charts clean help
run:
	tools/run.sh
check:
	selftests/check.sh
check-debug:
	selftests/check-debug.sh
bench:
	tools/bench/bench.sh
charts:
	selftests/sim/charts.sh

clean:
	rm -rf $(B)

help:
	@sed -n '3,13s/^# \{0,1\}//p' Makefile

