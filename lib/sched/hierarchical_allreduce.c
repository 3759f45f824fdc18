// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Asymmetric hierarchical AllReduce: reduce-scatter inside nodes, between the nodes
 * of a group and between groups, then allgather back (H. Mikami, H. Suganuma,
 * P. U-chupala, Y. Tanaka, Y. Kageyama: Massively distributed SGD: ImageNet/ResNet-50
 * training in a flash, arXiv:1811.05233, 2018, has it for a grid; here nodes and
 * groups may be of any sizes).
 *
 * Where sizes differ, so do parts, and those who join a level would hold different
 * ones.  So the data is cut into as many segments as the largest node has ranks, and
 * the ranks of each node share these out evenly: for every segment there is just
 * one rank on each node, and these do the next level on it, with segments for the
 * largest group.  At each level and segment the rings of growing stride are used
 * (nonuniform_ring.c), so all of it is log2 rounds and least data per level.
 *
 * Between two ranks there is but one level, and both go through its segments in the
 * same order.
 */
#include <errno.h>
#include <stdlib.h>

#include "blocks.h"
#include "hierarchy.h"

struct range {
	uint64_t first;
	uint64_t count;
};

struct hier {
	struct hcomm_plan *plan;
	const struct hcomm_sched_args *args;
	uint32_t size;		/* of an element */
	uint32_t node;
	uint32_t group;
	uint32_t segment;	/* of the largest node, at the levels above it */
};

/* part @i of @parts, in which @segments are shared out */
static struct range part(struct range all, uint32_t segments, uint32_t parts, uint32_t i)
{
	struct range r;
	uint64_t from, n, first, last;

	n = hcomm_split(segments, parts, i, &from);
	last = hcomm_split(all.count, segments, from + n - 1, &first) + first;
	hcomm_split(all.count, segments, from, &first);
	r.first = all.first + first;
	r.count = last - first;
	return r;
}

/* who of @parts has @segment */
static uint32_t owner(uint32_t segments, uint32_t parts, uint32_t segment)
{
	uint32_t base = segments / parts, rest = segments % parts;

	if (segment < rest * (base + 1))
		return segment / (base + 1);
	return rest + (segment - rest * (base + 1)) / base;
}

/* one level: its team, and into how many segments it cuts what it is given */
static int teams(const struct hier *h, uint32_t level, uint32_t segment,
		 struct hcomm_team *team, uint32_t *segments, uint32_t **memory)
{
	const struct hcomm_sched_args *args = h->args;
	uint32_t most = hcomm_largest_node(args), i, node, nodes, *rank;

	if (level == 0) {
		team->n = hcomm_node_size(args, h->node);
		team->me = hcomm_node_index(args, args->rank);
		*segments = most;
	} else if (level == 1) {
		team->n = hcomm_group_size(args, h->group);
		team->me = hcomm_group_index(args, h->node);
		*segments = hcomm_largest_group(args);
	} else {
		team->n = hcomm_groups(args);
		team->me = h->group;
		*segments = team->n;
	}
	rank = malloc(team->n * sizeof(*rank));
	if (!rank)
		return -ENOMEM;
	for (i = 0; i < team->n; i++) {
		node = h->node;
		if (level == 0) {
			rank[i] = hcomm_node_rank(args, node, i);
			continue;
		}
		if (level == 1) {
			node = hcomm_group_node(args, h->group, i);
		} else {
			nodes = hcomm_group_size(args, i);
			node = hcomm_group_node(args, i, owner(hcomm_largest_group(args),
							       nodes, segment));
		}
		rank[i] = hcomm_node_rank(args, node,
					  owner(most, hcomm_node_size(args, node),
						h->segment));
	}
	team->rank = rank;
	*memory = rank;
	return 0;
}

/*
 * @all, partial results of which are in @slot, made by @made, becomes complete in
 * the output; returns the step after which it is.
 */
static uint32_t reduce_level(struct hier *h, uint32_t level, uint32_t segment,
			     struct range all, uint32_t slot, uint32_t made);

/* the levels above, for each segment of the own part */
static void reduce_part(struct hier *h, uint32_t level, struct range all,
			uint32_t segments, const struct hcomm_team *team,
			struct hcomm_blk *own)
{
	struct hcomm_plan *plan = h->plan;
	uint32_t before = plan->nsteps, i, *done;
	uint64_t n, from;
	struct range r;

	n = hcomm_split(segments, team->n, team->me, &from);
	done = malloc(n * sizeof(*done));
	if (!done) {
		hcomm_plan_fail(plan, -ENOMEM);
		return;
	}
	for (i = 0; i < n; i++) {
		r.count = hcomm_split(all.count, segments, from + i, &r.first);
		r.first += all.first;
		if (level == 0)
			h->segment = from + i;
		done[i] = reduce_level(h, level + 1, from + i, r, own->at.slot, own->made);
	}
	/* nothing was done if there is one node only */
	if (plan->nsteps != before) {
		own->at = own->acc;
		own->made = hcomm_plan_nop(plan);
		for (i = 0; i < n; i++)
			hcomm_plan_after(plan, done[i]);
	}
	free(done);
}

static uint32_t reduce_level(struct hier *h, uint32_t level, uint32_t segment,
			     struct range all, uint32_t slot, uint32_t made)
{
	struct hcomm_plan *plan = h->plan;
	uint32_t segments, i, *memory;
	struct hcomm_blk *blk = NULL;
	struct hcomm_team team;
	struct range r;

	if (!all.count || plan->err)
		return made;
	if (teams(h, level, segment, &team, &segments, &memory)) {
		hcomm_plan_fail(plan, -ENOMEM);
		return made;
	}
	blk = malloc(team.n * sizeof(*blk));
	if (!blk) {
		hcomm_plan_fail(plan, -ENOMEM);
		goto out;
	}
	for (i = 0; i < team.n; i++) {
		r = part(all, segments, team.n, i);
		blk[i] = hcomm_blk(r.count * h->size, hcomm_loc(slot, r.first * h->size),
				   hcomm_output(r.first * h->size));
		blk[i].made = made;
	}
	hcomm_strides_reduce_scatter(plan, &team, blk);
	if (level < 2)
		reduce_part(h, level, all, segments, &team, &blk[team.me]);
	hcomm_strides_allgather(plan, &team, blk);
	made = blk[team.me].made;
	if (team.n > 1 && level) {
		made = hcomm_plan_nop(plan);
		for (i = 0; i < team.n; i++) {
			if (blk[i].len)
				hcomm_plan_after(plan, blk[i].made);
		}
	}
out:
	free(blk);
	free(memory);
	return made;
}

void hcomm_build_hierarchical_allreduce(struct hcomm_plan *plan,
					const struct hcomm_sched_args *args)
{
	struct hier h = {
		.plan = plan, .args = args, .size = hcomm_dtype_bytes(args->dtype),
		.node = hcomm_node_of(args, args->rank),
	};
	struct range all = { .first = 0, .count = args->count };

	h.group = hcomm_group_of(args, h.node);
	reduce_level(&h, 0, 0, all, hcomm_input(args, 0).slot, HCOMM_NO_STEP);
}
