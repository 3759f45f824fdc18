// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Non-uniform hierarchical ring: ReduceScatter, AllGather, and AllReduce as one
 * after the other, in ceil(log2 n) rounds for any number of ranks, with the data of
 * a ring.  Each block travels along a binomial tree that is turned to end at its
 * rank (J. Bruck, C.-T. Ho, S. Kipnis, E. Upfal, D. Weathersby: Efficient algorithms
 * for all-to-all communications in multiport message-passing systems, IEEE TPDS
 * 8, 1997, has the trees; with blocks taken in strides instead of ranges they
 * need neither rotation nor a power of two).
 *
 * Round k of the reduce-scatter is a ring of stride 2^k: rank r sends to r - 2^k
 * its partial results of the blocks at distance 2^k, 3 * 2^k, 5 * 2^k, ... below
 * r, those that r - 2^k has at an even multiple of it.  A block of rank x so goes
 * from rank x + d to x + d without its lowest bit.  The rings get shorter and
 * non-uniform as strides grow; near neighbours exchange most.  The allgather goes
 * the other way.
 *
 * A ReduceScatter has half of the blocks in scratch memory at a time.  To bound that,
 * large blocks are done in sections.
 */
#include <errno.h>
#include <stdlib.h>

#include "blocks.h"
#include "builders.h"

static uint32_t rank_of(const struct hcomm_team *t, uint32_t i)
{
	return t->rank ? t->rank[i] : i;
}

/* blocks of a round: @first, and so on downwards by two strides */
static uint32_t blocks_of(const struct hcomm_team *t, uint32_t stride)
{
	return (t->n - 1 + stride) / (2 * stride);
}

static uint32_t block_at(const struct hcomm_team *t, uint32_t first, uint32_t i,
			 uint32_t stride)
{
	return hcomm_ring_sub(first, (uint64_t)2 * stride * i % t->n, t->n);
}

void hcomm_strides_reduce_scatter(struct hcomm_plan *plan, const struct hcomm_team *t,
				  struct hcomm_blk *blk)
{
	uint32_t stride, i, to, from, n;

	for (stride = 1; stride < t->n; stride *= 2) {
		to = hcomm_ring_sub(t->me, stride, t->n);
		from = (t->me + stride) % t->n;
		n = blocks_of(t, stride);
		for (i = 0; i < n; i++) {
			hcomm_blk_send(plan, &blk[block_at(t, to, i, stride)],
				       rank_of(t, to));
			hcomm_blk_reduce(plan, &blk[block_at(t, t->me, i, stride)],
					 rank_of(t, from));
		}
	}
}

void hcomm_strides_allgather(struct hcomm_plan *plan, const struct hcomm_team *t,
			     struct hcomm_blk *blk)
{
	uint32_t stride = 1, i, to, from, n;

	while (stride * 2 < t->n)
		stride *= 2;
	for (; stride; stride /= 2) {
		if (stride >= t->n)
			break;
		to = (t->me + stride) % t->n;
		from = hcomm_ring_sub(t->me, stride, t->n);
		n = blocks_of(t, stride);
		for (i = 0; i < n; i++) {
			hcomm_blk_send(plan, &blk[block_at(t, t->me, i, stride)],
				       rank_of(t, to));
			hcomm_blk_recv(plan, &blk[block_at(t, from, i, stride)],
				       rank_of(t, from));
		}
	}
}

static struct hcomm_blk block(const struct hcomm_sched_args *args, uint32_t i)
{
	uint32_t size = hcomm_dtype_bytes(args->dtype);
	bool own = i == args->rank;
	uint64_t off, first, len;

	if (args->coll == HCOMM_COLL_ALLREDUCE) {
		len = hcomm_split(args->count, args->nranks, i, &first) * size;
		off = first * size;
		return hcomm_blk(len, hcomm_input(args, off), hcomm_output(off));
	}
	len = hcomm_block(args, i, &off);
	return hcomm_blk(len, own && !args->in_place ? hcomm_input(args, 0) :
			 hcomm_output(off), hcomm_output(off));
}

static void reduce_scatter(struct hcomm_plan *plan, const struct hcomm_sched_args *args,
			   const struct hcomm_team *team, struct hcomm_blk *blk)
{
	uint32_t nsec = hcomm_sections(args), q, i;

	for (q = 0; q < nsec && !plan->err; q++) {
		for (i = 0; i < team->n; i++)
			blk[i] = hcomm_section(args, i, q, nsec, &blk[i]);
		hcomm_strides_reduce_scatter(plan, team, blk);
	}
}

void hcomm_build_nonuniform_ring(struct hcomm_plan *plan,
				 const struct hcomm_sched_args *args)
{
	struct hcomm_team team = { .n = args->nranks, .me = args->rank };
	struct hcomm_blk *blk = malloc(team.n * sizeof(*blk));
	uint32_t i;

	if (!blk) {
		hcomm_plan_fail(plan, -ENOMEM);
		return;
	}
	if (args->coll == HCOMM_COLL_REDUCE_SCATTER) {
		reduce_scatter(plan, args, &team, blk);
		goto out;
	}
	for (i = 0; i < team.n; i++)
		blk[i] = block(args, i);
	if (args->coll == HCOMM_COLL_ALLREDUCE)
		hcomm_strides_reduce_scatter(plan, &team, blk);
	hcomm_strides_allgather(plan, &team, blk);
	hcomm_blk_settle(plan, &blk[team.me]);
out:
	free(blk);
}
