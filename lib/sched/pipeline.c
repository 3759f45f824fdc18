// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Pipeline: Broadcast, Reduce and AllReduce along a chain of all ranks (J. Watts,
 * R. van de Geijn: A pipelined broadcast for multidimensional meshes, Parallel
 * Processing Letters 5, 1995).
 *
 * The data goes in slices, one behind the other: every rank sends and receives each
 * byte once, whatever the number of ranks, and the n - 1 hops count only once.
 *
 * Reductions begin at rank 0 and end at rank n - 1, so they are made in the order of
 * ranks whatever the root; from there the result goes to the root, or back down
 * the chain to all.
 */
#include "builders.h"
#include "tree.h"

#define BUFFERS	8	/* slices of scratch memory */

static void broadcast(struct hcomm_plan *plan, const struct hcomm_sched_args *args)
{
	uint32_t n = args->nranks, r = args->rank, v = hcomm_ring_sub(r, args->root, n);
	struct hcomm_tree tree = { .parent = HCOMM_NO_RANK };

	if (v)
		tree.parent = hcomm_ring_sub(r, 1, n);
	if (v + 1 < n)
		tree.child[tree.nchildren++] = (r + 1) % n;
	hcomm_tree_emit(plan, args, &tree, 1, n - 1);
}

static void allreduce(struct hcomm_plan *plan, const struct hcomm_sched_args *args)
{
	struct hcomm_tree tree = { .parent = args->rank + 1 };

	if (tree.parent == args->nranks)
		tree.parent = HCOMM_NO_RANK;
	if (args->rank)
		tree.child[tree.nchildren++] = args->rank - 1;
	hcomm_tree_emit(plan, args, &tree, 1, args->nranks - 1);
}

/* returns the SEND that reads @acc */
static uint32_t reduce_slice(struct hcomm_plan *plan, const struct hcomm_sched_args *args,
			     uint64_t off, uint64_t len, struct hcomm_loc acc,
			     uint32_t reader)
{
	uint32_t r = args->rank, top = args->nranks - 1, made = HCOMM_NO_STEP;
	struct hcomm_loc in = hcomm_input(args, off), src = in;
	uint32_t sent = HCOMM_NO_STEP;

	if (r) {
		made = hcomm_plan_recv_reduce(plan, r - 1, acc, in, len);
		hcomm_plan_stream(plan, reader);
		src = acc;
	}
	if (r != top || args->root != top) {
		sent = hcomm_plan_send(plan, r == top ? args->root : r + 1, src, len);
		hcomm_plan_stream(plan, made);
	}
	if (r == args->root && r != top) {
		hcomm_plan_recv(plan, top, hcomm_output(off), len);
		/* what was read last from the input */
		if (args->in_place)
			hcomm_plan_stream(plan, r ? made : sent);
	}
	return sent;
}

static void reduce(struct hcomm_plan *plan, const struct hcomm_sched_args *args)
{
	uint32_t size = hcomm_dtype_bytes(args->dtype), top = args->nranks - 1;
	uint32_t nslices = hcomm_tree_slices(args, args->count), t, i;
	bool at_end = args->rank == top && args->root == top;
	uint64_t first, len = hcomm_split(args->count, nslices, 0, &first) * size;
	struct hcomm_loc acc[BUFFERS];
	uint32_t reader[BUFFERS];

	for (i = 0; i < BUFFERS; i++) {
		reader[i] = HCOMM_NO_STEP;
		acc[i] = hcomm_output(0);
		if (args->rank && !at_end && i < nslices)
			acc[i] = hcomm_loc(HCOMM_SLOT_SCRATCH,
					   hcomm_plan_scratch(plan, len));
	}
	for (t = 0; t < nslices && !plan->err; t++) {
		i = t % BUFFERS;
		len = hcomm_split(args->count, nslices, t, &first) * size;
		if (len)
			reader[i] = reduce_slice(plan, args, first * size, len,
						 at_end ? hcomm_output(first * size) :
						 acc[i], reader[i]);
	}
}

void hcomm_build_pipeline(struct hcomm_plan *plan, const struct hcomm_sched_args *args)
{
	if (args->coll == HCOMM_COLL_BROADCAST)
		broadcast(plan, args);
	else if (args->coll == HCOMM_COLL_REDUCE)
		reduce(plan, args);
	else
		allreduce(plan, args);
}
