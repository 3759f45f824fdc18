// SPDX-License-Identifier: GPL-2.0-only
/*
 * Transport "local": both ranks run on this kernel.
 *
 * Each link has an end, where what the peer sends is put: messages into an
 * inbox of preallocated entries, payloads of eager messages into preallocated
 * slots.  A large message is only announced; the receiving engine copies or
 * reduces from the sender's pinned pages, which the entry holds a reference to.
 *
 * Locking.  A sender takes the spinlock of the receiving communicator (struct
 * local_comm) and nothing else of it: engines never wait for each other.
 * local_mutex protects the pairing of links; the peer's link_lock is taken
 * before it, one's own is not held.
 *
 * Lifetime.  A link owns its end; both links of a pair hold a reference to the
 * other's end, and an end one to its local_comm, so a sender can always reach
 * the lock and then sees that nobody is there any more (end->stopped).
 *
 * Stopping.  The peer's engine may be reading our memory.  link_stop() hangs up
 * and waits until the peer has either told its engine, which then reads no more,
 * or stopped its own end.  Each side declares itself quiet before it waits.
 */
#include <linux/slab.h>

#include "local.h"

static DEFINE_MUTEX(local_mutex);

/* -------------------------------------------------------------------- bring-up */

static bool same_options(const struct hcomm_engine_params *a,
			 const struct hcomm_engine_params *b)
{
	return a->nranks == b->nranks && a->chunk_size == b->chunk_size &&
	       a->eager_size == b->eager_size && a->eager_slots == b->eager_slots &&
	       a->window == b->window && a->max_runs == b->max_runs;
}

static void link_verify(struct local_link *ll)
{
	hcomm_link_set_state(&ll->link, HCOMM_LINK_CONNECTING, 0, 0);
	hcomm_link_set_state(&ll->link, HCOMM_LINK_VERIFYING, 0, 0);
	ll->ping_ns = ktime_get_ns();
	hcomm_local_end_set(ll->far, &ll->far->ping);
}

static void link_pair(struct local_link *a, struct local_link *b)
{
	bool paired = false;

	if (!same_options(&a->link.comm->par, &b->link.comm->par)) {
		hcomm_link_set_state(&a->link, HCOMM_LINK_FAILED, HCOMM_FAULT_OPTIONS,
				     -EPROTO);
		hcomm_link_set_state(&b->link, HCOMM_LINK_FAILED, HCOMM_FAULT_OPTIONS,
				     -EPROTO);
		return;
	}
	mutex_lock(&local_mutex);
	if (!a->far && !b->far && !a->stopped && !b->stopped) {
		kref_get(&a->own->ref);
		kref_get(&b->own->ref);
		a->far = b->own;
		b->far = a->own;
		paired = true;
	}
	mutex_unlock(&local_mutex);
	if (paired) {
		link_verify(a);
		link_verify(b);
	}
}

/* The peer, with link_lock held, has no link for us. */
static void link_refused(struct local_link *ll, struct hcomm_comm *peer, int error)
{
	struct hcomm_fault fault;

	switch (error) {
	case -ENOMEM:
		hcomm_link_set_state(&ll->link, HCOMM_LINK_FAILED, HCOMM_FAULT_MEMORY, error);
		return;
	case -EHOSTUNREACH:
	case -EPROTO:
	case -EINVAL:
		hcomm_link_set_state(&ll->link, HCOMM_LINK_FAILED, HCOMM_FAULT_OPTIONS,
				     -EPROTO);
		return;
	}
	mutex_lock(&peer->lock);
	fault = peer->engine.fault;
	mutex_unlock(&peer->lock);
	hcomm_comm_lock(ll->link.comm);
	hcomm_local_link_end_as(&ll->link, &fault);
	hcomm_comm_unlock(ll->link.comm);
}

static void local_connect(struct work_struct *work)
{
	struct local_link *ll = container_of(work, struct local_link, connect);
	struct hcomm_comm *comm = ll->link.comm;
	struct hcomm_comm_absence why;
	struct hcomm_comm *peer;
	struct hcomm_link *link;

	if (READ_ONCE(comm->closing) ||
	    READ_ONCE(ll->link.state) != HCOMM_LINK_RESOLVING)
		return;
	peer = hcomm_comm_find(comm, ll->link.peer, &why);
	if (!peer) {
		if (why.stranger)
			WRITE_ONCE(ll->stranger, true);
		if (why.gone) {
			hcomm_comm_lock(comm);
			hcomm_local_link_end_as(&ll->link, &why.fault);
			hcomm_comm_unlock(comm);
		}
		/* Else it is not there yet, and the watch calls again. */
		return;
	}
	mutex_lock(&peer->link_lock);
	link = hcomm_link_get_locked(peer, comm->par.rank, &hcomm_transport_local);
	if (!IS_ERR(link))
		link_pair(ll, local_of(link));
	else
		link_refused(ll, peer, PTR_ERR(link));
	mutex_unlock(&peer->link_lock);
	hcomm_comm_put(peer);
}

static void local_changed(struct hcomm_comm_watch *watch)
{
	queue_work(hcomm_wq, &container_of(watch, struct local_link, watch)->connect);
}

static void local_timeout(struct work_struct *work)
{
	struct local_link *ll = container_of(to_delayed_work(work), struct local_link,
					     timeout);

	if (READ_ONCE(ll->link.state) >= HCOMM_LINK_READY)
		return;
	if (READ_ONCE(ll->stranger))
		hcomm_link_set_state(&ll->link, HCOMM_LINK_FAILED, HCOMM_FAULT_AUTH,
				     -EACCES);
	else
		hcomm_link_set_state(&ll->link, HCOMM_LINK_FAILED, HCOMM_FAULT_CONNECT,
				     -ETIMEDOUT);
}

static struct hcomm_link *local_link_alloc(struct hcomm_comm *comm, u32 peer)
{
	struct local_link *ll = kzalloc(sizeof(*ll), GFP_KERNEL_ACCOUNT);

	if (!ll)
		return ERR_PTR(-ENOMEM);
	ll->own = hcomm_local_end_alloc(ll, comm);
	if (!ll->own) {
		kfree(ll);
		return ERR_PTR(-ENOMEM);
	}
	INIT_LIST_HEAD(&ll->watch.node);
	ll->watch.uuid = comm->uuid;
	ll->watch.rank = peer;
	ll->watch.changed = local_changed;
	INIT_WORK(&ll->connect, local_connect);
	INIT_DELAYED_WORK(&ll->timeout, local_timeout);
	return &ll->link;
}

static int local_link_start(struct hcomm_link *link)
{
	struct local_link *ll = local_of(link);

	hcomm_link_set_state(link, HCOMM_LINK_RESOLVING, 0, 0);
	/* The watch before the first look: the peer can't appear in between. */
	hcomm_comm_watch_add(&ll->watch);
	queue_delayed_work(hcomm_wq, &ll->timeout,
			   msecs_to_jiffies(link->comm->connect_timeout_ms));
	queue_work(hcomm_wq, &ll->connect);
	return 0;
}

/* --------------------------------------------------------------------- the end */

static void local_link_stop(struct hcomm_link *link)
{
	struct local_link *ll = local_of(link);
	struct hcomm_fault fault;
	struct local_end *far;

	hcomm_comm_watch_del(&ll->watch);
	mutex_lock(&local_mutex);
	ll->stopped = true;
	far = ll->far;
	mutex_unlock(&local_mutex);
	cancel_work_sync(&ll->connect);
	cancel_delayed_work_sync(&ll->timeout);

	/* An engine that runs now comes to its end; then it sends no more. */
	mutex_lock(&link->comm->lock);
	ll->down = true;
	fault = link->comm->engine.fault;
	mutex_unlock(&link->comm->lock);
	hcomm_local_end_stop(ll->own);
	if (!far)
		return;
	spin_lock(&far->lc->lock);
	far->hangup = true;
	far->last = fault;
	hcomm_local_end_ring(far);
	spin_unlock(&far->lc->lock);
	wait_for_completion(&far->quiet);
}

static void local_link_free(struct hcomm_link *link)
{
	struct local_link *ll = local_of(link);

	hcomm_local_end_put(ll->far);
	hcomm_local_end_put(ll->own);
	kfree(ll);
}

/* What was sent is in the peer's inbox. */
static bool local_link_drain(struct hcomm_link *link)
{
	return true;
}

static void local_link_info(struct hcomm_link *link, struct hcomm_link_info *info)
{
	memset(info, 0, sizeof(*info));
}

static int local_comm_init(struct hcomm_comm *comm)
{
	struct local_comm *lc = kzalloc(sizeof(*lc), GFP_KERNEL_ACCOUNT);

	if (!lc)
		return -ENOMEM;
	kref_init(&lc->ref);
	spin_lock_init(&lc->lock);
	INIT_LIST_HEAD(&lc->ready);
	lc->comm = comm;
	comm->tdata[hcomm_transport_local.index] = lc;
	return 0;
}

static void local_comm_exit(struct hcomm_comm *comm)
{
	struct local_comm *lc = local_comm_of(comm);

	spin_lock(&lc->lock);
	lc->comm = NULL;
	spin_unlock(&lc->lock);
	comm->tdata[hcomm_transport_local.index] = NULL;
	hcomm_local_comm_put(lc);
}

const struct hcomm_transport hcomm_transport_local = {
	.name = "local",
	.id = HCOMM_TRANSPORT_LOCAL,
	.index = 0,
	.direct = true,
	.link_ops = &hcomm_local_link_ops,
	.comm_init = local_comm_init,
	.comm_exit = local_comm_exit,
	.comm_poll = hcomm_local_poll,
	.comm_arm = hcomm_local_arm,
	.comm_help = hcomm_local_help,
	.link_alloc = local_link_alloc,
	.link_start = local_link_start,
	.link_drain = local_link_drain,
	.link_stop = local_link_stop,
	.link_free = local_link_free,
	.link_info = local_link_info,
};
