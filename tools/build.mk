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
bench_mpi_SRC := tools/bench/bench_mpi.c $(TOOLS_JOB)

hcomm_test_LIBS := -lm
hcomm_perf_LIBS := -lm
train_digits_LIBS := -lz -lm

# One benchmark is an MPI program, too; it is built where there is an MPI.
MPICC	:= $(shell command -v mpicc)
bench_mpi_CFLAGS := $(if $(MPICC),$(shell $(MPICC) --showme:compile) -DOMPI_SKIP_MPICXX)
bench_mpi_LIBS := $(if $(MPICC),$(shell $(MPICC) --showme:link))

TOOLS	:= hcomm_test hcomm_perf hcomm_run first train_digits bench_idle bench_launch \
	bench_build $(if $(MPICC),bench_mpi)

TOOLS_RPATH := -Wl,-rpath,'$$ORIGIN/../lib'
TOOLS_OBJ := $(sort $(foreach t,$(TOOLS),$($(t)_SRC:tools/%.c=$(TOOLS_DIR)/%.o)))

$(TOOLS_DIR)/bench/bench_mpi.o: CFLAGS_TOOL = $(bench_mpi_CFLAGS)

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

-include $(TOOLS_OBJ:.o=.d)
