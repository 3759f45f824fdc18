// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Double binary tree Broadcast, Reduce and AllReduce (P. Sanders, J. Speck,
 * J. L. Traeff: Two-tree algorithms for full bandwidth broadcast, reduction and
 * scan, Parallel Computing 35, 2009).
 *
 * Two trees span the ranks other than the root, such that no rank has children
 * in both; each carries half of the data, and the root is above both.  So every
 * rank sends and receives each byte about once.
 *
 * Both trees are in-order trees of p nodes numbered from 1: a node with lowest
 * bit b has its children b/2 to either side; where that is beyond p the right
 * child is the nearest that is not.  Odd nodes are leaves.  The second tree is
 * the first one mirrored (p even) or shifted by one (p odd), which turns odd
 * into even.
 */
#include "builders.h"
#include "tree.h"

/* node of a rank other than the root, and back */
static uint32_t node_of(uint32_t tree, uint32_t rel, uint32_t p)
{
	if (!tree)
		return rel;
	return p % 2 ? rel % p + 1 : p + 1 - rel;
}

static uint32_t rel_of(uint32_t tree, uint32_t node, uint32_t p)
{
	if (!tree)
		return node;
	return p % 2 ? (node + p - 2) % p + 1 : p + 1 - node;
}

static uint32_t top_node(uint32_t p)
{
	uint32_t top = 1;

	while (2 * top <= p)
		top *= 2;
	return top;
}

static void place(struct hcomm_tree *t, uint32_t which, uint32_t rel, uint32_t p,
		  uint32_t root)
{
	uint32_t v = node_of(which, rel, p), bit = v & -v, up, c;
	uint32_t n = p + 1;

	up = (v ^ bit) | (bit << 1);
	if (up > p)
		up = v ^ bit;
	t->parent = v == top_node(p) ? root :
				       (rel_of(which, up, p) + root) % n;

	t->nchildren = 0;
	for (c = bit / 2; c; c /= 2) {
		if (v + c <= p) {
			t->child[t->nchildren++] =
				(rel_of(which, v + c, p) + root) % n;
			break;
		}
	}
	/* the left subtree is complete, so it is the larger one */
	if (bit > 1)
		t->child[t->nchildren++] =
			(rel_of(which, v - bit / 2, p) + root) % n;
}

void hcomm_build_double_tree(struct hcomm_plan *plan,
			     const struct hcomm_sched_args *args)
{
	uint32_t n = args->nranks, p = n - 1, root = args->root, t, height = 1;
	uint32_t rel = hcomm_ring_sub(args->rank, root, n);
	struct hcomm_tree trees[2];

	for (t = 1; t < n; t *= 2)
		height++;
	for (t = 0; t < 2; t++) {
		if (rel) {
			place(&trees[t], t, rel, p, root);
			continue;
		}
		trees[t].parent = HCOMM_NO_RANK;
		trees[t].nchildren = 1;
		trees[t].child[0] = (rel_of(t, top_node(p), p) + root) % n;
	}
	hcomm_tree_emit(plan, args, trees, 2, height);
}
