# SPDX-License-Identifier: GPL-2.0-only
#
# The tools, examples and benchmarks, into build/bin/.  Included by the top
# Makefile.  They find the library beside them, in the tree and when installed.

TOOLS_DIR := $(B)/tools
BIN	:= $(B)/bin

TOOLS_JOB := tools/common/job.c tools/common/util.c
TOOLS_COMMON := $(TOOLS_JOB) tools/common/elems.c
TOOLS_INSTALLED := hcomm_test hcomm_perf hcomm_run hcomm_sched
TOOLS_MAN := $(TOOLS_INSTALLED:%=Documentation/man/%.1)

hcomm_test_SRC := $(wildcard tools/hcomm_test/*.c) $(TOOLS_COMMON)
hcomm_perf_SRC := $(wildcard tools/hcomm_perf/*.c) $(TOOLS_COMMON)
hcomm_run_SRC := $(wildcard tools/hcomm_run/*.c)
first_SRC := tools/examples/first.c
train_digits_SRC := $(wildcard tools/examples/train_digits/*.c) $(TOOLS_JOB)
bench_idle_SRC := tools/bench/bench_idle.c tools/bench/tracing.c $(TOOLS_JOB)
bench_launch_SRC := tools/bench/bench_launch.c tools/bench/tracing.c $(TOOLS_JOB)
bench_build_SRC := tools/bench/bench_build.c $(TOOLS_JOB)
bench_allreduce_SRC := tools/bench/bench_allreduce.c $(TOOLS_JOB)

hcomm_test_LIBS := -lm
hcomm_perf_LIBS := -lm
train_digits_LIBS := -lz -lm

# One benchmark is an MPI program, too; it is built where there is an MPI.
MPICC	:= $(shell command -v mpicc)
bench_allreduce_CFLAGS := $(if $(MPICC),$(shell $(MPICC) --showme:compile) -DOMPI_SKIP_MPICXX)
bench_allreduce_LIBS := $(if $(MPICC),$(shell $(MPICC) --showme:link))

TOOLS	:= hcomm_test hcomm_perf hcomm_run first train_digits bench_idle bench_launch \
	bench_build $(if $(MPICC),bench_allreduce)

# One tool looks inside: it has the library's parts and the simulator's engine in
# it, and needs no module.
SIM_SRC := $(addprefix kmod/core/,engine.c link.c rx.c step.c prog.c wire.c mem.c \
	reduce.c reduce_scalar.c reduce_fp.c reduce_scale.c reduce_avx2.c) \
	$(addprefix selftests/sim/,sim.c rank.c fabric.c events.c simmem.c \
	net.c)
SIM_OBJ := $(SIM_SRC:%.c=$(TOOLS_DIR)/inside/%.o)
hcomm_sched_OBJ := $(patsubst tools/%.c,$(TOOLS_DIR)/%.o, \
	$(wildcard tools/hcomm_sched/*.c) $(TOOLS_COMMON))

$(TOOLS_DIR)/hcomm_sched/%.o: CFLAGS_TOOL = -Ikmod/core
$(TOOLS_DIR)/inside/kmod/core/reduce_avx2.o: CFLAGS_TOOL = \
	$(if $(filter x86_64,$(shell uname -m)),-mavx2)
$(TOOLS_DIR)/inside/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_ALL) -Ikmod/core -Iselftests/sim $(CFLAGS_TOOL) -c $< -o $@

$(BIN)/hcomm_sched: $(hcomm_sched_OBJ) $(SIM_OBJ) $(LIB_STATIC)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_ALL) $(LDFLAGS) $^ -o $@ $(LIB_LIBS) -lm

TOOLS_RPATH := -Wl,-rpath,'$$ORIGIN/../lib'
TOOLS_OBJ := $(sort $(foreach t,$(TOOLS),$($(t)_SRC:tools/%.c=$(TOOLS_DIR)/%.o)))

$(TOOLS_DIR)/bench/bench_allreduce.o: CFLAGS_TOOL = $(bench_allreduce_CFLAGS)

$(TOOLS_DIR)/%.o: tools/%.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_ALL) -D_GNU_SOURCE $(CFLAGS_TOOL) -c $< -o $@

define tool_rule
$(BIN)/$(1): $($(1)_SRC:tools/%.c=$(TOOLS_DIR)/%.o) $(LIB_SHARED)
	@mkdir -p $$(@D)
	$$(CC) $$(CFLAGS_ALL) $$(LDFLAGS) $$(filter %.o,$$^) -o $$@ \
		$$(TOOLS_RPATH) -L$(LIB_DIR) -lhcomm-user $($(1)_LIBS)
endef
$(foreach t,$(TOOLS),$(eval $(call tool_rule,$(t))))

.PHONY: tools install-tools uninstall-tools
tools: $(TOOLS:%=$(BIN)/%) $(BIN)/hcomm_sched

install-tools: tools
	install -d $(DESTDIR)$(BINDIR) $(DESTDIR)$(MANDIR)/man1
	install -m 755 $(TOOLS_INSTALLED:%=$(BIN)/%) $(DESTDIR)$(BINDIR)/
	install -m 644 $(TOOLS_MAN) $(DESTDIR)$(MANDIR)/man1/

uninstall-tools:
	rm -f $(TOOLS_INSTALLED:%=$(DESTDIR)$(BINDIR)/%)
	rm -f $(TOOLS_INSTALLED:%=$(DESTDIR)$(MANDIR)/man1/%.1)

-include $(TOOLS_OBJ:.o=.d) $(hcomm_sched_OBJ:.o=.d) $(SIM_OBJ:.o=.d)
