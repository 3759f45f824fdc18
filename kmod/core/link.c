// SPDX-License-Identifier: GPL-2.0-only
/*
 * What goes out on a link.  Everything that may be sent is found from state, so
 * a transport without room just stops the pump, and it goes on from the same
 * state later.
 */
#include "engine_priv.h"

int hcomm_elink_init(struct hcomm_elink *l, struct hcomm_engine *e, u32 peer,
		     const struct hcomm_link_ops *ops, bool direct)
{
	u32 n = e->par.window * e->par.max_runs;
	u32 i, pool = hcomm_link_max_rx(&e->par);

	memset(l, 0, sizeof(*l));
	l->engine = e;
	l->peer = peer;
	l->ops = ops;
	l->direct = direct;
	l->eager_credits = e->par.eager_slots;
	INIT_LIST_HEAD(&l->pump);
	INIT_LIST_HEAD(&l->arrivals);
	INIT_LIST_HEAD(&l->free_arrivals);
	l->arrival_pool = hcomm_zalloc_array(pool, sizeof(*l->arrival_pool));
	l->grants = hcomm_zalloc_array(n, sizeof(*l->grants));
	l->writes = hcomm_zalloc_array(n, sizeof(*l->writes));
	if (!l->arrival_pool || !l->grants || !l->writes) {
		hcomm_free(l->writes);
		hcomm_free(l->grants);
		hcomm_free(l->arrival_pool);
		return -ENOMEM;
	}
	for (i = 0; i < pool; i++)
		list_add_tail(&l->arrival_pool[i].node, &l->free_arrivals);
	list_add_tail(&l->node, &e->links);
	return 0;
}

void hcomm_elink_exit(struct hcomm_elink *l)
{
	struct hcomm_arrival *a, *next;

	list_for_each_entry_safe(a, next, &l->arrivals, node) {
		hcomm_arrival_release(l, a);
		hcomm_arrival_drop(l, a);
	}
	list_del_init(&l->node);
	list_del_init(&l->pump);
	hcomm_free(l->writes);
	hcomm_free(l->grants);
	hcomm_free(l->arrival_pool);
	l->arrival_pool = NULL;
}

void hcomm_link_pump_later(struct hcomm_elink *l)
{
	if (l->up && !l->tx_blocked && list_empty(&l->pump))
		list_add_tail(&l->pump, &l->engine->pump);
}

void hcomm_engine_link_up(struct hcomm_elink *l)
{
	l->up = true;
	hcomm_link_pump_later(l);
}

void hcomm_engine_tx_space(struct hcomm_elink *l)
{
	l->tx_blocked = false;
	hcomm_link_pump_later(l);
}

/* What ops->send and ops->write returned: 0, or the pump stops. */
static int tx_result(struct hcomm_elink *l, int err)
{
	if (err == -EAGAIN)
		l->tx_blocked = true;
	else if (err)
		hcomm_engine_link_down(l, HCOMM_FAULT_LINK, -err);
	return err;
}

static int link_send(struct hcomm_elink *l, struct hcomm_msg *msg, struct hcomm_buf payload)
{
	u32 credits = min_t(u32, l->credits_owed, 0xffff);
	int err;

	msg->credits = (u16)credits;
	err = l->ops->send(l, msg, payload);
	if (!err) {
		l->credits_owed -= credits;
		/* Only what no BYE can overtake: a TOLD may be sent after it. */
		if (msg->type < HCOMM_MSG_CREDIT)
			l->tx_count++;
	}
	return tx_result(l, err);
}

static int send_plain(struct hcomm_elink *l, struct hcomm_msg *msg)
{
	return link_send(l, msg, (struct hcomm_buf){});
}

/* The engine's message, which the transport copies: empty but for its type. */
static struct hcomm_msg *msg_new(struct hcomm_elink *l, u8 type)
{
	struct hcomm_msg *msg = &l->engine->tx;

	msg->type = type;
	msg->flags = 0;
	msg->msg = 0;
	msg->chunk = 0;
	msg->len = 0;
	msg->run = 0;
	msg->call = (struct hcomm_call){};
	msg->addr = 0;
	msg->rkey = 0;
	msg->imm = 0;
	msg->src = (struct hcomm_buf){};
	return msg;
}

static int send_type(struct hcomm_elink *l, u8 type)
{
	return send_plain(l, msg_new(l, type));
}

/* ------------------------------------------------------------------- control */

static int send_abort(struct hcomm_elink *l)
{
	struct hcomm_msg *msg = msg_new(l, HCOMM_MSG_ABORT);

	msg->fault = l->engine->fault;
	return send_plain(l, msg);
}

static int send_told(struct hcomm_elink *l)
{
	struct hcomm_msg *msg = msg_new(l, HCOMM_MSG_TOLD);

	if (l->told_over) {
		msg->flags = HCOMM_MSG_F_OVER;
		msg->addr = l->tx_count;
	}
	return send_plain(l, msg);
}

static int send_tell(struct hcomm_elink *l)
{
	struct hcomm_msg *msg = msg_new(l, HCOMM_MSG_TELL);

	msg->run = l->tell_run;
	msg->call = l->tell_call;
	return send_plain(l, msg);
}

/* After a fault nothing but ABORT. */
static int pump_abort(struct hcomm_elink *l)
{
	int err;

	if (l->abort_pending) {
		err = send_abort(l);
		if (err)
			return err;
		l->abort_pending = false;
	}
	return l->engine->fault.error ? -ESHUTDOWN : 0;
}

/*
 * What no run needs.  After all that runs need: on a link with little room two ranks
 * could tell one another for ever that they wait.
 */
static int pump_control(struct hcomm_elink *l)
{
	int err;

	if (l->told_pending) {
		err = send_told(l);
		if (err)
			return err;
		l->told_pending = false;
	}
	if (l->tell_pending) {
		err = send_tell(l);
		if (err)
			return err;
		l->tell_pending = false;
		l->tell_out = true;
	}
	if (hcomm_credits_due(l)) {
		err = send_type(l, HCOMM_MSG_CREDIT);
		if (err)
			return err;
	}
	return 0;
}

/* CTS and FIN: records among the arrivals that only wait to be answered. */
static int pump_answers(struct hcomm_elink *l)
{
	struct hcomm_arrival *a, *next;

	list_for_each_entry_safe(a, next, &l->arrivals, node) {
		struct hcomm_msg *msg;
		struct hcomm_run *run;
		int err;

		if (a->msg.type != HCOMM_MSG_CTS && a->msg.type != HCOMM_MSG_FIN)
			continue;
		msg = msg_new(l, a->msg.type);
		msg->run = a->msg.run;
		msg->msg = a->msg.msg;
		msg->chunk = a->msg.chunk;
		err = send_plain(l, msg);
		if (err)
			return err;
		if (a->msg.type == HCOMM_MSG_CTS) {
			run = hcomm_engine_find_run(l->engine, a->msg.run);
			if (run)
				run->peers[hcomm_prog_find_peer(run->prog, l->peer)]
					.cts_given = true;
		}
		hcomm_arrival_drop(l, a);
	}
	return 0;
}

/* ------------------------------------------------------------------- sending */

static struct hcomm_msg *msg_of_step(struct hcomm_elink *l, u8 type,
				     const struct hcomm_run *run, u32 s, u32 chunk)
{
	const struct hcomm_step *step = hcomm_run_step(run, s);
	struct hcomm_msg *msg = msg_new(l, type);

	msg->run = run->key;
	msg->call = run->call;
	msg->msg = step->msg;
	msg->chunk = chunk;
	msg->len = hcomm_chunk_len(run->engine, step, run->prog->aux[s].nchunks, chunk);
	return msg;
}

static int send_eager(struct hcomm_elink *l, struct hcomm_run *run,
		      struct hcomm_run_peer *rp, u32 s)
{
	struct hcomm_msg *msg;
	int err;

	if (!rp->cts && (!l->eager_credits || rp->req_sent)) {
		if (rp->req_sent)
			return -EBUSY;
		err = send_plain(l, msg_of_step(l, HCOMM_MSG_REQ, run, s, 0));
		if (err)
			return err;
		rp->req_sent = true;
		return -EBUSY;
	}
	msg = msg_of_step(l, HCOMM_MSG_EAGER, run, s, 0);
	if (rp->cts)
		msg->flags = HCOMM_MSG_F_CTS;
	err = link_send(l, msg, msg->len ? hcomm_run_src(run, hcomm_run_step(run, s), 0) :
					   (struct hcomm_buf){});
	if (err)
		return err;
	if (!rp->cts)
		l->eager_credits--;
	rp->cts = false;
	rp->req_sent = false;
	run->st[s].issued = 1;
	hcomm_trace(run, s, 0, HCOMM_EV_ISSUE);
	hcomm_step_chunk_done(run, s, 0);
	return 0;
}

static int send_direct(struct hcomm_elink *l, struct hcomm_run *run,
		       struct hcomm_run_peer *rp, u32 s)
{
	u32 chunk = run->st[s].issued;
	struct hcomm_msg *msg;
	int err;

	if (rp->rts_out >= l->engine->par.window)
		return -EBUSY;
	msg = msg_of_step(l, HCOMM_MSG_RTS, run, s, chunk);
	msg->src = hcomm_run_src(run, hcomm_run_step(run, s), chunk);
	err = send_plain(l, msg);
	if (err)
		return err;
	rp->rts_out++;
	run->st[s].issued++;
	hcomm_trace(run, s, chunk, HCOMM_EV_ISSUE);
	return 0;
}

static struct hcomm_inflight *inflight_get(struct hcomm_elink *l, struct hcomm_inflight *tab)
{
	u32 i, n = l->engine->par.window * l->engine->par.max_runs;

	for (i = 0; i < n; i++)
		if (!tab[i].run)
			return &tab[i];
	return NULL;
}

static int send_write(struct hcomm_elink *l, struct hcomm_run *run,
		      struct hcomm_run_peer *rp, u32 s)
{
	u32 chunk = run->st[s].issued;
	u32 msg = hcomm_run_step(run, s)->msg;
	struct hcomm_arrival *a, *grant = NULL;
	struct hcomm_inflight *w;
	int err;

	list_for_each_entry(a, &l->arrivals, node)
		if (a->msg.type == HCOMM_MSG_GRANT && a->msg.run == run->key &&
		    a->msg.msg == msg && a->msg.chunk == chunk) {
			grant = a;
			break;
		}
	if (!grant || rp->writes_out >= l->engine->par.window)
		return -EBUSY;
	w = inflight_get(l, l->writes);
	if (WARN_ON_ONCE(!w))
		return -EBUSY;
	err = l->ops->write(l, hcomm_run_src(run, hcomm_run_step(run, s), chunk),
			    grant->msg.len, grant->msg.addr, grant->msg.rkey,
			    grant->msg.imm, (u32)(w - l->writes));
	if (err)
		return tx_result(l, err);
	w->run = run;
	w->step = s;
	w->chunk = chunk;
	l->tx_count++;
	l->writes_active++;
	rp->writes_out++;
	run->st[s].issued++;
	hcomm_arrival_drop(l, grant);
	hcomm_trace(run, s, chunk, HCOMM_EV_ISSUE);
	return 0;
}

/*
 * SENDs of a run to the peer leave in step order.  -EBUSY: this run waits, the
 * next one may go on; other errors stop the pump.
 */
static int pump_sends(struct hcomm_elink *l, struct hcomm_run *run, u32 p)
{
	const struct hcomm_prog_peer *pp = &run->prog->peers[p];
	struct hcomm_run_peer *rp = &run->peers[p];

	while (rp->send_next < pp->send_count) {
		u32 s = run->prog->sends[pp->send_first + rp->send_next];
		struct hcomm_step_state *st = &run->st[s];
		int err;

		if (st->issued == run->prog->aux[s].nchunks) {
			rp->send_next++;
			continue;
		}
		if (st->issued >= st->avail || hcomm_step_spread(st))
			return -EBUSY;
		if (l->left) {
			hcomm_engine_fault_here(l->engine, HCOMM_FAULT_PEER_LEFT, EPIPE,
						l->peer, run, s);
			return -ESHUTDOWN;
		}
		if (hcomm_is_eager(l->engine, hcomm_run_step(run, s)->len))
			err = send_eager(l, run, rp, s);
		else if (l->direct)
			err = send_direct(l, run, rp, s);
		else
			err = send_write(l, run, rp, s);
		if (err)
			return err;
	}
	return 0;
}

void hcomm_engine_write_done(struct hcomm_elink *l, u32 cookie)
{
	struct hcomm_inflight *w;
	struct hcomm_run *run;

	if (WARN_ON_ONCE(cookie >= l->engine->par.window * l->engine->par.max_runs))
		return;
	w = &l->writes[cookie];
	run = w->run;
	if (!run || l->engine->fault.error)
		return;
	w->run = NULL;
	l->writes_active--;
	run->peers[run->prog->aux[w->step].peer_idx].writes_out--;
	hcomm_link_pump_later(l);
	hcomm_step_chunk_done(run, w->step, w->chunk);
}

/* ------------------------------------------------------------------ granting */

static int grant_chunk(struct hcomm_elink *l, struct hcomm_run *run,
		       struct hcomm_run_peer *rp, u32 s)
{
	struct hcomm_engine *e = l->engine;
	const struct hcomm_step *step = hcomm_run_step(run, s);
	u32 chunk = run->st[s].issued;
	struct hcomm_inflight *g;
	u32 stage = HCOMM_NONE;
	struct hcomm_buf dst;
	struct hcomm_msg *msg;
	int err;

	g = inflight_get(l, l->grants);
	if (WARN_ON_ONCE(!g))
		return -EBUSY;
	msg = msg_of_step(l, HCOMM_MSG_GRANT, run, s, chunk);
	if (step->op == HCOMM_STEP_RECV_REDUCE) {
		if (run->stage_step != s)
			return -EBUSY;
		stage = hcomm_stage_get(run);
		if (stage == HCOMM_NONE)
			return -EBUSY;
		dst.mem = e->staging;
		dst.off = (u64)stage * e->par.chunk_size;
	} else {
		dst = hcomm_run_dst(run, step, chunk);
	}
	err = l->ops->expose(l, dst, msg->len, &msg->addr, &msg->rkey);
	if (err) {
		hcomm_engine_fault_here(e, HCOMM_FAULT_MEMORY, -err, e->par.rank, run, s);
		return -ESHUTDOWN;
	}
	msg->imm = (u32)(g - l->grants) | (u32)(u16)(g->gen + 1) << 16;
	err = send_plain(l, msg);
	if (err) {
		if (stage != HCOMM_NONE && !e->fault.error)
			hcomm_stage_put(run, stage);
		return err;
	}
	g->gen++;
	g->run = run;
	g->step = s;
	g->chunk = chunk;
	g->stage = stage;
	rp->grants_out++;
	run->st[s].issued++;
	hcomm_trace(run, s, chunk, HCOMM_EV_ISSUE);
	if (stage != HCOMM_NONE && run->st[s].issued == run->prog->aux[s].nchunks) {
		run->stage_step = hcomm_stage_skip(run, run->prog->aux[s].stage_next);
		hcomm_stage_pump(e);
	}
	return 0;
}

/* Chunks from the peer are granted in step order. */
static int pump_grants(struct hcomm_elink *l, struct hcomm_run *run, u32 p)
{
	const struct hcomm_prog_peer *pp = &run->prog->peers[p];
	struct hcomm_run_peer *rp = &run->peers[p];

	while (rp->recv_next < pp->recv_count) {
		u32 s = run->prog->recvs[pp->recv_first + rp->recv_next];
		struct hcomm_step_state *st = &run->st[s];
		int err;

		if (hcomm_is_eager(l->engine, hcomm_run_step(run, s)->len) ||
		    st->issued == run->prog->aux[s].nchunks) {
			rp->recv_next++;
			continue;
		}
		if (st->issued >= st->avail || hcomm_step_spread(st) ||
		    rp->grants_out >= l->engine->par.window)
			return 0;
		if (l->left) {
			hcomm_engine_fault_here(l->engine, HCOMM_FAULT_PEER_LEFT, EPIPE,
						l->peer, run, s);
			return -ESHUTDOWN;
		}
		err = grant_chunk(l, run, rp, s);
		if (err)
			return err;
	}
	return 0;
}

void hcomm_engine_notify(struct hcomm_elink *l, u32 imm)
{
	struct hcomm_engine *e = l->engine;
	u32 idx = imm & 0xffff;
	struct hcomm_inflight *g;
	struct hcomm_run *run;
	u32 s, chunk;

	if (e->fault.error)
		return;
	l->rx_count++;
	g = idx < e->par.window * e->par.max_runs ? &l->grants[idx] : NULL;
	if (!g || !g->run || g->gen != imm >> 16) {
		hcomm_engine_fault_here(e, HCOMM_FAULT_PROTOCOL, EBADMSG, l->peer, NULL,
					HCOMM_NONE);
		return;
	}
	run = g->run;
	s = g->step;
	chunk = g->chunk;
	g->run = NULL;
	run->peers[run->prog->aux[s].peer_idx].grants_out--;
	if (g->stage != HCOMM_NONE) {
		const struct hcomm_step *step = hcomm_run_step(run, s);
		u32 len = hcomm_chunk_len(e, step, run->prog->aux[s].nchunks, chunk);
		struct hcomm_buf staged = {
			.mem = e->staging,
			.off = (u64)g->stage * e->par.chunk_size,
		};

		hcomm_mem_reduce(step->dtype, step->redop, hcomm_run_dst(run, step, chunk),
				 hcomm_run_src(run, step, chunk), staged, len);
		hcomm_account(e, HCOMM_WORK_REDUCE, len);
		hcomm_stage_put(run, g->stage);
	}
	hcomm_link_pump_later(l);
	hcomm_step_chunk_done(run, s, chunk);
	if (l->bye_seen)
		hcomm_rx_left(l);
}

/* ---------------------------------------------------------------------- pump */

/* BYE is the last to go, BYE_ACK when our writes are done with. */
static int pump_bye(struct hcomm_elink *l)
{
	struct hcomm_msg *msg;
	int err;

	if (l->bye_ack_pending && !l->writes_active) {
		err = send_type(l, HCOMM_MSG_BYE_ACK);
		if (err)
			return err;
		l->bye_ack_pending = false;
	}
	if (l->bye_pending && !l->left) {
		msg = msg_new(l, HCOMM_MSG_BYE);
		msg->addr = l->tx_count;
		err = send_plain(l, msg);
		if (err)
			return err;
		l->bye_pending = false;
		l->bye_sent = true;
	}
	return 0;
}

void hcomm_link_pump(struct hcomm_elink *l)
{
	struct hcomm_run *run, *next;

	if (!l->up || l->tx_blocked || pump_abort(l) || pump_answers(l))
		return;
	list_for_each_entry_safe(run, next, &l->engine->runs, node) {
		u32 p = hcomm_prog_find_peer(run->prog, l->peer);
		int err;

		if (p == HCOMM_NONE)
			continue;
		if (!l->direct) {
			err = pump_grants(l, run, p);
			if (err && err != -EBUSY)
				return;
		}
		err = pump_sends(l, run, p);
		if (err && err != -EBUSY)
			return;
	}
	if (!pump_control(l))
		pump_bye(l);
}
