// SPDX-License-Identifier: GPL-2.0-only
/*
 * What arrives on a link.  Nothing a peer sends is trusted: it is matched with
 * a run and a step of ours or kept in the link's fixed table until there is
 * one, and what fits nothing is a fault.
 */
#include "engine_priv.h"

static void fault_protocol(struct hcomm_elink *l, const struct hcomm_run *run)
{
	hcomm_engine_fault_here(l->engine, HCOMM_FAULT_PROTOCOL, EBADMSG, l->peer, run,
				HCOMM_NONE);
}

static void fault_mismatch(struct hcomm_elink *l, u64 key, const struct hcomm_call *mine,
			   const struct hcomm_call *theirs)
{
	hcomm_engine_fault_mismatch(l->engine, l->peer, key, mine, theirs);
}

static bool calls_equal(const struct hcomm_call *a, const struct hcomm_call *b)
{
	return !memcmp(a, b, sizeof(*a));
}

void hcomm_arrival_release(struct hcomm_elink *l, struct hcomm_arrival *a)
{
	if (a->rx)
		l->ops->release(l, a->rx);
	a->rx = NULL;
}

void hcomm_arrival_drop(struct hcomm_elink *l, struct hcomm_arrival *a)
{
	list_move_tail(&a->node, &l->free_arrivals);
	l->engine->narrivals--;
}

static struct hcomm_arrival *arrival_add(struct hcomm_elink *l, const struct hcomm_msg *msg,
					 const u8 *payload, void *rx)
{
	struct hcomm_arrival *a;

	a = list_first_entry_or_null(&l->free_arrivals, struct hcomm_arrival, node);
	if (!a)
		return NULL;
	list_move_tail(&a->node, &l->arrivals);
	l->engine->narrivals++;
	hcomm_msg_copy(&a->msg, msg);
	a->payload = payload;
	a->rx = rx;
	return a;
}

/* The step that a message is for, HCOMM_NONE if the program has none such. */
static u32 msg_step(const struct hcomm_elink *l, const struct hcomm_run *run, u32 p,
		    const struct hcomm_msg *msg)
{
	const struct hcomm_prog_peer *pp = &run->prog->peers[p];
	bool send = msg->type == HCOMM_MSG_GRANT || msg->type == HCOMM_MSG_CTS ||
		    msg->type == HCOMM_MSG_FIN;
	bool eager = msg->type == HCOMM_MSG_EAGER || msg->type == HCOMM_MSG_REQ ||
		     msg->type == HCOMM_MSG_CTS;
	const struct hcomm_step *step;
	u32 s;

	if (msg->msg >= (send ? pp->send_count : pp->recv_count))
		return HCOMM_NONE;
	s = send ? run->prog->sends[pp->send_first + msg->msg] :
		   run->prog->recvs[pp->recv_first + msg->msg];
	step = hcomm_run_step(run, s);
	if (eager != hcomm_is_eager(l->engine, step->len) ||
	    msg->chunk >= run->prog->aux[s].nchunks)
		return HCOMM_NONE;
	if (msg->type != HCOMM_MSG_CTS && msg->type != HCOMM_MSG_FIN &&
	    msg->len != hcomm_chunk_len(l->engine, step, run->prog->aux[s].nchunks,
					msg->chunk))
		return HCOMM_NONE;
	return s;
}

/* The step of a run that a message belongs to; HCOMM_NONE: that is a fault. */
static u32 run_step(struct hcomm_elink *l, struct hcomm_run *run,
		    const struct hcomm_msg *msg)
{
	u32 p, s = HCOMM_NONE;

	if (!calls_equal(&run->call, &msg->call)) {
		fault_mismatch(l, run->key, &run->call, &msg->call);
		return HCOMM_NONE;
	}
	p = hcomm_prog_find_peer(run->prog, l->peer);
	if (p != HCOMM_NONE)
		s = msg_step(l, run, p, msg);
	/* The same call, another program: the algorithms differ. */
	if (s == HCOMM_NONE)
		fault_protocol(l, run);
	return s;
}

/* Let the step that a kept message is for have a look at it. */
static void arrival_wake(struct hcomm_elink *l, struct hcomm_run *run, u32 s,
			 const struct hcomm_msg *msg)
{
	if (msg->type == HCOMM_MSG_GRANT)
		hcomm_link_pump_later(l);
	else
		hcomm_step_ready(run, s);
}

/* The EAGER of a CTS was consumed: the next REQ of the run may be answered. */
void hcomm_rx_wake_reqs(struct hcomm_elink *l, struct hcomm_run *run)
{
	u32 p = hcomm_prog_find_peer(run->prog, l->peer);
	struct hcomm_arrival *a;

	list_for_each_entry(a, &l->arrivals, node)
		if (a->msg.type == HCOMM_MSG_REQ && a->msg.run == run->key)
			hcomm_step_ready(run, msg_step(l, run, p, &a->msg));
}

/* A run was launched: what came for it before? */
void hcomm_rx_recheck(struct hcomm_engine *e, struct hcomm_run *run)
{
	struct hcomm_arrival *a;
	struct hcomm_elink *l;
	u32 s;

	if (!e->narrivals)
		return;
	list_for_each_entry(l, &e->links, node) {
		list_for_each_entry(a, &l->arrivals, node) {
			if (a->msg.run != run->key || a->msg.type == HCOMM_MSG_CTS ||
			    a->msg.type == HCOMM_MSG_FIN)
				continue;
			s = run_step(l, run, &a->msg);
			if (s == HCOMM_NONE)
				return;
			arrival_wake(l, run, s, &a->msg);
		}
	}
}

/*
 * It is for a run that is over, so it was not part of that: the ranks made different
 * calls, or had different programs for the same.
 */
static void fault_late(struct hcomm_elink *l, const struct hcomm_msg *msg,
		       const struct hcomm_call *past)
{
	struct hcomm_fault f = {
		.error = EBADMSG,
		.reason = HCOMM_FAULT_PROTOCOL,
		.rank = l->peer,
		.reporter = l->engine->par.rank,
		.step = HCOMM_NONE,
		.run = msg->run,
	};

	if (calls_equal(past, &msg->call))
		hcomm_engine_fault(l->engine, &f);
	else
		fault_mismatch(l, msg->run, past, &msg->call);
}

/* EAGER, REQ, RTS or GRANT: keep it; tell the run if it is here.  False: fault. */
static bool rx_keep(struct hcomm_elink *l, const struct hcomm_msg *msg, const u8 *payload,
		    void *rx)
{
	struct hcomm_engine *e = l->engine;
	struct hcomm_run *run = hcomm_engine_find_run(e, msg->run);
	bool holds = msg->type == HCOMM_MSG_EAGER || msg->type == HCOMM_MSG_RTS;
	u32 s = run ? run_step(l, run, msg) : HCOMM_NONE;
	const struct hcomm_call *past;
	struct hcomm_arrival *a;

	if (run && s == HCOMM_NONE)
		return false;
	past = run ? NULL : hcomm_history_find(e, msg->run);
	if (past) {
		fault_late(l, msg, past);
		return false;
	}
	if (msg->type == HCOMM_MSG_EAGER && (msg->flags & HCOMM_MSG_F_CTS)) {
		u32 p = run ? hcomm_prog_find_peer(run->prog, l->peer) : HCOMM_NONE;

		if (p == HCOMM_NONE || !run->peers[p].cts_given)
			goto bad;
	} else if (msg->type == HCOMM_MSG_EAGER) {
		if (l->eager_held == e->par.eager_slots)
			goto bad;
	}
	if (msg->type == HCOMM_MSG_RTS && !l->direct)
		goto bad;
	if (msg->type == HCOMM_MSG_GRANT && l->direct)
		goto bad;
	a = arrival_add(l, msg, payload, holds ? rx : NULL);
	if (!a)
		goto bad;
	if (msg->type == HCOMM_MSG_EAGER && !(msg->flags & HCOMM_MSG_F_CTS))
		l->eager_held++;
	if (!holds)
		l->ops->release(l, rx);
	/* The message may have been part of what was released. */
	if (run)
		arrival_wake(l, run, s, &a->msg);
	return true;
bad:
	fault_protocol(l, run);
	return false;
}

/* CTS or FIN: answers to what a run of ours sent. */
static bool rx_answer(struct hcomm_elink *l, const struct hcomm_msg *msg)
{
	struct hcomm_run *run = hcomm_engine_find_run(l->engine, msg->run);
	u32 p = run ? hcomm_prog_find_peer(run->prog, l->peer) : HCOMM_NONE;
	u32 s = p == HCOMM_NONE ? HCOMM_NONE : msg_step(l, run, p, msg);
	struct hcomm_run_peer *rp;

	if (s == HCOMM_NONE)
		goto bad;
	rp = &run->peers[p];
	if (msg->type == HCOMM_MSG_CTS) {
		if (!rp->req_sent || rp->cts || msg->msg != rp->send_next)
			goto bad;
		rp->cts = true;
		hcomm_link_pump_later(l);
		return true;
	}
	if (!l->direct || !rp->rts_out || msg->chunk >= run->st[s].issued ||
	    !hcomm_step_chunk_open(run, s, msg->chunk))
		goto bad;
	rp->rts_out--;
	/* It may have been what the next chunk waits for. */
	if (rp->send_next < run->prog->peers[p].send_count)
		hcomm_link_pump_later(l);
	hcomm_step_chunk_done(run, s, msg->chunk);
	return true;
bad:
	fault_protocol(l, run);
	return false;
}

/* The peer stands still in a run: is that because we made another call? */
static void rx_tell(struct hcomm_elink *l, const struct hcomm_msg *msg)
{
	struct hcomm_engine *e = l->engine;
	const struct hcomm_call *call = hcomm_history_find(e, msg->run);

	l->told_pending = true;
	l->told_over = call && !hcomm_engine_find_run(e, msg->run);
	hcomm_link_pump_later(l);
	if (call && !calls_equal(call, &msg->call))
		fault_mismatch(l, msg->run, call, &msg->call);
}

/* What we waited for in a run that stands still won't come if that is over there. */
static void rx_told(struct hcomm_elink *l, const struct hcomm_msg *msg)
{
	struct hcomm_engine *e = l->engine;
	struct hcomm_run *run = hcomm_engine_find_run(e, l->tell_run);
	u32 p = run ? hcomm_prog_find_peer(run->prog, l->peer) : HCOMM_NONE;
	u32 s;

	if (!l->tell_out) {
		fault_protocol(l, NULL);
		return;
	}
	l->tell_out = false;
	if (!(msg->flags & HCOMM_MSG_F_OVER) || p == HCOMM_NONE)
		return;
	/* Some of what it sent before may be on its way: ask again later. */
	if ((s64)(l->rx_count - msg->addr) < 0)
		return;
	s = hcomm_step_starved(run, p);
	if (s != HCOMM_NONE)
		hcomm_engine_fault_here(e, HCOMM_FAULT_PROTOCOL, EBADMSG, l->peer, run, s);
}

static void rx_abort(struct hcomm_elink *l, const struct hcomm_msg *msg)
{
	const struct hcomm_fault *f = &msg->fault;
	struct hcomm_engine *e = l->engine;

	if (f->error <= 0 || f->error > 4095 || !f->reason ||
	    f->reason >= HCOMM_FAULT_COUNT || f->rank >= e->par.nranks ||
	    f->reporter >= e->par.nranks || f->pad) {
		fault_protocol(l, NULL);
		return;
	}
	l->left = true;		/* it needs no ABORT from us, nor anything else */
	hcomm_engine_fault(e, f);
}

/* Everything before the peer's BYE may be here now. */
void hcomm_rx_left(struct hcomm_elink *l)
{
	struct hcomm_engine *e = l->engine;
	struct hcomm_run *run;
	u32 i;

	if (l->left || l->rx_count != l->bye_count)
		return;
	l->left = true;
	l->bye_ack_pending = true;
	hcomm_link_pump_later(l);
	/* RECVs that still wait for something must find out. */
	list_for_each_entry(run, &e->runs, node) {
		u32 p = hcomm_prog_find_peer(run->prog, l->peer);
		const struct hcomm_prog_peer *pp;

		if (p == HCOMM_NONE)
			continue;
		if (run->peers[p].rts_out) {
			/* It will not read what we offered. */
			hcomm_engine_fault_here(e, HCOMM_FAULT_PEER_LEFT, EPIPE, l->peer,
						run, HCOMM_NONE);
			return;
		}
		pp = &run->prog->peers[p];
		for (i = 0; i < pp->recv_count; i++)
			hcomm_step_ready(run, run->prog->recvs[pp->recv_first + i]);
	}
}

void hcomm_engine_rx(struct hcomm_elink *l, const struct hcomm_msg *msg, const u8 *payload,
		     void *rx)
{
	struct hcomm_engine *e = l->engine;
	bool kept = false;

	if (e->fault.error)
		goto out;
	if (msg->credits) {
		if (msg->credits > e->par.eager_slots - l->eager_credits) {
			fault_protocol(l, NULL);
			goto out;
		}
		if (!l->eager_credits)
			hcomm_link_pump_later(l);
		l->eager_credits += msg->credits;
	}
	if (msg->type < HCOMM_MSG_CREDIT)
		l->rx_count++;

	switch (msg->type) {
	case HCOMM_MSG_EAGER:
	case HCOMM_MSG_REQ:
	case HCOMM_MSG_RTS:
	case HCOMM_MSG_GRANT:
		kept = rx_keep(l, msg, payload, rx);
		break;
	case HCOMM_MSG_CTS:
	case HCOMM_MSG_FIN:
		rx_answer(l, msg);
		break;
	case HCOMM_MSG_CREDIT:
		break;
	case HCOMM_MSG_TELL:
		rx_tell(l, msg);
		break;
	case HCOMM_MSG_TOLD:
		rx_told(l, msg);
		break;
	case HCOMM_MSG_ABORT:
		rx_abort(l, msg);
		break;
	case HCOMM_MSG_BYE:
		if (l->bye_seen) {
			fault_protocol(l, NULL);
			break;
		}
		l->bye_seen = true;
		l->bye_count = msg->addr;
		break;
	case HCOMM_MSG_BYE_ACK:
		l->bye_ack = true;
		break;
	default:
		fault_protocol(l, NULL);
	}
	if (l->bye_seen && !e->fault.error)
		hcomm_rx_left(l);
out:
	if (!kept)
		l->ops->release(l, rx);
}
