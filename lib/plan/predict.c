// SPDX-License-Identifier: LGPL-2.1-or-later
/* The table of formulas. */
#include <stddef.h>

#include "cost.h"

/**
 * struct rule - how to predict an algorithm
 * @formula: described where it is defined
 * @grain: collectives whose schedule depends on the grain, as a mask
 * @channels: the same for channels
 */
static const struct rule {
	hcomm_formula formula;
	uint32_t grain;
	uint32_t channels;
} rules[HCOMM_ALGO_COUNT] = {
#define COLL(c)	(1u << HCOMM_COLL_##c)
#define ALL	(~0u)
	[HCOMM_ALGO_RING] = { hcomm_cost_ring, 0, ALL },
	[HCOMM_ALGO_BINOMIAL] = { hcomm_cost_binomial, ALL, 0 },
	[HCOMM_ALGO_DOUBLE_TREE] = { hcomm_cost_double_tree, ALL, 0 },
	[HCOMM_ALGO_RECURSIVE_DOUBLING] = { hcomm_cost_recursive_doubling, 0, 0 },
	[HCOMM_ALGO_DIRECT] = { hcomm_cost_direct, 0, 0 },
	[HCOMM_ALGO_DISSEMINATION] = { hcomm_cost_dissemination, 0, 0 },
	[HCOMM_ALGO_BIDIRECTIONAL_RING] = { hcomm_cost_bidirectional_ring, 0, ALL },
	[HCOMM_ALGO_KNOMIAL] = { hcomm_cost_knomial, ALL, 0 },
	[HCOMM_ALGO_HALVING_DOUBLING] = { hcomm_cost_halving_doubling, 0, 0 },
	[HCOMM_ALGO_BRUCK] = { hcomm_cost_bruck, 0, 0 },
	[HCOMM_ALGO_PAIRWISE] = { hcomm_cost_pairwise, 0, 0 },
	[HCOMM_ALGO_STAR] = { hcomm_cost_star, 0, 0 },
	[HCOMM_ALGO_PIPELINE] = { hcomm_cost_pipeline, ALL, 0 },
	[HCOMM_ALGO_SCATTER_ALLGATHER] = { hcomm_cost_scatter_allgather, 0, 0 },
	[HCOMM_ALGO_NONUNIFORM_RING] = { hcomm_cost_nonuniform_ring, 0, 0 },
	[HCOMM_ALGO_NONUNIFORM_BRUCK] = { hcomm_cost_nonuniform_bruck, 0, 0 },
	[HCOMM_ALGO_HIERARCHICAL] = {
		hcomm_cost_hierarchical, COLL(BROADCAST) | COLL(REDUCE), 0,
	},
	[HCOMM_ALGO_LINEAR] = { hcomm_cost_linear, ALL, 0 },
};

int hcomm_predict_uses_grain(uint32_t algo, uint32_t coll)
{
	return algo < HCOMM_ALGO_COUNT && coll < 32 &&
	       rules[algo].grain & (1u << coll);
}

int hcomm_predict_uses_channels(uint32_t algo, uint32_t coll)
{
	return algo < HCOMM_ALGO_COUNT && coll < 32 &&
	       rules[algo].channels & (1u << coll);
}

int hcomm_predict_uses_radix(uint32_t algo, uint32_t coll)
{
	return algo == HCOMM_ALGO_KNOMIAL ||
	       (algo == HCOMM_ALGO_HIERARCHICAL &&
		(coll == HCOMM_COLL_GATHER || coll == HCOMM_COLL_SCATTER));
}

/* the SCALE step in front of the sum or behind it: nothing overlaps with it */
static double scaling(const struct hcomm_cost *c)
{
	double bytes = c->v;

	if (!reduces(c->call->coll))
		return 0;
	if (c->call->redop == HCOMM_OP_PREMUL_SUM && c->call->coll == HCOMM_COLL_REDUCE_SCATTER)
		bytes *= c->n;
	else if (c->call->redop != HCOMM_OP_PREMUL_SUM && c->call->redop != HCOMM_OP_AVG)
		return 0;
	return bytes / c->m->reduce_rate;
}

double hcomm_predict(const struct hcomm_model *model,
		     const struct hcomm_shape *shape,
		     const struct hcomm_limits *lim,
		     const struct hcomm_call_shape *call,
		     const struct hcomm_candidate *cand, uint64_t *largest)
{
	struct hcomm_cost c = {
		.m = model,
		.s = shape,
		.lim = lim,
		.call = call,
		.cand = cand,
		.n = shape->nranks,
		.v = (double)call->bytes,
	};
	double time;

	if (largest)
		*largest = 0;
	if (!hcomm_algo_supports(cand->algo, call->coll) ||
	    !rules[cand->algo].formula)
		return -1;
	/* one rank copies, whatever the algorithm */
	if (shape->nranks < 2)
		return c.v / model->copy_rate;
	time = rules[cand->algo].formula(&c);
	if (hcomm_crowded(&c))
		time = hcomm_cost_crowd(&c, time);
	if (largest)
		*largest = (uint64_t)c.largest;
	return time < 0 ? time : time + scaling(&c);
}
