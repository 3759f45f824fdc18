// SPDX-License-Identifier: GPL-2.0-only
/*
 * Progress of steps.  A step is executed in chunks; a chunk is open when the
 * step's dependencies allow it.  When a chunk is complete, the steps that
 * waited for it are looked at again; nothing here recurses.
 */
#include "engine_priv.h"

void hcomm_trace(struct hcomm_run *run, u32 s, u32 chunk, enum hcomm_step_event ev)
{
	struct hcomm_engine *e = run->engine;

	if (e->ops->trace)
		e->ops->trace(e, run, s, chunk, ev);
}

void hcomm_account(struct hcomm_engine *e, enum hcomm_work work, u64 bytes)
{
	if (e->ops->account)
		e->ops->account(e, work, bytes);
}

void hcomm_step_ready(struct hcomm_run *run, u32 s)
{
	struct hcomm_step_state *st = &run->st[s];

	if (st->queued)
		return;
	st->queued = true;
	st->ready_next = HCOMM_NONE;
	if (run->ready_head == HCOMM_NONE)
		run->ready_head = s;
	else
		run->st[run->ready_tail].ready_next = s;
	run->ready_tail = s;
}

/* More chunks of a step are open: let whoever executes it know. */
void hcomm_step_kick(struct hcomm_run *run, u32 s)
{
	const struct hcomm_step_aux *aux = &run->prog->aux[s];
	u8 op = hcomm_run_step(run, s)->op;
	struct hcomm_elink *l;

	if (op != HCOMM_STEP_SEND)
		hcomm_step_ready(run, s);
	if (aux->peer_idx == HCOMM_NONE)
		return;
	l = run->peers[aux->peer_idx].link;
	/* What is to be received is granted, if it is large and written by the peer. */
	if (op == HCOMM_STEP_SEND ||
	    (!l->direct && !hcomm_is_eager(run->engine, hcomm_run_step(run, s)->len)))
		hcomm_link_pump_later(l);
	/* Its link may be down by now, and a link that is down is not pumped. */
	if (op == HCOMM_STEP_SEND && l->left)
		hcomm_engine_fault_here(run->engine, HCOMM_FAULT_PEER_LEFT, EPIPE,
					l->peer, run, s);
}

static void step_update(struct hcomm_run *run, u32 s)
{
	const struct hcomm_step_aux *aux = &run->prog->aux[s];
	const u32 *deps = &run->prog->deps[hcomm_run_step(run, s)->dep_first];
	struct hcomm_step_state *st = &run->st[s];
	u32 i, avail = aux->nchunks;

	if (st->deps_left)
		return;
	for (i = 0; i < aux->stream_deps; i++)
		avail = min(avail, run->st[HCOMM_DEP_INDEX(deps[i])].done);
	if (avail == st->avail)
		return;
	st->avail = avail;
	hcomm_step_kick(run, s);
}

/* May this chunk be completed now?  Guards against what a peer makes up. */
bool hcomm_step_chunk_open(const struct hcomm_run *run, u32 s, u32 chunk)
{
	const struct hcomm_step_state *st = &run->st[s];

	return chunk < st->avail && chunk >= st->done &&
	       chunk - st->done < HCOMM_CHUNK_SPREAD &&
	       !(st->done_mask & BIT_ULL(chunk - st->done));
}

void hcomm_step_chunk_done(struct hcomm_run *run, u32 s, u32 chunk)
{
	const struct hcomm_prog *prog = run->prog;
	const struct hcomm_step_aux *aux = &prog->aux[s];
	struct hcomm_step_state *st = &run->st[s];
	bool complete;
	u32 i;

	hcomm_trace(run, s, chunk, HCOMM_EV_DONE);
	run->progress++;
	st->done_mask |= BIT_ULL(chunk - st->done);
	if (!(st->done_mask & 1))
		return;
	while (st->done_mask & 1) {
		st->done_mask >>= 1;
		st->done++;
	}
	complete = st->done == aux->nchunks;
	for (i = 0; i < aux->succ_count; i++) {
		u32 succ = prog->succs[aux->succ_first + i];
		u32 t = HCOMM_DEP_INDEX(succ);

		if (!(succ & HCOMM_DEP_STREAM)) {
			if (!complete)
				continue;
			run->st[t].deps_left--;
		}
		step_update(run, t);
	}
	if (!complete)
		return;
	if (aux->peer_idx != HCOMM_NONE)
		run->peers[aux->peer_idx].left--;
	if (--run->steps_left == 0)
		list_move_tail(&run->node, &run->engine->finished);
}

/* ------------------------------------------------------------ staging memory */

/*
 * Every run that may be in flight can have one slot at any time; what is left
 * is shared.
 */
u32 hcomm_stage_get(struct hcomm_run *run)
{
	struct hcomm_engine *e = run->engine;

	if (run->stage_used && e->stage_nfree <= e->par.max_runs - e->stage_runs)
		return HCOMM_NONE;
	if (WARN_ON_ONCE(!e->stage_nfree))
		return HCOMM_NONE;
	if (!run->stage_used++)
		e->stage_runs++;
	return e->stage_free[--e->stage_nfree];
}

/*
 * The first step from @s on that takes staging memory: those on links with
 * direct access do not.
 */
u32 hcomm_stage_skip(const struct hcomm_run *run, u32 s)
{
	const struct hcomm_step_aux *aux = run->prog->aux;

	while (s != HCOMM_NONE && run->peers[aux[s].peer_idx].link->direct)
		s = aux[s].stage_next;
	return s;
}

/* Runs wait for staging memory at their stage_step. */
void hcomm_stage_pump(struct hcomm_engine *e)
{
	struct hcomm_run *run;

	list_for_each_entry(run, &e->runs, node)
		if (run->stage_step != HCOMM_NONE) {
			u32 p = run->prog->aux[run->stage_step].peer_idx;

			hcomm_link_pump_later(run->peers[p].link);
		}
}

void hcomm_stage_put(struct hcomm_run *run, u32 slot)
{
	struct hcomm_engine *e = run->engine;

	e->stage_free[e->stage_nfree++] = slot;
	if (!--run->stage_used)
		e->stage_runs--;
	hcomm_stage_pump(e);
}

/* ----------------------------------------------------------------- execution */

static void exec_local(struct hcomm_run *run, u32 s)
{
	struct hcomm_engine *e = run->engine;
	const struct hcomm_step *step = hcomm_run_step(run, s);
	struct hcomm_step_state *st = &run->st[s];
	u32 chunk = st->issued;
	u32 len = hcomm_chunk_len(e, step, run->prog->aux[s].nchunks, chunk);

	if (st->issued >= st->avail)
		return;
	st->issued++;
	hcomm_trace(run, s, chunk, HCOMM_EV_ISSUE);
	if (len && step->op == HCOMM_STEP_COPY) {
		hcomm_mem_copy(hcomm_run_dst(run, step, chunk),
			       hcomm_run_src(run, step, chunk), len);
		hcomm_account(e, HCOMM_WORK_COPY, len);
	} else if (len && step->op == HCOMM_STEP_REDUCE) {
		hcomm_mem_reduce(step->dtype, step->redop,
				 hcomm_run_dst(run, step, chunk),
				 hcomm_run_dst(run, step, chunk),
				 hcomm_run_src(run, step, chunk), len);
		hcomm_account(e, HCOMM_WORK_REDUCE, len);
	} else if (len && step->op == HCOMM_STEP_SCALE) {
		hcomm_mem_scale(step->dtype, step->redop, step->operand,
				hcomm_run_dst(run, step, chunk),
				hcomm_run_src(run, step, chunk), len);
		hcomm_account(e, HCOMM_WORK_REDUCE, len);
	}
	if (st->issued < st->avail)
		hcomm_step_ready(run, s);
	hcomm_step_chunk_done(run, s, chunk);
}

/* From the peer's memory. */
static void pull(struct hcomm_elink *l, const struct hcomm_transfer *t)
{
	if (l->ops->pull)
		l->ops->pull(l, t);
	else
		hcomm_mem_transfer(t, 0, t->len);
}

/* Put an arrived chunk where it belongs: from a slot of ours or the peer's memory. */
static void consume(struct hcomm_elink *l, struct hcomm_run *run, u32 s,
		    const struct hcomm_arrival *a)
{
	const struct hcomm_step *step = hcomm_run_step(run, s);
	const struct hcomm_msg *m = &a->msg;
	struct hcomm_transfer t = {
		.src = m->src,
		.len = m->len,
		.dtype = step->dtype,
		.redop = step->redop,
		.reduce = step->op == HCOMM_STEP_RECV_REDUCE,
	};

	if (!m->len)
		return;
	t.dst = hcomm_run_dst(run, step, m->chunk);
	if (t.reduce)
		t.acc = hcomm_run_src(run, step, m->chunk);
	if (m->type == HCOMM_MSG_RTS)
		pull(l, &t);
	else if (t.reduce)
		hcomm_mem_reduce_flat(t.dtype, t.redop, t.dst, t.acc, a->payload, m->len);
	else
		hcomm_mem_write(t.dst, a->payload, m->len);
	hcomm_account(run->engine, t.reduce ? HCOMM_WORK_REDUCE : HCOMM_WORK_COPY, m->len);
}

static bool announced(const struct hcomm_elink *l, const struct hcomm_run *run, u32 s)
{
	u32 msg = hcomm_run_step(run, s)->msg;
	const struct hcomm_arrival *a;

	list_for_each_entry(a, &l->arrivals, node)
		if (a->msg.run == run->key && a->msg.msg == msg &&
		    (a->msg.type == HCOMM_MSG_EAGER || a->msg.type == HCOMM_MSG_RTS))
			return true;
	return false;
}

/*
 * The peer is done with this run, and all that it sent is here: a step that still has
 * to send something to it or to get something from it, HCOMM_NONE: there is none.
 */
u32 hcomm_step_starved(const struct hcomm_run *run, u32 p)
{
	const struct hcomm_prog_peer *pp = &run->prog->peers[p];
	const struct hcomm_prog *prog = run->prog;
	u32 i, s;

	for (i = run->peers[p].send_next; i < pp->send_count; i++) {
		s = prog->sends[pp->send_first + i];
		if (run->st[s].issued < prog->aux[s].nchunks)
			return s;
	}
	for (i = 0; i < pp->recv_count; i++) {
		s = prog->recvs[pp->recv_first + i];
		if (run->st[s].done < prog->aux[s].nchunks &&
		    !announced(run->peers[p].link, run, s))
			return s;
	}
	return HCOMM_NONE;
}

static struct hcomm_arrival *find_arrival(struct hcomm_elink *l, const struct hcomm_run *run,
					  u32 s)
{
	u32 msg = hcomm_run_step(run, s)->msg;
	struct hcomm_arrival *a;

	list_for_each_entry(a, &l->arrivals, node) {
		if (a->msg.run != run->key || a->msg.msg != msg)
			continue;
		if (a->msg.type == HCOMM_MSG_EAGER || a->msg.type == HCOMM_MSG_REQ)
			return a;
		if (a->msg.type == HCOMM_MSG_RTS && a->msg.chunk < run->st[s].avail)
			return a;
	}
	return NULL;
}

static void exec_recv(struct hcomm_run *run, u32 s)
{
	struct hcomm_step_state *st = &run->st[s];
	struct hcomm_run_peer *rp = &run->peers[run->prog->aux[s].peer_idx];
	struct hcomm_elink *l = rp->link;
	struct hcomm_arrival *a = st->done < st->avail ? find_arrival(l, run, s) : NULL;
	u32 chunk;

	if (!a) {
		/* All that it sent is here: what is missing won't come. */
		if (l->left && st->done < st->avail)
			hcomm_engine_fault_here(run->engine, HCOMM_FAULT_PEER_LEFT, EPIPE,
						l->peer, run, s);
		return;
	}
	if (a->msg.type == HCOMM_MSG_REQ) {
		/*
		 * The destination is free: answer, and wait for the EAGER.  One
		 * at a time: a REQ may overtake the EAGER of the CTS before.
		 */
		if (rp->cts_given)
			return;
		a->msg.type = HCOMM_MSG_CTS;
		hcomm_link_pump_later(l);
		return;
	}
	chunk = a->msg.chunk;
	if (!hcomm_step_chunk_open(run, s, chunk)) {
		hcomm_engine_fault_here(run->engine, HCOMM_FAULT_PROTOCOL, EBADMSG,
					l->peer, run, s);
		return;
	}
	st->issued++;
	hcomm_trace(run, s, chunk, HCOMM_EV_ISSUE);
	consume(l, run, s, a);
	hcomm_arrival_release(l, a);
	if (a->msg.type == HCOMM_MSG_RTS) {
		/* The record stays until the FIN has left. */
		a->msg.type = HCOMM_MSG_FIN;
		hcomm_link_pump_later(l);
	} else {
		if (a->msg.flags & HCOMM_MSG_F_CTS) {
			rp->cts_given = false;
			hcomm_rx_wake_reqs(l, run);
		} else {
			l->eager_held--;
			l->credits_owed++;
			if (hcomm_credits_due(l))
				hcomm_link_pump_later(l);
		}
		hcomm_arrival_drop(l, a);
	}
	if (st->issued < run->prog->aux[s].nchunks)
		hcomm_step_ready(run, s);
	hcomm_step_chunk_done(run, s, chunk);
}

/* Execute one chunk of the first step that is ready. */
void hcomm_step_exec(struct hcomm_run *run)
{
	u32 s = run->ready_head;

	run->ready_head = run->st[s].ready_next;
	if (run->ready_head == HCOMM_NONE)
		run->ready_tail = HCOMM_NONE;
	run->st[s].queued = false;
	if (run->prog->aux[s].peer_idx == HCOMM_NONE)
		exec_local(run, s);
	else
		exec_recv(run, s);
}
