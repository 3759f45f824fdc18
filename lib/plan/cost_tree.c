// SPDX-License-Identifier: LGPL-2.1-or-later
/* Predicted times of pipelined trees. */
#include "cost.h"

/* as hcomm_tree_emit() cuts: longest slice, slices before they get longer */
#define SLICE_CHUNKS	4
#define MIN_SLICES	16
#define MAX_SLICES	1024

double hcomm_cost_slices(const struct hcomm_cost *c, double part)
{
	uint64_t n = (uint64_t)(part / c->cand->grain);

	if (n > (uint64_t)MIN_SLICES * SLICE_CHUNKS)
		n /= SLICE_CHUNKS;
	else if (n > MIN_SLICES)
		n = MIN_SLICES;
	n = (n ? n : 1) * c->cand->channels;
	return n > MAX_SLICES ? MAX_SLICES : n;
}

/**
 * struct tree - what the trees are like
 * @parts: trees, each with its part of the data
 * @children: of the busiest rank in one tree
 * @root_children: of the root, in one tree
 * @in: messages that the busiest rank gets on the way down per slice
 * @wire: of the busiest adapter in all trees, seconds per byte of a slice
 */
struct tree {
	double parts;
	double children;
	double root_children;
	double in;
	double wire;
};

/* level k of a tree: mostly pairs that differ in bit k, some round a corner */
static struct hcomm_hop level(const struct hcomm_cost *c, uint32_t k, bool corner)
{
	struct hcomm_hop h = corner ? c->s->shift[k] : c->s->flip[k];

	h.flows = 1;
	return h;
}

/*
 * On the way up, a rank reduces its children's slices one after the other, small ones of
 * one node as they come together; over a network, each large one is granted when the one
 * before is reduced, so nothing overlaps.
 */
static double up_level(struct hcomm_cost *c, struct hcomm_hop h, double slice,
		       double children)
{
	if (h.cls == HCOMM_LINK_LOCAL && is_eager(c, slice))
		return message(c, h, slice, true, true) +
		       (children - 1) * taken_in(c, h, slice, true);
	if (h.cls == HCOMM_LINK_LOCAL || is_eager(c, slice))
		return message(c, h, slice, true, true) +
		       (children - 1) * cpu_busy(c, h, slice, true);
	return message(c, h, slice, true, true) +
	       (children - 1) * message(c, h, slice, true, false);
}

/* on the way down, the slices to all children leave one behind the other */
static double down_level(struct hcomm_cost *c, struct hcomm_hop h, double slice,
			 double children)
{
	return message(c, h, slice, false, true) +
	       (children - 1) * slice * wire(c, h);
}

/* what each further slice costs, on the busiest rank */
static double further(struct hcomm_cost *c, const struct tree *t,
		      struct hcomm_hop top, double slice, bool up, bool down)
{
	double o = hop_link(c, top)->overhead, cpu = 0, net = 0, chain = 0;

	if (up) {
		/* the root's, where it has one in each tree */
		cpu += hcomm_max(t->children, t->parts * t->root_children) *
		       cpu_busy(c, top, slice, true);
		net += slice * t->wire;
		if (top.cls != HCOMM_LINK_LOCAL)
			chain = t->children * message(c, top, slice, true, false);
	}
	if (down) {
		cpu += t->in * cpu_busy(c, top, slice, false) +
		       t->children * o / 2;
		net += slice * t->wire;
	}
	return hcomm_max(chain, hcomm_max(cpu, net));
}

/*
 * The root of a broadcast that is not in place copies its own data, too.  On one node it does
 * so while others get theirs (tree.c); else each slice is copied when it is sent, in which the
 * CPU may not keep up with the wire, or of two ranks while the first grant is on its way.
 * The other ranks can't know whether it does, and all must choose alike: so half of all
 * calls are taken to be in place.
 */
double hcomm_cost_own_copy(struct hcomm_cost *c, double time, double count, double slice,
			   double sends, double net)
{
	struct hcomm_hop far = c->s->leader;
	double copy = slice / c->m->copy_rate, news = message(c, far, 0, false, false), own;

	if (far.cls == HCOMM_LINK_LOCAL || is_eager(c, slice))
		return time;
	own = count * hcomm_max(slice * net, sends * hop_link(c, far)->overhead + copy) +
	      (c->s->nranks > 2 ? copy + news : hcomm_max(copy, news));
	return (time + hcomm_max(time, own)) / 2;
}

/*
 * How many messages of a k-nomial tree leave the root's node: to each of its own children
 * elsewhere, and, on levels below, from the one subtree that goes beyond the node.
 */
static double leaving(const struct hcomm_cost *c, double radix)
{
	double p = c->s->in_order ? c->s->max_local : 1, span, sum = 0, base, kids;

	for (span = 1; span < c->n; span *= radix) {
		base = (double)(uint64_t)((p - 1) / (span * radix)) * span * radix;
		kids = hcomm_min(radix - 1, (double)(uint64_t)((c->n - 1 - base) / span));
		sum += kids - (double)(uint64_t)hcomm_min(kids, (p - 1 - base) / span);
	}
	return sum;
}

/*
 *	sum over levels of U + D + (slices - 1) * F
 *
 * U and D are the way of the first slice over a level, F the work of the busiest
 * rank for each of the others.
 */
static double tree_time(struct hcomm_cost *c, const struct tree *t, uint32_t low,
			bool corners)
{
	bool up = c->call->coll != HCOMM_COLL_BROADCAST;
	bool down = c->call->coll != HCOMM_COLL_REDUCE;
	double part = c->v / t->parts, count = hcomm_cost_slices(c, part), slice = part / count;
	double time = 0;
	uint32_t k, i;

	if (count * t->parts * (t->children + 2) * 2 > HCOMM_MAX_STEPS)
		return -1;
	note_message(c, slice);
	for (k = low; k < c->s->levels; k++) {
		double kids = k + 1 == c->s->levels ? t->root_children :
			      corners ? t->children : 1;

		for (i = 0; i <= corners; i++) {
			struct hcomm_hop h = level(c, k, i);
			double weight = corners ? 0.5 : 1;

			if (up && corners)
				time += weight * up_level(c, h, slice, kids);
			else if (up)
				time += message(c, h, slice, true, k == low);
			if (down)
				time += weight * down_level(c, h, slice, kids);
		}
	}
	time += (count - 1) *
		further(c, t, level(c, c->s->levels - 1, false), slice, up, down) +
		ends(c, c->s->leader, slice);
	/* two ranks have nobody to share the second tree with */
	if (t->parts > 1 && c->s->nranks < 3)
		time += (up + down) * busy(c, c->s->next, slice, up);
	if (up)
		return time;
	return hcomm_cost_own_copy(c, time, count * t->parts, slice, t->root_children,
				   t->wire / t->parts);
}

/*
 * GATHER and SCATTER down a tree of radix k: a child at level i has a subtree of
 * k^i ranks, whose blocks are one message.  The root takes in or gives out all
 * blocks but its own.
 */
static double subtrees(struct hcomm_cost *c, uint32_t radix)
{
	bool out = c->call->coll == HCOMM_COLL_SCATTER;
	struct hcomm_hop far = c->s->leader, local = { HCOMM_LINK_LOCAL, 1 };
	double span = 1, time = 0, sent = 0, kids, b, more, most = 0;
	uint32_t k = 0;

	while (span < c->n) {
		struct hcomm_hop h;

		kids = hcomm_min(radix - 1, (c->n - 1) / span);
		/* the farthest of them decides */
		while (k + 1 < c->s->levels && (double)(2u << k) <= kids * span)
			k++;
		h = level(c, k, false);
		b = hcomm_min(span, c->n - span) * c->v;
		most = hcomm_max(most, b);
		more = kids - 1 > 0 ? kids - 1 : 0;
		if (out)
			time += message(c, h, b, false, true) + more * b * wire(c, h);
		else
			time += hcomm_fan_in(c, h, b, kids, span * radix >= c->n &&
					     (span > 1 || h.cls == HCOMM_LINK_LOCAL));
		sent += kids;
		span *= radix;
	}
	time = hcomm_max(time, hcomm_root_work(c, local, far, sent, most, out)) +
	       ends(c, far, most);
	/* on one node, others take theirs while the root copies its own */
	if (out && far.cls == HCOMM_LINK_LOCAL && !is_eager(c, most))
		return hcomm_max(time, c->v / c->m->copy_rate);
	/* the receiver of a subtree hands on what is not its own */
	return time + c->v / c->m->copy_rate;
}

/* one tree; its root has a child per level, the deepest leaf log2(n) parents */
double hcomm_cost_binomial(struct hcomm_cost *c)
{
	struct tree t = { 1, c->s->levels, c->s->levels, 1, leaving(c, 2) * wire(c, c->s->leader) };
	double slice = c->v / hcomm_cost_slices(c, c->v), root = 0, time;
	uint32_t k, low;

	if (c->call->coll == HCOMM_COLL_GATHER || c->call->coll == HCOMM_COLL_SCATTER)
		return subtrees(c, 2);
	for (k = 0; k < c->s->levels; k++) {
		struct hcomm_hop h = level(c, k, false);

		root += message(c, h, slice, true, h.cls == HCOMM_LINK_LOCAL);
	}
	low = c->s->nranks != 1u << c->s->levels && c->s->levels > 1;
	time = tree_time(c, &t, low, false);
	/* two subtrees are equally deep, and one of them has to wait */
	if (c->call->coll == HCOMM_COLL_REDUCE && low && is_eager(c, slice))
		time += taken_in(c, level(c, c->s->levels - 1, false), slice, true);
	/* the root takes its children's in one after the other, however deep these are */
	if (c->call->coll == HCOMM_COLL_REDUCE && !is_eager(c, slice))
		time = hcomm_max(time, root + hop_link(c, c->s->leader)->latency);
	return time;
}

/*
 * Two trees of half the data each; every rank has two children in one of them.  Where a
 * node has several ranks, four messages leave the busiest one, or three of two nodes.
 */
double hcomm_cost_double_tree(struct hcomm_cost *c)
{
	struct tree t = { 2, c->s->nranks > 3 ? 2 : 1, 1, 2, 0 };
	struct hcomm_hop far = level(c, c->s->levels - 1, false);
	double out = c->s->max_local < 2 ? 2 : c->s->nnodes == 2 ? 3 : 4, slices, time;

	t.wire = out * wire(c, far);
	time = tree_time(c, &t, 0, true);
	if (c->call->coll == HCOMM_COLL_ALLREDUCE || c->s->nranks < 3 || time < 0)
		return time;
	slices = hcomm_cost_slices(c, c->v / 2);
	/* of complete trees, who is last (or first) in one is so in the other */
	if (far.cls == HCOMM_LINK_LOCAL && c->s->nranks == 1u << c->s->levels)
		time += busy(c, far, c->v / 2 / slices, reduces(c->call->coll));
	if (c->call->coll != HCOMM_COLL_BROADCAST)
		return time;
	/* grants of a window come together: the second tree begins when those slices are sent */
	return time + hcomm_min(slices, c->lim->window) * c->v / 2 / slices * wire(c, far);
}

/*
 * One tree of radix k: ceil(log_k n) levels, k - 1 children at each.  The levels
 * are those of the binomial tree taken log2 k at a time.
 */
double hcomm_cost_knomial(struct hcomm_cost *c)
{
	uint32_t radix = c->cand->radix ? c->cand->radix : 4, k = 0, i;
	bool up = c->call->coll != HCOMM_COLL_BROADCAST;
	bool down = c->call->coll != HCOMM_COLL_REDUCE;
	double span = 1, levels = 0, time = 0, below = 0, count, slice;
	struct tree t;

	if (c->call->coll == HCOMM_COLL_GATHER || c->call->coll == HCOMM_COLL_SCATTER)
		return subtrees(c, radix);
	count = hcomm_cost_slices(c, c->v);
	slice = c->v / count;
	note_message(c, slice);
	while (span < c->n) {
		double kids = hcomm_min(radix - 1, (c->n - 1) / span);
		struct hcomm_hop h;

		for (i = 1; i + k < c->s->levels && span * (1u << i) < span * radix; i++)
			;
		i = k + i - 1 < c->s->levels ? k + i - 1 : c->s->levels - 1;
		h = level(c, i, false);
		if (up)
			time += up_level(c, h, slice, kids);
		if (down)
			time += down_level(c, h, slice, kids) +
				(kids - 1) * hop_link(c, h)->overhead / 2;
		/* grants of all the root's children come together: those with subtrees wait */
		if (down && span * radix >= c->n && !is_eager(c, slice))
			time += below * slice;
		below += kids * wire(c, h);
		span *= radix;
		while (k < c->s->levels && (double)(1u << k) < span)
			k++;
		levels += kids;
	}
	t = (struct tree){ 1, levels, levels, 1, leaving(c, radix) * wire(c, c->s->leader) };
	if (count * (levels + 2) * 2 > HCOMM_MAX_STEPS)
		return -1;
	time += (count - 1) * further(c, &t, level(c, c->s->levels - 1, false), slice,
				      up, down) + ends(c, c->s->leader, slice);
	return up ? time : hcomm_cost_own_copy(c, time, count, slice, levels, t.wire);
}
