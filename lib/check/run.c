// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The run: all ranks' chunks, under the engine's rules for order, window and
 * staging memory, over symbolic memory whose every access is checked.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

static void poke(struct checker *c, uint32_t gs)
{
	if (c->g[gs].queued)
		return;
	c->g[gs].queued = true;
	c->queue[c->queue_len++] = gs;
}

static bool ready(const struct checker *c, const struct gstep *g)
{
	uint32_t k;

	if (g->issued == g->nchunks || g->deps_left)
		return false;
	for (k = 0; k < g->s->dep_count; k++) {
		uint32_t dep = c->progs[g->rank].deps[g->s->dep_first + k];

		if (!(dep & HCOMM_DEP_STREAM))
			break;
		if (c->g[c->first[g->rank] + HCOMM_DEP_INDEX(dep)].done <= g->issued)
			return false;
	}
	return true;
}

static void issue(struct checker *c, struct gstep *g)
{
	uint32_t gs = g - c->g, k, w;
	uint64_t *mine, *theirs;

	c->node[g->node + g->issued++].issued = ++c->clock;
	if (!c->knows)
		return;
	mine = &c->knows[(size_t)gs * c->words];
	mine[g->rank / 64] |= 1ull << g->rank % 64;
	for (k = 0; k < g->s->dep_count; k++) {
		uint32_t dep = c->progs[g->rank].deps[g->s->dep_first + k];

		theirs = &c->knows[(size_t)(c->first[g->rank] +
					    HCOMM_DEP_INDEX(dep)) * c->words];
		for (w = 0; w < c->words; w++)
			mine[w] |= theirs[w];
	}
}

static void complete(struct checker *c, struct gstep *g)
{
	bool last = g->done + 1 == g->nchunks;
	uint32_t k;

	c->node[g->node + g->done++].done = ++c->clock;
	c->res->chunks++;
	for (k = 0; k < g->nsucc; k++) {
		uint32_t s = c->succ[g->succ + k];

		if (!(s & HCOMM_DEP_STREAM)) {
			if (!last)
				continue;
			c->g[s].deps_left--;
		}
		poke(c, HCOMM_DEP_INDEX(s));
	}
}

static int race(struct checker *c, uint32_t x, uint32_t y, uint32_t slot,
		uint64_t byte)
{
	uint32_t gx = c->node[x].gstep, gy = c->node[y].gstep, t;
	char name[64];

	/* only the later step can depend on the other */
	if (gx > gy) {
		t = gx;
		gx = gy;
		gy = t;
	}
	c->res->slot = slot;
	c->res->byte = byte;
	if (gx == gy)
		return chk_fail(c, HCOMM_CHECK_RACE, c->g[gy].rank, local_step(c, gy),
			    "its chunks %u and %u touch byte %llu of slot %u in any order: keep their bytes apart",
			    x - c->g[gx].node, y - c->g[gy].node,
			    (unsigned long long)byte, slot);
	return chk_fail(c, HCOMM_CHECK_RACE, c->g[gy].rank, local_step(c, gy),
		    "touches byte %llu of slot %u while step %u (%s) may: let it depend on step %u",
		    (unsigned long long)byte, slot, local_step(c, gx),
		    chk_step_name(c, c->g[gx].rank, local_step(c, gx), name, sizeof(name)),
		    local_step(c, gx));
}

static int check_order(struct checker *c, uint32_t x, uint32_t y, uint32_t slot,
		       uint64_t byte)
{
	bool yes;
	int err;

	if (x == NO_NODE || x == y)
		return 0;
	err = chk_ordered(c, x, y, &yes);
	if (err)
		return err;
	return yes ? 0 : race(c, x, y, slot, byte);
}

static int read_bytes(struct checker *c, uint32_t node, uint32_t slot,
		      uint64_t off, uint64_t len, struct values *vals)
{
	uint32_t gs = c->node[node].gstep, i, end;
	struct memory *m = slot_memory(c, c->g[gs].rank, slot);
	int err;

	vals->n = 0;
	if (!len)
		return 0;
	if (chk_memory_range(m, off, len, &i, &end))
		return -ENOMEM;
	for (; i < end; i++) {
		struct segment *s = &m->seg[i];

		err = check_order(c, s->writer, node, slot, s->start);
		if (err)
			return err;
		if (s->val.expr == EXPR_NONE) {
			c->res->slot = slot;
			c->res->byte = s->start;
			return chk_fail(c, HCOMM_CHECK_UNINIT, c->g[gs].rank,
				    local_step(c, gs),
				    "reads byte %llu of slot %u, which no step has written: write it first and depend on that",
				    (unsigned long long)s->start, slot);
		}
		s->readers = chk_readers_add(&c->readers, s->readers, node);
		if (!s->readers || chk_values_add(vals, s->val))
			return -ENOMEM;
	}
	return 0;
}

static int write_bytes(struct checker *c, uint32_t node, uint32_t slot,
		       uint64_t off, uint64_t len, const struct values *vals)
{
	struct memory *m = slot_memory(c, c->g[c->node[node].gstep].rank, slot);
	uint32_t first, end, i, r;
	int err;

	if (!len)
		return 0;
	if (chk_memory_range(m, off, len, &first, &end))
		return -ENOMEM;
	for (i = first; i < end; i++) {
		struct segment *s = &m->seg[i];

		err = check_order(c, s->writer, node, slot, s->start);
		for (r = s->readers; !err && r; r = c->readers.cell[r].next)
			err = check_order(c, c->readers.cell[r].node, node, slot,
					  s->start);
		if (err)
			return err;
	}
	return chk_memory_replace(m, first, end, vals, node);
}

/* c->out = a (op) b */
static int combine(struct checker *c, const struct gstep *g,
		   const struct values *a, const struct values *b)
{
	uint64_t ia = 0, ib = 0, len;
	struct value va, vb, v;
	uint32_t i = 0, j = 0;
	uint32_t size = hcomm_dtype_bytes(g->s->dtype);

	c->out.n = 0;
	while (i < a->n && j < b->n) {
		va = a->v[i];
		vb = b->v[j];
		len = va.len - ia < vb.len - ib ? va.len - ia : vb.len - ib;
		va.pos += ia;
		vb.pos += ib;
		if (len % size)
			return chk_fail(c, HCOMM_CHECK_VALUE, g->rank,
				    local_step(c, g - c->g),
				    "an operand is put together from parts of elements: align offsets to %u bytes",
				    size);
		v.len = len;
		if (!chk_expr_op(&c->expr, g->s->dtype, g->s->redop, &va, &vb, &v) ||
		    chk_values_add(&c->out, v))
			return -ENOMEM;
		ia += len;
		ib += len;
		if (ia == a->v[i].len) {
			ia = 0;
			i++;
		}
		if (ib == b->v[j].len) {
			ib = 0;
			j++;
		}
	}
	return 0;
}

/* c->out = a, scaled */
static int scale(struct checker *c, const struct gstep *g, const struct values *a)
{
	const struct hcomm_step *s = g->s;
	uint32_t size = hcomm_dtype_bytes(s->dtype), i;
	struct value v;

	c->out.n = 0;
	for (i = 0; i < a->n; i++) {
		v.len = a->v[i].len;
		if (v.len % size)
			return chk_fail(c, HCOMM_CHECK_VALUE, g->rank,
				    local_step(c, g - c->g),
				    "what it scales is put together from parts of elements: align offsets to %u bytes",
				    size);
		if (!chk_expr_scale(&c->expr, s->dtype, s->redop, s->operand, &a->v[i],
				    &v) ||
		    chk_values_add(&c->out, v))
			return -ENOMEM;
	}
	return 0;
}

static uint64_t chunk_len(const struct checker *c, const struct gstep *g,
			  uint32_t chunk)
{
	uint64_t off = (uint64_t)chunk * c->opts.chunk_size;

	if (g->nchunks == 1)
		return g->s->len;
	return g->s->len - off < c->opts.chunk_size ? g->s->len - off :
						      c->opts.chunk_size;
}

static int run_local(struct checker *c, struct gstep *g)
{
	uint32_t chunk = g->issued, node = g->node + chunk;
	uint64_t off = (uint64_t)chunk * c->opts.chunk_size;
	uint64_t len = chunk_len(c, g, chunk);
	const struct hcomm_step *s = g->s;
	int err = 0;

	issue(c, g);
	if (s->op != HCOMM_STEP_NOP)
		err = read_bytes(c, node, s->src_slot, s->src_off + off, len, &c->a);
	if (!err && s->op == HCOMM_STEP_COPY)
		err = write_bytes(c, node, s->dst_slot, s->dst_off + off, len, &c->a);
	if (!err && s->op == HCOMM_STEP_SCALE) {
		err = scale(c, g, &c->a);
		if (!err)
			err = write_bytes(c, node, s->dst_slot, s->dst_off + off,
					  len, &c->out);
	}
	if (!err && s->op == HCOMM_STEP_REDUCE) {
		err = read_bytes(c, node, s->dst_slot, s->dst_off + off, len, &c->b);
		if (!err)
			err = combine(c, g, &c->a, &c->b);
		if (!err)
			err = write_bytes(c, node, s->dst_slot, s->dst_off + off,
					  len, &c->out);
	}
	complete(c, g);
	return err;
}

static int move_chunk(struct checker *c, struct gstep *snd, struct gstep *rcv)
{
	uint32_t chunk = snd->done, w;
	uint64_t off = (uint64_t)chunk * c->opts.chunk_size;
	uint64_t len = chunk_len(c, snd, chunk);
	const struct hcomm_step *s = snd->s, *r = rcv->s;
	const struct values *vals = &c->a;
	int err;

	err = read_bytes(c, snd->node + chunk, s->src_slot, s->src_off + off, len,
			 &c->a);
	if (!err && r->op == HCOMM_STEP_RECV_REDUCE) {
		err = read_bytes(c, rcv->node + chunk, r->src_slot,
				 r->src_off + off, len, &c->b);
		if (!err)
			err = combine(c, rcv, &c->a, &c->b);
		vals = &c->out;
	}
	if (!err)
		err = write_bytes(c, rcv->node + chunk, r->dst_slot,
				  r->dst_off + off, len, vals);
	if (err)
		return err;
	for (w = 0; c->knows && w < c->words; w++)
		c->knows[(size_t)(rcv - c->g) * c->words + w] |=
			c->knows[(size_t)(snd - c->g) * c->words + w];
	complete(c, snd);
	complete(c, rcv);
	return 0;
}

static bool needs_staging(const struct checker *c, const struct gstep *g)
{
	return g->s->op == HCOMM_STEP_RECV_REDUCE &&
	       g->s->len > c->opts.eager_size;
}

/* wake the step whose turn it is */
static void poke_staging(struct checker *c, const struct staging *st)
{
	if (st->next < st->count)
		poke(c, c->staged[st->first + st->next]);
}

static bool may_accept(const struct checker *c, const struct gstep *g)
{
	const struct staging *st = &c->staging[g->rank];

	if (!needs_staging(c, g))
		return true;
	return c->staged[st->first + st->next] == (uint32_t)(g - c->g) &&
	       st->used < c->opts.staging_slots;
}

static void accept(struct checker *c, struct gstep *g)
{
	struct staging *st = &c->staging[g->rank];

	issue(c, g);
	if (!needs_staging(c, g))
		return;
	st->used++;
	if (g->issued == g->nchunks) {
		st->next++;
		poke_staging(c, st);
	}
}

static int run_link(struct checker *c, struct link *l)
{
	struct gstep *g, *r;
	bool more = true;
	int err;

	while (more) {
		more = false;
		while (l->send < l->count && l->sent < l->moved + c->opts.window) {
			g = &c->g[c->sends[l->first + l->send]];
			if (!ready(c, g))
				break;
			issue(c, g);
			l->sent++;
			l->send += g->issued == g->nchunks;
		}
		while (l->recv < l->count && l->accepted < l->moved + c->opts.window) {
			g = &c->g[c->recvs[l->first + l->recv]];
			if (!ready(c, g) || !may_accept(c, g))
				break;
			accept(c, g);
			l->accepted++;
			l->recv += g->issued == g->nchunks;
		}
		while (l->moved < l->sent && l->moved < l->accepted) {
			g = &c->g[c->sends[l->first + l->move]];
			r = &c->g[g->peer];
			err = move_chunk(c, g, r);
			if (err)
				return err;
			l->moved++;
			l->move += g->done == g->nchunks;
			if (needs_staging(c, r)) {
				c->staging[r->rank].used--;
				poke_staging(c, &c->staging[r->rank]);
			}
			more = true;
		}
	}
	return 0;
}

static bool message(const struct gstep *g)
{
	return g->link != NO_LINK;
}

/* how a step that can't go on would be told */
static int stuck(struct checker *c, uint32_t gs)
{
	const struct gstep *g = &c->g[gs];
	const struct link *l = message(g) ? &c->link[g->link] : NULL;
	uint32_t step = local_step(c, gs), k, head;
	char name[64];

	for (k = 0; k < g->s->dep_count; k++) {
		uint32_t dep = HCOMM_DEP_INDEX(c->progs[g->rank].deps[g->s->dep_first + k]);

		if (c->g[c->first[g->rank] + dep].done <
		    c->g[c->first[g->rank] + dep].nchunks)
			return chk_fail(c, HCOMM_CHECK_DEADLOCK, g->rank, step,
				    "waits for ever for step %u (%s)", dep,
				    chk_step_name(c, g->rank, dep, name, sizeof(name)));
	}
	if (g->issued > g->done || g->issued == g->nchunks)
		return chk_fail(c, HCOMM_CHECK_DEADLOCK, g->rank, step,
			    "waits for ever for step %u of rank %u (%s): let that one not wait for what waits for this",
			    local_step(c, g->peer), c->g[g->peer].rank,
			    chk_step_name(c, c->g[g->peer].rank,
					  local_step(c, g->peer), name, sizeof(name)));
	head = is_recv(g->s) ? c->recvs[l->first + l->recv] :
			       c->sends[l->first + l->send];
	if (head != gs)
		return chk_fail(c, HCOMM_CHECK_DEADLOCK, g->rank, step,
			    "waits for ever behind step %u, an earlier message of the pair: put it before that one at both ends",
			    local_step(c, head));
	return chk_fail(c, HCOMM_CHECK_DEADLOCK, g->rank, step,
		    "waits for ever for staging memory: put RECV_REDUCE steps in the order in which their messages can come");
}

/* the first step, by rank, of those that nothing local holds up */
static int deadlock(struct checker *c)
{
	uint32_t gs, k, any = NO_GSTEP;

	for (gs = 0; gs < c->nsteps; gs++) {
		const struct gstep *g = &c->g[gs];

		if (g->done == g->nchunks)
			continue;
		if (any == NO_GSTEP)
			any = gs;
		for (k = 0; k < g->s->dep_count; k++) {
			uint32_t dep = c->progs[g->rank].deps[g->s->dep_first + k];
			const struct gstep *d;

			d = &c->g[c->first[g->rank] + HCOMM_DEP_INDEX(dep)];
			if (d->done < d->nchunks)
				break;
		}
		if (k == g->s->dep_count)
			return stuck(c, gs);
	}
	return any == NO_GSTEP ? 0 : stuck(c, any);
}

int chk_run(struct checker *c)
{
	uint32_t gs;
	int err = 0;

	if (c->args.coll == HCOMM_COLL_BARRIER) {
		c->words = (c->n + 63) / 64;
		c->knows = calloc((size_t)c->nsteps * c->words, sizeof(*c->knows));
		if (!c->knows)
			return -ENOMEM;
	}
	for (gs = c->nsteps; gs-- > 0;)
		poke(c, gs);
	while (c->queue_len) {
		struct gstep *g = &c->g[c->queue[--c->queue_len]];

		g->queued = false;
		if (message(g))
			err = run_link(c, &c->link[g->link]);
		while (!err && !message(g) && ready(c, g))
			err = run_local(c, g);
		if (err)
			return err;
	}
	return deadlock(c);
}
