// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Bidirectional ring AllReduce and AllGather: half of each block goes round the ring
 * one way, half the other way, so that both directions of every link are used by
 * one collective (P. Patarasuk, X. Yuan: Bandwidth optimal all-reduce algorithms for
 * clusters of workstations, JPDC 69, 2009, for one direction; the two do not
 * depend on each other).
 */
#include <errno.h>
#include <stdlib.h>

#include "blocks.h"
#include "builders.h"

/* a piece of a block goes up (even) or down the ring (odd pieces) */
static struct hcomm_blk piece(const struct hcomm_sched_args *args, uint32_t i,
			      uint32_t p, uint32_t pieces)
{
	uint64_t off, first, cnt, size = hcomm_dtype_bytes(args->dtype);
	struct hcomm_loc in;

	if (args->coll == HCOMM_COLL_ALLREDUCE) {
		cnt = hcomm_split(args->count, args->nranks, i, &off);
		off *= size;
	} else {
		cnt = hcomm_block(args, i, &off) / size;
	}
	cnt = hcomm_split(cnt, pieces, p, &first);
	off += first * size;
	in = hcomm_input(args, off);
	if (args->coll == HCOMM_COLL_ALLGATHER && !args->in_place)
		in = i == args->rank ? hcomm_input(args, first * size) : hcomm_output(off);
	return hcomm_blk(cnt * size, in, hcomm_output(off));
}

/* the rank @dist further on, in the direction of a piece */
static uint32_t further(const struct hcomm_sched_args *args, uint32_t p, uint32_t dist)
{
	uint32_t n = args->nranks, r = args->rank;

	return p % 2 ? hcomm_ring_sub(r, dist % n, n) : (r + dist % n) % n;
}

void hcomm_build_bidirectional_ring(struct hcomm_plan *plan,
				    const struct hcomm_sched_args *args)
{
	uint32_t n = args->nranks, pieces = 2 * args->channels, s, p, i;
	struct hcomm_blk *blk = malloc((size_t)n * pieces * sizeof(*blk));
	uint32_t next, prev;

	if (!blk) {
		hcomm_plan_fail(plan, -ENOMEM);
		return;
	}
	for (i = 0; i < n * pieces; i++)
		blk[i] = piece(args, i / pieces, i % pieces, pieces);

	/* block r - s - 1 goes on, so that block r ends here */
	for (s = 0; s < n - 1 && args->coll == HCOMM_COLL_ALLREDUCE; s++) {
		for (p = 0; p < pieces; p++) {
			next = further(args, p, 1);
			prev = further(args, p, n - 1);
			hcomm_blk_send(plan, &blk[further(args, p, n - s - 1) * pieces + p],
				       next);
			hcomm_blk_reduce(plan,
					 &blk[further(args, p, 2 * n - s - 2) * pieces + p],
					 prev);
		}
	}
	for (s = 0; s < n - 1; s++) {
		for (p = 0; p < pieces; p++) {
			next = further(args, p, 1);
			prev = further(args, p, n - 1);
			hcomm_blk_send(plan, &blk[further(args, p, n - s) * pieces + p],
				       next);
			hcomm_blk_recv(plan, &blk[further(args, p, n - s - 1) * pieces + p],
				       prev);
		}
	}
	for (p = 0; p < pieces; p++)
		hcomm_blk_settle(plan, &blk[args->rank * pieces + p]);
	free(blk);
}
