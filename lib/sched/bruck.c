// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Bruck's AllGather and AllToAll (J. Bruck, C.-T. Ho, S. Kipnis, E. Upfal,
 * D. Weathersby: Efficient algorithms for all-to-all communications in multiport
 * message-passing systems, IEEE TPDS 8, 1997): ceil(log2 n) rounds for any number
 * of ranks.
 *
 * AllGather: in the round of distance d rank r has the blocks of r to r + d - 1,
 * gives them to r - d and gets the next d.  Blocks stay where they belong in the
 * output, so nothing is rotated at the end.
 *
 * AllToAll: block i of rank r is for r + i.  In the round of distance d all blocks
 * whose i has bit d travel on by d, packed into one message; a block has made its
 * way when all bits of i were its turn.  Each byte is sent up to log2 n times, so
 * this is for small blocks; large ones go in sections, one after the other through the
 * same scratch memory.
 */
#include <errno.h>
#include <stdlib.h>

#include "bruck.h"

static void allgather(struct hcomm_plan *plan, const struct hcomm_sched_args *args)
{
	struct hcomm_bruck b = { .plan = plan, .args = args };
	uint32_t d;

	for (d = 1; d < args->nranks; d *= 2)
		b.distance[b.rounds++] = d;
	b.distance[b.rounds] = args->nranks;
	hcomm_bruck_own(&b);
	hcomm_bruck_allgather(&b);
}

#define SECTION_CHUNKS	64	/* chunks of all blocks in one section of an AllToAll */

/*
 * at: where block i is; made: the RECV it came by; round: and in which round, those before
 * the first one are in the input; packed: the COPY that took it from there
 */
struct travel {
	struct hcomm_loc at;
	uint32_t made;
	uint32_t round;
	uint32_t packed;
};

#define IN_INPUT	UINT32_MAX

/*
 * An AllToAll: the section that is done now, and what the one before still has to do in
 * the scratch memory of each round: the SEND that reads what was packed, and by block the
 * COPY that reads what came.
 */
struct alltoall {
	struct hcomm_plan *plan;
	const struct hcomm_sched_args *args;
	uint64_t from;
	uint64_t len;
	uint64_t longest;
	uint64_t mem;
	struct travel *t;
	uint32_t *reader;
	uint32_t sent[HCOMM_BRUCK_ROUNDS];
};

/* blocks that travel by @d */
static uint32_t travellers(uint32_t n, uint32_t d)
{
	uint32_t rest = n % (2 * d);

	return n / (2 * d) * d + (rest > d ? rest - d : 0);
}

/* the COPY just appended takes block @i from where it is */
static void taken(struct alltoall *a, uint32_t i)
{
	struct travel *t = &a->t[i];
	uint32_t step = a->plan->nsteps - 1;

	hcomm_plan_after(a->plan, t->made);
	if (t->round == IN_INPUT)
		t->packed = step;
	else
		a->reader[t->round * a->args->nranks + i] = step;
}

static void exchange(struct alltoall *a, uint32_t round, uint64_t out)
{
	uint32_t n = a->args->nranks, r = a->args->rank, d = 1u << round, i, k, made;
	uint64_t in = out + travellers(n, d) * a->longest;

	for (i = d, k = 0; i < n; i++) {
		if (!(i & d))
			continue;
		hcomm_plan_copy(a->plan, hcomm_loc(HCOMM_SLOT_SCRATCH, out + k++ * a->len),
				a->t[i].at, a->len);
		taken(a, i);
		hcomm_plan_after(a->plan, a->sent[round]);
	}
	a->sent[round] = hcomm_plan_send(a->plan, (r + d) % n,
					 hcomm_loc(HCOMM_SLOT_SCRATCH, out), k * a->len);
	for (i = 0; i < k; i++)
		hcomm_plan_after(a->plan, a->plan->nsteps - 2 - i);
	made = hcomm_plan_recv(a->plan, hcomm_ring_sub(r, d, n),
			       hcomm_loc(HCOMM_SLOT_SCRATCH, in), k * a->len);
	for (i = d, k = 0; i < n; i++) {
		if (!(i & d))
			continue;
		hcomm_plan_after(a->plan, a->reader[round * n + i]);
		a->t[i].at = hcomm_loc(HCOMM_SLOT_SCRATCH, in + k++ * a->len);
		a->t[i].made = made;
		a->t[i].round = round;
	}
}

static void section(struct alltoall *a, uint32_t rounds)
{
	const struct hcomm_sched_args *args = a->args;
	uint64_t block = args->count * hcomm_dtype_bytes(args->dtype), mem = a->mem;
	uint32_t n = args->nranks, r = args->rank, i, k;

	for (i = 0; i < n; i++)
		a->t[i] = (struct travel){
			hcomm_input(args, (r + i) % n * block + a->from), HCOMM_NO_STEP,
			IN_INPUT, HCOMM_NO_STEP,
		};
	for (i = 0; i < rounds && !a->plan->err; i++) {
		exchange(a, i, mem);
		mem += 2 * travellers(n, 1u << i) * a->longest;
	}
	for (i = args->in_place; i < n && !a->plan->err; i++) {
		k = hcomm_ring_sub(r, i, n);
		hcomm_plan_copy(a->plan, hcomm_output(k * block + a->from), a->t[i].at, a->len);
		taken(a, i);
		/* in place: the block that it overwrites, that of r + (n - i), is gone */
		if (args->in_place)
			hcomm_plan_after(a->plan, a->t[n - i].packed);
	}
}

static uint32_t sections(const struct hcomm_sched_args *args, uint32_t rounds)
{
	uint64_t all = args->count * hcomm_dtype_bytes(args->dtype) * args->nranks;
	uint64_t want = all / ((uint64_t)args->chunk_size * SECTION_CHUNKS) + 1;
	/* half of all blocks are packed in a round, and all are unpacked */
	uint64_t fit = HCOMM_MAX_STEPS / (args->nranks * (rounds + 2ull));

	if (want > fit)
		want = fit;
	return want ? (uint32_t)want : 1;
}

static void alltoall(struct hcomm_plan *plan, const struct hcomm_sched_args *args)
{
	uint32_t size = hcomm_dtype_bytes(args->dtype), n = args->nranks, rounds = 0, nsec, i;
	struct alltoall a = { .plan = plan, .args = args };
	uint64_t need = 0;

	while ((1ull << rounds) < n)
		need += travellers(n, 1u << rounds++);
	nsec = sections(args, rounds);
	a.longest = hcomm_split(args->count, nsec, 0, &a.from) * size;
	if (!a.longest)
		return;
	a.mem = hcomm_plan_scratch(plan, 2 * need * a.longest);
	a.t = malloc(n * sizeof(*a.t));
	a.reader = malloc((size_t)n * rounds * sizeof(*a.reader));
	if (!a.t || !a.reader)
		hcomm_plan_fail(plan, -ENOMEM);
	for (i = 0; i < HCOMM_BRUCK_ROUNDS; i++)
		a.sent[i] = HCOMM_NO_STEP;
	for (i = 0; i < n * rounds && a.reader; i++)
		a.reader[i] = HCOMM_NO_STEP;
	for (i = 0; i < nsec && !plan->err; i++) {
		a.len = hcomm_split(args->count, nsec, i, &a.from) * size;
		a.from *= size;
		if (a.len)
			section(&a, rounds);
	}
	free(a.reader);
	free(a.t);
}

void hcomm_build_bruck(struct hcomm_plan *plan, const struct hcomm_sched_args *args)
{
	if (args->coll == HCOMM_COLL_ALLGATHER)
		allgather(plan, args);
	else
		alltoall(plan, args);
}
