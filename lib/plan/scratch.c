// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Scratch memory of plans.  What goes in slices or sections needs no more than
 * megabytes for any size of data; what is listed here grows with it.
 */
#include "scratch.h"

#define COLL(c)	(1u << HCOMM_COLL_##c)

/**
 * struct need - what grows
 * @algo: enum hcomm_algo
 * @colls: collectives, as a mask
 * @fixed: only in fixed order
 * @blocks: times the bytes of a call (of the vector or of a block)
 * @per_rank: times these and the number of ranks
 */
static const struct need {
	uint32_t algo;
	uint32_t colls;
	bool fixed;
	double blocks;
	double per_rank;
} needs[] = {
	{ HCOMM_ALGO_HALVING_DOUBLING, COLL(REDUCE_SCATTER), false, 0, 1 },
	{ HCOMM_ALGO_NONUNIFORM_BRUCK, COLL(REDUCE_SCATTER), false, 0, 0.5 },
	{ HCOMM_ALGO_RECURSIVE_DOUBLING, COLL(ALLREDUCE) | COLL(SCAN) | COLL(EXSCAN),
	  false, 2, 0 },
	{ HCOMM_ALGO_DIRECT, COLL(ALLREDUCE) | COLL(SCAN) | COLL(EXSCAN), false, 1, 0 },
	{ HCOMM_ALGO_DIRECT, COLL(REDUCE_SCATTER), true, 1, 0 },
	{ HCOMM_ALGO_DIRECT, COLL(ALLTOALL), false, 0, 1 },
	{ HCOMM_ALGO_BINOMIAL, COLL(GATHER) | COLL(SCATTER), false, 0, 0.5 },
	{ HCOMM_ALGO_KNOMIAL, COLL(GATHER) | COLL(SCATTER), false, 0, 0.5 },
	{ HCOMM_ALGO_HIERARCHICAL, COLL(GATHER) | COLL(SCATTER), false, 0, 1 },
	{ HCOMM_ALGO_STAR, COLL(REDUCE), false, 1, 0 },
};

double hcomm_scratch_growth(uint32_t algo, const struct hcomm_call_shape *call,
			    uint32_t nranks, bool fixed)
{
	uint32_t i;

	for (i = 0; i < sizeof(needs) / sizeof(needs[0]); i++) {
		const struct need *n = &needs[i];

		if (n->algo == algo && n->colls & (1u << call->coll) && (fixed || !n->fixed))
			return (n->blocks + n->per_rank * nranks) * (double)call->bytes;
	}
	return 0;
}
