# SPDX-License-Identifier: GPL-2.0-only
#
# The tools, examples and benchmarks, into build/bin/.  Included by the top
# Makefile.  They find the library beside them, in the tree and when installed.

TOOLS_DIR := $(B)/tools
BIN	:= $(B)/bin

TOOLS_JOB := tools/common/args.c tools/common/job.c tools/common/util.c
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

hcomm_test_LIBS := -lm
hcomm_perf_LIBS := -lm
train_digits_LIBS := -lz -lm

TOOLS	:= hcomm_test hcomm_perf hcomm_run first train_digits bench_idle bench_launch \
	bench_build

TOOLS_RPATH := -Wl,-rpath,'$$ORIGIN/../lib'
TOOLS_OBJ := $(sort $(foreach t,$(TOOLS),$($(t)_SRC:tools/%.c=$(TOOLS_DIR)/%.o)))

$(TOOLS_DIR)/%.o: tools/%.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_ALL) -D_GNU_SOURCE -c $< -o $@

define tool_rule
$(BIN)/$(1): $($(1)_SRC:tools/%.c=$(TOOLS_DIR)/%.o) $(LIB_SHARED)
	@mkdir -p $$(@D)
	$$(CC) $$(CFLAGS_ALL) $$(LDFLAGS) $$(filter %.o,$$^) -o $$@ \
		$$(TOOLS_RPATH) -L$(LIB_DIR) -lhcomm-user $($(1)_LIBS)
endef
$(foreach t,$(TOOLS),$(eval $(call tool_rule,$(t))))

# One benchmark is an MPI program, too.  It is built with each MPI that there is, by
# the name of its compiler: Debian has them side by side.
MPIS	:= $(foreach m,openmpi mpich,$(if $(shell command -v mpicc.$(m)),$(m)))
BENCH_MPI := $(MPIS:%=$(BIN)/bench_mpi_%)

$(BENCH_MPI): $(BIN)/bench_mpi_%: tools/bench/bench_mpi.c \
		$(TOOLS_JOB:tools/%.c=$(TOOLS_DIR)/%.o) $(LIB_SHARED)
	@mkdir -p $(@D) $(TOOLS_DIR)/bench
	words=$$(mpicc.$* -show) && \
	$(CC) $(CFLAGS_ALL) -MT $@ -MF $(TOOLS_DIR)/bench/bench_mpi_$*.d \
		-D_GNU_SOURCE -DOMPI_SKIP_MPICXX $(LDFLAGS) $(filter %.c %.o,$^) -o $@ \
		$(TOOLS_RPATH) -L$(LIB_DIR) -lhcomm-user $${words#* }

.PHONY: tools install-tools uninstall-tools
tools: $(TOOLS:%=$(BIN)/%) $(BENCH_MPI) $(BIN)/hcomm_sched

install-tools: tools
	install -d $(DESTDIR)$(BINDIR) $(DESTDIR)$(MANDIR)/man1
	install -m 755 $(TOOLS_INSTALLED:%=$(BIN)/%) $(DESTDIR)$(BINDIR)/
	install -m 644 $(TOOLS_MAN) $(DESTDIR)$(MANDIR)/man1/

uninstall-tools:
	rm -f $(TOOLS_INSTALLED:%=$(DESTDIR)$(BINDIR)/%)
	rm -f $(TOOLS_INSTALLED:%=$(DESTDIR)$(MANDIR)/man1/%.1)

-include $(TOOLS_OBJ:.o=.d) $(MPIS:%=$(TOOLS_DIR)/bench/bench_mpi_%.d)
