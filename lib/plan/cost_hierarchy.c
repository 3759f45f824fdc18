// SPDX-License-Identifier: LGPL-2.1-or-later
/* Predicted times of what follows the hierarchy of nodes and groups. */
#include "cost.h"

/**
 * struct levels - inside a node, between nodes, between groups
 * @size: members at each level, 1: it is not there
 * @hop: between them, when the ranks of a node are all at it
 */
struct levels {
	double size[HCOMM_LINK_CLASSES];
	struct hcomm_hop hop[HCOMM_LINK_CLASSES];
};

static struct levels levels_of(const struct hcomm_cost *c, bool all)
{
	const struct hcomm_shape *s = c->s;
	uint32_t flows = all ? s->max_local : 1;
	struct levels l = {
		.size = {
			s->max_local,
			hcomm_pieces(s->nnodes, s->ngroups),
			s->ngroups,
		},
		.hop = {
			{ HCOMM_LINK_LOCAL, 1 },
			{ HCOMM_LINK_NODE, flows },
			{ HCOMM_LINK_GROUP, flows },
		},
	};

	return l;
}

static uint32_t log2_up(double n)
{
	uint32_t k = 0;

	while ((double)(1ull << k) < n)
		k++;
	return k;
}

/*
 * BROADCAST, REDUCE, BARRIER: binomial trees, one upon the other: the way of the
 * first slice over log2 of each level's size, and for each further one the work of
 * the root, which has a child for each of these.
 */
static double trees(struct hcomm_cost *c)
{
	struct levels l = levels_of(c, false);
	bool up = c->call->coll != HCOMM_COLL_BROADCAST;
	bool down = c->call->coll != HCOMM_COLL_REDUCE;
	double count = hcomm_cost_slices(c, c->v), slice = c->v / count;
	double time = 0, cpu = 0, net = 0, chain = 0, sends = 0;
	uint32_t i, k;

	if (c->call->coll == HCOMM_COLL_BARRIER)
		count = 1;
	note_message(c, slice);
	for (i = 0; i < HCOMM_LINK_CLASSES; i++) {
		struct hcomm_hop h = l.hop[i];

		k = log2_up(l.size[i]);
		if (up) {
			time += k * message(c, h, slice, true, !i);
			cpu += k * cpu_busy(c, h, slice, true);
			if (i && !is_eager(c, slice))
				chain += k * message(c, h, slice, true, false);
		}
		if (down) {
			time += k * message(c, h, slice, false, true) +
				(k ? k - 1 : 0) * slice * wire(c, h) / 2;
			cpu += k * hop_link(c, h)->overhead / 2;
		}
		net += k * slice * wire(c, h);
		sends += k;
	}
	if (down)
		cpu += cpu_busy(c, l.hop[HCOMM_LINK_LOCAL], slice, false);
	if (count * 40 > HCOMM_MAX_STEPS)
		return -1;
	time += (count - 1) * hcomm_max(chain, hcomm_max(cpu, net)) +
		ends(c, c->s->leader, slice);
	if (c->call->coll == HCOMM_COLL_BROADCAST)
		return hcomm_cost_own_copy(c, time, count, slice, sends,
					   slice > 0 ? net / slice : 0);
	return time;
}

/* formulas of the last level, by radix; those of 2 and 3 are here */
static hcomm_formula last_formula(uint32_t radix)
{
	switch (radix) {
	case 5:
		return hcomm_cost_ring;
	case 6:
		return hcomm_cost_halving_doubling;
	case 7:
		return hcomm_cost_direct;
	default:
		return NULL;
	}
}

/* what one rank's CPU has to do in an AllReduce of @part among @n */
static double among_cpu(const struct hcomm_cost *c, struct hcomm_hop h, double n, double part)
{
	double cpu = 0;
	uint32_t k;

	switch (c->cand->radix) {
	case 5:
		part /= n;
		return (n - 1) * (cpu_busy(c, h, part, true) + cpu_busy(c, h, part, false));
	case 7:
		return (n - 1) * cpu_busy(c, h, part, true);
	}
	for (k = 0; k < log2_up(n); k++) {
		part /= 2;
		cpu += cpu_busy(c, h, part, true) + cpu_busy(c, h, part, false);
	}
	return cpu;
}

/* an AllReduce of @part among @n ranks that are all @h apart */
static double among(struct hcomm_cost *c, struct hcomm_hop h, double n, double part,
		    hcomm_formula formula)
{
	struct hcomm_call_shape call = *c->call;
	struct hcomm_cost sub = *c;
	struct hcomm_shape s = {
		.nranks = (uint32_t)n, .nnodes = (uint32_t)n,
		.ngroups = h.cls == HCOMM_LINK_GROUP ? (uint32_t)n : 1,
		.max_local = 1, .min_local = 1, .levels = log2_up(n), .in_order = 1,
		.next = h, .next_cross = (uint32_t)n, .all = h, .leader = h,
	};
	uint32_t k;

	if (n < 2)
		return 0;
	for (k = 0; k < s.levels; k++) {
		s.shift[k] = h;
		s.flip[k] = h;
	}
	if (h.cls == HCOMM_LINK_GROUP)
		s.next_group = s.next_cross;
	call.bytes = (uint64_t)part;
	sub.s = &s;
	sub.call = &call;
	sub.n = n;
	sub.v = part;
	part = formula(&sub);
	c->largest = hcomm_max(c->largest, sub.largest);
	return part;
}

/* the last level, of @n, of an AllReduce of @part: halves (radix 2), all (3), or as others do */
static double last_level(struct hcomm_cost *c, struct hcomm_hop h, double n, double part,
			 double *cpu)
{
	hcomm_formula formula = last_formula(c->cand->radix);
	double time = 0, chunks = hcomm_pieces(part, c->lim->chunk_size);
	uint32_t k, rounds = log2_up(n);

	if (formula) {
		*cpu += among_cpu(c, h, n, part);
		return among(c, h, n, part, formula);
	}
	if (c->cand->radix == 2) {
		for (k = 0; k < rounds; k++) {
			part /= 2;
			time += message(c, h, part, true, false) +
				message(c, h, part, false, true) + hop_link(c, h)->overhead;
			*cpu += cpu_busy(c, h, part, true) + cpu_busy(c, h, part, false);
		}
		return time;
	}
	part /= chunks;
	/* beyond a power of two, some fold before and after */
	if ((double)(1u << rounds) > n)
		rounds++;
	for (k = 0; k < rounds; k++) {
		time += message(c, h, part, true, !k) + (chunks - 1) * busy(c, h, part, true);
		*cpu += chunks * cpu_busy(c, h, part, true);
	}
	return time;
}

/* as hcomm_build_hierarchical_allreduce() */
#define MAX_SLICES	8

/*
 * Whoever sends on what just came, round by round, waits where the CPU is at a chunk of another
 * slice inside the node: for half of one, as often as the CPU is.
 */
static double kept_waiting(const struct hcomm_cost *c, double n, double chunk, double share)
{
	uint32_t radix = c->cand->radix;

	/* these have as many messages on their way, or other rounds that wait for one another */
	if (radix == 3 || radix == 5 || radix == 7)
		return 0;
	return 2 * log2_up(n) * share * chunk / 2 / c->m->reduce_rate;
}

/*
 * ALLREDUCE: at each level rings of growing stride over parts that the levels below
 * left, there and back; all ranks of a node are at the levels above it.  Of several
 * slices, those after the first one take the time of the busiest level, or of a CPU at
 * all levels, as far as they overlap: between two ranks of a node all slices go the same
 * way, and a slice enters when the one two before has left.  The more ranks, the more
 * links.
 */
static double allreduce(struct hcomm_cost *c)
{
	double own = c->v / c->s->max_local / c->lim->chunk_size;
	double slices = (double)(uint64_t)hcomm_max(1, hcomm_min(MAX_SLICES, own));
	double part = c->v / slices, time = 0, most = 0, cpu = 0, inside = 0, chunk = 0, n;
	struct levels l = levels_of(c, true);
	uint32_t i, k, last = c->s->ngroups > 1 ? HCOMM_LINK_GROUP : HCOMM_LINK_NODE;

	for (i = 0; i < HCOMM_LINK_CLASSES; i++) {
		double level = 0;

		n = l.size[i];
		if (i == last && (c->cand->radix == 2 || c->cand->radix == 3 ||
				  last_formula(c->cand->radix))) {
			level = last_level(c, l.hop[i], n, part, &cpu);
			if (level < 0)
				return level;
			n = 1;
		}
		part /= n;
		for (k = 0; k < log2_up(n); k++) {
			double count = hcomm_stride_blocks(n, k);

			level += hcomm_cost_stride(c, l.hop[i], count, part, true) +
				 hcomm_cost_stride(c, l.hop[i], count, part, false);
			cpu += count * (cpu_busy(c, l.hop[i], part, true) +
					cpu_busy(c, l.hop[i], part, false));
		}
		if (i == HCOMM_LINK_LOCAL) {
			inside = cpu;
			chunk = hcomm_min(part, c->lim->chunk_size);
		} else if (slices > 1 && l.size[i] > 1) {
			level += kept_waiting(c, l.size[i], chunk, inside / (time + level));
		}
		time += level;
		most = hcomm_max(most, level);
	}
	most = hcomm_min(time, hcomm_max(most, cpu));
	time = slices * time - (slices - 1) * (1 - 1.0 / c->s->max_local) * (time - most);
	return time + ends(c, c->s->leader, part);
}

/*
 * ALLGATHER: each block once into every other node, shared among the ranks of a
 * node, and from there to all: the latency of each level, and the work of taking
 * in n - 1 blocks, or (of large ones: and) the adapter's with those of a node for all
 * others.
 * REDUCE_SCATTER: the same backwards; what is large is granted one after the other.
 */
static double blocks(struct hcomm_cost *c)
{
	bool reduce = reduces(c->call->coll);
	struct levels l = levels_of(c, true);
	struct hcomm_hop local = l.hop[HCOMM_LINK_LOCAL];
	double time = reduce ? 0 : c->v / c->m->copy_rate, work, net = 0, far, chain = 0;
	double copy = is_eager(c, c->v) ? c->v / c->m->copy_rate : 0, near;
	uint32_t i;

	if (3 * c->n > HCOMM_MAX_STEPS)
		return -1;
	far = c->n / c->s->max_local - 1;
	/* the first one is a message, below; small ones come together */
	near = c->s->max_local > 1 ? c->n - 2 - far : 0;
	work = near * (copy ? taken_in(c, local, c->v, reduce) + copy :
			      cpu_busy(c, local, c->v, reduce));
	for (i = HCOMM_LINK_NODE; i < HCOMM_LINK_CLASSES; i++) {
		if (l.size[i] < 2)
			continue;
		net += (l.size[i] - 1) * c->v * wire(c, l.hop[i]);
		if (copy)
			work += (l.size[i] - 1) * (taken_in(c, l.hop[i], c->v, reduce) + copy);
		/* the first grant is given at once */
		if (reduce && !copy)
			chain += message(c, l.hop[i], c->v, true, true) +
				 (l.size[i] - 2) * message(c, l.hop[i], c->v, true, false);
		else
			time += message(c, l.hop[i], c->v, reduce, true);
	}
	if (l.size[HCOMM_LINK_LOCAL] > 1)
		time += message(c, local, c->v, reduce, true);
	/* as in a mesh, large ones all come to one at a time; and levels hardly overlap */
	if (!copy)
		return time + work + hcomm_max(chain, (reduce ? 1 : 1.5) * net) +
		       ends(c, c->s->leader, c->v);
	return time + hcomm_max(work, net);
}

/*
 * GATHER and SCATTER: k-nomial trees, one upon the other, as in cost_tree.c; what a
 * message carries are blocks of nodes, then of groups.  To or from the root it is a message
 * a block where ranks of a node do not follow one another.  The root takes in or gives out
 * all blocks but its own.
 */
static double gathers(struct hcomm_cost *c)
{
	struct levels l = levels_of(c, false);
	uint32_t radix = c->cand->radix ? c->cand->radix : 4, i;
	bool out = c->call->coll == HCOMM_COLL_SCATTER;
	struct hcomm_hop far = c->s->leader, local = l.hop[HCOMM_LINK_LOCAL];
	double unit = c->v, time = 0, sent = 0, most = 0, kids, b, more, span;
	uint32_t last = far.cls;
	bool late;

	for (i = 0; i < HCOMM_LINK_CLASSES; i++) {
		for (span = 1; span < l.size[i]; span *= radix) {
			kids = hcomm_min(radix - 1, (l.size[i] - 1) / span);
			b = hcomm_min(span, l.size[i] - span) * unit;
			most = hcomm_max(most, b);
			more = kids - 1 > 0 ? kids - 1 : 0;
			late = unit * span > c->v || i == HCOMM_LINK_LOCAL;
			if (out)
				time += message(c, l.hop[i], b, false, true) +
					more * b * wire(c, l.hop[i]);
			else
				time += hcomm_fan_in(c, l.hop[i], b, kids, late &&
						     span * radix >= l.size[i] && i == last);
			sent += kids * (c->s->in_order || span * radix < l.size[i] ? 1 : b / c->v);
		}
		unit *= l.size[i];
	}
	return hcomm_max(time, hcomm_root_work(c, local, far, sent, most, out)) +
	       ends(c, far, most) + c->v / c->m->copy_rate;
}

double hcomm_cost_hierarchical(struct hcomm_cost *c)
{
	if (c->call->coll == HCOMM_COLL_GATHER || c->call->coll == HCOMM_COLL_SCATTER)
		return gathers(c);
	if (c->call->coll == HCOMM_COLL_ALLREDUCE)
		return allreduce(c);
	if (c->call->coll == HCOMM_COLL_ALLGATHER ||
	    c->call->coll == HCOMM_COLL_REDUCE_SCATTER)
		return blocks(c);
	return trees(c);
}
