# SPDX-License-Identifier: GPL-2.0-only
#
# hcomm_sched looks inside: it has the library's parts and the simulated engine in
# it, and needs no module.  Included by the top Makefile behind the selftests,
# whose objects of the core it uses.
#
# SIM_OBJ, with CORE_OBJ, is the engine in virtual time for other programs.

SIM_OBJ := $(patsubst %,$(ST)/obj/selftests/sim/%.o,sim rank fabric events simmem net) \
	$(ST)/obj/tools/hcomm_sched/simulate.o
hcomm_sched_OBJ := $(patsubst tools/%.c,$(TOOLS_DIR)/%.o, \
	$(filter-out %/simulate.c,$(wildcard tools/hcomm_sched/*.c)) $(TOOLS_COMMON))

$(BIN)/hcomm_sched: $(hcomm_sched_OBJ) $(SIM_OBJ) $(CORE_OBJ) $(LIB_STATIC)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_ALL) $(LDFLAGS) $^ -o $@ $(LIB_LIBS) -lm

$(ST)/lib/test_plan_sim: $(SIM_OBJ) $(CORE_OBJ)
selftests-host: $(BIN)/hcomm_sched $(BIN)/hcomm_run $(BIN)/hcomm_perf

# The example of a tuner plugin, as it comes from anywhere, and who loads it.
TUNER_EXAMPLE := $(LIB_DIR)/examples/tuner.so
$(TUNER_EXAMPLE): tools/examples/tuner.c
	@mkdir -p $(@D)
	$(CC) $(filter-out -fsanitize%,$(CFLAGS_ALL)) $(LDFLAGS) -fPIC -shared $< -o $@

$(ST)/obj/selftests/lib/test_tuner.o: CFLAGS += \
	-DTUNER_EXAMPLE='"$(abspath $(TUNER_EXAMPLE))"'
$(ST)/lib/test_tuner: | $(TUNER_EXAMPLE)
$(ST)/lib/test_tuner: CFLAGS += -rdynamic

-include $(hcomm_sched_OBJ:.o=.d) $(SIM_OBJ:.o=.d)
