/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Rounds of exchanges at growing distance: what Bruck and non-uniform Bruck share.
 * Blocks are counted from the own one: block i of a rank is that of rank + i.
 * A round is one message each way, cut only where the numbering wraps.
 */
#ifndef HCOMM_SCHED_BRUCK_H
#define HCOMM_SCHED_BRUCK_H

#include "builders.h"

#define HCOMM_BRUCK_ROUNDS	32
#define HCOMM_BRUCK_PIECES	6	/* of a round's message */

/**
 * struct hcomm_bruck_steps - a few steps to wait for
 * @n: how many
 * @step: steps
 */
struct hcomm_bruck_steps {
	uint32_t n;
	uint32_t step[HCOMM_BRUCK_PIECES];
};

/**
 * struct hcomm_bruck - a run of rounds
 * @plan: plan
 * @args: arguments
 * @rounds: how many
 * @distance: of each round: 1 < ... < @distance[@rounds], the number of ranks
 * @sent: by round, SENDs from the output that its RECVs overwrite
 * @made: what made the own block
 */
struct hcomm_bruck {
	struct hcomm_plan *plan;
	const struct hcomm_sched_args *args;
	uint32_t rounds;
	uint32_t distance[HCOMM_BRUCK_ROUNDS + 1];
	struct hcomm_bruck_steps sent[HCOMM_BRUCK_ROUNDS];
	struct hcomm_bruck_steps made;
};

/* a range of blocks that is contiguous in a buffer of all */
struct hcomm_bruck_piece {
	uint32_t first;
	uint64_t off;
	uint64_t len;
};

/*
 * Cut blocks @lo to @hi - 1 of rank @rank where the numbering wraps, and before
 * each of the blocks in @cuts, which must be in ascending order.
 */
uint32_t hcomm_bruck_cut(const struct hcomm_bruck *b, uint32_t rank, uint32_t lo,
			 uint32_t hi, const uint32_t *cuts, uint32_t ncuts,
			 struct hcomm_bruck_piece *pieces);

/* byte in a buffer of all blocks where that of a rank begins; n: the end */
uint64_t hcomm_bruck_start(const struct hcomm_bruck *b, uint32_t rank);

/* the last step waits for all of them */
void hcomm_bruck_after(struct hcomm_plan *plan, const struct hcomm_bruck_steps *s);

/* all blocks to all ranks; the own one is in the output */
void hcomm_bruck_allgather(struct hcomm_bruck *b);

/* put the own block of an ALLGATHER into the output */
void hcomm_bruck_own(struct hcomm_bruck *b);

#endif /* HCOMM_SCHED_BRUCK_H */
