/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Pipelined trees: what the binomial and the double binary tree share.
 */
#ifndef HCOMM_SCHED_TREE_H
#define HCOMM_SCHED_TREE_H

#include "plan.h"

#define HCOMM_MAX_TREES		2
#define HCOMM_TREE_FANOUT	384	/* children: 6 digits of 63, for any rank of 32 bits */

/**
 * struct hcomm_tree - one rank's place in a tree
 * @parent: rank, HCOMM_NO_RANK at the root
 * @nchildren: number of children
 * @child: ranks, that with the smallest subtree first
 */
struct hcomm_tree {
	uint32_t parent;
	uint32_t nchildren;
	uint32_t child[HCOMM_TREE_FANOUT];
};

#define HCOMM_NO_RANK	UINT32_MAX

/**
 * hcomm_tree_emit - append what args->coll does on trees
 * @plan: plan
 * @args: BROADCAST, REDUCE or ALLREDUCE
 * @trees: this rank's place in each tree; each carries an equal part of the data
 * @ntrees: number of trees
 * @height: at least the height of each tree, equal on all ranks
 */
void hcomm_tree_emit(struct hcomm_plan *plan, const struct hcomm_sched_args *args,
		     const struct hcomm_tree *trees, uint32_t ntrees,
		     uint32_t height);

/**
 * hcomm_tree_slices - into how many messages a pipeline cuts data
 * @args: arguments
 * @count: elements of it
 *
 * Return: the number; slices are those of hcomm_split(), and may be empty.
 */
uint32_t hcomm_tree_slices(const struct hcomm_sched_args *args, uint64_t count);

#endif /* HCOMM_SCHED_TREE_H */
