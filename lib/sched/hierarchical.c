// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Hierarchical Broadcast, Reduce and Barrier: binomial trees inside nodes, between
 * the nodes of a group, and between groups (N. T. Karonis, B. R. de Supinski,
 * I. Foster, W. Gropp, E. Lusk, J. Bresnahan: Exploiting hierarchy in parallel
 * computer networks to optimize collective operation performance, IPDPS 2000).
 *
 * One rank leads each node and one node each group: the root, where it is, else the
 * first.  Data crosses into a node or a group once, whatever their sizes.
 */
#include "hierarchy.h"
#include "tree.h"

/* place of thing @i of @n in a binomial tree from @top; children by @i too */
struct place {
	uint32_t parent;
	uint32_t nchildren;
	uint32_t child[32];
};

static void binomial(struct place *p, uint32_t n, uint32_t top, uint32_t i)
{
	uint32_t v = hcomm_ring_sub(i, top, n), bit;

	p->parent = v ? ((v & (v - 1)) + top) % n : HCOMM_NO_RANK;
	p->nchildren = 0;
	for (bit = 1; bit < n && (!v || bit < (v & -v)); bit <<= 1) {
		if (v + bit < n)
			p->child[p->nchildren++] = (v + bit + top) % n;
	}
}

static void add_child(struct hcomm_tree *tree, uint32_t rank)
{
	tree->child[tree->nchildren++] = rank;
}

static void plant(const struct hcomm_sched_args *args, struct hcomm_tree *tree)
{
	uint32_t r = args->rank, node = hcomm_node_of(args, r), i;
	uint32_t group = hcomm_group_of(args, node);
	uint32_t lead = hcomm_leading_node(args, group);
	struct place p;

	tree->nchildren = 0;
	binomial(&p, hcomm_node_size(args, node),
		 hcomm_node_index(args, hcomm_leader(args, node)), hcomm_node_index(args, r));
	for (i = 0; i < p.nchildren; i++)
		add_child(tree, hcomm_node_rank(args, node, p.child[i]));
	if (p.parent != HCOMM_NO_RANK) {
		tree->parent = hcomm_node_rank(args, node, p.parent);
		return;
	}
	binomial(&p, hcomm_group_size(args, group), hcomm_group_index(args, lead),
		 hcomm_group_index(args, node));
	for (i = 0; i < p.nchildren; i++)
		add_child(tree, hcomm_leader(args, hcomm_group_node(args, group, p.child[i])));
	if (p.parent != HCOMM_NO_RANK) {
		tree->parent = hcomm_leader(args, hcomm_group_node(args, group, p.parent));
		return;
	}
	binomial(&p, hcomm_groups(args),
		 hcomm_group_of(args, hcomm_node_of(args, args->root)), group);
	for (i = 0; i < p.nchildren; i++)
		add_child(tree, hcomm_leader(args, hcomm_leading_node(args, p.child[i])));
	tree->parent = p.parent;
	if (p.parent != HCOMM_NO_RANK)
		tree->parent = hcomm_leader(args, hcomm_leading_node(args, p.parent));
}

static uint32_t log2_up(uint32_t n)
{
	uint32_t k = 0;

	while (1u << k < n)
		k++;
	return k;
}

/* up to the root when all are there, and back */
static void barrier(struct hcomm_plan *plan, const struct hcomm_sched_args *args,
		    const struct hcomm_tree *tree)
{
	uint32_t first = plan->nsteps, i, released = HCOMM_NO_STEP;

	for (i = 0; i < tree->nchildren; i++)
		hcomm_plan_recv(plan, tree->child[i], hcomm_output(0), 0);
	if (tree->parent != HCOMM_NO_RANK) {
		hcomm_plan_send(plan, tree->parent, hcomm_input(args, 0), 0);
		for (i = 0; i < tree->nchildren; i++)
			hcomm_plan_after(plan, first + i);
		released = hcomm_plan_recv(plan, tree->parent, hcomm_output(0), 0);
	} else {
		released = hcomm_plan_nop(plan);
		for (i = 0; i < tree->nchildren; i++)
			hcomm_plan_after(plan, first + i);
	}
	for (i = tree->nchildren; i-- > 0;) {
		hcomm_plan_send(plan, tree->child[i], hcomm_input(args, 0), 0);
		hcomm_plan_after(plan, released);
	}
}

void hcomm_build_hierarchical(struct hcomm_plan *plan,
			      const struct hcomm_sched_args *args)
{
	struct hcomm_tree tree;

	if (args->coll == HCOMM_COLL_GATHER || args->coll == HCOMM_COLL_SCATTER) {
		hcomm_build_hierarchical_gather(plan, args);
		return;
	}
	if (args->coll == HCOMM_COLL_ALLREDUCE) {
		hcomm_build_hierarchical_allreduce(plan, args);
		return;
	}
	if (args->coll == HCOMM_COLL_ALLGATHER) {
		hcomm_build_hierarchical_allgather(plan, args);
		return;
	}
	if (args->coll == HCOMM_COLL_REDUCE_SCATTER) {
		hcomm_build_hierarchical_reduce_scatter(plan, args);
		return;
	}
	plant(args, &tree);
	if (args->coll == HCOMM_COLL_BARRIER)
		barrier(plan, args, &tree);
	else
		hcomm_tree_emit(plan, args, &tree, 1,
				log2_up(hcomm_largest_node(args)) +
				log2_up(hcomm_largest_group(args)) +
				log2_up(hcomm_groups(args)));
}
