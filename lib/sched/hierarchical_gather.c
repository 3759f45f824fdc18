// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Hierarchical Gather, and Scatter, which is the same backwards: k-nomial trees inside
 * nodes, between the leaders of the nodes of a group, and between groups.  The blocks of a
 * node, and those of a group, cross into the next one as one message (N. T. Karonis and
 * others, see hierarchical.c; J. L. Traeff: Hierarchical gather/scatter algorithms with
 * graceful degradation, IPDPS 2004).
 *
 * A rank that leads others keeps their blocks in scratch memory: its own one, then those
 * of each child as that one has them, so that what goes on is one piece.  The root's
 * buffer has blocks in the order of ranks: what goes to or from it is a message for each
 * run of ranks that follow one another, mostly one.
 */
#include <errno.h>
#include <stdlib.h>

#include "hierarchy.h"
#include "knomial.h"

/* a rank of the subtree; the first of what a child has */
struct member {
	uint32_t rank;
	bool child;
};

struct gather {
	struct hcomm_plan *plan;
	const struct hcomm_sched_args *args;
	uint64_t len;		/* of a block */
	uint32_t parent;
	struct member *member;	/* this rank first */
	uint32_t n;
	uint32_t room;
	struct hcomm_loc mem;	/* their blocks, not at the root */
};

/* ------------------------------------------------------------- place in the tree */

static void put_rank(struct gather *g, uint32_t rank, bool child)
{
	uint32_t room = g->room ? 2 * g->room : 4;
	struct member *more;

	if (g->n == g->room) {
		more = realloc(g->member, room * sizeof(*more));
		if (!more) {
			hcomm_plan_fail(g->plan, -ENOMEM);
			return;
		}
		g->member = more;
		g->room = room;
	}
	g->member[g->n++] = (struct member){ rank, child };
}

static void put_node(struct gather *g, uint32_t node, bool child)
{
	const struct hcomm_sched_args *args = g->args;
	uint32_t size = hcomm_node_size(args, node), i;
	uint32_t top = hcomm_node_index(args, hcomm_leader(args, node));

	for (i = 0; i < size; i++)
		put_rank(g, hcomm_node_rank(args, node, (top + i) % size), child && !i);
}

static void put_group(struct gather *g, uint32_t group, bool child)
{
	const struct hcomm_sched_args *args = g->args;
	uint32_t size = hcomm_group_size(args, group), i;
	uint32_t top = hcomm_group_index(args, hcomm_leading_node(args, group));

	for (i = 0; i < size; i++)
		put_node(g, hcomm_group_node(args, group, (top + i) % size), child && !i);
}

static uint32_t parent_of(uint32_t v, uint32_t radix)
{
	uint64_t place = 1;

	while (v / place % radix == 0)
		place *= radix;
	return (uint32_t)(v - v / place % radix * place);
}

/* thing @i of a level: a rank of @in, a node of it, a group */
static void put_thing(struct gather *g, uint32_t level, uint32_t in, uint32_t i, bool child)
{
	if (level == 0)
		put_rank(g, hcomm_node_rank(g->args, in, i), child);
	else if (level == 1)
		put_node(g, hcomm_group_node(g->args, in, i), child);
	else
		put_group(g, i, child);
}

static uint32_t thing_leader(const struct gather *g, uint32_t level, uint32_t in, uint32_t i)
{
	if (level == 0)
		return hcomm_node_rank(g->args, in, i);
	if (level == 1)
		return hcomm_leader(g->args, hcomm_group_node(g->args, in, i));
	return hcomm_leader(g->args, hcomm_leading_node(g->args, i));
}

/*
 * Thing @i of @n in a tree from @top: what is below it follows.  Returns whether it is
 * the top itself, and so is in the level above, too.
 */
static bool grow(struct gather *g, uint32_t level, uint32_t in, uint32_t n, uint32_t top,
		 uint32_t i)
{
	uint32_t radix = g->args->radix, v = hcomm_ring_sub(i, top, n), w;
	uint32_t end = v + hcomm_knomial_subtree(v, n, radix);

	for (w = v + 1; w < end && !g->plan->err; w++)
		put_thing(g, level, in, (uint32_t)(((uint64_t)w + top) % n),
			  parent_of(w, radix) == v);
	if (v)
		g->parent = thing_leader(g, level, in, (uint32_t)
					 (((uint64_t)parent_of(v, radix) + top) % n));
	return !v;
}

static void plant(struct gather *g)
{
	const struct hcomm_sched_args *args = g->args;
	uint32_t r = args->rank, node = hcomm_node_of(args, r);
	uint32_t group = hcomm_group_of(args, node);
	uint32_t lead = hcomm_leading_node(args, group);

	g->parent = HCOMM_NO_RANK;
	put_rank(g, r, false);
	if (grow(g, 0, node, hcomm_node_size(args, node),
		 hcomm_node_index(args, hcomm_leader(args, node)),
		 hcomm_node_index(args, r)) &&
	    grow(g, 1, group, hcomm_group_size(args, group), hcomm_group_index(args, lead),
		 hcomm_group_index(args, node)))
		grow(g, 2, 0, hcomm_groups(args),
		     hcomm_group_of(args, hcomm_node_of(args, args->root)), group);
}

/* -------------------------------------------------------------------------- steps */

static bool at_root(const struct gather *g)
{
	return g->parent == HCOMM_NO_RANK;
}

static struct hcomm_loc where(const struct gather *g, uint32_t i, bool in)
{
	uint64_t off;

	if (!at_root(g))
		return hcomm_loc(g->mem.slot, g->mem.off + i * g->len);
	off = g->member[i].rank * g->len;
	return in ? hcomm_input(g->args, off) : hcomm_output(off);
}

/* the end of what is one message with block @i */
static uint32_t run(const struct gather *g, uint32_t i, bool with_root)
{
	for (i++; i < g->n && !(at_root(g) && g->member[i].child); i++) {
		if (with_root && g->member[i].rank != g->member[i - 1].rank + 1)
			break;
	}
	return i;
}

/* blocks from @i on are of one child, up to the end that is returned */
static uint32_t child_end(const struct gather *g, uint32_t i)
{
	for (i++; i < g->n && !g->member[i].child; i++)
		;
	return i;
}

/* a step that waits for steps @from to the last one */
static uint32_t join(struct hcomm_plan *plan, uint32_t from)
{
	uint32_t end = plan->nsteps, step;

	if (end == from)
		return HCOMM_NO_STEP;
	if (end == from + 1)
		return from;
	step = hcomm_plan_nop(plan);
	for (; from < end; from++)
		hcomm_plan_after(plan, from);
	return step;
}

/* all messages with the parent, or with the child whose blocks are @i to @end */
static void with_parent(struct gather *g, bool send, uint32_t after)
{
	bool root = g->parent == g->args->root;
	struct hcomm_loc at;
	uint32_t i, next;

	for (i = 0; i < g->n; i = next) {
		next = run(g, i, root);
		at = where(g, i, send);
		if (g->n == 1)
			at = send ? hcomm_input(g->args, 0) : hcomm_output(0);
		if (send)
			hcomm_plan_send(g->plan, g->parent, at, (next - i) * g->len);
		else
			hcomm_plan_recv(g->plan, g->parent, at, (next - i) * g->len);
		hcomm_plan_after(g->plan, after);
	}
}

static void with_child(struct gather *g, uint32_t i, bool send, uint32_t after)
{
	uint32_t peer = g->member[i].rank, end = child_end(g, i), next;

	for (; i < end; i = next) {
		next = at_root(g) ? run(g, i, true) : end;
		if (send)
			hcomm_plan_send(g->plan, peer, where(g, i, true), (next - i) * g->len);
		else
			hcomm_plan_recv(g->plan, peer, where(g, i, false), (next - i) * g->len);
		hcomm_plan_after(g->plan, after);
	}
}

static void gather(struct gather *g)
{
	uint32_t first = g->plan->nsteps, i;

	if (g->n > 1 && !(g->args->in_place && at_root(g)))
		hcomm_plan_copy(g->plan, where(g, 0, false), hcomm_input(g->args, 0), g->len);
	for (i = 1; i < g->n; i++) {
		if (g->member[i].child)
			with_child(g, i, false, HCOMM_NO_STEP);
	}
	if (!at_root(g))
		with_parent(g, true, join(g->plan, first));
}

static void scatter(struct gather *g)
{
	uint32_t first = g->plan->nsteps, got = HCOMM_NO_STEP, i;

	if (!at_root(g)) {
		with_parent(g, false, HCOMM_NO_STEP);
		got = join(g->plan, first);
	}
	/* the largest subtree first: it needs the most time */
	for (i = g->n; i-- > 1;) {
		if (g->member[i].child)
			with_child(g, i, true, got);
	}
	if (g->n == 1 || (at_root(g) && g->args->in_place))
		return;
	hcomm_plan_copy(g->plan, hcomm_output(0), where(g, 0, true), g->len);
	hcomm_plan_after(g->plan, got);
}

void hcomm_build_hierarchical_gather(struct hcomm_plan *plan,
				     const struct hcomm_sched_args *args)
{
	struct gather g = {
		.plan = plan, .args = args,
		.len = args->count * hcomm_dtype_bytes(args->dtype),
	};

	if (!g.len)
		return;
	plant(&g);
	if (!plan->err && !at_root(&g) && g.n > 1)
		g.mem = hcomm_loc(HCOMM_SLOT_SCRATCH, hcomm_plan_scratch(plan, g.n * g.len));
	if (!plan->err && args->coll == HCOMM_COLL_GATHER)
		gather(&g);
	else if (!plan->err)
		scatter(&g);
	free(g.member);
}
