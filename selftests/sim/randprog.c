// SPDX-License-Identifier: GPL-2.0-only
/*
 * Random programs for all ranks at once, and what they must compute.
 *
 * Operations are drawn in one global order, which is also the order in which the
 * reference executes them, one after the other.  A message is two of them: its
 * SEND and, maybe much later, its RECV.  Each rank's program is its part of the
 * global order; a step depends on every earlier one that it conflicts with, and
 * on some others.  No step between a SEND and its RECV depends on that SEND:
 * so the global order is one in which everything can happen, and the engine must
 * find one too, whatever the fabric does.
 */
#include <stdio.h>
#include "sim.h"

#define MAX_STEPS 128		/* of one rank */
#define WORDS (MAX_STEPS / 64)
#define NSLOTS 3
#define SINK (NSLOTS - 1)	/* never sent from: a RECV always finds room here */
#define MAX_PENDING 12

struct range {
	u32 slot;
	u64 off;
	u64 len;
};

/* One step while the program is made. */
struct gstep {
	struct hcomm_step s;
	u32 deps[MAX_STEPS];
	u64 before[WORDS];	/* steps that are complete before it starts */
};

struct grank {
	struct gstep steps[MAX_STEPS];
	u32 n;
	u64 slot_len[NSLOTS];
	u64 open[WORDS];	/* SENDs whose RECV was not drawn yet */
	struct range last;	/* what was touched last */
};

struct pending {
	u32 from;
	u32 to;
	u32 step;
	u64 len;
};

/* The reference's list. */
struct gop {
	u32 rank;
	u32 step;
	u32 sender;		/* RECV, RECV_REDUCE */
	u32 send_step;
};

struct grun {
	struct grank *ranks;
	struct gop *ops;
	u32 nops;
	u32 max_ops;
	struct pending pend[MAX_PENDING];
	u32 npend;
	u32 *msgs;		/* next number by (from, to, receive?) */
	struct sim_run **runs;
	u8 **mem;		/* reference: all slots of a rank, one after the other */
	bool ran;
};

struct rand_job {
	const struct sim_cfg *cfg;
	struct sim_rng *rng;
	u32 nranks;
	u32 nruns;
	u32 launches;
	struct grun *run;
};

static bool test(const u64 *set, u32 i)
{
	return set[i / 64] >> (i % 64) & 1;
}

static void set(u64 *set, u32 i)
{
	set[i / 64] |= BIT_ULL(i % 64);
}

static bool overlap(const struct range *a, const struct range *b)
{
	return a->slot == b->slot && a->len && b->len &&
	       a->off < b->off + b->len && b->off < a->off + a->len;
}

static bool same(const struct range *a, const struct range *b)
{
	return a->slot == b->slot && a->off == b->off && a->len == b->len;
}

static bool step_read(const struct hcomm_step *s, struct range *r)
{
	if (s->op == HCOMM_STEP_NOP || s->op == HCOMM_STEP_RECV)
		return false;
	*r = (struct range){ s->src_slot, s->src_off, s->len };
	return true;
}

static bool step_write(const struct hcomm_step *s, struct range *r)
{
	if (s->op == HCOMM_STEP_NOP || s->op == HCOMM_STEP_SEND)
		return false;
	*r = (struct range){ s->dst_slot, s->dst_off, s->len };
	return true;
}

/* Do two steps conflict, and then only chunk by chunk? */
static bool conflict(const struct hcomm_step *a, const struct hcomm_step *b, bool *chunked)
{
	struct range ra = {}, wa = {}, rb = {}, wb = {};
	bool has_ra = step_read(a, &ra), has_wa = step_write(a, &wa);
	bool has_rb = step_read(b, &rb), has_wb = step_write(b, &wb);
	bool any = false;

	*chunked = a->len == b->len;
	if (has_wa && has_wb && overlap(&wa, &wb)) {
		any = true;
		*chunked &= same(&wa, &wb);
	}
	if (has_wa && has_rb && overlap(&wa, &rb)) {
		any = true;
		*chunked &= same(&wa, &rb);
	}
	if (has_ra && has_wb && overlap(&ra, &wb)) {
		any = true;
		*chunked &= same(&ra, &wb);
	}
	/* REDUCE reads its destination; that is covered by the write. */
	return any;
}

/* Would the step depend on a SEND that can't complete yet? */
static bool blocked(const struct grank *g, const struct hcomm_step *s)
{
	bool chunked;
	u32 i;

	for (i = 0; i < g->n; i++)
		if (test(g->open, i) && conflict(&g->steps[i].s, s, &chunked))
			return true;
	return false;
}

static void add_dep(struct grank *g, struct gstep *st, u32 i, bool stream)
{
	u32 w;

	st->deps[st->s.dep_count++] = i | (stream ? HCOMM_DEP_STREAM : 0);
	for (w = 0; w < WORDS; w++)
		st->before[w] |= g->steps[i].before[w];
	if (!stream)
		set(st->before, i);
}

/* Append a step; it is known not to be blocked. */
static u32 append(struct rand_job *job, struct grank *g, const struct hcomm_step *s)
{
	struct gstep *st = &g->steps[g->n];
	u32 streams[MAX_STEPS], plain[MAX_STEPS], ns = 0, np = 0, i;

	memset(st, 0, sizeof(*st));
	st->s = *s;
	/* From the youngest: it may order the older ones too. */
	for (i = g->n; i--;) {
		bool chunked, hit = conflict(&g->steps[i].s, s, &chunked);

		if (test(g->open, i) || test(st->before, i))
			continue;
		if (!hit && rng_below(job->rng, 24))
			continue;
		if (!hit)
			chunked = g->steps[i].s.len == s->len;
		if (chunked && ns < HCOMM_MAX_STREAM_DEPS && rng_below(job->rng, 4)) {
			streams[ns++] = i;
			continue;
		}
		plain[np++] = i;
		set(st->before, i);
		{
			u32 w;

			for (w = 0; w < WORDS; w++)
				st->before[w] |= g->steps[i].before[w];
		}
	}
	for (i = 0; i < ns; i++)
		add_dep(g, st, streams[i], true);
	for (i = 0; i < np; i++)
		add_dep(g, st, plain[i], false);
	return g->n++;
}

static u64 draw_len(struct rand_job *job, u64 max)
{
	const struct hcomm_engine_params *par = &job->cfg->par;
	u64 len;

	switch (rng_below(job->rng, 8)) {
	case 0:
		len = 0;
		break;
	case 1:
	case 2:
		len = rng_below(job->rng, par->eager_size + 1);
		break;
	case 3:
		len = par->chunk_size * rng_range(job->rng, 1, 4);
		break;
	default:
		len = rng_below(job->rng, max + 1);
		break;
	}
	return min(len, max);
}

static struct range draw(struct rand_job *job, struct grank *g, u64 len, bool any_len)
{
	struct range r;

	if (any_len && rng_below(job->rng, 2) && g->last.len)
		return g->last;
	if (!any_len && rng_below(job->rng, 2) && g->last.len >= len) {
		r = g->last;
		r.len = len;
		return r;
	}
	do {
		r.slot = rng_below(job->rng, NSLOTS);
	} while (!any_len && g->slot_len[r.slot] < len);
	r.len = any_len ? draw_len(job, g->slot_len[r.slot]) : len;
	r.off = rng_below(job->rng, g->slot_len[r.slot] - r.len + 1);
	if (rng_below(job->rng, 2))
		r.off -= r.off % 8;
	return r;
}

static void set_type(struct rand_job *job, struct hcomm_step *s)
{
	s->dtype = rng_below(job->rng, HCOMM_DT_COUNT);
	s->redop = rng_below(job->rng, HCOMM_DT_IS_INT(s->dtype) ? HCOMM_OP_COUNT :
								   HCOMM_OP_BAND);
}

static void set_scale(struct rand_job *job, struct hcomm_step *s)
{
	s->op = HCOMM_STEP_SCALE;
	s->dtype = rng_below(job->rng, HCOMM_DT_COUNT);
	s->redop = rng_below(job->rng, HCOMM_SCALE_COUNT);
	if (s->redop == HCOMM_SCALE_DIV)
		s->operand = 1 + rng_below(job->rng, rng_below(job->rng, 2) ?
						     16 : HCOMM_MAX_RANKS);
	else
		s->operand = rng_next(job->rng) >> (64 - 8 * ref_dtype_size(s->dtype));
}

static void local_op(struct rand_job *job, struct grun *run, u32 rank)
{
	struct grank *g = &run->ranks[rank];
	struct hcomm_step s = {};
	struct range src, dst;
	u32 kind = rng_below(job->rng, 10);

	if (kind == 0) {
		s.op = HCOMM_STEP_NOP;
	} else {
		src = draw(job, g, 0, true);
		s.op = HCOMM_STEP_COPY;
		if (kind > 7) {
			set_scale(job, &s);
		} else if (kind > 4) {
			s.op = HCOMM_STEP_REDUCE;
			set_type(job, &s);
		}
		if (kind > 4)
			src.len -= src.len % ref_dtype_size(s.dtype);
		dst = draw(job, g, src.len, false);
		if (overlap(&src, &dst) && (s.op == HCOMM_STEP_REDUCE || !same(&src, &dst)))
			return;
		s.src_slot = src.slot;
		s.src_off = src.off;
		s.dst_slot = dst.slot;
		s.dst_off = dst.off;
		s.len = src.len;
		if (blocked(g, &s))
			return;
		g->last = dst;
	}
	run->ops[run->nops++] = (struct gop){ .rank = rank, .step = append(job, g, &s) };
}

static u32 *msg_no(struct rand_job *job, struct grun *run, u32 from, u32 to, bool recv)
{
	return &run->msgs[(from * job->nranks + to) * 2 + recv];
}

static void send_op(struct rand_job *job, struct grun *run, u32 rank)
{
	struct grank *g = &run->ranks[rank];
	struct hcomm_step s = { .op = HCOMM_STEP_SEND };
	struct range src;
	u32 to = rng_below(job->rng, job->nranks - 1);

	if (run->npend == MAX_PENDING)
		return;
	to += to >= rank;
	src = draw(job, g, 0, true);
	if (src.slot == SINK) {
		src.slot = 0;
		src.off = 0;
		src.len = min(src.len, g->slot_len[0]);
	}
	/* The receiver must have room for it in its sink. */
	src.len = min(src.len, run->ranks[to].slot_len[SINK]);
	s.peer = to;
	s.msg = (*msg_no(job, run, rank, to, false))++;
	s.src_slot = src.slot;
	s.src_off = src.off;
	s.len = src.len;
	g->last = src;
	run->pend[run->npend++] = (struct pending){
		.from = rank, .to = to, .step = append(job, g, &s), .len = s.len,
	};
	set(g->open, g->n - 1);
	run->ops[run->nops++] = (struct gop){ .rank = rank, .step = g->n - 1 };
}

/* The oldest pending message of some pair. */
static void recv_op(struct rand_job *job, struct grun *run)
{
	u32 i, k = rng_below(job->rng, run->npend), tries;
	struct hcomm_step s = {};
	struct pending p;
	struct grank *g;
	struct range dst, src;
	u32 size;

	for (i = 0; i < k; i++)
		if (run->pend[i].from == run->pend[k].from &&
		    run->pend[i].to == run->pend[k].to)
			k = i;
	p = run->pend[k];
	g = &run->ranks[p.to];
	for (tries = 0;; tries++) {
		memset(&s, 0, sizeof(s));
		s.op = HCOMM_STEP_RECV;
		s.peer = p.from;
		s.msg = *msg_no(job, run, p.from, p.to, true);
		s.len = p.len;
		dst = draw(job, g, p.len, false);
		if (tries > 8) {
			dst = (struct range){ SINK, 0, p.len };
			tries = 100;
		}
		if (tries < 8 && rng_below(job->rng, 3)) {
			set_type(job, &s);
			size = ref_dtype_size(s.dtype);
			s.op = HCOMM_STEP_RECV_REDUCE;
			if (s.len % size)
				continue;
			src = rng_below(job->rng, 2) ? dst : draw(job, g, p.len, false);
			if (overlap(&src, &dst) && !same(&src, &dst))
				continue;
			s.src_slot = src.slot;
			s.src_off = src.off;
		}
		s.dst_slot = dst.slot;
		s.dst_off = dst.off;
		if (!blocked(g, &s))
			break;
	}
	++*msg_no(job, run, p.from, p.to, true);
	g->last = dst;
	run->ops[run->nops++] = (struct gop){
		.rank = p.to, .step = append(job, g, &s),
		.sender = p.from, .send_step = p.step,
	};
	/* The SEND can complete now. */
	run->ranks[p.from].open[p.step / 64] &= ~BIT_ULL(p.step % 64);
	memmove(&run->pend[k], &run->pend[k + 1], (run->npend - k - 1) * sizeof(p));
	run->npend--;
}

static bool full(const struct rand_job *job, const struct grun *run)
{
	u32 i;

	/* Every pending message needs a step of its receiver. */
	for (i = 0; i < job->nranks; i++)
		if (run->ranks[i].n + MAX_PENDING + 2 > MAX_STEPS)
			return true;
	return run->nops + MAX_PENDING + 2 > run->max_ops;
}

static void draw_ops(struct rand_job *job, struct grun *run, u32 nops)
{
	while (run->nops < nops && !full(job, run)) {
		u32 rank = rng_below(job->rng, job->nranks);

		switch (rng_below(job->rng, 8)) {
		case 0:
		case 1:
			local_op(job, run, rank);
			break;
		case 2:
		case 3:
		case 4:
			if (job->nranks > 1) {
				send_op(job, run, rank);
				break;
			}
			local_op(job, run, rank);
			break;
		default:
			if (run->npend)
				recv_op(job, run);
			break;
		}
	}
	while (run->npend)
		recv_op(job, run);
}

static u8 *ref_at(struct grun *run, u32 rank, u32 slot, u64 off)
{
	const struct grank *g = &run->ranks[rank];
	u8 *p = run->mem[rank];

	while (slot--)
		p += g->slot_len[slot];
	return p + off;
}

static void ref_run(struct grun *run)
{
	u32 i;

	for (i = 0; i < run->nops; i++) {
		const struct gop *op = &run->ops[i];
		const struct hcomm_step *s = &run->ranks[op->rank].steps[op->step].s;
		const struct hcomm_step *snd;
		u8 *dst = ref_at(run, op->rank, s->dst_slot, s->dst_off);
		u8 *src = ref_at(run, op->rank, s->src_slot, s->src_off);
		u32 size = ref_dtype_size(s->dtype);

		switch (s->op) {
		case HCOMM_STEP_COPY:
			memmove(dst, src, s->len);
			break;
		case HCOMM_STEP_REDUCE:
			ref_reduce(s->dtype, s->redop, dst, dst, src, s->len / size);
			break;
		case HCOMM_STEP_SCALE:
			ref_scale(s->dtype, s->redop, s->operand, dst, src, s->len / size);
			break;
		case HCOMM_STEP_RECV:
		case HCOMM_STEP_RECV_REDUCE:
			/* Nothing wrote to the source since its SEND. */
			snd = &run->ranks[op->sender].steps[op->send_step].s;
			if (s->op == HCOMM_STEP_RECV)
				memcpy(dst, ref_at(run, op->sender, snd->src_slot,
						   snd->src_off), s->len);
			else
				ref_reduce(s->dtype, s->redop, dst, src,
					   ref_at(run, op->sender, snd->src_slot,
						  snd->src_off), s->len / size);
			break;
		default:
			break;
		}
	}
}

static int emit(struct rand_job *job, struct sim *sim, struct grun *run, u32 rank)
{
	struct grank *g = &run->ranks[rank];
	struct hcomm_step *steps;
	u32 *deps, ndeps = 0, i, n = g->n ? g->n : 1;
	struct sim_run *sr;
	u8 *p = run->mem[rank];
	int err;

	for (i = 0; i < g->n; i++)
		ndeps += g->steps[i].s.dep_count;
	steps = calloc(n, sizeof(*steps));
	deps = calloc(ndeps + 1, sizeof(*deps));
	if (!steps || !deps)
		sim_die(sim, "out of memory");
	ndeps = 0;
	for (i = 0; i < g->n; i++) {
		steps[i] = g->steps[i].s;
		steps[i].dep_first = ndeps;
		memcpy(deps + ndeps, g->steps[i].deps, steps[i].dep_count * sizeof(u32));
		ndeps += steps[i].dep_count;
	}
	err = sim_add_run(sim, rank, steps, n, deps, ndeps, NSLOTS, &sr);
	if (err)
		return err;
	for (i = 0; i < NSLOTS; i++) {
		sr->slots[i] = sim_mem_new(job->rng, g->slot_len[i], 5);
		sim_mem_store(sr->slots[i], 0, p, g->slot_len[i]);
		p += g->slot_len[i];
	}
	sr->launches = job->launches;
	sr->start = rng_below(job->rng, job->cfg->skew + 1);
	run->runs[rank] = sr;
	return 0;
}

static int run_new(struct rand_job *job, struct sim *sim, struct grun *run, u32 max_ops)
{
	const struct hcomm_engine_params *par = &job->cfg->par;
	u64 key = rng_next(job->rng);
	struct hcomm_call call = {
		.coll = HCOMM_COLL_GROUP, .count = key, .hash = (u32)rng_next(job->rng),
	};
	u32 r, i;
	int err;

	run->max_ops = max_ops + 2 * MAX_PENDING + 4;
	run->ranks = calloc(job->nranks, sizeof(*run->ranks));
	run->ops = calloc(run->max_ops, sizeof(*run->ops));
	run->msgs = calloc((size_t)job->nranks * job->nranks * 2, sizeof(u32));
	run->runs = calloc(job->nranks, sizeof(*run->runs));
	run->mem = calloc(job->nranks, sizeof(*run->mem));
	if (!run->ranks || !run->ops || !run->msgs || !run->runs || !run->mem)
		sim_die(sim, "out of memory");
	for (r = 0; r < job->nranks; r++) {
		struct grank *g = &run->ranks[r];
		u64 total = 0;

		for (i = 0; i < NSLOTS; i++)
			g->slot_len[i] = rng_range(job->rng, 1,
				par->eager_size + par->chunk_size * rng_range(job->rng, 1, 12));
		/* The sink is the largest: what was sent has room somewhere. */
		for (i = 0; i < NSLOTS; i++)
			g->slot_len[SINK] = max(g->slot_len[SINK], g->slot_len[i]);
		for (i = 0; i < NSLOTS; i++)
			total += g->slot_len[i];
		run->mem[r] = malloc(total);
		if (!run->mem[r])
			sim_die(sim, "out of memory");
		rng_fill(job->rng, run->mem[r], total);
	}
	draw_ops(job, run, rng_range(job->rng, 1, max_ops));
	for (r = 0; r < job->nranks; r++) {
		err = emit(job, sim, run, r);
		if (err)
			return err;
		run->runs[r]->key = key;
		run->runs[r]->call = call;
	}
	return 0;
}

struct rand_job *rand_job_new(struct sim *sim, const struct sim_cfg *cfg, u32 nruns,
			      u32 max_ops, u32 launches)
{
	struct rand_job *job = calloc(1, sizeof(*job));
	u32 i;

	if (!job)
		sim_die(sim, "out of memory");
	job->cfg = cfg;
	job->rng = sim_rng(sim);
	job->nranks = cfg->nranks;
	job->nruns = nruns;
	job->launches = launches;
	job->run = calloc(nruns, sizeof(*job->run));
	if (!job->run)
		sim_die(sim, "out of memory");
	for (i = 0; i < nruns; i++) {
		u32 r, back = cfg->par.max_runs;

		if (run_new(job, sim, &job->run[i], max_ops)) {
			rand_job_free(job);
			return NULL;
		}
		/* All ranks agree on which runs are in flight together. */
		for (r = 0; i >= back && r < cfg->nranks; r++)
			job->run[i].runs[r]->after = job->run[i - back].runs[r];
	}
	return job;
}

static void compare(struct sim *sim, struct grun *run, u32 n, u32 rank)
{
	struct sim_run *sr = run->runs[rank];
	u32 slot;
	u64 i;

	for (slot = 0; slot < NSLOTS; slot++) {
		u64 len = run->ranks[rank].slot_len[slot];
		u8 *want = ref_at(run, rank, slot, 0), *got = malloc(len);

		if (!got)
			sim_die(sim, "out of memory");
		sim_mem_load(got, sr->slots[slot], 0, len);
		for (i = 0; i < len; i++)
			if (got[i] != want[i])
				sim_die(sim, "run %u rank %u slot %u byte %llu of %llu: %#x, must be %#x",
					n, rank, slot, (unsigned long long)i,
					(unsigned long long)len, got[i], want[i]);
		free(got);
	}
}

u32 rand_job_check(struct rand_job *job, struct sim *sim)
{
	u32 i, r, k, good = 0;

	for (i = 0; i < job->nruns; i++) {
		struct grun *run = &job->run[i];

		for (k = 0; k < job->launches; k++)
			ref_run(run);
		for (r = 0; r < job->nranks; r++) {
			if (run->runs[r]->done != job->launches || run->runs[r]->status)
				continue;
			compare(sim, run, i, r);
			good++;
		}
	}
	return good;
}

void rand_job_free(struct rand_job *job)
{
	u32 i, r;

	for (i = 0; i < job->nruns; i++) {
		struct grun *run = &job->run[i];

		for (r = 0; run->mem && r < job->nranks; r++)
			free(run->mem[r]);
		free(run->mem);
		free(run->ranks);
		free(run->ops);
		free(run->msgs);
		free(run->runs);
	}
	free(job->run);
	free(job);
}

void rand_cfg(struct sim_cfg *cfg, u64 seed)
{
	struct sim_rng rng = { rng_mix(seed ^ 0x5eed) };

	sim_cfg_default(cfg);
	cfg->trace = sim_trace_all;
	cfg->seed = seed;
	cfg->nranks = rng_range(&rng, 2, 6);
	switch (rng_below(&rng, 3)) {
	case 0:
		cfg->ranks_per_node = 1;
		break;
	case 1:
		cfg->ranks_per_node = cfg->nranks;
		break;
	default:
		cfg->ranks_per_node = rng_range(&rng, 1, cfg->nranks);
		break;
	}
	cfg->par.chunk_size = 64 << rng_below(&rng, 5);
	cfg->par.eager_size = 64 * rng_below(&rng, 8);
	cfg->par.eager_slots = rng_range(&rng, 1, 3);
	cfg->par.window = rng_range(&rng, 1, rng_below(&rng, 4) ? 3 : HCOMM_MAX_WINDOW);
	cfg->par.max_runs = rng_range(&rng, 1, 4);
	cfg->par.staging_slots = cfg->par.max_runs + rng_below(&rng, 3);
	cfg->net.latency = rng_range(&rng, 1, 5000);
	cfg->local_latency = rng_range(&rng, 1, 500);
	cfg->net.bandwidth = rng_range(&rng, 10, 20000);
	cfg->copy_rate = rng_range(&rng, 100, 20000);
	cfg->reduce_rate = rng_range(&rng, 100, 20000);
	cfg->event_cost = rng_range(&rng, 1, 500);
	cfg->budget = 0;
	cfg->reorder = rng_below(&rng, 4) ? rng_range(&rng, 1, 50000) : 0;
	cfg->reorder_permille = rng_range(&rng, 0, 1000);
	cfg->eagain_permille = rng_below(&rng, 2) ? rng_below(&rng, 400) : 0;
	cfg->tx_depth = rng_below(&rng, 2) ? rng_range(&rng, 1, 8) : 0;
	cfg->skew = rng_below(&rng, 2) ? rng_below(&rng, 200000) : 0;
	cfg->linkup_skew = rng_below(&rng, 2) ? rng_below(&rng, 100000) : 0;
	cfg->slow_rank = rng_below(&rng, 3) ? ~0u : rng_below(&rng, cfg->nranks);
	cfg->net.slow_node = rng_below(&rng, 3) ? ~0u : rng_below(&rng, cfg->nranks);
	cfg->tick = rng_below(&rng, 2) ? rng_range(&rng, 10000, 200000) :
					  rng_range(&rng, 200000, 10000000);
	cfg->detect = rng_range(&rng, 1000, 500000);
}
