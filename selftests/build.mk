# SPDX-License-Identifier: GPL-2.0-only
#
# Test programs, into build/selftests/.  Those of selftests/kselftest need the
# harness of the kernel's source: KSRC.

ST	:= $(B)/selftests
KSRC	?=

CORE_SRC := $(addprefix kmod/core/,wire.c prog.c engine.c history.c step.c link.c rx.c mem.c \
	reduce.c reduce_int.c reduce_fp.c reduce_scale.c reduce_avx2_int.c \
	reduce_avx2_fp.c reduce_avx2_arith.c)
CORE_OBJ := $(CORE_SRC:%.c=$(ST)/obj/%.o)

$(addprefix $(ST)/obj/kmod/core/reduce_avx2_,int.o fp.o arith.o): CFLAGS += -mavx2
$(ST)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_ALL) -Ikmod/core -c $< -o $@

# The core without a kernel.
$(ST)/test_reduce $(ST)/test_mem: $(ST)/%: $(ST)/obj/selftests/sim/%.o $(CORE_OBJ)
	$(CC) $(CFLAGS_ALL) $^ -o $@ -lm

# The library's parts.
LIB_TESTS := $(patsubst selftests/lib/%.c,$(ST)/lib/%,$(wildcard selftests/lib/test_*.c))
$(ST)/obj/selftests/lib/%.o: CFLAGS += -Ilib
$(ST)/lib/%: $(ST)/obj/selftests/lib/%.o $(LIB_STATIC)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_ALL) $^ -o $@ $(LIB_LIBS) -lpthread -lm

# The ABI, with the kernel's harness.
KSELFTESTS := $(patsubst selftests/kselftest/%.c,$(ST)/kselftest/%, \
	$(wildcard selftests/kselftest/*_test.c))
$(ST)/kselftest/%: selftests/kselftest/%.c $(wildcard selftests/kselftest/*.h) uapi/linux/hcomm.h
	@test -n "$(KSRC)" || { echo "set KSRC= to the kernel's source" >&2; exit 1; }
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_ALL) -Wno-unused-parameter -Wno-missing-field-initializers \
		-isystem $(KSRC)/tools/testing/selftests $< -o $@ -lpthread

.PHONY: selftests-host kselftests
selftests-host: $(ST)/test_reduce $(ST)/test_mem $(LIB_TESTS)
kselftests: $(KSELFTESTS)

-include $(CORE_OBJ:.o=.d) $(patsubst %.c,$(ST)/obj/%.d,$(wildcard selftests/lib/*.c))
