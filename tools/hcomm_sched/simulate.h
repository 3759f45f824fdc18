/* SPDX-License-Identifier: GPL-2.0-only */
/* One collective in the simulator: the real engine in virtual time. */
#ifndef HCOMM_SCHED_SIMULATE_H
#define HCOMM_SCHED_SIMULATE_H

#include <hcomm/sched.h>

#include "../../lib/plan/predict.h"

/**
 * struct sim_result - what the simulator saw
 * @seconds: virtual time until the last rank was done
 * @messages: between the ranks, with those of the protocol
 * @writes: of RDMA
 * @bytes: of payload between ranks
 */
struct sim_result {
	double seconds;
	uint64_t messages;
	uint64_t writes;
	uint64_t bytes;
};

/**
 * simulate - run a schedule on all ranks
 * @args: what to plan; rank is not looked at
 * @model: costs; groups of nodes are as far apart as nodes are
 * @lim: options of the communicator
 * @ranks_per_node: ranks of each node, in order
 * @out: out: the result
 *
 * A broken promise of the engine ends the process.
 *
 * Return: 0 or the error of hcomm_sched_build().
 */
int simulate(const struct hcomm_sched_args *args, const struct hcomm_model *model,
	     const struct hcomm_limits *lim, uint32_t ranks_per_node,
	     struct sim_result *out);

#endif /* HCOMM_SCHED_SIMULATE_H */
