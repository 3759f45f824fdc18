/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Predicted times: a closed formula per algorithm and collective, from the cost
 * model and the shape of the communicator.  A prediction takes well under a
 * microsecond; the planner looks at all candidates of a call once.
 *
 * A prediction is for comparing candidates.  How far it is from the simulator,
 * and how often the cheapest candidate by it is the best one there, is measured
 * by selftests/lib/test_plan_sim.c.
 */
#ifndef HCOMM_PLAN_PREDICT_H
#define HCOMM_PLAN_PREDICT_H

#include <hcomm/sched.h>

#include "model.h"
#include "shape.h"

/**
 * struct hcomm_call_shape - what is to be done
 * @coll: enum hcomm_coll
 * @bytes: of the whole vector (ALLREDUCE, BROADCAST, REDUCE, SCAN, EXSCAN), of
 *	one rank's block (all others)
 * @esize: bytes of an element
 * @redop: enum hcomm_redop, where it reduces
 */
struct hcomm_call_shape {
	uint32_t coll;
	uint64_t bytes;
	uint32_t esize;
	uint32_t redop;
};

/**
 * struct hcomm_limits - options of the communicator that matter
 * @chunk_size: bytes of a chunk
 * @eager_size: messages up to it are sent eagerly
 * @window: chunks in flight per pair
 */
struct hcomm_limits {
	uint32_t chunk_size;
	uint32_t eager_size;
	uint32_t window;
};

/**
 * struct hcomm_candidate - a way to do it
 * @algo: enum hcomm_algo
 * @grain: bytes, the chunk size that the builder is told: the grain of slices
 * @channels: channels of the schedule
 * @radix: of algorithms that have one, else 0
 */
struct hcomm_candidate {
	uint32_t algo;
	uint32_t grain;
	uint32_t channels;
	uint32_t radix;
};

/**
 * hcomm_predict - how long will it take?
 * @model: cost model
 * @shape: communicator
 * @lim: options
 * @call: what is to be done
 * @cand: how
 * @largest: out: bytes of the largest message, tells the protocol; may be NULL
 *
 * Return: seconds; negative: the algorithm does not do that, or its program
 * would exceed a limit.
 */
double hcomm_predict(const struct hcomm_model *model,
		     const struct hcomm_shape *shape,
		     const struct hcomm_limits *lim,
		     const struct hcomm_call_shape *call,
		     const struct hcomm_candidate *cand, uint64_t *largest);

/* does a candidate's time depend on its grain, its channels, the radix of its trees? */
int hcomm_predict_uses_grain(uint32_t algo, uint32_t coll);
int hcomm_predict_uses_channels(uint32_t algo, uint32_t coll);
int hcomm_predict_uses_radix(uint32_t algo, uint32_t coll);

#endif /* HCOMM_PLAN_PREDICT_H */
