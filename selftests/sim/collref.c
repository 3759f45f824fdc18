// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a collective must do, written plainly: every element has a value that
 * depends on run, rank and number; each rank's buffers are noise with its input
 * laid in, and afterwards the same with its output laid in.  All bytes are
 * compared: a collective that touches more than its output is wrong.
 *
 * Inputs of reductions are such that the result is exact in every type and
 * order: any integers where the type wraps, few small ones where it rounds.  In
 * fixed order they are any bits, as the reference has the same order.
 */
#include <stdio.h>
#include "coll.h"

/* Elements of a rank are numbered per block that it gives. */
#define BLOCK(to) ((u64)(to) << 32)

/* A part of a buffer: n elements of what a rank gives, or of the result. */
struct part {
	u64 off;
	u32 from;
	u64 first;
	u64 n;
};

typedef void (*part_fn)(void *arg, const struct part *part);

/* Ranks that give more than the neutral element of a floating-point sum. */
static u32 loud(u32 dtype)
{
	/* 3 times this has to fit into the significand. */
	return ref_dtype_size(dtype) == 1 ? 2 : 8;
}

static void element(const struct coll_job *job, u32 run, u32 rank, u64 i, void *dst)
{
	const struct coll_spec *s = &job->spec;
	u64 h = rng_mix(rng_mix((u64)run << 32 | rank) ^ i);
	bool speaks;
	s64 v;

	if (HCOMM_DT_IS_INT(s->dtype) || !coll_reduces(s->coll) || s->fixed_order) {
		memcpy(dst, &h, job->size);
		return;
	}
	speaks = (rank + i * 7 + run) % job->nranks < loud(s->dtype);
	switch (s->redop) {
	case HCOMM_OP_SUM:
		v = speaks ? 1 + (s64)(h % 3) : 0;
		break;
	case HCOMM_OP_PROD:
		v = !speaks ? 1 : h & 1 ? 2 : -1;
		break;
	default:
		v = (s64)(h % 201) - 100;
	}
	ref_from_int(s->dtype, dst, v);
}

static void elements(const struct coll_job *job, u32 run, u32 rank, u64 first, u64 n, u8 *dst)
{
	u64 i;

	for (i = 0; i < n; i++)
		element(job, run, rank, first + i, dst + i * job->size);
}

static void part(part_fn fn, void *arg, u64 off, u32 from, u64 first, u64 n)
{
	struct part p = { .off = off, .from = from, .first = first, .n = n };

	if (n)
		fn(arg, &p);
}

/* The buffer of all blocks: of one rank for all, or of all for one. */
static void all_blocks(const struct coll_job *job, u32 rank, bool received, part_fn fn, void *arg)
{
	bool alltoall = job->spec.coll == HCOMM_COLL_ALLTOALL;
	u64 *displs = coll_displs(job, rank, received);
	u32 i;

	for (i = 0; i < job->nranks; i++) {
		if (received)
			part(fn, arg, displs[i], i, alltoall ? BLOCK(rank) : 0,
			     alltoall ? coll_block(job, i, rank) : coll_block(job, 0, i));
		else
			part(fn, arg, displs[i], rank, BLOCK(i), coll_block(job, rank, i));
	}
	free(displs);
}

/* Offset of a rank's block in the buffer that has all, if it lies there. */
static u64 own_off(const struct coll_job *job, u32 rank, bool there)
{
	u64 *displs, off;

	if (!there)
		return 0;
	displs = coll_displs(job, rank, true);
	off = displs[rank];
	free(displs);
	return off;
}

static void inputs(const struct coll_job *job, u32 rank, part_fn fn, void *arg)
{
	const struct coll_spec *s = &job->spec;

	switch (s->coll) {
	case HCOMM_COLL_BROADCAST:
	case HCOMM_COLL_P2P:
		if (rank == s->root)
			part(fn, arg, 0, rank, 0, s->count);
		break;
	case HCOMM_COLL_REDUCE_SCATTER:
		part(fn, arg, 0, rank, 0, job->sums[job->nranks]);
		break;
	case HCOMM_COLL_ALLGATHER:
		part(fn, arg, own_off(job, rank, s->in_place), rank, 0, coll_block(job, 0, rank));
		break;
	case HCOMM_COLL_GATHER:
		part(fn, arg, own_off(job, rank, s->in_place && rank == s->root), rank, 0,
		     coll_block(job, 0, rank));
		break;
	case HCOMM_COLL_SCATTER:
		if (rank != s->root)
			break;
		fallthrough;
	case HCOMM_COLL_ALLTOALL:
		/* In place, blocks lie where those that come will lie. */
		all_blocks(job, rank, false, fn, arg);
		break;
	case HCOMM_COLL_BARRIER:
		break;
	default:
		part(fn, arg, 0, rank, 0, s->count);
	}
}

static void outputs(const struct coll_job *job, u32 rank, part_fn fn, void *arg)
{
	const struct coll_spec *s = &job->spec;

	switch (s->coll) {
	case HCOMM_COLL_REDUCE:
		if (rank != s->root)
			break;
		fallthrough;
	case HCOMM_COLL_ALLREDUCE:
		part(fn, arg, 0, 0, 0, s->count);
		break;
	case HCOMM_COLL_EXSCAN:
		if (!rank)
			break;
		fallthrough;
	case HCOMM_COLL_SCAN:
		part(fn, arg, 0, 0, rank * s->count, s->count);
		break;
	case HCOMM_COLL_REDUCE_SCATTER:
		part(fn, arg, s->in_place ? job->sums[rank] : 0, 0, job->sums[rank],
		     coll_block(job, 0, rank));
		break;
	case HCOMM_COLL_P2P:
		if (rank != s->peer)
			break;
		fallthrough;
	case HCOMM_COLL_BROADCAST:
		part(fn, arg, 0, s->root, 0, s->count);
		break;
	case HCOMM_COLL_GATHER:
		if (rank != s->root)
			break;
		fallthrough;
	case HCOMM_COLL_ALLGATHER:
	case HCOMM_COLL_ALLTOALL:
		all_blocks(job, rank, true, fn, arg);
		break;
	case HCOMM_COLL_SCATTER:
		/* In place, the root's own stays where it is. */
		if (!s->in_place || rank != s->root)
			part(fn, arg, 0, s->root, BLOCK(rank), coll_block(job, 0, rank));
		break;
	default:
		break;
	}
}

void coll_expect(struct coll_run *run)
{
	struct coll_job *job = run->job;
	const struct coll_spec *s = &job->spec;
	bool scan = s->coll == HCOMM_COLL_SCAN || s->coll == HCOMM_COLL_EXSCAN;
	u64 n = s->coll == HCOMM_COLL_REDUCE_SCATTER ? job->sums[job->nranks] : s->count;
	u64 bytes = n * job->size;
	u8 *in, *acc, *at;
	u32 rank;

	if (!coll_reduces(s->coll))
		return;
	run->want = malloc((scan ? job->nranks : 1) * bytes + 1);
	in = malloc(bytes + 1);
	acc = malloc(bytes + 1);
	if (!run->want || !in || !acc)
		sim_die(NULL, "out of memory");
	for (rank = 0; rank < job->nranks; rank++) {
		at = run->want + (scan ? rank * bytes : 0);
		if (s->coll == HCOMM_COLL_EXSCAN && rank)
			memcpy(at, acc, bytes);
		elements(job, run->index, rank, 0, n, rank ? in : acc);
		if (rank)
			ref_reduce(s->dtype, s->redop, acc, acc, in, n);
		if (s->coll != HCOMM_COLL_EXSCAN)
			memcpy(at, acc, bytes);
	}
	free(acc);
	free(in);
}

/* A buffer that is being made up. */
struct image {
	struct coll_run *run;
	u8 *bytes;
	u64 len;
	bool output;
};

static void lay(void *arg, const struct part *p)
{
	struct image *im = arg;
	const struct coll_job *job = im->run->job;
	u64 at = p->off * job->size, len = p->n * job->size;

	if (at > im->len || len > im->len - at)
		sim_die(NULL, "%s: a buffer of %llu bytes is too short",
			coll_text(&job->spec), (unsigned long long)im->len);
	if (im->output && im->run->want)
		memcpy(im->bytes + at, im->run->want + p->first * job->size, len);
	else
		elements(job, im->run->index, p->from, p->first, p->n, im->bytes + at);
}

/* A slot's bytes before or after the launch; to be freed. */
static u8 *image(struct coll_run *run, u32 rank, u32 slot, bool after)
{
	const struct coll_job *job = run->job;
	struct sim_rng noise = { rng_mix((u64)run->index << 40 ^ (u64)rank << 8 ^ slot) };
	struct image im = { .run = run, .len = run->runs[rank]->slots[slot]->mem.length };

	im.bytes = malloc(im.len + 1);
	if (!im.bytes)
		sim_die(NULL, "out of memory");
	rng_fill(&noise, im.bytes, im.len);
	if (slot == (job->spec.in_place ? HCOMM_SLOT_RECV : HCOMM_SLOT_SEND))
		inputs(job, rank, lay, &im);
	im.output = true;
	if (after && slot == HCOMM_SLOT_RECV)
		outputs(job, rank, lay, &im);
	return im.bytes;
}

void coll_fill(struct coll_run *run, u32 rank)
{
	struct sim_run *sr = run->runs[rank];
	u8 *bytes;
	u32 i;

	for (i = 0; i < sr->nslots; i++) {
		bytes = image(run, rank, i, false);
		sim_mem_store(sr->slots[i], 0, bytes, sr->slots[i]->mem.length);
		free(bytes);
	}
}

const char *coll_compare(struct coll_run *run, u32 rank)
{
	static const char * const names[] = { "input", "output" };
	static char text[200];
	struct sim_run *sr = run->runs[rank];
	const char *wrong = NULL;
	u32 slot;

	for (slot = HCOMM_SLOT_SEND; slot <= HCOMM_SLOT_RECV && !wrong; slot++) {
		u64 len = sr->slots[slot]->mem.length, i = 0;
		u8 *want = image(run, rank, slot, true), *have = malloc(len + 1);

		if (!have)
			sim_die(NULL, "out of memory");
		sim_mem_load(have, sr->slots[slot], 0, len);
		if (memcmp(have, want, len)) {
			while (have[i] == want[i])
				i++;
			snprintf(text, sizeof(text), "%s buffer: element %llu of %llu is wrong (byte %#x, must be %#x)",
				 names[slot], (unsigned long long)i / run->job->size,
				 (unsigned long long)len / run->job->size, have[i], want[i]);
			wrong = text;
		}
		free(have);
		free(want);
	}
	return wrong;
}
