// SPDX-License-Identifier: GPL-2.0-only
/*
 * The plans of all ranks, evaluated without the engine and without data: for
 * more ranks than engines fit into memory, and many times faster.
 *
 * What is modelled is what the simulated engine spends time on: a rank has one
 * CPU, which pays for each event and for the bytes that it copies and reduces; a
 * message is sent at once up to the eager size, above it each chunk waits for the
 * receiver's grant, of which a window is out; the network is the same (net.c).
 * What is not: credits, staging memory, and news that the engine handles in one
 * go.  simulator.rst says how far the two are apart.
 *
 * A step is some tens of bytes, a chunk is no memory at all: counters say how
 * many chunks of a step may begin, have begun, are granted or have come, are done.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE	/* qsort_r() */
#endif
#include <stdio.h>
#include "coll.h"
#include "cost.h"
#include "net.h"

#define STREAM HCOMM_DEP_STREAM
#define HEADER 64		/* bytes of a message in front of its payload */

struct step {
	u64 len;
	u32 rank;
	u32 mate;	/* of a message: the step at its other end */
	u32 deps;	/* first of its streaming dependencies */
	u32 kids;	/* first of the steps that wait for it */
	u32 left;	/* plain dependencies that are not done */
	u32 chunks;
	u32 issued;
	u32 far;	/* SEND: chunks granted; RECV: chunks that have come */
	u32 done;
	u8 op;
	u8 ndeps;
	bool local;	/* a message within a node */
	bool eager;
};

enum event_type {
	CPU_DONE,	/* a chunk was copied or reduced */
	SENT,		/* the CPU gave a chunk to the network */
	ARRIVED,	/* a chunk came */
	GRANTED,	/* a chunk may be sent */
	ACKED,		/* a chunk of a SEND is at its receiver */
};

struct event {
	u64 time;
	u64 order;	/* age, and type in the lowest bits */
	u32 step;
	u32 chunk;
};

struct cost {
	const struct sim_cfg *cfg;
	struct cost_result *result;
	struct net net;
	struct step *steps;
	u32 *deps;	/* steps, of all ranks */
	u32 *kids;	/* steps, with STREAM or without */
	u32 *first;	/* by rank: first step */
	u64 *cpu;	/* by rank: busy until then */
	u64 nsteps;
	u64 room;
	u64 ndeps;
	u64 dep_room;
	u64 nkids;
	struct event *heap;
	u64 nheap;
	u64 heap_room;
	u64 age;
	u64 unfinished;
};

static void *grow(void *p, u64 *room, u64 n, size_t size)
{
	if (n <= *room)
		return p;
	*room = max(n, *room + *room / 4 + 1024);
	p = realloc(p, *room * size);
	if (!p)
		sim_die(NULL, "out of memory");
	return p;
}

/* ------------------------------------------------------------------- events */

static bool before(const struct event *a, const struct event *b)
{
	return a->time < b->time || (a->time == b->time && a->order < b->order);
}

static void push(struct cost *c, enum event_type type, u32 step, u32 chunk, u64 time)
{
	struct event ev = {
		.time = time, .order = c->age++ << 3 | type, .step = step, .chunk = chunk,
	};
	u64 i, up;

	c->heap = grow(c->heap, &c->heap_room, c->nheap + 1, sizeof(ev));
	for (i = c->nheap++; i; i = up) {
		up = (i - 1) / 2;
		if (!before(&ev, &c->heap[up]))
			break;
		c->heap[i] = c->heap[up];
	}
	c->heap[i] = ev;
}

static struct event pop(struct cost *c)
{
	struct event top = c->heap[0], last = c->heap[--c->nheap];
	u64 i = 0, kid;

	while ((kid = 2 * i + 1) < c->nheap) {
		if (kid + 1 < c->nheap && before(&c->heap[kid + 1], &c->heap[kid]))
			kid++;
		if (!before(&c->heap[kid], &last))
			break;
		c->heap[i] = c->heap[kid];
		i = kid;
	}
	c->heap[i] = last;
	return top;
}

/* --------------------------------------------------------------------- plans */

static u32 node_of(const struct cost *c, u32 rank)
{
	return rank / c->cfg->ranks_per_node;
}

static void add_step(struct cost *c, u32 rank, const struct hcomm_step *from, const u32 *deps)
{
	u32 base = c->first[rank], i;
	struct step *s;

	c->steps = grow(c->steps, &c->room, c->nsteps + 2, sizeof(*s));
	s = &c->steps[c->nsteps++];
	*s = (struct step){
		.len = from->len, .rank = rank, .op = from->op, .mate = from->peer,
		.far = from->msg, .deps = c->ndeps,
		.chunks = max_t(u64, DIV_ROUND_UP(from->len, c->cfg->par.chunk_size), 1),
	};
	if (from->op >= HCOMM_STEP_SEND && from->op <= HCOMM_STEP_RECV_REDUCE) {
		s->local = node_of(c, rank) == node_of(c, from->peer);
		s->eager = from->len <= c->cfg->par.eager_size;
	}
	for (i = from->dep_first; i < from->dep_first + from->dep_count; i++) {
		struct step *dep = &c->steps[base + HCOMM_DEP_INDEX(deps[i])];

		/* The number of kids; link_kids() makes it an index. */
		dep->kids++;
		c->nkids++;
		c->deps = grow(c->deps, &c->dep_room, c->ndeps + 1, sizeof(*c->deps));
		c->deps[c->ndeps++] = (base + HCOMM_DEP_INDEX(deps[i])) | (deps[i] & STREAM);
		if (deps[i] & STREAM)
			s->ndeps++;
		else
			s->left++;
	}
}

static void plan(struct cost *c, const struct coll_spec *spec)
{
	struct coll_job job = {};
	u32 rank, nsteps, ndeps, i;

	coll_job_init(&job, spec, c->cfg);
	for (rank = 0; rank < c->cfg->nranks; rank++) {
		struct hcomm_sched_args args;
		struct coll_arrays arrays;
		struct hcomm_plan *plan;
		const struct hcomm_step *steps;
		int err;

		coll_args(&job, c->cfg->par.chunk_size, rank, &args, &arrays);
		err = hcomm_sched_build(&args, &plan);
		coll_arrays_free(&arrays);
		if (err)
			sim_die(NULL, "%s: no schedule for rank %u: %s", coll_text(spec), rank,
				strerror(-err));
		c->first[rank] = c->nsteps;
		steps = hcomm_plan_steps(plan, &nsteps);
		if (c->nsteps + nsteps >= STREAM)
			sim_die(NULL, "%s: too many steps", coll_text(spec));
		for (i = 0; i < nsteps; i++)
			add_step(c, rank, &steps[i], hcomm_plan_deps(plan, &ndeps));
		hcomm_plan_free(plan);
	}
	c->first[rank] = c->nsteps;
	coll_job_exit(&job);
}

/* Turn the lists of dependencies round. */
static void link_kids(struct cost *c)
{
	u64 i, k, at = 0;
	u32 n;

	c->kids = calloc(c->nkids + 1, sizeof(*c->kids));
	if (!c->kids)
		sim_die(NULL, "out of memory");
	for (i = 0; i < c->nsteps; i++) {
		n = c->steps[i].kids;
		c->steps[i].kids = at;
		at += n;
	}
	c->steps[c->nsteps] = (struct step){ .kids = at, .deps = c->ndeps };
	/* Fill each list from its start; then starts are where the next ones were. */
	for (i = 0; i < c->nsteps; i++) {
		for (k = c->steps[i].deps; k < c->steps[i + 1].deps; k++) {
			struct step *dep = &c->steps[c->deps[k] & ~STREAM];

			c->kids[dep->kids++] = i | (c->deps[k] & STREAM);
		}
	}
	for (i = c->nsteps; i; i--)
		c->steps[i].kids = c->steps[i - 1].kids;
	c->steps[0].kids = 0;
}

static bool is_recv(const struct step *s)
{
	return s->op == HCOMM_STEP_RECV || s->op == HCOMM_STEP_RECV_REDUCE;
}

/* Until messages are matched, @mate is the peer and @far the message number. */
static int by_message(const void *x, const void *y, void *arg)
{
	const struct step *steps = arg;
	const struct step *a = &steps[*(const u32 *)x], *b = &steps[*(const u32 *)y];

	if (a->mate != b->mate)
		return a->mate < b->mate ? -1 : 1;
	return a->far < b->far ? -1 : a->far > b->far;
}

static u32 find_recv(const struct cost *c, const u32 *recvs, u32 lo, u32 hi, u32 send)
{
	const struct step *s = &c->steps[send];

	while (lo < hi) {
		u32 mid = lo + (hi - lo) / 2;
		const struct step *r = &c->steps[recvs[mid]];

		if (r->mate == s->rank && r->far == s->far)
			return recvs[mid];
		if (r->mate < s->rank || (r->mate == s->rank && r->far < s->far))
			lo = mid + 1;
		else
			hi = mid;
	}
	sim_die(NULL, "message %u of rank %u to rank %u is never received", s->far, s->rank,
		s->mate);
}

static void match(struct cost *c)
{
	u32 *recvs = calloc(c->nsteps + 1, sizeof(*recvs)), rank, n = 0;
	u32 *first = calloc((u64)c->cfg->nranks + 1, sizeof(*first));
	u64 i;

	if (!recvs || !first)
		sim_die(NULL, "out of memory");
	for (rank = 0; rank < c->cfg->nranks; rank++) {
		first[rank] = n;
		for (i = c->first[rank]; i < c->first[rank + 1]; i++)
			if (is_recv(&c->steps[i]))
				recvs[n++] = i;
		qsort_r(recvs + first[rank], n - first[rank], sizeof(*recvs), by_message,
			c->steps);
	}
	first[rank] = n;
	for (i = 0; i < c->nsteps; i++) {
		struct step *s = &c->steps[i];

		if (s->op == HCOMM_STEP_SEND)
			s->mate = find_recv(c, recvs, first[s->mate], first[s->mate + 1], i);
	}
	for (i = 0; i < c->nsteps; i++) {
		struct step *s = &c->steps[i];

		if (s->op == HCOMM_STEP_SEND)
			c->steps[s->mate].mate = i;
		s->far = 0;
	}
	free(first);
	free(recvs);
}

/* ----------------------------------------------------------------- evaluation */

/*
 * The CPU of a rank does one thing after the other; but what needs no bytes to be
 * touched goes first, as the engine sends before it takes in what has come.
 */
static u64 work(struct cost *c, u32 rank, u64 now, u64 bytes, u64 rate)
{
	u64 ns = c->cfg->event_cost + (rate ? bytes * 1000 / rate : 0);

	if (rank == c->cfg->slow_rank)
		ns = c->cfg->event_cost + (ns - c->cfg->event_cost) * c->cfg->slow_factor;
	c->cpu[rank] = max(now, c->cpu[rank]) + ns;
	return rate ? c->cpu[rank] : now + ns;
}

static u64 chunk_len(const struct cost *c, const struct step *s, u32 chunk)
{
	return min_t(u64, s->len - (u64)chunk * c->cfg->par.chunk_size, c->cfg->par.chunk_size);
}

/* A chunk has come and its place is free. */
static void take_in(struct cost *c, u32 i, u32 chunk, u64 now)
{
	const struct step *s = &c->steps[i];
	u64 rate = 0;

	if (s->op == HCOMM_STEP_RECV_REDUCE)
		rate = c->cfg->reduce_rate;
	else if (s->eager || s->local)
		rate = c->cfg->copy_rate;
	push(c, CPU_DONE, i, chunk, work(c, s->rank, now, chunk_len(c, s, chunk), rate));
}

static void chunk_done(struct cost *c, u32 i, u64 now);

/* Begin as many chunks as may begin. */
static void advance(struct cost *c, u32 i, u64 now)
{
	struct step *s = &c->steps[i];
	u32 may = s->left ? 0 : s->chunks, k, chunk;
	u64 len;

	for (k = s->deps; k < s->deps + s->ndeps; k++)
		may = min(may, c->steps[c->deps[k] & ~STREAM].done);
	if (is_recv(s))
		may = min(may, s->done + c->cfg->par.window);
	else if (s->op == HCOMM_STEP_SEND && !s->eager && !s->local)
		may = min(may, s->far);
	while (s->issued < may) {
		chunk = s->issued++;
		switch (s->op) {
		case HCOMM_STEP_NOP:
			chunk_done(c, i, now);
			break;
		case HCOMM_STEP_SEND:
			len = s->eager && c->cfg->eager_copy ? s->len : 0;
			push(c, SENT, i, chunk,
			     work(c, s->rank, now, len, len ? c->cfg->copy_rate : 0));
			break;
		case HCOMM_STEP_RECV:
		case HCOMM_STEP_RECV_REDUCE:
			if (s->far > chunk)
				take_in(c, i, chunk, now);
			else if (!s->eager && !s->local)
				push(c, GRANTED, s->mate, chunk,
				     work(c, s->rank, now, 0, 0) + c->cfg->net.latency);
			break;
		default:
			push(c, CPU_DONE, i, chunk,
			     work(c, s->rank, now, chunk_len(c, s, chunk),
				  s->op == HCOMM_STEP_COPY ? c->cfg->copy_rate :
							     c->cfg->reduce_rate));
		}
	}
}

static void chunk_done(struct cost *c, u32 i, u64 now)
{
	struct step *s = &c->steps[i];
	u32 k;

	s->done++;
	if (sim_trace_all)
		printf("%12llu %u step %u chunk %u done\n", (unsigned long long)now, s->rank,
		       i - c->first[s->rank], s->done - 1);
	c->unfinished -= s->done == s->chunks;
	c->result->time = max(c->result->time, now);
	if (is_recv(s)) {
		if (s->local)
			push(c, ACKED, s->mate, 0, now + c->cfg->local_latency);
		if (s->done < s->chunks)
			advance(c, i, now);
	}
	for (k = s->kids; k < s[1].kids; k++) {
		u32 kid = c->kids[k];

		if (kid & STREAM) {
			advance(c, kid & ~STREAM, now);
		} else if (s->done == s->chunks) {
			c->steps[kid].left--;
			advance(c, kid, now);
		}
	}
}

/* The CPU gave a chunk away: when does it come, when is its memory free? */
static void sent(struct cost *c, u32 i, u32 chunk, u64 now)
{
	struct step *s = &c->steps[i];
	u64 len = chunk_len(c, s, chunk), t = now + c->cfg->local_latency;
	u32 to = c->steps[s->mate].rank;

	if (!s->local)
		t = net_transmit(&c->net, node_of(c, s->rank), node_of(c, to), now,
				 s->eager ? len + HEADER : len);
	c->result->chunks++;
	c->result->bytes += len;
	push(c, ARRIVED, s->mate, chunk, t);
	if (s->eager && !s->local)
		chunk_done(c, i, now);
	else if (!s->local)
		push(c, ACKED, i, chunk, t + c->cfg->net.latency);
}

static void handle(struct cost *c, const struct event *ev)
{
	struct step *s = &c->steps[ev->step];

	switch ((enum event_type)(ev->order & 7)) {
	case SENT:
		sent(c, ev->step, ev->chunk, ev->time);
		break;
	case ARRIVED:
		s->far++;
		if (s->issued > ev->chunk)
			take_in(c, ev->step, ev->chunk, ev->time);
		break;
	case GRANTED:
		s->far++;
		advance(c, ev->step, ev->time);
		break;
	case CPU_DONE:
	case ACKED:
		chunk_done(c, ev->step, ev->time);
		break;
	}
}

void cost_run(const struct sim_cfg *cfg, const struct coll_spec *spec,
	      struct cost_result *result)
{
	struct net_cfg net = cfg->net;
	struct cost c = { .cfg = cfg, .result = result };
	struct event ev;
	u64 i;

	*result = (struct cost_result){};
	net.slow_factor = cfg->slow_factor;
	c.first = calloc((u64)cfg->nranks + 1, sizeof(*c.first));
	c.cpu = calloc(cfg->nranks, sizeof(*c.cpu));
	if (!c.first || !c.cpu ||
	    !net_init(&c.net, &net, DIV_ROUND_UP(cfg->nranks, cfg->ranks_per_node)))
		sim_die(NULL, "out of memory");
	plan(&c, spec);
	link_kids(&c);
	match(&c);
	result->steps = c.nsteps;
	c.unfinished = c.nsteps;
	/* Steps that wait for nothing; those that follow others are woken by them. */
	for (i = 0; i < c.nsteps; i++)
		if (!c.steps[i].left && !c.steps[i].ndeps && !c.steps[i].issued)
			advance(&c, i, 0);
	while (c.nheap) {
		ev = pop(&c);
		handle(&c, &ev);
	}
	if (c.unfinished)
		sim_die(NULL, "%s: %llu steps never end", coll_text(spec),
			(unsigned long long)c.unfinished);
	net_exit(&c.net);
	free(c.steps);
	free(c.deps);
	free(c.kids);
	free(c.first);
	free(c.cpu);
	free(c.heap);
}
