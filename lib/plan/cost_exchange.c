// SPDX-License-Identifier: LGPL-2.1-or-later
/* Predicted times of exchanges in rounds, and of everybody with everybody. */
#include "cost.h"

static bool is_pow2(const struct hcomm_cost *c)
{
	return c->s->nranks == 1u << c->s->levels;
}

/*
 * The hop of round k, 2^k ranks further, on the longest way of news.  Where nodes have
 * consecutive ranks, the rounds within the size of a node leave one only once: the sum
 * of their distances is below it.
 */
static struct hcomm_hop hop_on_way(const struct hcomm_cost *c, uint32_t k)
{
	if (k && c->s->in_order && c->s->nnodes > 1 && 1u << k < c->s->min_local)
		return (struct hcomm_hop){ HCOMM_LINK_LOCAL, 1 };
	return c->s->shift[k];
}

/* ALLGATHER: round k exchanges 2^k blocks; folded ranks give one and get all */
static double doubling_blocks(struct hcomm_cost *c, uint32_t rounds)
{
	double time = 0, blocks = 1;
	uint32_t k;

	if (!is_pow2(c)) {
		time += message(c, c->s->next, c->v, false, true);
		time += message(c, c->s->next, (c->n - 1) * c->v, false, true);
		blocks = 2;
	}
	for (k = 0; k < rounds; k++, blocks *= 2)
		time += message(c, c->s->flip[k], hcomm_min(blocks, c->n / 2) * c->v,
				false, true);
	return time + c->v / c->m->copy_rate + ends(c, c->s->leader, c->n / 2 * c->v);
}

/*
 * SCAN, EXSCAN: in round k to the rank 2^k above; EXSCAN at last one up.  No rank's
 * way has more hops between nodes than there are nodes below it.
 */
static double doubling_scan(struct hcomm_cost *c, double first)
{
	double time = 0, work = 0;
	uint32_t k;

	for (k = 0; k < c->s->levels; k++) {
		struct hcomm_hop h = hop_on_way(c, k);

		time += message(c, h, first, true, k == 0);
		work += busy(c, h, first, true);
	}
	if (c->call->coll == HCOMM_COLL_EXSCAN) {
		time += message(c, c->s->next, first, false, false);
		work += busy(c, c->s->next, first, false);
	}
	return time + (hcomm_pieces(c->v, first ? first : 1) - 1) * work +
	       ends(c, c->s->leader, c->v);
}

/*
 * sum over rounds k of T(v) at distance 2^k; chunks of a round follow those of
 * the one before, so of more than one chunk only the first takes its time and the
 * others the work of all rounds.  Ranks beyond a power of two fold first: a round
 * before and a round after.
 */
double hcomm_cost_recursive_doubling(struct hcomm_cost *c)
{
	double first = hcomm_min(c->v, c->lim->chunk_size), time = 0, work = 0;
	uint32_t k, rounds = c->s->levels - !is_pow2(c);

	if (c->call->coll == HCOMM_COLL_ALLGATHER)
		return doubling_blocks(c, rounds);
	note_message(c, c->v);
	if (c->call->coll != HCOMM_COLL_ALLREDUCE)
		return doubling_scan(c, first);

	for (k = 0; k < rounds; k++) {
		time += message(c, c->s->flip[k], first, true, k == 0);
		work += busy(c, c->s->flip[k], first, true);
	}
	if (!is_pow2(c)) {
		time += message(c, c->s->next, first, true, true);
		time += message(c, c->s->next, first, false, true);
		work += busy(c, c->s->next, first, true);
	}
	/* half of all calls are in place, and copy their input first */
	time += c->v / c->m->copy_rate / 2;
	return time + (hcomm_pieces(c->v, first ? first : 1) - 1) * work +
	       ends(c, c->s->leader, c->v);
}

/* sum over rounds of L + o */
double hcomm_cost_dissemination(struct hcomm_cost *c)
{
	double time = 0;
	uint32_t k;

	for (k = 0; k < c->s->levels; k++)
		time += message(c, hop_on_way(c, k), 0, false, true);
	return time;
}

/* rounds of halves: v/2 at the largest distance, v/4 at half of it, ... */
static double halves(struct hcomm_cost *c, double v, bool reduce, bool early)
{
	uint32_t k, rounds = c->s->levels - !is_pow2(c);
	double time = 0;

	for (k = rounds; k-- > 0;) {
		v /= 2;
		time += message(c, c->s->flip[k], v, reduce, early);
	}
	return time;
}

/*
 * ALLREDUCE: halving (reduce) and doubling (copy) of v; REDUCE_SCATTER and
 * ALLGATHER: one of them, of n v.  Folding as above.
 */
double hcomm_cost_halving_doubling(struct hcomm_cost *c)
{
	double v = c->v, time = 0;
	uint32_t coll = c->call->coll;

	if (coll != HCOMM_COLL_ALLREDUCE)
		v *= c->n;
	note_message(c, v / 2);
	if (coll != HCOMM_COLL_ALLGATHER)
		time += halves(c, v, true, false);
	if (coll != HCOMM_COLL_REDUCE_SCATTER)
		time += halves(c, v, false, true);
	if (!is_pow2(c)) {
		if (coll != HCOMM_COLL_ALLGATHER)
			time += message(c, c->s->next, v, true, true);
		time += message(c, c->s->next,
				coll == HCOMM_COLL_REDUCE_SCATTER ? v / c->n : v, false,
				true);
	}
	return time + ends(c, c->s->leader, v / 2);
}

/* what goes round the end of the numbering is two messages in most rounds */
static double wrapped(const struct hcomm_cost *c, uint32_t k)
{
	return hop_link(c, c->s->shift[k])->overhead / 2;
}

/*
 * ALLGATHER: round k hands on 2^k blocks (the last one the rest); ALLTOALL: each
 * round half of all blocks, packed before and unpacked after; then all is put in
 * its place.
 */
double hcomm_cost_bruck(struct hcomm_cost *c)
{
	double blocks = 1, left = c->n - 1, time = 0, v = c->v, sections = 1, n;
	bool all = c->call->coll == HCOMM_COLL_ALLTOALL;
	uint32_t k;

	/* large blocks of an AllToAll go one section after the other */
	if (all)
		sections = hcomm_pieces(c->n * v, 64.0 * c->lim->chunk_size);
	v /= sections;

	for (k = 0; k < c->s->levels; k++, blocks *= 2) {
		n = all ? c->n / 2 : hcomm_min(blocks, left);
		left -= n;
		time += message(c, c->s->shift[k], n * v, false, k == 0) + wrapped(c, k);
		if (all)
			time += n * v / c->m->copy_rate;
	}
	return sections * time + c->n * c->v / c->m->copy_rate +
	       ends(c, c->s->leader, c->v);
}

/*
 * Reducing: the largest half first, to the largest distance; gathering: back.  For
 * any number of ranks, without folding.
 */
double hcomm_cost_nonuniform_bruck(struct hcomm_cost *c)
{
	uint32_t coll = c->call->coll, k;
	double v = c->v, time = 0;
	int pass;

	if (coll != HCOMM_COLL_ALLREDUCE)
		v *= c->n;
	for (pass = 0; pass < 2; pass++) {
		bool reduce = !pass;
		double part = v;

		if (coll == (reduce ? HCOMM_COLL_ALLGATHER : HCOMM_COLL_REDUCE_SCATTER))
			continue;
		for (k = c->s->levels; k-- > 0;) {
			part /= 2;
			time += message(c, c->s->shift[k], part, reduce, !reduce) +
				wrapped(c, k);
		}
	}
	return time + ends(c, c->s->leader, v / 2);
}

double hcomm_stride_blocks(double n, uint32_t k)
{
	uint64_t stride = 1ull << k;

	return (double)(((uint64_t)n - 1 + stride) / (2 * stride));
}

/* blocks over one hop, one behind the other */
double hcomm_cost_stride(struct hcomm_cost *c, struct hcomm_hop h, double count,
			 double block, bool reduce)
{
	double one = busy(c, h, block, reduce);

	if (!is_eager(c, block))
		one = hcomm_max(one, message(c, h, block, reduce, false) / c->lim->window);
	return message(c, h, block, reduce, true) + (count > 1 ? count - 1 : 0) * one;
}

/*
 * Round k is a ring of stride 2^k, over which n / 2^(k+1) blocks go one behind the
 * other: the time of the first and the work of the others; as many as the window
 * holds are on their way at once.
 */
double hcomm_cost_nonuniform_ring(struct hcomm_cost *c)
{
	uint32_t coll = c->call->coll, k;
	double block = c->v, time = 0;
	int pass;

	if (coll == HCOMM_COLL_ALLREDUCE)
		block /= c->n;
	if (4 * c->n > HCOMM_MAX_STEPS)
		return -1;
	for (pass = 0; pass < 2; pass++) {
		bool reduce = !pass;

		if (coll == (reduce ? HCOMM_COLL_ALLGATHER : HCOMM_COLL_REDUCE_SCATTER))
			continue;
		for (k = 0; k < c->s->levels; k++)
			time += hcomm_cost_stride(c, c->s->shift[k],
						  hcomm_stride_blocks(c->n, k), block, reduce);
	}
	return time + ends(c, c->s->leader, block);
}

/* halves of v scattered down a binomial tree, then v/n round a ring */
double hcomm_cost_scatter_allgather(struct hcomm_cost *c)
{
	double part = c->v, time = 0, own;
	uint32_t k;

	note_message(c, c->v / 2);
	for (k = c->s->levels; k-- > 0;) {
		struct hcomm_hop h = { c->s->flip[k].cls, 1 };

		part /= 2;
		time += message(c, h, part, false, true);
	}
	time += (c->n - 1) * hcomm_max(hcomm_cost_next(c, c->v / c->n, false),
				       busy(c, c->s->next, c->v / c->n, false)) +
		ends(c, c->s->leader, c->v / 2);
	/* the root copies its own when it has sent all */
	if (c->s->nnodes > 1)
		own = 2 * c->v * (c->n - 1) / c->n * wire(c, c->s->leader) +
		      message(c, c->s->leader, 0, false, false);
	else
		own = message(c, c->s->leader, c->v / 2, false, true) +
		      hcomm_cost_next(c, c->v / c->n, false);
	return hcomm_max(time, own + c->v / c->m->copy_rate);
}
