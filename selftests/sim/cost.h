/* SPDX-License-Identifier: GPL-2.0-only */
/* Times of collectives without the engine and without data; bounds of any. */
#ifndef HCOMM_SIM_COST_H
#define HCOMM_SIM_COST_H

#include "sim.h"

/* As in many_ranks.h. */
#define COST_MAX_RANKS (1u << 20)

/**
 * struct cost_result - what an evaluation gives
 * @time: of the last step of any rank, ns
 * @steps: steps of all ranks
 * @chunks: chunks that went from rank to rank
 * @bytes: that went from rank to rank
 */
struct cost_result {
	u64 time;
	u64 steps;
	u64 chunks;
	u64 bytes;
};

/* Plan for all ranks and evaluate; ends the simulator where there is no plan. */
void cost_run(const struct sim_cfg *cfg, const struct coll_spec *spec,
	      struct cost_result *result);

/* No algorithm whatever is faster than this on the modelled machine, ns. */
u64 bound_time(const struct sim_cfg *cfg, const struct coll_spec *spec);

#endif /* HCOMM_SIM_COST_H */
