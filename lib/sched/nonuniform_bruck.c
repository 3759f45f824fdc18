// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Non-uniform Bruck: ReduceScatter, AllGather, and AllReduce as one after the
 * other, in ceil(log2 n) rounds for any number of ranks and blocks of any lengths
 * (J. L. Traeff: Optimal, non-pipelined reduce-scatter and allreduce algorithms,
 * arXiv:2410.14234, 2024; the allgather is that of J. Bruck, C.-T. Ho, S. Kipnis,
 * E. Upfal, D. Weathersby: Efficient algorithms for all-to-all communications in
 * multiport message-passing systems, IEEE TPDS 8, 1997, with his distances).
 *
 * Distances are n halved, rounded up, again and again: rounds have nearly equal
 * halves of what is left, where powers of two leave an odd rest for the last
 * one.  In the round of distance d, of what was e before, rank r sends its partial
 * results of the blocks of r + d to r + e - 1 to rank r + d and reduces what it gets
 * into those of r to r + e - d - 1; so block r is complete when d is 1.  The
 * allgather goes back the same way.
 */
#include "bruck.h"

/* where partial results of a REDUCE_SCATTER are, except of the own block */
struct partial {
	struct hcomm_bruck *b;
	uint32_t here;		/* blocks 0 to here - 1 are partial results */
	uint64_t scratch;
};

/* bytes from block 1 of this rank to block @i */
static uint64_t from_first(const struct hcomm_bruck *b, uint32_t i)
{
	uint32_t n = b->args->nranks, first = (b->args->rank + 1) % n;
	uint32_t at = (b->args->rank + i) % n;
	uint64_t start = hcomm_bruck_start(b, first), off = hcomm_bruck_start(b, at);

	return at >= first ? off - start : hcomm_bruck_start(b, n) - start + off;
}

static struct hcomm_loc result(const struct partial *p, const struct hcomm_bruck_piece *q)
{
	const struct hcomm_sched_args *args = p->b->args;

	if (args->coll == HCOMM_COLL_ALLREDUCE)
		return hcomm_output(q->off);
	if (!q->first)
		return hcomm_output(args->in_place ? q->off : 0);
	return hcomm_loc(HCOMM_SLOT_SCRATCH, p->scratch + from_first(p->b, q->first));
}

static struct hcomm_loc value(const struct partial *p, const struct hcomm_bruck_piece *q)
{
	return q->first < p->here ? result(p, q) : hcomm_input(p->b->args, q->off);
}

/* a SEND reads what the allgather will write */
static bool from_output(const struct partial *p, struct hcomm_loc src)
{
	return p->b->args->coll == HCOMM_COLL_ALLREDUCE && src.slot == HCOMM_SLOT_RECV;
}

static void reduce_round(struct partial *p, uint32_t k)
{
	struct hcomm_bruck *b = p->b;
	uint32_t n = b->args->nranks, r = b->args->rank, i, count;
	uint32_t d = b->distance[k], e = b->distance[k + 1];
	/* where what is sent, and what it joins, stops to be partial results */
	uint32_t at_sender[] = { p->here, d + 1, d + p->here };
	uint32_t at_receiver[] = { p->here - d, 1, p->here };
	struct hcomm_bruck_piece piece[HCOMM_BRUCK_PIECES];
	struct hcomm_bruck_steps made = { 0 };

	if (p->here <= d)
		at_receiver[0] = 0;
	count = hcomm_bruck_cut(b, r, d, e, at_sender, 3, piece);
	for (i = 0; i < count; i++) {
		struct hcomm_loc src = value(p, &piece[i]);
		uint32_t step = hcomm_plan_send(b->plan, (r + d) % n, src, piece[i].len);

		hcomm_bruck_after(b->plan, &b->made);
		if (from_output(p, src))
			b->sent[k].step[b->sent[k].n++] = step;
	}
	count = hcomm_bruck_cut(b, r, 0, e - d, at_receiver, 3, piece);
	for (i = 0; i < count; i++) {
		made.step[made.n++] =
			hcomm_plan_recv_reduce(b->plan, hcomm_ring_sub(r, d, n),
					       result(p, &piece[i]), value(p, &piece[i]),
					       piece[i].len);
		hcomm_bruck_after(b->plan, &b->made);
	}
	/* each waits for those of the round before, so the last ones are enough */
	if (made.n)
		b->made = made;
}

static void reduce_scatter(struct hcomm_bruck *b)
{
	struct partial p = { .b = b };
	uint32_t half = b->args->nranks / 2, k;

	if (half > 1 && b->args->coll == HCOMM_COLL_REDUCE_SCATTER)
		p.scratch = hcomm_plan_scratch(b->plan, from_first(b, half));
	for (k = b->rounds; k-- > 0;) {
		reduce_round(&p, k);
		p.here = half;
	}
}

void hcomm_build_nonuniform_bruck(struct hcomm_plan *plan,
				  const struct hcomm_sched_args *args)
{
	struct hcomm_bruck b = { .plan = plan, .args = args };
	uint32_t e, k;

	for (e = args->nranks; e > 1; e = (e + 1) / 2)
		b.rounds++;
	b.distance[b.rounds] = args->nranks;
	for (k = b.rounds; k-- > 0;)
		b.distance[k] = (b.distance[k + 1] + 1) / 2;
	if (args->coll == HCOMM_COLL_ALLGATHER)
		hcomm_bruck_own(&b);
	else
		reduce_scatter(&b);
	if (args->coll != HCOMM_COLL_REDUCE_SCATTER)
		hcomm_bruck_allgather(&b);
}
