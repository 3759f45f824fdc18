// SPDX-License-Identifier: LGPL-2.1-or-later
/* Predicted times of what goes round in rings. */
#include "cost.h"

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
	way = cross * message(c, s->next, first, reduce, true);
	if (cross < 1)
		way += (1 - cross) * message(c, local, first, reduce, true);
	if (cross < 1)
		work = hcomm_max(busy(c, s->next, piece, reduce),
				 busy(c, local, piece, reduce));
	else
		work = busy(c, s->next, piece, reduce);
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
