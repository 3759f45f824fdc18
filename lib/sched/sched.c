// SPDX-License-Identifier: LGPL-2.1-or-later
/* The door to the builders: arguments are checked here, once for all of them. */
#include <errno.h>
#include <string.h>

#include "builders.h"

#define COLL(c)	(1u << HCOMM_COLL_##c)

static const struct algo {
	const char *name;
	uint32_t colls;
} algos[HCOMM_ALGO_COUNT] = {
	[HCOMM_ALGO_NONE] = { "none", 0 },
	[HCOMM_ALGO_RING] = {
		"ring", COLL(ALLREDUCE) | COLL(REDUCE_SCATTER) | COLL(ALLGATHER),
	},
	[HCOMM_ALGO_BINOMIAL] = {
		"binomial", COLL(BROADCAST) | COLL(REDUCE) | COLL(ALLREDUCE),
	},
	[HCOMM_ALGO_DOUBLE_TREE] = {
		"double-tree", COLL(BROADCAST) | COLL(REDUCE) | COLL(ALLREDUCE),
	},
	[HCOMM_ALGO_RECURSIVE_DOUBLING] = {
		"recursive-doubling", COLL(ALLREDUCE),
	},
	[HCOMM_ALGO_DIRECT] = { "direct", COLL(ALLREDUCE) },
	[HCOMM_ALGO_DISSEMINATION] = { "dissemination", COLL(BARRIER) },
	[HCOMM_ALGO_P2P] = { "p2p", COLL(P2P) },
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

uint32_t hcomm_dtype_bytes(uint32_t dtype)
{
	static const uint8_t bytes[HCOMM_DT_COUNT] = {
		[HCOMM_DT_INT8] = 1, [HCOMM_DT_UINT8] = 1,
		[HCOMM_DT_INT16] = 2, [HCOMM_DT_UINT16] = 2,
		[HCOMM_DT_INT32] = 4, [HCOMM_DT_UINT32] = 4,
		[HCOMM_DT_INT64] = 8, [HCOMM_DT_UINT64] = 8,
		[HCOMM_DT_FP16] = 2, [HCOMM_DT_BF16] = 2,
		[HCOMM_DT_FP32] = 4, [HCOMM_DT_FP64] = 8,
	};

	return dtype < HCOMM_DT_COUNT ? bytes[dtype] : 0;
}

uint64_t hcomm_sched_buffer_size(const struct hcomm_sched_args *args,
				 uint32_t slot)
{
	uint64_t one = args->count * hcomm_dtype_bytes(args->dtype);
	uint64_t all = one * args->nranks;
	bool root = args->rank == args->root;

	if (slot != HCOMM_SLOT_SEND && slot != HCOMM_SLOT_RECV)
		return 0;
	if (args->in_place && slot == HCOMM_SLOT_SEND)
		return 0;
	switch (args->coll) {
	case HCOMM_COLL_ALLREDUCE:
		return one;
	case HCOMM_COLL_BROADCAST:
		return slot == HCOMM_SLOT_RECV || root ? one : 0;
	case HCOMM_COLL_REDUCE:
		return slot == HCOMM_SLOT_SEND || args->in_place || root ? one : 0;
	case HCOMM_COLL_ALLGATHER:
		return slot == HCOMM_SLOT_SEND ? one : all;
	case HCOMM_COLL_REDUCE_SCATTER:
		return slot == HCOMM_SLOT_SEND || args->in_place ? all : one;
	case HCOMM_COLL_P2P:
		if (slot == HCOMM_SLOT_SEND)
			return root ? one : 0;
		return args->rank == args->peer || (args->in_place && root) ? one : 0;
	default:
		return 0;
	}
}

static int check_args(const struct hcomm_sched_args *a)
{
	uint32_t size = hcomm_dtype_bytes(a->dtype);

	if (!a->nranks || a->nranks > HCOMM_MAX_RANKS || a->rank >= a->nranks ||
	    a->root >= a->nranks || a->peer >= a->nranks || !size ||
	    a->redop >= HCOMM_OP_COUNT || !a->chunk_size ||
	    a->channels > HCOMM_SCHED_MAX_CHANNELS ||
	    !a->algo || a->algo >= HCOMM_ALGO_COUNT)
		return -EINVAL;
	if (!hcomm_algo_supports(a->algo, a->coll))
		return -EOPNOTSUPP;
	if (a->count > (1ull << 60) / size / a->nranks)
		return -EOVERFLOW;
	return 0;
}

/* one rank: the output is the input */
static void build_alone(struct hcomm_plan *plan,
			const struct hcomm_sched_args *args)
{
	uint64_t len = args->count * hcomm_dtype_bytes(args->dtype);

	if (args->coll != HCOMM_COLL_BARRIER && !args->in_place && len)
		hcomm_plan_copy(plan, hcomm_output(0), hcomm_input(args, 0), len);
}

static void build(struct hcomm_plan *plan, const struct hcomm_sched_args *args)
{
	switch (args->algo) {
	case HCOMM_ALGO_RING:
		if (args->coll == HCOMM_COLL_ALLREDUCE)
			hcomm_build_ring_allreduce(plan, args);
		else if (args->coll == HCOMM_COLL_REDUCE_SCATTER)
			hcomm_build_ring_reduce_scatter(plan, args);
		else
			hcomm_build_ring_allgather(plan, args);
		break;
	case HCOMM_ALGO_BINOMIAL:
		hcomm_build_binomial(plan, args);
		break;
	case HCOMM_ALGO_DOUBLE_TREE:
		hcomm_build_double_tree(plan, args);
		break;
	case HCOMM_ALGO_RECURSIVE_DOUBLING:
		hcomm_build_recursive_doubling(plan, args);
		break;
	case HCOMM_ALGO_DIRECT:
		hcomm_build_direct(plan, args);
		break;
	case HCOMM_ALGO_DISSEMINATION:
		hcomm_build_dissemination(plan, args);
		break;
	case HCOMM_ALGO_P2P:
		hcomm_build_p2p(plan, args);
		break;
	}
}

int hcomm_sched_build(const struct hcomm_sched_args *args,
		      struct hcomm_plan **out)
{
	struct hcomm_sched_args a = *args;
	struct hcomm_plan *plan;
	int err;

	err = check_args(&a);
	if (err)
		return err;
	if (!a.channels)
		a.channels = 1;

	plan = hcomm_plan_new(a.dtype, a.redop);
	if (!plan)
		return -ENOMEM;
	if (a.nranks == 1)
		build_alone(plan, &a);
	else
		build(plan, &a);
	err = hcomm_plan_finish(plan);
	if (err) {
		hcomm_plan_free(plan);
		return err;
	}
	*out = plan;
	return 0;
}
