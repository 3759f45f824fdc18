// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * K-nomial tree: Broadcast, Reduce, AllReduce, Gather and Scatter (the multi-port
 * trees of A. Bar-Noy, C.-T. Ho: Broadcasting multiple messages in the multiport
 * model, IEEE TPDS 10, 1999, with k - 1 ports).
 *
 * With ranks counted from the root and written with digits of base k, the parent
 * of v is v with its lowest digit that is not 0 set to 0, and its children are
 * v + j * k^i for all digits j and places i below that.  Its subtree is a range
 * from v on.
 */
#include "builders.h"
#include "knomial.h"

uint32_t hcomm_knomial_tree(const struct hcomm_sched_args *args, uint32_t radix,
			    struct hcomm_tree *tree)
{
	uint32_t n = args->nranks, root = args->root, height = 0, j;
	uint32_t v = hcomm_ring_sub(args->rank, root, n);
	uint64_t place;

	tree->parent = HCOMM_NO_RANK;
	tree->nchildren = 0;
	for (place = 1; place < n; place *= radix) {
		height += radix - 1;
		if (tree->parent != HCOMM_NO_RANK)
			continue;
		j = v / place % radix;
		if (j) {
			tree->parent = (v - j * place + root) % n;
			continue;
		}
		for (j = 1; j < radix && v + j * place < n; j++)
			tree->child[tree->nchildren++] = (v + j * place + root) % n;
	}
	return height;
}

void hcomm_build_knomial(struct hcomm_plan *plan, const struct hcomm_sched_args *args)
{
	struct hcomm_tree tree;
	uint32_t height;

	if (args->coll == HCOMM_COLL_GATHER || args->coll == HCOMM_COLL_SCATTER) {
		hcomm_knomial_gather(plan, args);
		return;
	}
	height = hcomm_knomial_tree(args, args->radix, &tree);
	hcomm_tree_emit(plan, args, &tree, 1, height);
}
