// SPDX-License-Identifier: GPL-2.0-only
/*
 * Collectives as the library's schedule builders plan them, with inputs whose
 * results are exact in every type and order: any integers where the type wraps,
 * few small ones where it rounds.
 */
#include <stdio.h>
#include <hcomm/sched.h>
#include "sim.h"

/* Ranks that give more than the neutral element of a floating-point sum. */
#define LOUD 8

struct coll_run {
	struct coll_job *job;
	u32 index;
	u8 *want;		/* reduced vector, or all inputs of an allgather */
	struct sim_run **runs;	/* by rank */
};

struct coll_job {
	struct coll_spec spec;
	u32 nranks;
	u32 size;		/* of an element */
	u64 elems;		/* of the reduced or gathered vector */
	struct coll_run *run;
};

static bool reduces(u32 coll)
{
	return coll == HCOMM_COLL_ALLREDUCE || coll == HCOMM_COLL_REDUCE ||
	       coll == HCOMM_COLL_REDUCE_SCATTER;
}

static void element(const struct coll_spec *s, u32 nranks, u32 run, u32 rank, u64 i, void *dst)
{
	u64 h = rng_mix(((u64)run << 56) ^ ((u64)rank << 40) ^ i);
	s64 v;

	if (s->dtype < HCOMM_DT_FP16 || !reduces(s->coll)) {
		memcpy(dst, &h, ref_dtype_size(s->dtype));
		return;
	}
	switch (s->redop) {
	case HCOMM_OP_SUM:
		v = (rank * 13 + i * 7 + run) % nranks < LOUD ? 1 + (s64)(h % 3) : 0;
		break;
	case HCOMM_OP_PROD:
		v = (rank * 13 + i * 7 + run) % nranks < LOUD ? (h & 1 ? 2 : -1) : 1;
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
		element(&job->spec, job->nranks, run, rank, first + i, dst + i * job->size);
}

/* Elements that a rank gives, and where they are. */
static u64 input_elems(const struct coll_job *job, u32 rank)
{
	const struct coll_spec *s = &job->spec;

	switch (s->coll) {
	case HCOMM_COLL_REDUCE_SCATTER:
		return s->count * job->nranks;
	case HCOMM_COLL_BROADCAST:
	case HCOMM_COLL_P2P:
		return rank == s->root ? s->count : 0;
	case HCOMM_COLL_BARRIER:
		return 0;
	default:
		return s->count;
	}
}

static u32 input_slot(const struct coll_job *job)
{
	return job->spec.in_place ? HCOMM_SLOT_RECV : HCOMM_SLOT_SEND;
}

static u64 input_off(const struct coll_job *job, u32 rank)
{
	if (job->spec.in_place && job->spec.coll == HCOMM_COLL_ALLGATHER)
		return rank * job->spec.count * job->size;
	return 0;
}

/* Before each launch: input in its place, everything else is noise. */
static void fill(struct coll_run *run, u32 rank)
{
	struct coll_job *job = run->job;
	struct sim_run *sr = run->runs[rank];
	u64 n = input_elems(job, rank), len = n * job->size;
	struct sim_rng noise = { rng_mix(rank) };
	u32 i;
	u8 *buf;

	for (i = 0; i < sr->nslots; i++) {
		u64 all = sr->slots[i]->mem.length;

		buf = malloc(all + 1);
		if (!buf)
			sim_die(NULL, "out of memory");
		rng_fill(&noise, buf, all);
		sim_mem_store(sr->slots[i], 0, buf, all);
		free(buf);
	}
	if (!len)
		return;
	buf = malloc(len);
	if (!buf)
		sim_die(NULL, "out of memory");
	elements(job, run->index, rank, 0, n, buf);
	sim_mem_store(sr->slots[input_slot(job)], input_off(job, rank), buf, len);
	free(buf);
}

static const char *check_bytes(struct sim_mem *m, u64 off, const u8 *want, u64 len,
			       const char *what, u32 size)
{
	static char text[160];
	u8 *got;
	u64 i;

	if (!len)
		return NULL;
	got = malloc(len);
	if (!got)
		sim_die(NULL, "out of memory");
	sim_mem_load(got, m, off, len);
	i = len;
	if (memcmp(got, want, len))
		for (i = 0; i < len && got[i] == want[i]; i++)
			;
	if (i < len)
		snprintf(text, sizeof(text), "%s: element %llu is wrong (byte %#x, must be %#x)",
			 what, (unsigned long long)(i / size), got[i], want[i]);
	free(got);
	return i < len ? text : NULL;
}

/* After each launch that ended well. */
static const char *check(struct sim_run *sr)
{
	struct coll_run *run = sr->arg;
	struct coll_job *job = run->job;
	const struct coll_spec *s = &job->spec;
	u32 rank = sr->run->engine->par.rank;
	u64 bytes = s->count * job->size, block = bytes * rank, n;
	const char *wrong = NULL;
	u8 *in;

	switch (s->coll) {
	case HCOMM_COLL_REDUCE:
	case HCOMM_COLL_P2P:
		if (rank != (s->coll == HCOMM_COLL_P2P ? s->peer : s->root))
			break;
		fallthrough;
	case HCOMM_COLL_ALLREDUCE:
	case HCOMM_COLL_BROADCAST:
		wrong = check_bytes(sr->slots[HCOMM_SLOT_RECV], 0, run->want, bytes,
				    "result", job->size);
		break;
	case HCOMM_COLL_ALLGATHER:
		wrong = check_bytes(sr->slots[HCOMM_SLOT_RECV], 0, run->want,
				    bytes * job->nranks, "result", job->size);
		break;
	case HCOMM_COLL_REDUCE_SCATTER:
		wrong = check_bytes(sr->slots[HCOMM_SLOT_RECV], s->in_place ? block : 0,
				    run->want + block, bytes, "result", job->size);
		break;
	default:
		break;
	}
	n = input_elems(job, rank);
	if (!wrong && n && !s->in_place) {
		in = malloc(n * job->size);
		if (!in)
			sim_die(NULL, "out of memory");
		elements(job, run->index, rank, 0, n, in);
		wrong = check_bytes(sr->slots[HCOMM_SLOT_SEND], 0, in, n * job->size,
				    "input changed", job->size);
		free(in);
	}
	if (!wrong && sr->launches > 1)
		fill(run, rank);
	return wrong;
}

void coll_call(const struct coll_spec *spec, struct hcomm_call *call)
{
	*call = (struct hcomm_call){
		.coll = spec->coll,
		.dtype = spec->dtype,
		.redop = spec->redop,
		.root = spec->root,
		.count = spec->count,
		.algo = spec->algo,
		.hash = spec->peer,
	};
}

static int add(struct sim *sim, const struct sim_cfg *cfg, const struct coll_spec *s,
	       u32 rank, struct sim_run **out)
{
	struct hcomm_sched_args args = {
		.coll = s->coll, .algo = s->algo, .rank = rank, .nranks = cfg->nranks,
		.root = s->root, .peer = s->peer, .count = s->count, .dtype = s->dtype,
		.redop = s->redop, .in_place = s->in_place,
		.chunk_size = cfg->par.chunk_size, .channels = s->channels,
	};
	struct hcomm_plan *plan;
	struct hcomm_step *steps;
	struct sim_run *sr;
	u32 nsteps, ndeps, nslots, i, *deps;
	int err;

	err = hcomm_sched_build(&args, &plan);
	if (err)
		sim_die(sim, "%s: no schedule for rank %u: %s", coll_text(s), rank,
			strerror(-err));
	hcomm_plan_steps(plan, &nsteps);
	hcomm_plan_deps(plan, &ndeps);
	nslots = hcomm_plan_nslots(plan);
	steps = calloc(nsteps, sizeof(*steps));
	deps = calloc(ndeps + 1, sizeof(*deps));
	if (!steps || !deps)
		sim_die(sim, "out of memory");
	memcpy(steps, hcomm_plan_steps(plan, &nsteps), nsteps * sizeof(*steps));
	if (ndeps)
		memcpy(deps, hcomm_plan_deps(plan, &ndeps), ndeps * sizeof(*deps));
	err = sim_add_run(sim, rank, steps, nsteps, deps, ndeps, nslots, &sr);
	if (err) {
		hcomm_plan_free(plan);
		return err;
	}
	for (i = 0; i < nslots; i++) {
		u64 len = i == HCOMM_SLOT_SCRATCH ? hcomm_plan_scratch_size(plan) :
						    hcomm_sched_buffer_size(&args, i);

		if (sr->prog->slots[i].extent > len)
			sim_die(sim, "%s: rank %u touches %llu bytes of slot %u, which has %llu",
				coll_text(s), rank,
				(unsigned long long)sr->prog->slots[i].extent, i,
				(unsigned long long)len);
		sr->slots[i] = sim_mem_new(sim_rng(sim), len, s->pieces);
	}
	hcomm_plan_free(plan);
	sr->start = rng_below(sim_rng(sim), cfg->skew + 1);
	*out = sr;
	return 0;
}

/* One rank's part of a run that is never going to end well. */
int coll_add(struct sim *sim, const struct sim_cfg *cfg, const struct coll_spec *spec,
	     u32 rank, u64 key)
{
	struct sim_run *sr;
	int err = add(sim, cfg, spec, rank, &sr);

	if (err)
		return err;
	sr->key = key;
	coll_call(spec, &sr->call);
	return 0;
}

static void expect(struct coll_run *run)
{
	struct coll_job *job = run->job;
	const struct coll_spec *s = &job->spec;
	u64 bytes = s->count * job->size;
	u32 rank;
	u8 *in;

	run->want = malloc(job->elems * job->size + 1);
	in = malloc(job->elems * job->size + 1);
	if (!run->want || !in)
		sim_die(NULL, "out of memory");
	switch (s->coll) {
	case HCOMM_COLL_BROADCAST:
	case HCOMM_COLL_P2P:
		elements(job, run->index, s->root, 0, s->count, run->want);
		break;
	case HCOMM_COLL_ALLGATHER:
		for (rank = 0; rank < job->nranks; rank++)
			elements(job, run->index, rank, 0, s->count, run->want + rank * bytes);
		break;
	case HCOMM_COLL_BARRIER:
		break;
	default:
		for (rank = 0; rank < job->nranks; rank++) {
			elements(job, run->index, rank, 0, job->elems, rank ? in : run->want);
			if (rank)
				ref_reduce(s->dtype, s->redop, run->want, run->want, in,
					   job->elems);
		}
	}
	free(in);
}

struct coll_job *coll_job_new(struct sim *sim, const struct sim_cfg *cfg,
			      const struct coll_spec *spec)
{
	struct coll_job *job = calloc(1, sizeof(*job));
	u32 i, rank, back = cfg->par.max_runs;

	if (!job)
		sim_die(sim, "out of memory");
	job->spec = *spec;
	job->nranks = cfg->nranks;
	job->size = ref_dtype_size(spec->dtype);
	job->elems = spec->coll == HCOMM_COLL_ALLGATHER ||
		     spec->coll == HCOMM_COLL_REDUCE_SCATTER ?
		     spec->count * cfg->nranks : spec->count;
	job->run = calloc(spec->runs, sizeof(*job->run));
	if (!job->run)
		sim_die(sim, "out of memory");
	for (i = 0; i < spec->runs; i++) {
		struct coll_run *run = &job->run[i];
		u64 key = rng_next(sim_rng(sim));

		run->job = job;
		run->index = i;
		run->runs = calloc(cfg->nranks, sizeof(*run->runs));
		if (!run->runs)
			sim_die(sim, "out of memory");
		expect(run);
		for (rank = 0; rank < cfg->nranks; rank++) {
			struct sim_run *sr;

			if (add(sim, cfg, spec, rank, &sr)) {
				coll_job_free(job);
				return NULL;
			}
			run->runs[rank] = sr;
			sr->key = key;
			coll_call(spec, &sr->call);
			sr->launches = spec->launches;
			sr->check = check;
			sr->arg = run;
			if (i >= back)
				sr->after = job->run[i - back].runs[rank];
			fill(run, rank);
		}
	}
	return job;
}

void coll_job_check(struct coll_job *job, struct sim *sim)
{
	u64 last = 0, first = ~0ull;
	u32 i, rank;

	if (job->spec.coll != HCOMM_COLL_BARRIER)
		return;
	for (i = 0; i < job->spec.runs; i++, last = 0, first = ~0ull) {
		for (rank = 0; rank < job->nranks; rank++) {
			last = max(last, job->run[i].runs[rank]->launched);
			first = min(first, job->run[i].runs[rank]->finished);
		}
		if (first < last)
			sim_die(sim, "a rank left the barrier at %llu ns, another came at %llu",
				(unsigned long long)first, (unsigned long long)last);
	}
}

void coll_job_free(struct coll_job *job)
{
	u32 i;

	for (i = 0; i < job->spec.runs; i++) {
		free(job->run[i].want);
		free(job->run[i].runs);
	}
	free(job->run);
	free(job);
}

void coll_random_spec(struct coll_spec *s, struct sim_rng *rng, const struct sim_cfg *cfg)
{
	u64 bytes;

	memset(s, 0, sizeof(*s));
	do {
		s->coll = rng_range(rng, HCOMM_COLL_P2P, HCOMM_COLL_ALLGATHER);
		s->algo = rng_range(rng, HCOMM_ALGO_RING, HCOMM_ALGO_COUNT - 1);
	} while (!hcomm_algo_supports(s->algo, s->coll));
	if (reduces(s->coll))
		s->redop = rng_below(rng, HCOMM_OP_COUNT);
	if (s->coll != HCOMM_COLL_BARRIER) {
		s->dtype = rng_below(rng, HCOMM_DT_COUNT);
		bytes = rng_below(rng, 3) ? rng_below(rng, 12 * cfg->par.chunk_size + 1) :
					    rng_below(rng, cfg->par.eager_size * 2 + 1);
		s->count = bytes / ref_dtype_size(s->dtype);
	}
	if (s->coll == HCOMM_COLL_BROADCAST || s->coll == HCOMM_COLL_REDUCE ||
	    s->coll == HCOMM_COLL_P2P)
		s->root = rng_below(rng, cfg->nranks);
	if (s->coll == HCOMM_COLL_P2P) {
		s->peer = rng_below(rng, cfg->nranks - 1);
		s->peer += s->peer >= s->root;
	} else if (s->coll != HCOMM_COLL_BARRIER) {
		s->in_place = rng_below(rng, 2);
	}
	s->channels = rng_below(rng, 4);
	s->runs = rng_range(rng, 1, 3);
	s->launches = rng_range(rng, 1, 2);
	s->pieces = 5;
}

const char *coll_text(const struct coll_spec *s)
{
	static char text[160];

	snprintf(text, sizeof(text), "%s/%s count %llu %s %s root %u%s", hcomm_coll_name(s->coll),
		 hcomm_algo_name(s->algo), (unsigned long long)s->count, ref_dtype_name(s->dtype),
		 ref_op_name(s->redop), s->root, s->in_place ? " in place" : "");
	return text;
}
