// SPDX-License-Identifier: GPL-2.0-only
/*
 * What to simulate: a specification, chosen at random or by hand, and the
 * arguments of each rank that follow from it.  The blocks of V forms have
 * lengths, places and gaps between them that depend on a seed alone.
 */
#include <stdio.h>
#include "coll.h"

#define MAX_GAP 5		/* elements between two blocks */

bool coll_reduces(u32 coll)
{
	return coll == HCOMM_COLL_ALLREDUCE || coll == HCOMM_COLL_REDUCE ||
	       coll == HCOMM_COLL_REDUCE_SCATTER || coll == HCOMM_COLL_SCAN ||
	       coll == HCOMM_COLL_EXSCAN;
}

static bool has_root(u32 coll)
{
	return coll == HCOMM_COLL_BROADCAST || coll == HCOMM_COLL_REDUCE ||
	       coll == HCOMM_COLL_GATHER || coll == HCOMM_COLL_SCATTER ||
	       coll == HCOMM_COLL_P2P;
}

static bool has_vector(u32 coll)
{
	return coll == HCOMM_COLL_ALLGATHER || coll == HCOMM_COLL_REDUCE_SCATTER ||
	       coll == HCOMM_COLL_GATHER || coll == HCOMM_COLL_SCATTER ||
	       coll == HCOMM_COLL_ALLTOALL;
}

static void *must_calloc(size_t n, size_t size)
{
	void *p = calloc(n + 1, size);

	if (!p)
		sim_die(NULL, "out of memory");
	return p;
}

u64 coll_block(const struct coll_job *job, u32 from, u32 to)
{
	const struct coll_spec *s = &job->spec;
	u64 h;

	if (!s->vector)
		return s->count;
	if (s->coll != HCOMM_COLL_ALLTOALL)
		from = 0;
	else if (s->in_place && from > to)
		return coll_block(job, to, from);	/* both ways alike */
	h = rng_mix(s->vseed ^ rng_mix((u64)from << 32 | to));
	/* a quarter is empty */
	return h & 3 ? (h >> 2) % (2 * s->count + 1) : 0;
}

u64 *coll_displs(const struct coll_job *job, u32 rank, bool received)
{
	const struct coll_spec *s = &job->spec;
	struct sim_rng rng = { s->vseed ^ rank };
	u64 *displs = must_calloc(job->nranks, sizeof(*displs)), at = 0;
	u32 *order = must_calloc(job->nranks, sizeof(*order)), i, k, n;

	for (i = 0; i < job->nranks; i++)
		order[i] = i;
	/* In any order, and with gaps, where the caller may choose. */
	for (i = job->nranks; s->apart && i > 1; i--) {
		k = rng_below(&rng, i);
		n = order[i - 1];
		order[i - 1] = order[k];
		order[k] = n;
	}
	for (i = 0; i < job->nranks; i++) {
		n = order[i];
		if (s->apart)
			at += rng_below(&rng, MAX_GAP + 1);
		displs[n] = at;
		if (s->coll == HCOMM_COLL_ALLTOALL)
			at += received ? coll_block(job, n, rank) : coll_block(job, rank, n);
		else
			at += coll_block(job, 0, n);
	}
	free(order);
	return displs;
}

static u64 *blocks(const struct coll_job *job, u32 rank, bool received)
{
	u64 *counts = must_calloc(job->nranks, sizeof(*counts));
	u32 i;

	for (i = 0; i < job->nranks; i++)
		counts[i] = received ? coll_block(job, i, rank) : coll_block(job, rank, i);
	return counts;
}

void coll_args(const struct coll_job *job, u32 chunk_size, u32 rank,
	       struct hcomm_sched_args *args, struct coll_arrays *arrays)
{
	const struct coll_spec *s = &job->spec;
	bool alone = (s->coll == HCOMM_COLL_GATHER || s->coll == HCOMM_COLL_SCATTER) &&
		     rank != s->root;

	*arrays = (struct coll_arrays){};
	*args = (struct hcomm_sched_args){
		.coll = s->coll, .algo = s->algo, .rank = rank, .nranks = job->nranks,
		.root = s->root, .peer = s->peer, .count = s->count, .dtype = s->dtype,
		.redop = s->redop, .in_place = s->in_place, .fixed_order = s->fixed_order,
		.vector = s->vector, .chunk_size = chunk_size, .channels = s->channels,
		.radix = s->radix, .topo = job->topo,
	};
	if (!s->vector)
		return;
	args->count = 0;
	if (alone && (s->vseed ^ rank) & 1) {
		/* It may not know the others' blocks. */
		args->count = coll_block(job, 0, rank);
		return;
	}
	if (s->coll == HCOMM_COLL_ALLTOALL) {
		arrays->rcounts = blocks(job, rank, true);
		if (s->apart)
			arrays->rdispls = coll_displs(job, rank, true);
	}
	if (s->coll != HCOMM_COLL_ALLTOALL || !s->in_place) {
		arrays->counts = blocks(job, rank, false);
		if (s->apart && s->coll != HCOMM_COLL_REDUCE_SCATTER)
			arrays->displs = coll_displs(job, rank, false);
	}
	args->counts = arrays->counts;
	args->displs = arrays->displs;
	args->rcounts = arrays->rcounts;
	args->rdispls = arrays->rdispls;
}

void coll_arrays_free(struct coll_arrays *arrays)
{
	free(arrays->counts);
	free(arrays->displs);
	free(arrays->rcounts);
	free(arrays->rdispls);
}

/* Nodes and groups of a plan: those of the fabric, or any. */
static void make_topo(struct coll_job *job, const struct sim_cfg *cfg)
{
	const struct coll_spec *s = &job->spec;
	u32 *node = must_calloc(job->nranks, sizeof(*node));
	u32 *group = must_calloc(job->nranks, sizeof(*group));
	struct sim_rng rng = { s->tseed };
	u32 nodes = rng_range(&rng, 1, job->nranks), groups = rng_range(&rng, 1, nodes), i;

	for (i = 0; i < job->nranks; i++) {
		node[i] = s->tseed ? rng_below(&rng, nodes) : i / cfg->ranks_per_node;
		group[i] = s->tseed ? rng_mix(s->tseed ^ node[i]) % groups : 0;
	}
	if (hcomm_sched_topo_create(job->nranks, node, group, &job->topo))
		sim_die(NULL, "no topology of %u ranks", job->nranks);
	free(node);
	free(group);
}

void coll_job_init(struct coll_job *job, const struct coll_spec *spec,
		   const struct sim_cfg *cfg)
{
	u32 i;

	job->spec = *spec;
	job->nranks = cfg->nranks;
	job->size = ref_dtype_size(spec->dtype);
	make_topo(job, cfg);
	job->sums = must_calloc(job->nranks, sizeof(*job->sums));
	for (i = 0; i < job->nranks; i++)
		job->sums[i + 1] = job->sums[i] + coll_block(job, 0, i);
}

void coll_job_exit(struct coll_job *job)
{
	hcomm_sched_topo_free(job->topo);
	free(job->sums);
}

bool coll_valid(const struct coll_spec *spec, const struct sim_cfg *cfg)
{
	struct hcomm_sched_args args;
	struct coll_job job = {};
	struct coll_arrays arrays;
	int err;

	if (!HCOMM_OP_FITS(spec->redop, spec->dtype))
		return false;
	coll_job_init(&job, spec, cfg);
	coll_args(&job, cfg->par.chunk_size, spec->root, &args, &arrays);
	err = hcomm_sched_check(&args);
	coll_arrays_free(&arrays);
	coll_job_exit(&job);
	return !err;
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

static void choose(struct coll_spec *s, struct sim_rng *rng, const struct sim_cfg *cfg)
{
	u64 bytes;

	memset(s, 0, sizeof(*s));
	do {
		s->coll = rng_range(rng, HCOMM_COLL_P2P, HCOMM_COLL_EXSCAN);
		s->algo = rng_range(rng, HCOMM_ALGO_RING, HCOMM_ALGO_COUNT - 1);
	} while (!hcomm_algo_supports(s->algo, s->coll));
	if (coll_reduces(s->coll)) {
		s->redop = rng_below(rng, HCOMM_OP_COUNT);
		s->fixed_order = !rng_below(rng, 4);
	}
	if (s->coll != HCOMM_COLL_BARRIER) {
		s->dtype = rng_below(rng, HCOMM_DT_COUNT);
		if (!HCOMM_OP_FITS(s->redop, s->dtype))
			s->redop %= HCOMM_OP_BAND;
		bytes = rng_below(rng, 3) ? rng_below(rng, 12 * cfg->par.chunk_size + 1) :
					    rng_below(rng, cfg->par.eager_size * 2 + 1);
		/* One in eight has nothing, or one element. */
		s->count = rng_below(rng, 8) ? bytes / ref_dtype_size(s->dtype) :
					       rng_below(rng, 2);
	}
	if (has_root(s->coll))
		s->root = rng_below(rng, cfg->nranks);
	if (s->coll == HCOMM_COLL_P2P) {
		s->peer = rng_below(rng, cfg->nranks - 1);
		s->peer += s->peer >= s->root;
	} else if (s->coll != HCOMM_COLL_BARRIER) {
		s->in_place = rng_below(rng, 2);
	}
	if (has_vector(s->coll) && rng_below(rng, 2)) {
		s->vector = true;
		s->vseed = rng_next(rng);
		s->apart = rng_below(rng, 2);
	}
	if (s->algo == HCOMM_ALGO_HIERARCHICAL && rng_below(rng, 4))
		s->tseed = rng_next(rng);
	s->radix = rng_below(rng, 2) ? 0 : rng_range(rng, 2, 9);
	s->channels = rng_below(rng, 4);
	s->runs = rng_range(rng, 1, 3);
	s->launches = rng_range(rng, 1, 2);
	s->pieces = 5;
}

void coll_random_spec(struct coll_spec *s, struct sim_rng *rng, const struct sim_cfg *cfg)
{
	/* Not all do V forms or a fixed order. */
	do {
		choose(s, rng, cfg);
	} while (!coll_valid(s, cfg));
}

const char *coll_text(const struct coll_spec *s)
{
	static char text[240];

	snprintf(text, sizeof(text), "%s/%s%s%s count %llu %s %s root %u channels %u radix %u%s%s",
		 hcomm_coll_name(s->coll), hcomm_algo_name(s->algo), s->vector ? " V" : "",
		 s->apart ? " apart" : "", (unsigned long long)s->count,
		 ref_dtype_name(s->dtype), ref_op_name(s->redop), s->root, s->channels,
		 s->radix, s->in_place ? " in place" : "",
		 s->fixed_order ? " in fixed order" : "");
	return text;
}
