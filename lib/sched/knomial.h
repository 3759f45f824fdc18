/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* K-nomial trees: a rank's place in one, and the collectives of blocks on them. */
#ifndef HCOMM_SCHED_KNOMIAL_H
#define HCOMM_SCHED_KNOMIAL_H

#include "tree.h"

/* the place of args->rank in the tree from args->root; returns its height */
uint32_t hcomm_knomial_tree(const struct hcomm_sched_args *args, uint32_t radix,
			    struct hcomm_tree *tree);

/* GATHER and SCATTER */
void hcomm_knomial_gather(struct hcomm_plan *plan, const struct hcomm_sched_args *args);

/* ranks in the subtree of rank @v counted from the root, which are v, v + 1, ... */
static inline uint32_t hcomm_knomial_subtree(uint32_t v, uint32_t n, uint32_t radix)
{
	uint64_t place = 1;

	while (place < n && v / place % radix == 0)
		place *= radix;
	return place < n - v ? place : n - v;
}

#endif /* HCOMM_SCHED_KNOMIAL_H */
