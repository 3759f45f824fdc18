// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Binomial tree Broadcast, Reduce and AllReduce (R. Thakur, R. Rabenseifner,
 * W. Gropp: Optimization of collective communication operations in MPICH,
 * IJHPCA 19, 2005).
 *
 * With ranks counted from the root, the parent of v is v without its lowest
 * bit, and its children are v + 2^k for all 2^k below that bit.
 */
#include "builders.h"
#include "tree.h"

void hcomm_build_binomial(struct hcomm_plan *plan,
			  const struct hcomm_sched_args *args)
{
	uint32_t n = args->nranks, root = args->root, bit, height = 0;
	uint32_t v = hcomm_ring_sub(args->rank, root, n);
	struct hcomm_tree tree = { .parent = HCOMM_NO_RANK };

	if (v)
		tree.parent = ((v & (v - 1)) + root) % n;
	for (bit = 1; bit < n; bit <<= 1) {
		height++;
		if ((!v || bit < (v & -v)) && v + bit < n)
			tree.child[tree.nchildren++] = (v + bit + root) % n;
	}
	hcomm_tree_emit(plan, args, &tree, 1, height);
}
