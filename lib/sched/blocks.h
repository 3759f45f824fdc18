/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Blocks that travel: partial results of a reduce-scatter, then complete ones of
 * an allgather, each block a message of its own.  What a step has to wait for
 * follows from the block alone, so builders only say who sends what to whom.
 */
#ifndef HCOMM_SCHED_BLOCKS_H
#define HCOMM_SCHED_BLOCKS_H

#include "plan.h"

/**
 * struct hcomm_blk - a block, as it is at this rank
 * @len: bytes
 * @at: where its value is
 * @acc: where results go; no slot yet: scratch memory that is reserved then
 * @made: step that made the value, HCOMM_NO_STEP: it was there from the start
 * @reader: SEND that reads @acc
 */
struct hcomm_blk {
	uint64_t len;
	struct hcomm_loc at;
	struct hcomm_loc acc;
	uint32_t made;
	uint32_t reader;
};

#define HCOMM_NO_SLOT	UINT32_MAX

static inline struct hcomm_blk hcomm_blk(uint64_t len, struct hcomm_loc at,
					 struct hcomm_loc acc)
{
	return (struct hcomm_blk){
		.len = len, .at = at, .acc = acc,
		.made = HCOMM_NO_STEP, .reader = HCOMM_NO_STEP,
	};
}

/* nothing is emitted for an empty block */
void hcomm_blk_send(struct hcomm_plan *plan, struct hcomm_blk *b, uint32_t peer);
void hcomm_blk_reduce(struct hcomm_plan *plan, struct hcomm_blk *b, uint32_t peer);
void hcomm_blk_recv(struct hcomm_plan *plan, struct hcomm_blk *b, uint32_t peer);

/* the value, to its place, if it is elsewhere; after what has been emitted */
void hcomm_blk_settle(struct hcomm_plan *plan, struct hcomm_blk *b);

/*
 * Section @q of @nsec of block @i of a REDUCE_SCATTER; partial results are where those
 * of the section before were.
 */
struct hcomm_blk hcomm_section(const struct hcomm_sched_args *args, uint32_t i, uint32_t q,
			       uint32_t nsec, const struct hcomm_blk *before);

/**
 * struct hcomm_team - some ranks, each with a block
 * @n: how many
 * @me: which of them this rank is
 * @rank: their ranks; NULL: all, from 0
 */
struct hcomm_team {
	uint32_t n;
	uint32_t me;
	const uint32_t *rank;
};

/*
 * Rings of growing stride, see nonuniform_ring.c: afterwards block @me is complete
 * here, or all blocks are.
 */
void hcomm_strides_reduce_scatter(struct hcomm_plan *plan, const struct hcomm_team *team,
				  struct hcomm_blk *blk);
void hcomm_strides_allgather(struct hcomm_plan *plan, const struct hcomm_team *team,
			     struct hcomm_blk *blk);

#endif /* HCOMM_SCHED_BLOCKS_H */
