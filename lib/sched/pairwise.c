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
 * memory, whenever they come, and reduces them in the order of ranks.  Large blocks go
 * in sections, which take turns with two such memories.
 *
 * AllToAll in place pairs i - r with r instead, so that both blocks of a pair
 * change places in one round.  The lower rank sends a copy, as it must be able to
 * accept at once; the other one waits until its block is accepted.  Large blocks take
 * several such rounds.
 */
#include <errno.h>
#include <stdlib.h>

#include "builders.h"

#define AHEAD		2	/* rounds at a time */
#define SECTION_CHUNKS	4	/* chunks of a block in one section, in fixed order */
#define COPY_CHUNKS	16	/* the same of an AllToAll in place */
#define MEMORIES	2	/* sections at a time */

/*
 * last: SEND and RECV of a round; sent: ALLREDUCE: first SEND of each block; waits: where
 * contributions wait for their turn; made: what took them from there
 */
struct pairwise {
	struct hcomm_plan *plan;
	const struct hcomm_sched_args *args;
	uint32_t last[AHEAD][2];
	uint32_t *sent;
	uint32_t nsec;
	uint32_t sec;
	uint64_t *waits[MEMORIES];
	uint32_t made[MEMORIES];
};

/* block q of the input, or an equal share of it */
static uint64_t whole_share(const struct hcomm_sched_args *args, uint32_t q, uint64_t *off)
{
	uint64_t size = hcomm_dtype_bytes(args->dtype), first, n;

	if (args->coll != HCOMM_COLL_ALLREDUCE)
		return hcomm_block(args, q, off);
	n = hcomm_split(args->count, args->nranks, q, &first);
	*off = first * size;
	return n * size;
}

/* the section of it that is done now */
static uint64_t share(const struct pairwise *p, uint32_t q, uint64_t *off)
{
	uint64_t size = hcomm_dtype_bytes(p->args->dtype), first, n;

	n = hcomm_split(whole_share(p->args, q, off) / size, p->nsec, p->sec, &first);
	*off += first * size;
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
	uint64_t begin;

	whole_share(p->args, p->args->rank, &begin);
	return hcomm_output(whole ? off : off - begin);
}

/* reduce in the order in which rounds come; the step that made the result */
static uint32_t reduce_rounds(struct pairwise *p)
{
	const struct hcomm_sched_args *args = p->args;
	uint32_t n = args->nranks, r = args->rank, made = HCOMM_NO_STEP, step, i, q;
	uint64_t off, own, len, mine = share(p, r, &own);
	struct hcomm_loc out = own_output(p, own);

	for (i = 1; i < n; i++) {
		q = (r + i) % n;
		len = share(p, q, &off);
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

/* sections of fixed order, as many on all ranks */
static uint32_t sections(const struct hcomm_sched_args *args)
{
	uint64_t first, most = hcomm_longest_block(args), want, fit;

	if (args->coll == HCOMM_COLL_ALLREDUCE)
		most = hcomm_split(args->count, args->nranks, 0, &first);
	want = most * hcomm_dtype_bytes(args->dtype) /
	       ((uint64_t)args->chunk_size * SECTION_CHUNKS) + 1;
	/* a rank has less than five steps for a block */
	fit = HCOMM_MAX_STEPS / 5 / args->nranks;
	if (want > fit)
		want = fit;
	return want ? (uint32_t)want : 1;
}

/* where @q's contribution waits: later sections are no longer than the first ones */
static struct hcomm_loc waiting(struct pairwise *p, uint32_t q, uint64_t len)
{
	uint64_t *at = &p->waits[p->sec % MEMORIES][q];

	if (p->sec < MEMORIES)
		*at = hcomm_plan_scratch(p->plan, len);
	return hcomm_loc(HCOMM_SLOT_SCRATCH, *at);
}

/* all contributions first, each in its place; then the order of ranks */
static uint32_t reduce_fixed(struct pairwise *p)
{
	const struct hcomm_sched_args *args = p->args;
	uint32_t n = args->nranks, r = args->rank, made = HCOMM_NO_STEP, first, step, i, q;
	uint64_t off, own, len, mine = share(p, r, &own);
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
		len = share(p, q, &off);
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
			loc[q] = waiting(p, q, mine);
		got[q] = hcomm_plan_recv(p->plan, q, loc[q], mine);
		in_round(p, i, true);
		hcomm_plan_after(p->plan, p->made[p->sec % MEMORIES]);
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
	p->made[p->sec % MEMORIES] = made;
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
	uint64_t off, own, len, mine = share(p, r, &own);

	for (i = 1; i < n; i++) {
		if (mine) {
			hcomm_plan_send(p->plan, (r + i) % n, hcomm_output(own), mine);
			hcomm_plan_stream(p->plan, made);
			in_round(p, n + i, false);
		}
		q = hcomm_ring_sub(r, i, n);
		len = share(p, q, &off);
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

/* in how many rounds a pair changes @len bytes; of each block the same at both ends */
static uint32_t rounds_of(const struct hcomm_sched_args *args, uint64_t len)
{
	uint64_t want = (len - 1) / ((uint64_t)args->chunk_size * COPY_CHUNKS) + 1;
	uint32_t fit = HCOMM_MAX_STEPS / 4 / args->nranks;

	if (want <= fit)
		return (uint32_t)want;
	return fit ? fit : 1;
}

/* a piece of the block of @q changes places; @scratch is for a copy */
static void change(struct pairwise *p, uint32_t round, uint32_t q, uint64_t off,
		   uint64_t len, uint64_t scratch)
{
	struct hcomm_loc src = hcomm_output(off);
	uint32_t before = HCOMM_NO_STEP;

	if (p->args->rank < q) {
		src = hcomm_loc(HCOMM_SLOT_SCRATCH, scratch);
		before = hcomm_plan_copy(p->plan, src, hcomm_output(off), len);
		hcomm_plan_after(p->plan, p->last[round % AHEAD][0]);
	}
	hcomm_plan_send(p->plan, q, src, len);
	hcomm_plan_stream(p->plan, before);
	in_round(p, round, false);
	if (p->args->rank > q)
		before = p->plan->nsteps - 1;
	hcomm_plan_recv(p->plan, q, hcomm_output(off), len);
	hcomm_plan_stream(p->plan, before);
	in_round(p, round, true);
}

static void alltoall_in_place(struct pairwise *p)
{
	const struct hcomm_sched_args *args = p->args;
	uint32_t n = args->nranks, r = args->rank, size = hcomm_dtype_bytes(args->dtype);
	uint32_t round = 0, rounds, i, k, q;
	uint64_t off, len, first, most = 0, scratch[AHEAD];

	for (q = r + 1; q < n; q++) {
		len = hcomm_block(args, q, &off);
		if (len)
			len = hcomm_split(len / size, rounds_of(args, len), 0, &first) * size;
		most = len > most ? len : most;
	}
	for (i = 0; i < AHEAD; i++)
		scratch[i] = hcomm_plan_scratch(p->plan, most);

	for (i = 0; i < n; i++) {
		q = hcomm_ring_sub(i, r, n);
		len = hcomm_block(args, q, &off);
		if (q == r || !len)
			continue;
		rounds = rounds_of(args, len);
		for (k = 0; k < rounds && !p->plan->err; k++, round++) {
			uint64_t part = hcomm_split(len / size, rounds, k, &first);

			if (part)
				change(p, round, q, off + first * size, part * size,
				       scratch[round % AHEAD]);
		}
	}
}

void hcomm_build_pairwise(struct hcomm_plan *plan,
			  const struct hcomm_sched_args *args)
{
	struct pairwise p = { .plan = plan, .args = args };
	uint32_t made, i;

	start(&p);
	if (args->coll == HCOMM_COLL_ALLTOALL) {
		if (args->in_place)
			alltoall_in_place(&p);
		else
			alltoall(&p);
		return;
	}
	p.sent = malloc(args->nranks * sizeof(*p.sent));
	for (i = 0; i < MEMORIES; i++) {
		p.waits[i] = malloc(args->nranks * sizeof(*p.waits[i]));
		p.made[i] = HCOMM_NO_STEP;
	}
	if (!p.sent || !p.waits[0] || !p.waits[1])
		hcomm_plan_fail(plan, -ENOMEM);
	p.nsec = args->fixed_order ? sections(args) : 1;
	for (p.sec = 0; p.sec < p.nsec && !plan->err; p.sec++) {
		made = args->fixed_order ? reduce_fixed(&p) : reduce_rounds(&p);
		if (args->coll == HCOMM_COLL_ALLREDUCE)
			hand_out(&p, made);
	}
	for (i = 0; i < MEMORIES; i++)
		free(p.waits[i]);
	free(p.sent);
}
