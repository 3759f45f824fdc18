// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Pairwise exchange (R. Thakur, R. Rabenseifner, W. Gropp: Optimization of
 * collective communication operations in MPICH, IJHPCA 19, 2005).
 *
 * In round i rank r sends to r + i what that one needs, and receives from r - i.
 * Every message goes straight to where it is needed, and at any time a rank has
 * few partners: a round waits for the one two before.  AllReduce is a
 * reduce-scatter followed by rounds that hand the results out.
 *
 * In fixed order, a rank receives all contributions to its block in scratch
 * memory, whenever they come, and reduces them in the order of ranks.
 *
 * AllToAll in place pairs i - r with r instead, so that both blocks of a pair
 * change places in one round.  The lower rank sends a copy, as it must be able to
 * accept at once; the other one waits until its block is accepted.
 */
#include <errno.h>
#include <stdlib.h>

#include "builders.h"

#define AHEAD	2	/* rounds at a time */

struct pairwise {
	struct hcomm_plan *plan;
	const struct hcomm_sched_args *args;
	uint32_t last[AHEAD][2];	/* SEND and RECV of a round */
	uint32_t *sent;			/* ALLREDUCE: first SEND of each block */
};

/* block q of the input, or of an equal share of it */
static uint64_t share(const struct hcomm_sched_args *args, uint32_t q, uint64_t *off)
{
	uint64_t size = hcomm_dtype_bytes(args->dtype), first, n;

	if (args->coll != HCOMM_COLL_ALLREDUCE)
		return hcomm_block(args, q, off);
	n = hcomm_split(args->count, args->nranks, q, &first);
	*off = first * size;
	return n * size;
}

/* the last step waits for the round AHEAD of it, and will be waited for */
static void in_round(struct pairwise *p, uint32_t round, bool recv)
{
	uint32_t *last = &p->last[round % AHEAD][recv];

	hcomm_plan_after(p->plan, *last);
	*last = p->plan->nsteps - 1;
}

static void start(struct pairwise *p)
{
	uint32_t i;

	for (i = 0; i < AHEAD; i++) {
		p->last[i][0] = HCOMM_NO_STEP;
		p->last[i][1] = HCOMM_NO_STEP;
	}
}

static struct hcomm_loc own_output(const struct pairwise *p, uint64_t off)
{
	bool whole = p->args->in_place || p->args->coll == HCOMM_COLL_ALLREDUCE;

	return hcomm_output(whole ? off : 0);
}

/* reduce in the order in which rounds come; the step that made the result */
static uint32_t reduce_rounds(struct pairwise *p)
{
	const struct hcomm_sched_args *args = p->args;
	uint32_t n = args->nranks, r = args->rank, made = HCOMM_NO_STEP, step, i, q;
	uint64_t off, own, len, mine = share(args, r, &own);
	struct hcomm_loc out = own_output(p, own);

	for (i = 1; i < n; i++) {
		q = (r + i) % n;
		len = share(args, q, &off);
		if (len) {
			p->sent[q] = hcomm_plan_send(p->plan, q, hcomm_input(args, off),
						     len);
			in_round(p, i, false);
		}
		if (!mine)
			continue;
		step = hcomm_plan_recv_reduce(p->plan, hcomm_ring_sub(r, i, n), out,
					      made == HCOMM_NO_STEP ?
					      hcomm_input(args, own) : out, mine);
		hcomm_plan_stream(p->plan, made);
		made = step;
	}
	return made;
}

/* all contributions first, each in its place; then the order of ranks */
static uint32_t reduce_fixed(struct pairwise *p)
{
	const struct hcomm_sched_args *args = p->args;
	uint32_t n = args->nranks, r = args->rank, made = HCOMM_NO_STEP, first, step, i, q;
	uint64_t off, own, len, mine = share(args, r, &own);
	struct hcomm_loc in = hcomm_input(args, own), out = own_output(p, own);
	struct hcomm_loc acc, src, *loc = malloc(n * sizeof(*loc));
	uint32_t *got = malloc(n * sizeof(*got));

	if (!got || !loc) {
		hcomm_plan_fail(p->plan, -ENOMEM);
		goto out;
	}
	/* x0 + x1 is x1 + x0: either may be first, and so be in the output */
	if (args->in_place)
		first = r < 2 ? r : 0;
	else
		first = !r;
	loc[r] = in;
	got[r] = HCOMM_NO_STEP;
	for (i = 1; i < n; i++) {
		q = (r + i) % n;
		len = share(args, q, &off);
		if (len) {
			p->sent[q] = hcomm_plan_send(p->plan, q, hcomm_input(args, off),
						     len);
			in_round(p, i, false);
		}
		if (!mine)
			continue;
		q = hcomm_ring_sub(r, i, n);
		if (q == first && !args->in_place)
			loc[q] = out;
		else
			loc[q] = hcomm_loc(HCOMM_SLOT_SCRATCH,
					   hcomm_plan_scratch(p->plan, mine));
		got[q] = hcomm_plan_recv(p->plan, q, loc[q], mine);
		in_round(p, i, true);
	}
	if (!mine)
		goto out;
	acc = loc[first];
	made = got[first];
	for (q = 0; q < n; q++) {
		if (q == first)
			continue;
		src = loc[q];
		if (args->in_place && q == r) {
			src = acc;
			acc = out;
		}
		step = hcomm_plan_reduce(p->plan, acc, src, mine);
		hcomm_plan_stream(p->plan, made);
		hcomm_plan_stream(p->plan, got[q]);
		made = step;
	}
out:
	free(got);
	free(loc);
	return made;
}

/* the second half of an ALLREDUCE */
static void hand_out(struct pairwise *p, uint32_t made)
{
	const struct hcomm_sched_args *args = p->args;
	uint32_t n = args->nranks, r = args->rank, i, q;
	uint64_t off, own, len, mine = share(args, r, &own);

	for (i = 1; i < n; i++) {
		if (mine) {
			hcomm_plan_send(p->plan, (r + i) % n, hcomm_output(own), mine);
			hcomm_plan_stream(p->plan, made);
			in_round(p, n + i, false);
		}
		q = hcomm_ring_sub(r, i, n);
		len = share(args, q, &off);
		if (!len)
			continue;
		hcomm_plan_recv(p->plan, q, hcomm_output(off), len);
		if (args->in_place)
			hcomm_plan_stream(p->plan, p->sent[q]);
		in_round(p, n + i, true);
	}
}

static void alltoall(struct pairwise *p)
{
	const struct hcomm_sched_args *args = p->args;
	uint32_t n = args->nranks, r = args->rank, i, q;
	uint64_t off, to, len;

	for (i = 1; i < n; i++) {
		q = (r + i) % n;
		len = hcomm_block(args, q, &off);
		if (len) {
			hcomm_plan_send(p->plan, q, hcomm_input(args, off), len);
			in_round(p, i, false);
		}
		q = hcomm_ring_sub(r, i, n);
		len = hcomm_block_out(args, q, &to);
		if (len) {
			hcomm_plan_recv(p->plan, q, hcomm_output(to), len);
			in_round(p, i, true);
		}
	}
	len = hcomm_block(args, r, &off);
	hcomm_block_out(args, r, &to);
	if (len)
		hcomm_plan_copy(p->plan, hcomm_output(to), hcomm_input(args, off), len);
}

static void alltoall_in_place(struct pairwise *p)
{
	const struct hcomm_sched_args *args = p->args;
	uint32_t n = args->nranks, r = args->rank, before, i, q;
	uint64_t off, len, most = 0, scratch[AHEAD];
	struct hcomm_loc src;

	for (q = r + 1; q < n; q++) {
		len = hcomm_block(args, q, &off);
		most = len > most ? len : most;
	}
	for (i = 0; i < AHEAD; i++)
		scratch[i] = hcomm_plan_scratch(p->plan, most);

	for (i = 0; i < n; i++) {
		q = hcomm_ring_sub(i, r, n);
		len = hcomm_block(args, q, &off);
		if (q == r || !len)
			continue;
		src = hcomm_output(off);
		before = HCOMM_NO_STEP;
		if (r < q) {
			src = hcomm_loc(HCOMM_SLOT_SCRATCH, scratch[i % AHEAD]);
			before = hcomm_plan_copy(p->plan, src, hcomm_output(off), len);
			hcomm_plan_after(p->plan, p->last[i % AHEAD][0]);
		}
		hcomm_plan_send(p->plan, q, src, len);
		hcomm_plan_stream(p->plan, before);
		in_round(p, i, false);
		if (r > q)
			before = p->plan->nsteps - 1;
		hcomm_plan_recv(p->plan, q, hcomm_output(off), len);
		hcomm_plan_stream(p->plan, before);
		in_round(p, i, true);
	}
}

void hcomm_build_pairwise(struct hcomm_plan *plan,
			  const struct hcomm_sched_args *args)
{
	struct pairwise p = { .plan = plan, .args = args };
	uint32_t made;

	start(&p);
	if (args->coll == HCOMM_COLL_ALLTOALL) {
		if (args->in_place)
			alltoall_in_place(&p);
		else
			alltoall(&p);
		return;
	}
	p.sent = malloc(args->nranks * sizeof(*p.sent));
	if (!p.sent) {
		hcomm_plan_fail(plan, -ENOMEM);
		return;
	}
	made = args->fixed_order ? reduce_fixed(&p) : reduce_rounds(&p);
	if (args->coll == HCOMM_COLL_ALLREDUCE)
		hand_out(&p, made);
	free(p.sent);
}
