# SPDX-License-Identifier: LGPL-2.1-or-later
#
# libhcomm-user, into build/lib/.  Included by the top Makefile.
#
# LIB_STATIC is the archive, LIB_SHARED the shared library; who links the archive
# needs $(LIB_LIBS) too.  libhcomm.so and libhcomm.a are other names of the same.

LIB_SONAME := libhcomm-user.so.0
LIB_REAL := $(LIB_SONAME).1
LIB_DIR	:= $(B)/lib
LIB_STATIC := $(LIB_DIR)/libhcomm-user.a
LIB_SHARED := $(LIB_DIR)/$(LIB_REAL)
LIB_NAMES := $(LIB_SONAME) libhcomm-user.so libhcomm.so
LIB_LIBS := -lnettle -lpthread -ldl
LIB_SRC	:= $(wildcard lib/base/*.c lib/env/*.c lib/bootstrap/*.c lib/dev/*.c \
	lib/mem/*.c lib/comm/*.c lib/api/*.c lib/sched/*.c lib/check/*.c \
	lib/plan/*.c)
LIB_OBJ	:= $(LIB_SRC:lib/%.c=$(LIB_DIR)/%.o)

# All ranks must predict the same, on any machine: no fused multiply-add.
$(LIB_DIR)/plan/%.o: CFLAGS_FP := -ffp-contract=off

$(LIB_DIR)/%.o: lib/%.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_ALL) $(CFLAGS_FP) -D_GNU_SOURCE -fPIC -c $< -o $@

# A file that was removed must not live on in the archive, and nobody shall see
# half of one.
$(LIB_STATIC): $(LIB_OBJ)
	@rm -f $@.new
	$(AR) rcs $@.new $^
	@mv $@.new $@
	@ln -sf $(@F) $(@D)/libhcomm.a

$(LIB_SHARED): $(LIB_OBJ) lib/libhcomm-user.map
	$(CC) $(CFLAGS_ALL) $(LDFLAGS) -shared -Wl,-soname,$(LIB_SONAME) \
		-Wl,--version-script=lib/libhcomm-user.map -Wl,-z,defs \
		$(LIB_OBJ) -o $@.new $(LIB_LIBS)
	@mv $@.new $@
	@for name in $(LIB_NAMES); do ln -sf $(LIB_REAL) $(@D)/$$name; done

# Where it will be is known only when it is installed: never from an old build.
.PHONY: $(LIB_DIR)/hcomm-user.pc
$(LIB_DIR)/hcomm-user.pc: lib/hcomm-user.pc.in
	@mkdir -p $(@D)
	@sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@LIBDIR@|$(LIBDIR)|' \
		-e 's|@INCLUDEDIR@|$(INCLUDEDIR)|' -e 's|@VERSION@|$(VERSION)|' \
		$< >$@

.PHONY: lib install-lib uninstall-lib
lib: $(LIB_STATIC) $(LIB_SHARED)

install-lib: lib $(LIB_DIR)/hcomm-user.pc
	install -d $(DESTDIR)$(LIBDIR)/pkgconfig $(DESTDIR)$(INCLUDEDIR)/hcomm
	install -m 755 $(LIB_SHARED) $(DESTDIR)$(LIBDIR)/$(LIB_REAL)
	for name in $(LIB_NAMES); do \
		ln -sf $(LIB_REAL) $(DESTDIR)$(LIBDIR)/$$name || exit 1; done
	install -m 644 $(LIB_STATIC) $(DESTDIR)$(LIBDIR)/
	ln -sf libhcomm-user.a $(DESTDIR)$(LIBDIR)/libhcomm.a
	install -m 644 $(LIB_DIR)/hcomm-user.pc $(DESTDIR)$(LIBDIR)/pkgconfig/
	install -m 644 lib/include/hcomm/*.h $(DESTDIR)$(INCLUDEDIR)/hcomm/
	install -D -m 644 uapi/linux/hcomm.h $(DESTDIR)$(INCLUDEDIR)/linux/hcomm.h

uninstall-lib:
	rm -f $(addprefix $(DESTDIR)$(LIBDIR)/,$(LIB_REAL) $(LIB_NAMES) \
		libhcomm-user.a libhcomm.a pkgconfig/hcomm-user.pc)
	rm -f $(DESTDIR)$(INCLUDEDIR)/linux/hcomm.h
	rm -f $(patsubst lib/include/%,$(DESTDIR)$(INCLUDEDIR)/%,$(wildcard lib/include/hcomm/*.h))
	-rmdir $(DESTDIR)$(INCLUDEDIR)/hcomm

-include $(LIB_OBJ:.o=.d)
