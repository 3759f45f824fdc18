// SPDX-License-Identifier: LGPL-2.1-or-later
/* Candidates, and the choice among them. */
#include <errno.h>
#include <stdlib.h>

#include "decide.h"
#include "scratch.h"

#define MIN_GRAIN	4096u
#define MANY_RANKS	64u

/* without counts that all ranks know, blocks are taken to be of a middle size */
#define UNKNOWN_BLOCK	4096u

void hcomm_call_shape(const struct hcomm_sched_args *args,
		      struct hcomm_call_shape *call)
{
	uint64_t size = hcomm_dtype_bytes(args->dtype), sum = 0;
	bool vector = args->vector || args->counts;
	uint32_t i;

	*call = (struct hcomm_call_shape){
		.coll = args->coll,
		.bytes = args->count * size,
		.esize = (uint32_t)size,
		.redop = args->redop,
	};
	if (!vector)
		return;
	if (args->coll != HCOMM_COLL_ALLGATHER &&
	    args->coll != HCOMM_COLL_REDUCE_SCATTER) {
		call->bytes = UNKNOWN_BLOCK;
		return;
	}
	for (i = 0; args->counts && i < args->nranks; i++)
		sum += args->counts[i];
	call->bytes = sum / args->nranks * size;
}

/* -------------------------------------------------------------- corrections */

static uint32_t bucket(uint64_t bytes)
{
	uint32_t b = 0;

	while (bytes >>= 1)
		b++;
	return b < HCOMM_SIZE_BUCKETS ? b : HCOMM_SIZE_BUCKETS - 1;
}

static size_t scale_at(uint32_t coll, uint32_t algo, uint64_t bytes)
{
	return ((size_t)coll * HCOMM_ALGO_COUNT + algo) * HCOMM_SIZE_BUCKETS +
	       bucket(bytes);
}

int hcomm_planner_measured(struct hcomm_planner *planner,
			   const struct hcomm_sched_args *args,
			   const struct hcomm_candidate *cand, double seconds)
{
	struct hcomm_call_shape call;
	double predicted;

	hcomm_call_shape(args, &call);
	if (call.coll >= HCOMM_PLAN_COLLS || cand->algo >= HCOMM_ALGO_COUNT)
		return 0;
	predicted = hcomm_predict(&planner->model, &planner->shape, &planner->lim,
				  &call, cand, NULL);
	if (predicted <= 0 || seconds <= 0)
		return 0;
	if (!planner->scale)
		planner->scale = calloc((size_t)HCOMM_PLAN_COLLS * HCOMM_ALGO_COUNT *
					HCOMM_SIZE_BUCKETS, sizeof(float));
	if (!planner->scale)
		return -ENOMEM;
	planner->scale[scale_at(call.coll, cand->algo, call.bytes)] =
		(float)(seconds / predicted);
	return 0;
}

void hcomm_planner_exit(struct hcomm_planner *planner)
{
	free(planner->scale);
	planner->scale = NULL;
	hcomm_tuner_close(planner->tuner);
	planner->tuner = NULL;
}

/* --------------------------------------------------------------- candidates */

/**
 * struct field - candidates so far
 * @p: planner
 * @args: call
 * @call: its size
 * @out: list
 * @count: its length
 * @last: ways of the last level of a hierarchical AllReduce, as a mask
 * @last_named: they were asked for
 */
struct field {
	const struct hcomm_planner *p;
	const struct hcomm_sched_args *args;
	struct hcomm_call_shape call;
	struct hcomm_decision *out;
	uint32_t count;
	uint32_t last;
	bool last_named;
};

static void add(struct field *f, const struct hcomm_candidate *cand)
{
	const struct hcomm_planner *p = f->p;
	struct hcomm_decision d = { .cand = *cand, .why = HCOMM_WHY_MODEL };
	uint32_t i;

	if (f->count == HCOMM_MAX_CANDIDATES)
		return;
	d.seconds = hcomm_predict(&p->model, &p->shape, &p->lim, &f->call, cand,
				  &d.largest);
	if (d.seconds < 0)
		return;
	if (p->scale && f->call.coll < HCOMM_PLAN_COLLS) {
		float scale = p->scale[scale_at(f->call.coll, cand->algo,
						f->call.bytes)];

		if (scale > 0) {
			d.seconds *= (double)scale;
			d.why = HCOMM_WHY_MEASURED;
		}
	}
	/* in order; of equals the first one stays ahead */
	for (i = f->count++; i && f->out[i - 1].seconds > d.seconds; i--)
		f->out[i] = f->out[i - 1];
	f->out[i] = d;
}

/* bytes that a rank hands on at a time round a ring */
static uint64_t ring_block(const struct field *f)
{
	if (f->call.coll == HCOMM_COLL_ALLREDUCE)
		return f->call.bytes / f->args->nranks;
	return f->call.bytes;
}

/*
 * Channels: few, and under HCOMM_PROTO=eager so many that pieces become eager.
 * Without it a large message is not cut into eager ones: they are copied once more
 * than the model tells.
 */
static void add_channels(struct field *f, struct hcomm_candidate cand)
{
	static const uint32_t counts[] = { 1, 2, 4 };
	bool eager = f->p->policy.proto == HCOMM_PROTO_EAGER;
	uint32_t size = f->p->lim.eager_size, i;
	uint64_t block = ring_block(f), need;

	/* the same goes for halves */
	if (cand.algo == HCOMM_ALGO_BIDIRECTIONAL_RING && !eager && block > size &&
	    block <= 2ull * size && !f->p->policy.only[f->call.coll])
		return;
	if (!hcomm_predict_uses_channels(cand.algo, f->call.coll)) {
		add(f, &cand);
		return;
	}
	for (i = 0; i < 3; i++) {
		if (i && block <= (eager ? size : (uint64_t)size * counts[i]))
			return;
		cand.channels = counts[i];
		add(f, &cand);
	}
	need = size ? block / size + 1 : 0;
	if (eager && need > counts[2] && need <= HCOMM_SCHED_MAX_CHANNELS) {
		cand.channels = (uint32_t)need;
		add(f, &cand);
	}
}

static void add_grains(struct field *f, struct hcomm_candidate cand)
{
	uint32_t chunk = f->p->lim.chunk_size, grain = chunk, i;

	add_channels(f, cand);
	if (!hcomm_predict_uses_grain(cand.algo, f->call.coll))
		return;
	for (i = 0; i < 2; i++) {
		grain /= 4;
		if (grain < MIN_GRAIN || f->call.bytes <= grain)
			break;
		cand.grain = grain;
		add_channels(f, cand);
	}
	if (f->p->policy.proto == HCOMM_PROTO_EAGER && f->p->lim.eager_size &&
	    f->call.bytes > f->p->lim.eager_size) {
		cand.grain = f->p->lim.eager_size;
		add_channels(f, cand);
	}
}

/* as with whole algorithms: links and scratch memory that no formula sees */
static bool last_needs_much(const struct field *f, uint32_t last)
{
	const struct hcomm_shape *s = &f->p->shape;
	struct hcomm_call_shape part = f->call;

	if (f->last_named)
		return false;
	part.bytes /= s->min_local;
	if (hcomm_last_algo(last) == HCOMM_ALGO_DIRECT && s->nnodes > MANY_RANKS)
		return true;
	return hcomm_scratch_growth(hcomm_last_algo(last), &part, s->nnodes, false) >
	       HCOMM_SCRATCH_LIMIT;
}

static void add_last_levels(struct field *f, struct hcomm_candidate cand)
{
	uint32_t i;

	for (i = 0; i < HCOMM_LAST_LEVELS; i++) {
		if (!(f->last & (1u << i)) || last_needs_much(f, i))
			continue;
		cand.radix = hcomm_last_radix(i);
		add_grains(f, cand);
		/* on one node, all are the same */
		if (f->p->shape.nnodes < 2)
			return;
	}
}

/* k-nomial trees; larger radixes than what they are among make no difference */
static void add_radixes(struct field *f, struct hcomm_candidate cand)
{
	static const uint32_t radixes[] = { 3, 4, 8, 16 };
	static const uint32_t levels[] = { 2, 4, 16, HCOMM_SCHED_MAX_RADIX };
	bool tree = cand.algo == HCOMM_ALGO_KNOMIAL;
	uint32_t most = tree ? 2 * f->args->nranks : hcomm_shape_widest(&f->p->shape), i;

	for (i = 0; i < 4; i++) {
		cand.radix = tree ? radixes[i] : levels[i];
		if (tree && i && cand.radix > most)
			return;
		add_grains(f, cand);
		if (!tree && cand.radix >= most)
			return;
	}
}

static void add_algo(struct field *f, uint32_t algo)
{
	struct hcomm_candidate cand = {
		.algo = algo,
		.grain = f->p->lim.chunk_size,
		.channels = 1,
	};
	struct hcomm_sched_args args = *f->args;

	args.algo = algo;
	args.chunk_size = cand.grain;
	args.channels = 0;
	args.radix = 0;
	if (hcomm_sched_check(&args))
		return;
	if (hcomm_has_last(algo, f->args->coll)) {
		add_last_levels(f, cand);
		return;
	}
	if (hcomm_predict_uses_radix(algo, f->args->coll))
		add_radixes(f, cand);
	else
		add_grains(f, cand);
}

/*
 * Links to everybody cost memory and the time to make them, which no formula sees.
 * With many ranks, what needs them is left out where it is neither asked for nor in
 * the nature of the collective.
 */
static bool needs_many_links(const struct field *f, uint32_t algo)
{
	uint32_t coll = f->args->coll;

	if (f->args->nranks <= MANY_RANKS || coll == HCOMM_COLL_ALLTOALL ||
	    (coll < HCOMM_PLAN_COLLS && f->p->policy.only[coll]))
		return false;
	return algo == HCOMM_ALGO_DIRECT || algo == HCOMM_ALGO_PAIRWISE ||
	       algo == HCOMM_ALGO_STAR;
}

/* of data so large that scratch memory grows beyond a limit; no formula sees that either */
static bool needs_much_scratch(const struct field *f, uint32_t algo)
{
	uint32_t coll = f->args->coll;

	if (coll < HCOMM_PLAN_COLLS && f->p->policy.only[coll])
		return false;
	return hcomm_scratch_growth(algo, &f->call, f->args->nranks, f->args->fixed_order) >
	       HCOMM_SCRATCH_LIMIT;
}

/* HCOMM_PROTO=eager: only those that are, if there are any */
static void keep_eager(struct field *f)
{
	uint32_t i, n = 0;

	for (i = 0; i < f->count; i++)
		n += f->out[i].largest <= f->p->lim.eager_size;
	if (!n)
		return;
	for (i = 0, n = 0; i < f->count; i++) {
		if (f->out[i].largest <= f->p->lim.eager_size)
			f->out[n++] = f->out[i];
	}
	f->count = n;
}

/*
 * What is predicted within 10 % of one another can't be told apart.  On one node the
 * single round of a direct AllReduce was measured to be best then: it wakes the ranks
 * only once.
 */
static void prefer_one_round(struct field *f)
{
	struct hcomm_decision d;
	uint32_t i;

	if (f->call.coll != HCOMM_COLL_ALLREDUCE || f->p->shape.nnodes > 1)
		return;
	for (i = 1; i < f->count; i++) {
		d = f->out[i];
		if (d.seconds > 1.1 * f->out[0].seconds)
			return;
		if (d.cand.algo != HCOMM_ALGO_DIRECT || d.why != HCOMM_WHY_MODEL ||
		    f->out[0].why != HCOMM_WHY_MODEL)
			continue;
		for (; i; i--)
			f->out[i] = f->out[i - 1];
		f->out[0] = d;
		return;
	}
}

static void init_field(struct field *f, const struct hcomm_planner *planner,
		       const struct hcomm_sched_args *args,
		       struct hcomm_decision *out)
{
	*f = (struct field){
		.p = planner, .args = args, .out = out,
		.last = hcomm_policy_last(&planner->policy),
		.last_named = planner->policy.last_only &&
			      planner->policy.last_only != HCOMM_LAST_ALL,
	};
	hcomm_call_shape(args, &f->call);
}

uint32_t hcomm_planner_candidates(const struct hcomm_planner *planner,
				  const struct hcomm_sched_args *args,
				  struct hcomm_decision *out)
{
	struct field f;
	uint32_t algo;

	init_field(&f, planner, args, out);
	for (algo = HCOMM_ALGO_NONE + 1; algo < HCOMM_ALGO_COUNT; algo++) {
		if (hcomm_policy_allows(&planner->policy, args->coll, algo) &&
		    !needs_many_links(&f, algo) && !needs_much_scratch(&f, algo))
			add_algo(&f, algo);
	}
	/* nothing else does it: a V form, a fixed order */
	for (algo = HCOMM_ALGO_NONE + 1; !f.count && algo < HCOMM_ALGO_COUNT; algo++) {
		if (hcomm_policy_allows(&planner->policy, args->coll, algo))
			add_algo(&f, algo);
	}
	if (planner->policy.proto == HCOMM_PROTO_EAGER)
		keep_eager(&f);
	prefer_one_round(&f);
	return f.count;
}

/* ------------------------------------------------------------------- choice */

/* the best candidate of the algorithm that the table names */
static bool best_of(const struct hcomm_planner *planner,
		    const struct hcomm_sched_args *args, const struct hcomm_range *range,
		    struct hcomm_decision *out)
{
	struct hcomm_decision list[HCOMM_MAX_CANDIDATES];
	struct field f;

	init_field(&f, planner, args, list);
	f.last_named = range->last != HCOMM_LAST_ANY;
	f.last = f.last_named ? 1u << range->last : HCOMM_LAST_ALL;
	add_algo(&f, range->algo);
	if (planner->policy.proto == HCOMM_PROTO_EAGER)
		keep_eager(&f);
	if (f.count)
		*out = list[0];
	return f.count;
}

/* does HCOMM_ALGO allow what the plugin chose? */
static bool allowed(const struct hcomm_planner *planner, uint32_t coll,
		    const struct hcomm_candidate *cand)
{
	if (!hcomm_policy_allows(&planner->policy, coll, cand->algo))
		return false;
	return !hcomm_has_last(cand->algo, coll) ||
	       hcomm_policy_last(&planner->policy) & (1u << hcomm_last_by_radix(cand->radix));
}

static bool ask_tuner(const struct hcomm_planner *planner,
		      const struct hcomm_sched_args *args,
		      const struct hcomm_call_shape *call,
		      struct hcomm_decision *out)
{
	struct hcomm_candidate cand;
	struct hcomm_sched_args a = *args;

	if (!planner->tuner ||
	    !hcomm_tuner_ask(planner->tuner, &planner->shape, &planner->lim, call,
			     &cand) ||
	    !allowed(planner, args->coll, &cand))
		return false;
	*out = (struct hcomm_decision){ .cand = cand };
	hcomm_decision_apply(out, &a);
	if (hcomm_sched_check(&a))
		return false;
	out->why = HCOMM_WHY_TUNER;
	out->seconds = hcomm_predict(&planner->model, &planner->shape, &planner->lim,
				     call, &cand, &out->largest);
	return true;
}

int hcomm_planner_decide(const struct hcomm_planner *planner,
			 const struct hcomm_sched_args *args,
			 struct hcomm_decision *out)
{
	struct hcomm_decision list[HCOMM_MAX_CANDIDATES];
	struct hcomm_call_shape call;
	const struct hcomm_range *range;

	hcomm_call_shape(args, &call);
	range = hcomm_policy_range(&planner->policy, args->coll, call.bytes);
	if (range && best_of(planner, args, range, out)) {
		out->why = HCOMM_WHY_TABLE;
		return 0;
	}
	if (ask_tuner(planner, args, &call, out))
		return 0;
	if (!hcomm_planner_candidates(planner, args, list))
		return -EOPNOTSUPP;
	*out = list[0];
	return 0;
}

void hcomm_decision_apply(const struct hcomm_decision *d,
			  struct hcomm_sched_args *args)
{
	args->algo = d->cand.algo;
	args->chunk_size = d->cand.grain;
	args->channels = d->cand.channels;
	args->radix = d->cand.radix;
}

uint32_t hcomm_candidate_id(const struct hcomm_candidate *cand)
{
	uint32_t id = cand->algo;

	id = id * 16777619u ^ cand->grain;
	id = id * 16777619u ^ cand->channels;
	id = id * 16777619u ^ cand->radix;
	return id ? id : 1;
}

const char *hcomm_reason_text(uint32_t why)
{
	static const char * const texts[] = {
		[HCOMM_WHY_TABLE] = "table",
		[HCOMM_WHY_TUNER] = "tuner",
		[HCOMM_WHY_MODEL] = "model",
		[HCOMM_WHY_MEASURED] = "measured",
		[HCOMM_WHY_TRIAL] = "trial",
	};

	return why < sizeof(texts) / sizeof(texts[0]) ? texts[why] : "unknown";
}
