// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Predicted times where ranks share processors.
 *
 * The formulas take it that ranks work at the same time: they tell the longest chain
 * of what waits for one another, T.  With p processors for more ranks than that, what all
 * messages cost together, W, counts, too: W / p + (1 - 1 / p) T (R. P. Brent: The
 * parallel evaluation of general arithmetic expressions, Journal of the ACM 21, 1974).
 * And whoever waits gives its processor away and gets it back, which is work, too.
 * So a schedule wins that does less, with fewer waits, though one rank does more of it.
 */
#include "cost.h"

/* a switch to another process, in overheads of a message: four to six were measured */
#define TURN	5

/**
 * struct sum - messages that were added up
 * @c: the call
 * @work: seconds that they cost
 * @waits: how often a rank waits for some of them
 */
struct sum {
	struct hcomm_cost *c;
	double work;
	double waits;
};

/* that come together to @ranks */
static void add_at_once(struct sum *s, double ranks, double messages, double bytes,
			bool reduce)
{
	struct hcomm_hop local = { HCOMM_LINK_LOCAL, 1 };

	s->work += messages * cpu_busy(s->c, local, bytes, reduce);
	s->waits += ranks;
}

/* one after the other, or each to a rank of its own */
static void add(struct sum *s, double messages, double bytes, bool reduce)
{
	add_at_once(s, messages, messages, bytes, reduce);
}

/* vectors along @edges, in slices if the builder makes some */
static void add_vectors(struct sum *s, double edges, double bytes, bool reduce)
{
	double slices = 1;

	if (hcomm_predict_uses_grain(s->c->cand->algo, s->c->call->coll))
		slices = hcomm_pieces(bytes, s->c->cand->grain);
	add_at_once(s, edges, edges * slices, bytes / slices, reduce);
}

/* blocks of all ranks but the root: each has those of its subtree, of radix @r */
static void add_subtrees(struct sum *s, uint32_t r)
{
	uint32_t n = s->c->s->nranks, i, span;

	for (i = 1; i < n; i++) {
		for (span = 1; i % (span * r) == 0;)
			span *= r;
		add(s, 1, hcomm_min(span, n - i) * s->c->v, false);
	}
}

/* blocks of @b bytes to each other rank, in rounds of growing strides, as @parts messages */
static void add_strides(struct sum *s, double parts, double b, bool reduce)
{
	double n = s->c->n, all;
	uint32_t k;

	for (k = 0; k < s->c->s->levels; k++) {
		all = hcomm_stride_blocks(n, k);
		parts = hcomm_min(parts, all);
		add(s, n * parts, b * all / parts, reduce);
	}
}

/* vectors between the ranks of a power of two, @rounds times, and of those beyond it */
static void add_pairs(struct sum *s)
{
	double n = s->c->n, v = s->c->v, pow = 1, rounds = 0;

	for (; 2 * pow <= n; pow *= 2)
		rounds++;
	add(s, n - pow, v, true);
	if (s->c->cand->algo == HCOMM_ALGO_RECURSIVE_DOUBLING) {
		add(s, pow * rounds, v, true);
	} else {
		add(s, pow * rounds, v * (1 - 1 / pow) / rounds, true);
		add(s, pow * rounds, v * (1 - 1 / pow) / rounds, false);
	}
	add(s, n - pow, v, false);
}

/* the blocks whose distance has the bit of the round */
static void add_rotations(struct sum *s)
{
	uint32_t n = s->c->s->nranks, k, i, blocks;

	for (k = 0; k < s->c->s->levels; k++) {
		for (blocks = 0, i = 1; i < n; i++)
			blocks += i >> k & 1;
		add(s, n, blocks * s->c->v, false);
	}
}

/* every rank takes in a block from each other rank, in @rounds, as @parts messages */
static void add_all(struct sum *s, double rounds, double parts, double b, bool reduce)
{
	double n = s->c->n;

	add_at_once(s, n * rounds, n * (n - 1) * parts, b / parts, reduce);
}

static double channels(const struct hcomm_cost *c)
{
	return c->cand->channels ? c->cand->channels : 1;
}

/* to the root (a reduction) or from it */
static bool rooted(struct sum *s, bool reduce)
{
	double n = s->c->n, v = s->c->v;

	switch (s->c->cand->algo) {
	case HCOMM_ALGO_BINOMIAL:
	case HCOMM_ALGO_KNOMIAL:
	case HCOMM_ALGO_STAR:
	case HCOMM_ALGO_HIERARCHICAL:
		add_vectors(s, n - 1, v, reduce);
		return true;
	case HCOMM_ALGO_PIPELINE:
		add_vectors(s, n - 1, v, reduce);
		/* the last of the chain gives the result to the root */
		if (s->c->call->coll == HCOMM_COLL_REDUCE)
			add_vectors(s, 1, v, false);
		return true;
	case HCOMM_ALGO_DOUBLE_TREE:
		add_vectors(s, 2 * (n - 1), v / 2, reduce);
		return true;
	case HCOMM_ALGO_SCATTER_ALLGATHER:
		s->c->v = v / n;
		add_subtrees(s, 2);
		s->c->v = v;
		/* round the ring; the root has all of them */
		add(s, (n - 1) * (n - 1), v / n, reduce);
		return true;
	default:
		return false;
	}
}

/* blocks of @b bytes of all ranks, to all ranks or reduced at one */
static bool blocks(struct sum *s, double b, bool reduce)
{
	double k = channels(s->c), n = s->c->n;

	switch (s->c->cand->algo) {
	case HCOMM_ALGO_RING:
		add_all(s, n - 1, k, b, reduce);
		return true;
	case HCOMM_ALGO_BIDIRECTIONAL_RING:
		add_all(s, n - 1, 2 * k, b, reduce);
		return true;
	case HCOMM_ALGO_DIRECT:
	case HCOMM_ALGO_PAIRWISE:
		add_all(s, 1, 1, b, reduce);
		return true;
	case HCOMM_ALGO_NONUNIFORM_RING:
	case HCOMM_ALGO_HIERARCHICAL:
		add_all(s, s->c->s->levels, 1, b, reduce);
		return true;
	case HCOMM_ALGO_BRUCK:
	case HCOMM_ALGO_HALVING_DOUBLING:
	case HCOMM_ALGO_RECURSIVE_DOUBLING:
		add_strides(s, 1, b, reduce);
		return true;
	case HCOMM_ALGO_NONUNIFORM_BRUCK:
		add_strides(s, reduce ? 2 : 1, b, reduce);
		return true;
	default:
		return false;
	}
}

static bool allreduce(struct sum *s)
{
	double n = s->c->n, v = s->c->v;

	switch (s->c->cand->algo) {
	case HCOMM_ALGO_RECURSIVE_DOUBLING:
	case HCOMM_ALGO_HALVING_DOUBLING:
		add_pairs(s);
		return true;
	case HCOMM_ALGO_DIRECT:
		add_all(s, 1, 1, v, true);
		return true;
	case HCOMM_ALGO_HIERARCHICAL:
		return blocks(s, v / n, true) && blocks(s, v / n, false);
	default:
		return (rooted(s, true) && rooted(s, false)) ||
		       (blocks(s, v / n, true) && blocks(s, v / n, false));
	}
}

static bool prefix(struct sum *s)
{
	double n = s->c->n, v = s->c->v;
	uint32_t k;

	switch (s->c->cand->algo) {
	case HCOMM_ALGO_LINEAR:
		add_vectors(s, n - 1, v, true);
		return true;
	case HCOMM_ALGO_DIRECT:
		add_at_once(s, n - 1, n * (n - 1) / 2, v, true);
		return true;
	case HCOMM_ALGO_RECURSIVE_DOUBLING:
		for (k = 0; k < s->c->s->levels; k++)
			add(s, n - (1u << k), v, true);
		return true;
	default:
		return false;
	}
}

/* all messages of the call; false: not known */
static bool total(struct sum *s)
{
	const struct hcomm_candidate *cand = s->c->cand;
	double n = s->c->n, v = s->c->v;

	switch (s->c->call->coll) {
	case HCOMM_COLL_BROADCAST:
		return rooted(s, false);
	case HCOMM_COLL_REDUCE:
		return rooted(s, true);
	case HCOMM_COLL_GATHER:
	case HCOMM_COLL_SCATTER:
		if (cand->algo == HCOMM_ALGO_STAR)
			add(s, n - 1, v, false);
		else
			add_subtrees(s, cand->radix > 1 ? cand->radix : 2);
		return true;
	case HCOMM_COLL_ALLREDUCE:
		return allreduce(s);
	case HCOMM_COLL_REDUCE_SCATTER:
		return blocks(s, v, true);
	case HCOMM_COLL_ALLGATHER:
		return blocks(s, v, false);
	case HCOMM_COLL_ALLTOALL:
		if (cand->algo == HCOMM_ALGO_BRUCK)
			add_rotations(s);
		else
			add_all(s, 1, 1, v, false);
		return true;
	case HCOMM_COLL_SCAN:
	case HCOMM_COLL_EXSCAN:
		return prefix(s);
	default:
		return false;
	}
}

double hcomm_cost_work(struct hcomm_cost *c)
{
	struct sum s = { .c = c };

	return total(&s) ? s.work : 0;
}

bool hcomm_crowded(const struct hcomm_cost *c)
{
	return c->s->cpus && c->s->cpus < c->s->max_local;
}

double hcomm_cost_crowd(struct hcomm_cost *c, double time)
{
	double p = c->s->cpus, turn = TURN * c->m->link[HCOMM_LINK_LOCAL].overhead;
	struct sum s = { .c = c };

	if (time < 0 || c->s->nnodes > 1 || !total(&s))
		return time;
	return hcomm_max(time, (s.work + s.waits * turn) / p + (1 - 1 / p) * time);
}
