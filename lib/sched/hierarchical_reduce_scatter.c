// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Hierarchical ReduceScatter: the AllGather of hierarchical_allgather.c backwards.  The
 * ranks of a node give what they have for a block to one of them, the nodes of a group
 * to one of these, and the groups to the owner; so each node and each group sends one
 * result per block, whatever its size.
 *
 * Between two ranks there is but one level, and its messages are in the order of blocks
 * at both ends.  Scratch memory is for the blocks that a rank collects, and bounded by
 * doing large ones in sections.
 */
#include <errno.h>
#include <stdlib.h>

#include "blocks.h"
#include "hierarchy.h"

struct collect {
	struct hcomm_plan *plan;
	const struct hcomm_sched_args *args;
	uint32_t node;
	uint32_t group;
	struct hcomm_blk *blk;
};

static void inside(struct collect *c)
{
	const struct hcomm_sched_args *args = c->args;
	uint32_t q, i, to, m = hcomm_node_size(args, c->node);
	uint32_t me = hcomm_node_index(args, args->rank);

	for (q = 0; q < args->nranks; q++) {
		to = hcomm_on_node(args, q, c->node);
		if (to != args->rank)
			hcomm_blk_send(c->plan, &c->blk[q], to);
		/* the one above first, so that not all wait for the same one */
		for (i = 1; to == args->rank && i < m; i++)
			hcomm_blk_reduce(c->plan, &c->blk[q],
					 hcomm_node_rank(args, c->node, (me + i) % m));
	}
}

static void across_nodes(struct collect *c)
{
	const struct hcomm_sched_args *args = c->args;
	uint32_t q, i, node, to, n = hcomm_group_size(args, c->group);
	uint32_t me = hcomm_group_index(args, c->node);

	for (q = 0; q < args->nranks; q++) {
		if (hcomm_on_node(args, q, c->node) != args->rank)
			continue;
		to = hcomm_in_group(args, q, c->group);
		if (to != args->rank)
			hcomm_blk_send(c->plan, &c->blk[q], to);
		for (i = 1; to == args->rank && i < n; i++) {
			node = hcomm_group_node(args, c->group, (me + i) % n);
			hcomm_blk_reduce(c->plan, &c->blk[q], hcomm_on_node(args, q, node));
		}
	}
}

static void across_groups(struct collect *c)
{
	const struct hcomm_sched_args *args = c->args;
	uint32_t q, i, n = hcomm_groups(args);

	for (q = 0; q < args->nranks; q++) {
		if (hcomm_in_group(args, q, c->group) != args->rank)
			continue;
		if (q != args->rank)
			hcomm_blk_send(c->plan, &c->blk[q], q);
		for (i = 1; q == args->rank && i < n; i++)
			hcomm_blk_reduce(c->plan, &c->blk[q],
					 hcomm_in_group(args, q, (c->group + i) % n));
	}
}

/* a rank has less than four steps for a block: two inside its node at most, and some above */
static uint32_t sections(const struct hcomm_sched_args *args)
{
	uint32_t want = hcomm_sections(args), fit = HCOMM_MAX_STEPS / 4 / args->nranks;

	if (want > fit)
		want = fit;
	return want ? want : 1;
}

void hcomm_build_hierarchical_reduce_scatter(struct hcomm_plan *plan,
					     const struct hcomm_sched_args *args)
{
	struct collect c = {
		.plan = plan, .args = args, .node = hcomm_node_of(args, args->rank),
		.blk = malloc(args->nranks * sizeof(*c.blk)),
	};
	uint32_t nsec = sections(args), s, q;

	c.group = hcomm_group_of(args, c.node);
	if (!c.blk) {
		hcomm_plan_fail(plan, -ENOMEM);
		return;
	}
	for (s = 0; s < nsec && !plan->err; s++) {
		for (q = 0; q < args->nranks; q++)
			c.blk[q] = hcomm_section(args, q, s, nsec, &c.blk[q]);
		inside(&c);
		across_nodes(&c);
		across_groups(&c);
	}
	free(c.blk);
}
