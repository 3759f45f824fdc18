// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Gather and Scatter on a k-nomial tree: the blocks of a subtree travel as one
 * message, so every rank but the root sends or receives one.
 *
 * Inner ranks keep them in scratch memory, in the order of ranks counted from the
 * root.  The root's buffer has them in the order of ranks: a message to or from it
 * is two where that numbering wraps.
 */
#include "builders.h"
#include "knomial.h"

struct place {
	const struct hcomm_sched_args *args;
	uint64_t len;		/* of a block */
	uint32_t v;		/* this rank, counted from the root */
	struct hcomm_loc mem;	/* blocks of the subtree, not at the root */
};

/* ranges of a subtree's blocks as messages with a parent: 1 or 2 */
static uint32_t messages(const struct place *p, uint32_t v, uint32_t count, bool to_root,
			 uint32_t *first, uint32_t *n)
{
	uint32_t wrap = p->args->nranks - p->args->root;

	first[0] = v;
	n[0] = count;
	if (!to_root || v >= wrap || v + count <= wrap)
		return 1;
	n[0] = wrap - v;
	first[1] = wrap;
	n[1] = count - n[0];
	return 2;
}

static struct hcomm_loc where(const struct place *p, uint32_t v, bool in)
{
	uint32_t n = p->args->nranks;

	if (p->v)
		return hcomm_loc(p->mem.slot, p->mem.off + (v - p->v) * p->len);
	v = (uint32_t)(((uint64_t)v + p->args->root) % n);
	return in ? hcomm_input(p->args, v * p->len) : hcomm_output(v * p->len);
}

static void gather(struct hcomm_plan *plan, const struct place *p,
		   const struct hcomm_tree *tree, uint32_t sub)
{
	const struct hcomm_sched_args *args = p->args;
	uint32_t first[2], count[2], c, v, i, k, n, steps = plan->nsteps;
	struct hcomm_loc own = hcomm_input(args, 0);

	if (sub > 1 && !(args->in_place && !p->v))
		hcomm_plan_copy(plan, where(p, p->v, false), own, p->len);
	for (c = 0; c < tree->nchildren; c++) {
		v = hcomm_ring_sub(tree->child[c], args->root, args->nranks);
		n = messages(p, v, hcomm_knomial_subtree(v, args->nranks, args->radix),
			     !p->v, first, count);
		for (i = 0; i < n; i++)
			hcomm_plan_recv(plan, tree->child[c], where(p, first[i], false),
					count[i] * p->len);
	}
	if (!p->v)
		return;
	k = plan->nsteps;
	n = messages(p, p->v, sub, tree->parent == args->root, first, count);
	for (i = 0; i < n; i++) {
		hcomm_plan_send(plan, tree->parent,
				sub > 1 ? where(p, first[i], false) : own,
				count[i] * p->len);
		for (c = steps; c < k; c++)
			hcomm_plan_after(plan, c);
	}
}

static void scatter(struct hcomm_plan *plan, const struct place *p,
		    const struct hcomm_tree *tree, uint32_t sub)
{
	const struct hcomm_sched_args *args = p->args;
	uint32_t first[2], count[2], c, v, i, k, n, steps = plan->nsteps;

	if (p->v) {
		n = messages(p, p->v, sub, tree->parent == args->root, first, count);
		for (i = 0; i < n; i++)
			hcomm_plan_recv(plan, tree->parent, sub > 1 ?
					where(p, first[i], false) : hcomm_output(0),
					count[i] * p->len);
	}
	k = plan->nsteps;
	/* the largest subtree first: it needs the most time */
	for (c = tree->nchildren; c-- > 0;) {
		v = hcomm_ring_sub(tree->child[c], args->root, args->nranks);
		n = messages(p, v, hcomm_knomial_subtree(v, args->nranks, args->radix),
			     !p->v, first, count);
		while (n-- > 0) {
			hcomm_plan_send(plan, tree->child[c], where(p, first[0], true),
					count[0] * p->len);
			for (i = steps; i < k; i++)
				hcomm_plan_after(plan, i);
			first[0] = first[1];
			count[0] = count[1];
		}
	}
	if (sub == 1 || (!p->v && args->in_place))
		return;
	hcomm_plan_copy(plan, hcomm_output(0), where(p, p->v, true), p->len);
	if (k > steps)
		hcomm_plan_after(plan, steps);
}

void hcomm_knomial_gather(struct hcomm_plan *plan, const struct hcomm_sched_args *args)
{
	uint32_t n = args->nranks, v = hcomm_ring_sub(args->rank, args->root, n);
	struct place p = {
		.args = args, .v = v,
		.len = args->count * hcomm_dtype_bytes(args->dtype),
	};
	uint32_t sub = hcomm_knomial_subtree(v, n, args->radix);
	struct hcomm_tree tree;

	if (!p.len)
		return;
	hcomm_knomial_tree(args, args->radix, &tree);
	if (v && sub > 1)
		p.mem = hcomm_loc(HCOMM_SLOT_SCRATCH,
				  hcomm_plan_scratch(plan, sub * p.len));
	if (args->coll == HCOMM_COLL_GATHER)
		gather(plan, &p, &tree, sub);
	else
		scatter(plan, &p, &tree, sub);
}
