// SPDX-License-Identifier: GPL-2.0-only
/*
 * Links: the table, the state machine, bring-up on demand, and waiting for it.
 *
 * States change in any context.  The engine learns of READY, FAILED and CLOSED
 * under comm->lock, from whoever runs it next (hcomm_link_news()).
 */
#include <linux/memcontrol.h>
#include <linux/sched/mm.h>

#include "comm_priv.h"
#include "trace.h"

const char *hcomm_link_state_name(enum hcomm_link_state state)
{
	static const char * const names[HCOMM_LINK_STATES] = {
		[HCOMM_LINK_IDLE] = "idle",
		[HCOMM_LINK_RESOLVING] = "resolving",
		[HCOMM_LINK_CONNECTING] = "connecting",
		[HCOMM_LINK_VERIFYING] = "verifying",
		[HCOMM_LINK_READY] = "ready",
		[HCOMM_LINK_RECOVERING] = "recovering",
		[HCOMM_LINK_FAILED] = "failed",
		[HCOMM_LINK_CLOSED] = "closed",
	};

	return state < HCOMM_LINK_STATES ? names[state] : "unknown";
}

static bool link_may_go(enum hcomm_link_state from, enum hcomm_link_state to)
{
	switch (from) {
	case HCOMM_LINK_IDLE:
		return to == HCOMM_LINK_RESOLVING || to == HCOMM_LINK_CONNECTING ||
		       to == HCOMM_LINK_FAILED || to == HCOMM_LINK_CLOSED;
	case HCOMM_LINK_RESOLVING:
		return to == HCOMM_LINK_CONNECTING || to == HCOMM_LINK_FAILED ||
		       to == HCOMM_LINK_CLOSED;
	case HCOMM_LINK_CONNECTING:
		/* Back to RESOLVING: refused, tried again. */
		return to == HCOMM_LINK_VERIFYING || to == HCOMM_LINK_RESOLVING ||
		       to == HCOMM_LINK_FAILED || to == HCOMM_LINK_CLOSED;
	case HCOMM_LINK_VERIFYING:
		return to == HCOMM_LINK_READY || to == HCOMM_LINK_RESOLVING ||
		       to == HCOMM_LINK_FAILED || to == HCOMM_LINK_CLOSED;
	case HCOMM_LINK_READY:
		return to == HCOMM_LINK_RECOVERING || to == HCOMM_LINK_FAILED ||
		       to == HCOMM_LINK_CLOSED;
	case HCOMM_LINK_RECOVERING:
		return to == HCOMM_LINK_CONNECTING || to == HCOMM_LINK_READY ||
		       to == HCOMM_LINK_FAILED || to == HCOMM_LINK_CLOSED;
	default:
		return false;
	}
}

bool hcomm_link_set_state(struct hcomm_link *link, enum hcomm_link_state state,
			  u32 reason, int error)
{
	struct hcomm_comm *comm = link->comm;
	enum hcomm_link_state from;
	unsigned long flags;
	bool changed;

	spin_lock_irqsave(&link->state_lock, flags);
	from = link->state;
	changed = link_may_go(from, state);
	if (changed) {
		WRITE_ONCE(link->state, state);
		if (state == HCOMM_LINK_FAILED) {
			link->reason = reason;
			link->error = error;
		}
	}
	spin_unlock_irqrestore(&link->state_lock, flags);
	if (!changed)
		return false;

	trace_hcomm_link_state(comm->index, comm->par.rank, link->peer, from, state,
			       reason, error);
	if (state == HCOMM_LINK_READY || state == HCOMM_LINK_FAILED ||
	    state == HCOMM_LINK_CLOSED) {
		spin_lock_irqsave(&comm->news_lock, flags);
		if (list_empty(&link->news))
			list_add_tail(&link->news, &comm->news);
		spin_unlock_irqrestore(&comm->news_lock, flags);
		hcomm_comm_kick(comm);
	}
	wake_up_all(&comm->link_wq);
	return true;
}

static struct hcomm_link *next_news(struct hcomm_comm *comm)
{
	struct hcomm_link *link;

	spin_lock_irq(&comm->news_lock);
	link = list_first_entry_or_null(&comm->news, struct hcomm_link, news);
	if (link)
		list_del_init(&link->news);
	spin_unlock_irq(&comm->news_lock);
	return link;
}

/* Tell the engine what became of links; comm->lock held. */
void hcomm_link_news(struct hcomm_comm *comm)
{
	struct hcomm_link *link;

	lockdep_assert_held(&comm->lock);
	/* Who adds some kicks after it. */
	if (list_empty_careful(&comm->news))
		return;
	while ((link = next_news(comm))) {
		enum hcomm_link_state state;
		u32 reason;
		int error;

		spin_lock_irq(&link->state_lock);
		state = link->state;
		reason = link->reason;
		error = link->error;
		spin_unlock_irq(&link->state_lock);

		if (link->handled == state)
			continue;
		link->handled = state;
		switch (state) {
		case HCOMM_LINK_READY:
			hcomm_engine_link_up(&link->el);
			break;
		case HCOMM_LINK_FAILED:
			link->stats.errors++;
			hcomm_engine_link_down(&link->el, reason, -error);
			break;
		case HCOMM_LINK_CLOSED:
			/* Left before it was connected: a fault once a run needs it. */
			if (link->el.left || comm->engine.nruns)
				hcomm_engine_link_down(&link->el, HCOMM_FAULT_PEER_LEFT,
						       EPIPE);
			break;
		default:
			break;
		}
	}
}

/* ------------------------------------------------------------------ the table */

static const struct hcomm_transport *choose_transport(struct hcomm_comm *comm, u32 peer)
{
	const struct hcomm_peer *where;

	if (!comm->peers)
		return NULL;
	where = &comm->peers[peer];
	if (hcomm_comm_uses(comm, &hcomm_transport_local) &&
	    !memcmp(where->node_id, hcomm_node_id, sizeof(hcomm_node_id)))
		return &hcomm_transport_local;
	if (hcomm_comm_uses(comm, &hcomm_transport_rdma) && where->addr.family)
		return &hcomm_transport_rdma;
	return NULL;
}

static struct hcomm_link *link_make(struct hcomm_comm *comm, u32 peer,
				    const struct hcomm_transport *transport)
{
	struct mem_cgroup *old;
	struct hcomm_link *link;
	int ret;

	/* Whoever connects, it is the communicator's owner that pays. */
	old = set_active_memcg(comm->memcg);
	link = transport->link_alloc(comm, peer);
	if (IS_ERR_OR_NULL(link)) {
		ret = link ? PTR_ERR(link) : -ENOMEM;
		goto out;
	}
	link->comm = comm;
	link->transport = transport;
	link->peer = peer;
	spin_lock_init(&link->state_lock);
	INIT_LIST_HEAD(&link->news);
	mutex_lock(&comm->lock);
	ret = hcomm_elink_init(&link->el, &comm->engine, peer, transport->link_ops,
			       transport->direct);
	mutex_unlock(&comm->lock);
	if (ret)
		goto err_free;
	ret = hcomm_sysfs_add_link(link);
	if (ret)
		goto err_elink;
	list_add_tail(&link->list, &comm->link_list);
	comm->links[peer] = link;
	goto out;

err_elink:
	mutex_lock(&comm->lock);
	hcomm_elink_exit(&link->el);
	mutex_unlock(&comm->lock);
err_free:
	transport->link_free(link);
out:
	set_active_memcg(old);
	return ret ? ERR_PTR(ret) : link;
}

struct hcomm_link *hcomm_link_get_locked(struct hcomm_comm *comm, u32 peer,
					 const struct hcomm_transport *transport)
{
	struct hcomm_link *link;

	lockdep_assert_held(&comm->link_lock);
	if (peer >= comm->par.nranks || peer == comm->par.rank)
		return ERR_PTR(-EINVAL);
	if (comm->closing || comm->torn_down)
		return ERR_PTR(READ_ONCE(comm->error) ?: -ECANCELED);
	link = comm->links[peer];
	if (link)
		return transport && link->transport != transport ? ERR_PTR(-EPROTO) : link;
	if (!transport)
		transport = choose_transport(comm, peer);
	if (!transport || !hcomm_comm_uses(comm, transport))
		return ERR_PTR(-EHOSTUNREACH);
	return link_make(comm, peer, transport);
}

struct hcomm_link *hcomm_link_need_locked(struct hcomm_comm *comm, u32 peer)
{
	struct hcomm_link *link = hcomm_link_get_locked(comm, peer, NULL);
	int ret;

	if (IS_ERR(link) || link->started)
		return link;
	link->started = true;
	if (READ_ONCE(link->state) != HCOMM_LINK_IDLE)
		return link;
	ret = link->transport->link_start(link);
	if (ret)
		hcomm_link_set_state(link, HCOMM_LINK_FAILED, HCOMM_FAULT_CONNECT, ret);
	return link;
}

/* Links that are stopped; nobody else knows them any more. */
void hcomm_links_free(struct hcomm_comm *comm)
{
	struct hcomm_link *link, *next;

	list_for_each_entry_safe(link, next, &comm->link_list, list) {
		hcomm_sysfs_remove(&link->dev);
		spin_lock_irq(&comm->news_lock);
		list_del_init(&link->news);
		spin_unlock_irq(&comm->news_lock);
		mutex_lock(&comm->lock);
		hcomm_elink_exit(&link->el);
		mutex_unlock(&comm->lock);
		list_del(&link->list);
		comm->links[link->peer] = NULL;
		link->transport->link_free(link);
		cond_resched();
	}
}

/* -------------------------------------------------------------------- waiting */

static int link_verdict(struct hcomm_link *link)
{
	struct hcomm_comm *comm = link->comm;

	switch (READ_ONCE(link->state)) {
	case HCOMM_LINK_READY:
		return 0;
	case HCOMM_LINK_CLOSED:
		return READ_ONCE(comm->error) ?: -EPIPE;
	case HCOMM_LINK_FAILED:
		return READ_ONCE(comm->error) ?: READ_ONCE(link->error) ?: -ECONNRESET;
	default:
		if (READ_ONCE(comm->error))
			return comm->error;
		return READ_ONCE(comm->closing) ? -ECANCELED : -EAGAIN;
	}
}

/* 0, -ETIMEDOUT, -ERESTARTSYS, or why it can't become ready. */
int hcomm_link_wait_ready(struct hcomm_link *link, u64 timeout_ns)
{
	struct hcomm_comm *comm = link->comm;
	long left = nsecs_to_jiffies(timeout_ns) + 1;
	int ret = -EAGAIN;

	left = wait_event_interruptible_timeout(comm->link_wq,
						(ret = link_verdict(link)) != -EAGAIN,
						left);
	if (left < 0)
		return left;
	if (ret == -EAGAIN)
		return -ETIMEDOUT;
	if (ret && !READ_ONCE(comm->error)) {
		/* Who is told that a link failed may ask its communicator why. */
		hcomm_comm_lock(comm);
		hcomm_link_news(comm);
		hcomm_comm_unlock(comm);
		ret = READ_ONCE(comm->error) ?: ret;
	}
	return ret;
}

static struct hcomm_link *first_unready(struct hcomm_comm *comm)
{
	struct hcomm_link *link;

	/* A peer that is done already and left had its link. */
	list_for_each_entry(link, &comm->link_list, list)
		if (link->started && READ_ONCE(link->state) != HCOMM_LINK_READY &&
		    READ_ONCE(link->state) != HCOMM_LINK_CLOSED)
			return link;
	return NULL;
}

static int link_open_all(struct hcomm_comm *comm, struct hcomm_link_open *arg, u64 end)
{
	struct hcomm_link *link;
	u64 now;
	int ret = 0;

	while (!ret) {
		mutex_lock(&comm->link_lock);
		link = first_unready(comm);
		mutex_unlock(&comm->link_lock);
		if (!link)
			return READ_ONCE(comm->error);
		/* Links live as long as the communicator, which is in use. */
		now = ktime_get_ns();
		ret = hcomm_link_wait_ready(link, end > now ? end - now : 0);
		arg->out_peer = link->peer;
	}
	return ret;
}

static int link_open_one(struct hcomm_comm *comm, struct hcomm_link_open *arg, u64 end)
{
	struct hcomm_link *link;
	u64 now = ktime_get_ns();
	int ret;

	arg->out_peer = arg->peer;
	mutex_lock(&comm->link_lock);
	link = hcomm_link_need_locked(comm, arg->peer);
	mutex_unlock(&comm->link_lock);
	if (IS_ERR(link))
		return PTR_ERR(link);
	ret = hcomm_link_wait_ready(link, end > now ? end - now : 0);
	arg->out_state = READ_ONCE(link->state);
	arg->out_transport = link->transport->id;
	arg->out_rtt_ns = READ_ONCE(link->rtt_ns);
	return ret;
}

int hcomm_ioctl_link_open(struct hcomm_cmd *cmd)
{
	struct hcomm_link_open *arg = cmd->data;
	struct hcomm_object *obj;
	struct hcomm_comm *comm;
	u64 end;
	int ret;

	if (arg->flags)
		return -EOPNOTSUPP;
	if (arg->timeout_ms > HCOMM_MAX_TIMEOUT_MS)
		return -EINVAL;
	obj = hcomm_object_use(cmd->ctx, arg->comm_id, HCOMM_OBJ_COMM);
	if (!obj)
		return -ENOENT;
	comm = hcomm_comm_of(obj);
	arg->out_state = 0;
	arg->out_transport = 0;
	arg->out_peer = 0;
	arg->out_rtt_ns = 0;
	end = ktime_get_ns() +
	      (u64)(arg->timeout_ms ?: comm->connect_timeout_ms) * NSEC_PER_MSEC;
	if (arg->peer == HCOMM_ALL_LINKS)
		ret = link_open_all(comm, arg, end);
	else
		ret = link_open_one(comm, arg, end);
	if (hcomm_cmd_respond(cmd) && !ret)
		ret = -EFAULT;
	hcomm_object_unuse(obj);
	return hcomm_limited_wait(ret);
}
