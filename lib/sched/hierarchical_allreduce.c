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
 * The last of the levels may go another way, as the radix tells: 2 exchanges halves
 * (nonuniform_bruck.c), 3 all of a part (recursive_doubling.c): with so many messages as
 * there are rounds, not as there are nodes.  5 is a ring, 6 halves with folding, 7 a mesh.
 *
 * Much data goes in slices, so that one is inside nodes while the one before is
 * between them; in the program, too, a slice enters before the one before goes on, as
 * staging memory is given out in that order.  Between two ranks there is but one
 * level, and both go through its segments in the same order.
 */
#include <errno.h>
#include <stdlib.h>

#include "blocks.h"
#include "hierarchy.h"
#include "splice.h"

#define MAX_SLICES	8

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

/*
 * One level of one segment (or of a slice of all data): who takes part, their parts,
 * and into how many segments these are cut for the next level.
 */
struct level {
	uint32_t level;
	struct range all;
	uint32_t segments;
	struct hcomm_team team;
	uint32_t *rank;
	struct hcomm_blk *blk;
};

static int find_team(const struct hier *h, struct level *l, uint32_t segment)
{
	struct hcomm_team *team = &l->team;
	uint32_t level = l->level;
	const struct hcomm_sched_args *args = h->args;
	uint32_t most = hcomm_largest_node(args), i, node, nodes, *rank;

	if (level == 0) {
		team->n = hcomm_node_size(args, h->node);
		team->me = hcomm_node_index(args, args->rank);
		l->segments = most;
	} else if (level == 1) {
		team->n = hcomm_group_size(args, h->group);
		team->me = hcomm_group_index(args, h->node);
		l->segments = hcomm_largest_group(args);
	} else {
		team->n = hcomm_groups(args);
		team->me = h->group;
		l->segments = team->n;
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
	l->rank = rank;
	return 0;
}

static void end_level(struct level *l)
{
	free(l->rank);
	free(l->blk);
}

/* the way there: partial results of @all are in @slot, made by @made */
static void scatter_level(struct hier *h, struct level *l, uint32_t segment,
			  uint32_t slot, uint32_t made)
{
	struct range r;
	uint32_t i;

	l->rank = NULL;
	l->blk = NULL;
	if (find_team(h, l, segment) ||
	    !(l->blk = malloc(l->team.n * sizeof(*l->blk)))) {
		hcomm_plan_fail(h->plan, -ENOMEM);
		return;
	}
	for (i = 0; i < l->team.n; i++) {
		r = part(l->all, l->segments, l->team.n, i);
		l->blk[i] = hcomm_blk(r.count * h->size, hcomm_loc(slot, r.first * h->size),
				      hcomm_output(r.first * h->size));
		l->blk[i].made = made;
	}
	hcomm_strides_reduce_scatter(h->plan, &l->team, l->blk);
}

/* the way back; returns the step after which all of it is complete */
static uint32_t gather_level(struct hier *h, struct level *l)
{
	struct hcomm_plan *plan = h->plan;
	uint32_t made, i;

	if (plan->err)
		return HCOMM_NO_STEP;
	hcomm_strides_allgather(plan, &l->team, l->blk);
	made = l->blk[l->team.me].made;
	if (l->team.n > 1 && l->level) {
		made = hcomm_plan_nop(plan);
		for (i = 0; i < l->team.n; i++) {
			if (l->blk[i].len)
				hcomm_plan_after(plan, l->blk[i].made);
		}
	}
	return made;
}

static uint32_t reduce_level(struct hier *h, uint32_t level, uint32_t segment,
			     struct range all, uint32_t slot, uint32_t made);

/* the levels above, for each segment of the own part */
static void reduce_part(struct hier *h, const struct level *l)
{
	struct hcomm_plan *plan = h->plan;
	uint32_t before = plan->nsteps, i, *done;
	struct hcomm_blk *own;
	uint64_t n, from;
	struct range r;

	if (plan->err)
		return;
	own = &l->blk[l->team.me];
	n = hcomm_split(l->segments, l->team.n, l->team.me, &from);
	done = malloc(n * sizeof(*done));
	if (!done) {
		hcomm_plan_fail(plan, -ENOMEM);
		return;
	}
	for (i = 0; i < n; i++) {
		r.count = hcomm_split(l->all.count, l->segments, from + i, &r.first);
		r.first += l->all.first;
		if (l->level == 0)
			h->segment = from + i;
		done[i] = reduce_level(h, l->level + 1, from + i, r, own->at.slot,
				       own->made);
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

/* what @radix says about the last level, NULL: as the others */
static hcomm_builder *last_level(uint32_t radix)
{
	switch (radix) {
	case 2:
		return hcomm_build_nonuniform_bruck;
	case 3:
		return hcomm_build_recursive_doubling;
	case 5:
		return hcomm_build_ring;
	case 6:
		return hcomm_build_halving_doubling;
	case 7:
		return hcomm_build_direct;
	default:
		return NULL;
	}
}

/* the last level by another algorithm: few messages also among many */
static uint32_t exchange_level(struct hier *h, struct level *l, uint32_t segment,
			       uint32_t slot, uint32_t made)
{
	struct hcomm_sched_args part = *h->args;

	if (find_team(h, l, segment)) {
		hcomm_plan_fail(h->plan, -ENOMEM);
		return made;
	}
	part.count = l->all.count;
	part.in_place = slot == HCOMM_SLOT_RECV;
	if (l->team.n > 1)
		made = hcomm_splice_allreduce(h->plan, last_level(h->args->radix), &part,
					      &l->team, l->all.first * h->size, made);
	end_level(l);
	return made;
}

/*
 * @all, partial results of which are in @slot, made by @made, becomes complete in
 * the output; returns the step after which it is.
 */
static uint32_t reduce_level(struct hier *h, uint32_t level, uint32_t segment,
			     struct range all, uint32_t slot, uint32_t made)
{
	struct level l = { .level = level, .all = all };

	if (!all.count || h->plan->err)
		return made;
	if (last_level(h->args->radix) && (level == 2 || hcomm_groups(h->args) == 1))
		return exchange_level(h, &l, segment, slot, made);
	scatter_level(h, &l, segment, slot, made);
	if (level < 2)
		reduce_part(h, &l);
	made = gather_level(h, &l);
	end_level(&l);
	return made;
}

/* so many that a rank's part of each is a chunk at least */
static uint32_t slices(const struct hcomm_sched_args *args)
{
	uint64_t n = args->count * hcomm_dtype_bytes(args->dtype) /
		     ((uint64_t)args->chunk_size * hcomm_largest_node(args));

	if (n > MAX_SLICES)
		n = MAX_SLICES;
	return n ? n : 1;
}

void hcomm_build_hierarchical_allreduce(struct hcomm_plan *plan,
					const struct hcomm_sched_args *args)
{
	struct hier h = {
		.plan = plan, .args = args, .size = hcomm_dtype_bytes(args->dtype),
		.node = hcomm_node_of(args, args->rank),
	};
	uint32_t nslices = slices(args), slot = hcomm_input(args, 0).slot, t;
	struct level now, before = { 0 };

	h.group = hcomm_group_of(args, h.node);
	if (!args->count)
		return;
	for (t = 0; t <= nslices && !plan->err; t++) {
		now = (struct level){ .level = 0 };
		if (t < nslices) {
			now.all.count = hcomm_split(args->count, nslices, t,
						    &now.all.first);
			scatter_level(&h, &now, 0, slot, HCOMM_NO_STEP);
		}
		if (t) {
			reduce_part(&h, &before);
			gather_level(&h, &before);
			end_level(&before);
		}
		before = now;
	}
	if (plan->err)
		end_level(&before);
}
