// SPDX-License-Identifier: GPL-2.0-only
/* Drawing random programs. */
#include "randprog.h"

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

void rand_draw_ops(struct rand_job *job, struct grun *run, u32 nops)
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
