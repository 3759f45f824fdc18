// SPDX-License-Identifier: LGPL-2.1-or-later
/* Rounds of exchanges at growing distance: cutting, and gathering. */
#include <errno.h>
#include <stdlib.h>

#include "bruck.h"

uint64_t hcomm_bruck_start(const struct hcomm_bruck *b, uint32_t rank)
{
	const struct hcomm_sched_args *args = b->args;
	uint64_t off, len;

	if (args->coll == HCOMM_COLL_ALLREDUCE) {
		hcomm_split(args->count, args->nranks, rank, &off);
		return off * hcomm_dtype_bytes(args->dtype);
	}
	if (rank < args->nranks) {
		hcomm_block(args, rank, &off);
		return off;
	}
	len = hcomm_block(args, rank - 1, &off);
	return off + len;
}

uint32_t hcomm_bruck_cut(const struct hcomm_bruck *b, uint32_t rank, uint32_t lo,
			 uint32_t hi, const uint32_t *cuts, uint32_t ncuts,
			 struct hcomm_bruck_piece *pieces)
{
	uint32_t n = b->args->nranks, wrap = n - rank, end, from, k, count = 0;

	while (lo < hi) {
		end = hi;
		if (lo < wrap && wrap < end)
			end = wrap;
		for (k = 0; k < ncuts; k++) {
			if (lo < cuts[k] && cuts[k] < end)
				end = cuts[k];
		}
		from = (uint32_t)(((uint64_t)rank + lo) % n);
		pieces[count].first = lo;
		pieces[count].off = hcomm_bruck_start(b, from);
		pieces[count].len = hcomm_bruck_start(b, from + (end - lo)) -
				    pieces[count].off;
		if (pieces[count].len)
			count++;
		lo = end;
	}
	return count;
}

void hcomm_bruck_after(struct hcomm_plan *plan, const struct hcomm_bruck_steps *s)
{
	uint32_t i;

	for (i = 0; i < s->n; i++)
		hcomm_plan_follow(plan, s->step[i]);
}

void hcomm_bruck_own(struct hcomm_bruck *b)
{
	const struct hcomm_sched_args *args = b->args;
	uint64_t off, len = hcomm_block(args, args->rank, &off);

	if (!len || args->in_place)
		return;
	b->made.step[b->made.n++] = hcomm_plan_copy(b->plan, hcomm_output(off),
						    hcomm_input(args, 0), len);
}

/* one message for each block, as blocks may lie anywhere */
static void gather_apart(struct hcomm_bruck *b)
{
	const struct hcomm_sched_args *args = b->args;
	uint32_t n = args->nranks, r = args->rank, *made = malloc(n * sizeof(*made));
	uint32_t k, i, q, d;
	uint64_t off, len;

	if (!made) {
		hcomm_plan_fail(b->plan, -ENOMEM);
		return;
	}
	made[r] = b->made.n ? b->made.step[0] : HCOMM_NO_STEP;
	for (k = 0; k < b->rounds; k++) {
		d = b->distance[k];
		for (i = 0; i < b->distance[k + 1] - d; i++) {
			q = (r + i) % n;
			len = hcomm_block(args, q, &off);
			if (!len)
				continue;
			hcomm_plan_send(b->plan, hcomm_ring_sub(r, d, n),
					hcomm_output(off), len);
			hcomm_plan_stream(b->plan, made[q]);
		}
		for (i = d; i < b->distance[k + 1]; i++) {
			q = (r + i) % n;
			len = hcomm_block(args, q, &off);
			if (len)
				made[q] = hcomm_plan_recv(b->plan, (r + d) % n,
							  hcomm_output(off), len);
		}
	}
	free(made);
}

void hcomm_bruck_allgather(struct hcomm_bruck *b)
{
	const struct hcomm_sched_args *args = b->args;
	uint32_t n = args->nranks, r = args->rank, k, i, d, count, nmade = 0;
	struct hcomm_bruck_piece piece[HCOMM_BRUCK_PIECES];
	uint32_t made[HCOMM_BRUCK_ROUNDS * 2], j;

	if (args->coll == HCOMM_COLL_ALLGATHER && args->vector) {
		gather_apart(b);
		return;
	}
	for (k = 0; k < b->rounds; k++) {
		d = b->distance[k];
		count = hcomm_bruck_cut(b, r, 0, b->distance[k + 1] - d, NULL, 0, piece);
		for (i = 0; i < count; i++) {
			hcomm_plan_send(b->plan, hcomm_ring_sub(r, d, n),
					hcomm_output(piece[i].off), piece[i].len);
			hcomm_bruck_after(b->plan, &b->made);
			for (j = 0; j < nmade; j++)
				hcomm_plan_follow(b->plan, made[j]);
		}
		count = hcomm_bruck_cut(b, r, d, b->distance[k + 1], NULL, 0, piece);
		for (i = 0; i < count; i++) {
			made[nmade++] = hcomm_plan_recv(b->plan, (r + d) % n,
							hcomm_output(piece[i].off),
							piece[i].len);
			hcomm_bruck_after(b->plan, &b->sent[k]);
		}
	}
}
