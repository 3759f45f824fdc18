// SPDX-License-Identifier: LGPL-2.1-or-later
/* Predicted times of what goes round in rings. */
#include "cost.h"

/* one hop to the next rank, of the average kind */
double hcomm_cost_next(struct hcomm_cost *c, double b, bool reduce)
{
	struct hcomm_hop local = { HCOMM_LINK_LOCAL, 1 };
	double cross = c->s->next_cross / c->n, way;

	way = cross * message(c, c->s->next, b, reduce, true);
	if (cross < 1)
		way += (1 - cross) * message(c, local, b, reduce, true);
	return way;
}

/*
 * One round: every rank gives @block bytes to its neighbour.  A block goes on as
 * soon as its first chunk is there, and channels cut it into pieces that do so one
 * by one; so a round takes as long as the first piece is on its way, or as a rank
 * is busy with all of it.  On its way round, a piece crosses each kind of hop as
 * often as there are such hops.
 */
static double round_time(struct hcomm_cost *c, double block, bool reduce)
{
	const struct hcomm_shape *s = c->s;
	struct hcomm_hop local = { HCOMM_LINK_LOCAL, 1 };
	double q = c->cand->channels, piece = block / q;
	double first = hcomm_min(piece, c->lim->chunk_size);
	double cross = s->next_cross / c->n, way, work;

	note_message(c, piece);
	way = hcomm_cost_next(c, first, reduce);
	if (cross < 1)
		work = hcomm_max(busy(c, s->next, piece, reduce),
				 busy(c, local, piece, reduce));
	else
		work = busy(c, s->next, piece, reduce);
	/* the window holds so many chunks, and each waits for its grant */
	if (!is_eager(c, first))
		way = hcomm_max(way, q * hcomm_pieces(piece, first) / c->lim->window *
				     message(c, s->next, first, reduce, false));
	return hcomm_max(way, q * work);
}

/*
 * ALLREDUCE		(n - 1) (T(v/n, reduce) + T(v/n, copy)) + tail
 * REDUCE_SCATTER	(n - 1) T(v, reduce) + tail
 * ALLGATHER		(n - 1) T(v, copy) + tail
 *
 * with T a round, and the tail what of a block follows its first chunk.
 */
double hcomm_cost_ring(struct hcomm_cost *c)
{
	double rounds = c->n - 1, block = c->v, piece, time = 0;

	if (c->call->coll == HCOMM_COLL_ALLREDUCE)
		block /= c->n;
	if (2 * rounds * c->cand->channels * 2 > HCOMM_MAX_STEPS)
		return -1;
	piece = block / c->cand->channels;
	if (c->call->coll != HCOMM_COLL_ALLGATHER)
		time += rounds * round_time(c, block, true);
	if (c->call->coll != HCOMM_COLL_REDUCE_SCATTER)
		time += rounds * round_time(c, block, false);
	if (piece > c->lim->chunk_size)
		time += message(c, c->s->next, piece, false, true) -
			message(c, c->s->next, c->lim->chunk_size, false, true);
	return time + ends(c, c->s->next, piece);
}

/*
 * Half of each block goes one way and half the other: the latency of half a block
 * per round, and the work of all of it.
 */
double hcomm_cost_bidirectional_ring(struct hcomm_cost *c)
{
	double rounds = c->n - 1, block = c->v, half, time = 0, work;
	struct hcomm_hop h = c->s->next;
	uint32_t coll = c->call->coll;
	int pass;

	if (coll == HCOMM_COLL_ALLREDUCE)
		block /= c->n;
	if (4 * rounds * c->cand->channels * 2 > HCOMM_MAX_STEPS)
		return -1;
	half = block / 2 / c->cand->channels;
	note_message(c, half);
	for (pass = 0; pass < 2; pass++) {
		bool reduce = !pass;

		if (coll == (reduce ? HCOMM_COLL_ALLGATHER : HCOMM_COLL_REDUCE_SCATTER))
			continue;
		work = 2 * c->cand->channels * busy(c, h, half, reduce);
		time += rounds *
			hcomm_max(hcomm_cost_next(c, hcomm_min(half, c->lim->chunk_size),
						  reduce), work);
	}
	/* halves of two small ones come together, to each rank the last ones, too */
	if (is_eager(c, half))
		time += taken_in(c, h, half, false) + half / c->m->copy_rate;
	return time + ends(c, h, half);
}

/*
 * A chain of all ranks: the first slice takes n - 1 hops, each further one the
 * work of one; where a node ends, that of taking it in there and handing it on by write
 */
static double chain(struct hcomm_cost *c, bool reduce)
{
	double count = hcomm_cost_slices(c, c->v), slice = c->v / count;
	struct hcomm_hop local = { HCOMM_LINK_LOCAL, 1 };
	double work = busy(c, c->s->next, slice, reduce);

	if (count * 4 > HCOMM_MAX_STEPS)
		return -1;
	if (c->s->nnodes > 1 && c->s->max_local > 1 && !is_eager(c, slice))
		work = hcomm_max(work, cpu_busy(c, local, slice, reduce) +
				       hop_link(c, c->s->next)->overhead);
	note_message(c, slice);
	return (c->n - 1) * hcomm_cost_next(c, slice, reduce) +
	       (count - 1) * work + ends(c, c->s->next, slice);
}

double hcomm_cost_linear(struct hcomm_cost *c)
{
	double time = chain(c, true);

	/* EXSCAN keeps what came apart from what goes on */
	if (time > 0 && c->call->coll == HCOMM_COLL_EXSCAN)
		time += c->v / c->m->copy_rate;
	return time;
}

double hcomm_cost_pipeline(struct hcomm_cost *c)
{
	double time = chain(c, reduces(c->call->coll)), slices = hcomm_cost_slices(c, c->v);

	if (time > 0 && c->call->coll == HCOMM_COLL_ALLREDUCE)
		time += chain(c, false);
	/* the last rank, which has the sum, is seldom the root */
	if (time > 0 && c->call->coll == HCOMM_COLL_REDUCE)
		time += hcomm_cost_next(c, c->v / slices, false);
	if (time > 0 && c->call->coll == HCOMM_COLL_BROADCAST)
		time = hcomm_cost_own_copy(c, time, slices, c->v / slices, 1,
					   wire(c, c->s->next));
	return time;
}
