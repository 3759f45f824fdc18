// SPDX-License-Identifier: LGPL-2.1-or-later
/* The door to the builders: which there are, what each can do. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "builders.h"
#include "scale.h"

#define COLL(c)	(1u << HCOMM_COLL_##c)

/*
 * By algorithm: masks of collectives it does at all, in their V form, and in
 * fixed order where they reduce.
 */
static const struct algo {
	const char *name;
	uint32_t colls;
	uint32_t vector;
	uint32_t fixed;
	void (*build)(struct hcomm_plan *plan, const struct hcomm_sched_args *args);
} algos[HCOMM_ALGO_COUNT] = {
	[HCOMM_ALGO_NONE] = { .name = "none" },
	[HCOMM_ALGO_RING] = {
		.name = "ring",
		.colls = COLL(ALLREDUCE) | COLL(REDUCE_SCATTER) | COLL(ALLGATHER),
		.vector = COLL(REDUCE_SCATTER) | COLL(ALLGATHER),
		.build = hcomm_build_ring,
	},
	[HCOMM_ALGO_BINOMIAL] = {
		.name = "binomial",
		.colls = COLL(BROADCAST) | COLL(REDUCE) | COLL(ALLREDUCE) |
			 COLL(GATHER) | COLL(SCATTER),
		.build = hcomm_build_binomial,
	},
	[HCOMM_ALGO_DOUBLE_TREE] = {
		.name = "double-tree",
		.colls = COLL(BROADCAST) | COLL(REDUCE) | COLL(ALLREDUCE),
		.build = hcomm_build_double_tree,
	},
	[HCOMM_ALGO_RECURSIVE_DOUBLING] = {
		.name = "recursive-doubling",
		.colls = COLL(ALLREDUCE) | COLL(ALLGATHER) | COLL(SCAN) | COLL(EXSCAN),
		.build = hcomm_build_recursive_doubling,
	},
	[HCOMM_ALGO_DIRECT] = {
		.name = "direct",
		.colls = COLL(ALLREDUCE) | COLL(REDUCE_SCATTER) | COLL(ALLGATHER) |
			 COLL(ALLTOALL) | COLL(SCAN) | COLL(EXSCAN),
		.vector = COLL(REDUCE_SCATTER) | COLL(ALLGATHER) | COLL(ALLTOALL),
		.fixed = COLL(ALLREDUCE) | COLL(REDUCE_SCATTER) | COLL(SCAN) |
			 COLL(EXSCAN),
		.build = hcomm_build_direct,
	},
	[HCOMM_ALGO_DISSEMINATION] = {
		.name = "dissemination",
		.colls = COLL(BARRIER),
		.build = hcomm_build_dissemination,
	},
	[HCOMM_ALGO_P2P] = {
		.name = "p2p",
		.colls = COLL(P2P),
		.build = hcomm_build_p2p,
	},
	[HCOMM_ALGO_BIDIRECTIONAL_RING] = {
		.name = "bidirectional-ring",
		.colls = COLL(ALLREDUCE) | COLL(ALLGATHER),
		.vector = COLL(ALLGATHER),
		.build = hcomm_build_bidirectional_ring,
	},
	[HCOMM_ALGO_KNOMIAL] = {
		.name = "k-nomial",
		.colls = COLL(BROADCAST) | COLL(REDUCE) | COLL(ALLREDUCE) |
			 COLL(GATHER) | COLL(SCATTER),
		.build = hcomm_build_knomial,
	},
	[HCOMM_ALGO_HALVING_DOUBLING] = {
		.name = "halving-doubling",
		.colls = COLL(ALLREDUCE) | COLL(REDUCE_SCATTER) | COLL(ALLGATHER),
		.vector = COLL(REDUCE_SCATTER),
		.build = hcomm_build_halving_doubling,
	},
	[HCOMM_ALGO_BRUCK] = {
		.name = "bruck",
		.colls = COLL(ALLGATHER) | COLL(ALLTOALL),
		.vector = COLL(ALLGATHER),
		.build = hcomm_build_bruck,
	},
	[HCOMM_ALGO_PAIRWISE] = {
		.name = "pairwise",
		.colls = COLL(ALLREDUCE) | COLL(REDUCE_SCATTER) | COLL(ALLTOALL),
		.vector = COLL(REDUCE_SCATTER) | COLL(ALLTOALL),
		.fixed = COLL(ALLREDUCE) | COLL(REDUCE_SCATTER),
		.build = hcomm_build_pairwise,
	},
	[HCOMM_ALGO_STAR] = {
		.name = "star",
		.colls = COLL(BROADCAST) | COLL(REDUCE) | COLL(GATHER) | COLL(SCATTER),
		.vector = COLL(GATHER) | COLL(SCATTER),
		.fixed = COLL(REDUCE),
		.build = hcomm_build_star,
	},
	[HCOMM_ALGO_PIPELINE] = {
		.name = "pipeline",
		.colls = COLL(BROADCAST) | COLL(REDUCE) | COLL(ALLREDUCE),
		.fixed = COLL(REDUCE) | COLL(ALLREDUCE),
		.build = hcomm_build_pipeline,
	},
	[HCOMM_ALGO_SCATTER_ALLGATHER] = {
		.name = "scatter-allgather",
		.colls = COLL(BROADCAST),
		.build = hcomm_build_scatter_allgather,
	},
	[HCOMM_ALGO_NONUNIFORM_RING] = {
		.name = "nonuniform-ring",
		.colls = COLL(ALLREDUCE) | COLL(REDUCE_SCATTER) | COLL(ALLGATHER),
		.vector = COLL(REDUCE_SCATTER) | COLL(ALLGATHER),
		.build = hcomm_build_nonuniform_ring,
	},
	[HCOMM_ALGO_NONUNIFORM_BRUCK] = {
		.name = "nonuniform-bruck",
		.colls = COLL(ALLREDUCE) | COLL(REDUCE_SCATTER) | COLL(ALLGATHER),
		.vector = COLL(REDUCE_SCATTER) | COLL(ALLGATHER),
		.build = hcomm_build_nonuniform_bruck,
	},
	[HCOMM_ALGO_HIERARCHICAL] = {
		.name = "hierarchical",
		.colls = COLL(BARRIER) | COLL(BROADCAST) | COLL(REDUCE) |
			 COLL(ALLREDUCE) | COLL(REDUCE_SCATTER) | COLL(ALLGATHER) |
			 COLL(GATHER) | COLL(SCATTER),
		.vector = COLL(REDUCE_SCATTER) | COLL(ALLGATHER),
		.build = hcomm_build_hierarchical,
	},
	[HCOMM_ALGO_LINEAR] = {
		.name = "linear",
		.colls = COLL(SCAN) | COLL(EXSCAN),
		.fixed = COLL(SCAN) | COLL(EXSCAN),
		.build = hcomm_build_linear,
	},
};

static const char * const coll_names[] = {
	[HCOMM_COLL_NONE] = "none",
	[HCOMM_COLL_P2P] = "p2p",
	[HCOMM_COLL_BARRIER] = "barrier",
	[HCOMM_COLL_BROADCAST] = "broadcast",
	[HCOMM_COLL_REDUCE] = "reduce",
	[HCOMM_COLL_ALLREDUCE] = "allreduce",
	[HCOMM_COLL_REDUCE_SCATTER] = "reduce-scatter",
	[HCOMM_COLL_ALLGATHER] = "allgather",
	[HCOMM_COLL_GATHER] = "gather",
	[HCOMM_COLL_SCATTER] = "scatter",
	[HCOMM_COLL_ALLTOALL] = "alltoall",
	[HCOMM_COLL_SCAN] = "scan",
	[HCOMM_COLL_EXSCAN] = "exscan",
	[HCOMM_COLL_GROUP] = "group",
};

const char *hcomm_algo_name(uint32_t algo)
{
	return algo < HCOMM_ALGO_COUNT ? algos[algo].name : NULL;
}

int hcomm_algo_by_name(const char *name)
{
	uint32_t i;

	for (i = 0; i < HCOMM_ALGO_COUNT; i++) {
		if (!strcmp(algos[i].name, name))
			return i;
	}
	return -EINVAL;
}

bool hcomm_algo_supports(uint32_t algo, uint32_t coll)
{
	return algo < HCOMM_ALGO_COUNT && coll < 32 &&
	       algos[algo].colls & (1u << coll);
}

const char *hcomm_coll_name(uint32_t coll)
{
	return coll < sizeof(coll_names) / sizeof(coll_names[0]) ?
	       coll_names[coll] : NULL;
}

static bool reduces(uint32_t coll)
{
	return coll == HCOMM_COLL_ALLREDUCE || coll == HCOMM_COLL_REDUCE ||
	       coll == HCOMM_COLL_REDUCE_SCATTER || coll == HCOMM_COLL_SCAN ||
	       coll == HCOMM_COLL_EXSCAN;
}

int hcomm_sched_check(const struct hcomm_sched_args *args)
{
	uint32_t coll = args->coll;
	const struct algo *algo;
	int err = hcomm_args_check(args);

	if (!args->algo || args->algo >= HCOMM_ALGO_COUNT)
		return -EINVAL;
	if (err)
		return err;
	algo = &algos[args->algo];
	if (!hcomm_algo_supports(args->algo, coll) ||
	    (hcomm_args_vector(args) && !(algo->vector & (1u << coll))) ||
	    (args->fixed_order && reduces(coll) && !(algo->fixed & (1u << coll))))
		return -EOPNOTSUPP;
	return 0;
}

/* one rank: the output is the input, except that EXSCAN has none */
static void build_alone(struct hcomm_plan *plan,
			const struct hcomm_sched_args *args)
{
	uint64_t in = 0, out = 0, len = hcomm_block(args, 0, &in);

	if (args->coll == HCOMM_COLL_ALLGATHER || args->coll == HCOMM_COLL_GATHER ||
	    args->coll == HCOMM_COLL_REDUCE_SCATTER) {
		out = in;
		in = 0;
	}
	if (args->coll == HCOMM_COLL_ALLTOALL)
		hcomm_block_out(args, 0, &out);
	if (args->coll == HCOMM_COLL_BARRIER || args->coll == HCOMM_COLL_EXSCAN ||
	    args->in_place || !len)
		return;
	hcomm_plan_copy(plan, hcomm_output(out), hcomm_input(args, in), len);
}

/* what the algorithm knows of, and what AVG and PREMUL_SUM put around it */
static void build(struct hcomm_plan *plan, const struct hcomm_sched_args *args)
{
	bool average = reduces(args->coll) && args->redop == HCOMM_OP_AVG;
	bool scaled = reduces(args->coll) && args->redop == HCOMM_OP_PREMUL_SUM;
	struct hcomm_sched_args inner = *args;

	if (scaled)
		hcomm_scale_before(plan, args, &inner);
	if (args->nranks == 1)
		build_alone(plan, &inner);
	else
		algos[args->algo].build(plan, &inner);
	if (scaled)
		hcomm_scale_join(plan, args);
	if (average)
		hcomm_scale_after(plan, args);
}

int hcomm_sched_build(const struct hcomm_sched_args *args,
		      struct hcomm_plan **out)
{
	struct hcomm_sched_args a = *args;
	struct hcomm_plan *plan = NULL;
	uint64_t *memory;
	int err;

	err = hcomm_sched_check(&a);
	if (err)
		return err;
	err = hcomm_args_complete(&a, &memory);
	if (err)
		return err;

	err = -ENOMEM;
	plan = hcomm_plan_new(a.dtype, hcomm_redop_of_steps(a.redop));
	if (!plan)
		goto out;
	build(plan, &a);
	err = hcomm_plan_finish(plan);
	if (err)
		hcomm_plan_free(plan);
	else
		*out = plan;
out:
	free(memory);
	return err;
}
