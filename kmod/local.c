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
#include <linux/completion.h>
#include <linux/kref.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "comm_priv.h"

/**
 * struct local_comm - a communicator as its peers on this kernel see it
 * @ref: the communicator, and the ends of its links
 * @lock: protects @ready, @comm and all its ends
 * @ready: ends with something to look at
 * @comm: whom to kick, NULL when it is gone
 */
struct local_comm {
	struct kref ref;
	spinlock_t lock;		/* @ready, @comm, all ends */
	struct list_head ready;
	struct hcomm_comm *comm;
};

/**
 * struct local_rx - one received message
 * @node: in end->inbox or end->free
 * @end: where it came to
 * @msg: message; an RTS holds a reference to msg.src.mem
 * @payload: slot with the bytes of an EAGER, or NULL
 */
struct local_rx {
	struct list_head node;
	struct local_end *end;
	struct hcomm_msg msg;
	u8 *payload;
};

/**
 * struct local_end - where one link receives; all under lc->lock
 * @ref: its link, and the peer's link
 * @lc: communicator that receives here
 * @link: link that owns it
 * @ready_node: in lc->ready
 * @inbox: messages in order of arrival
 * @free: unused entries
 * @pool: all entries
 * @slots: stack of unused payload slots
 * @nslots: its height
 * @slot_mem: memory of the slots
 * @ping: the peer wants an answer
 * @pong: the peer answered
 * @hangup: the peer stopped
 * @last: with that fault, error 0: in good order
 * @stopped: our link stopped: nothing is put here any more
 * @quiet: our engine reads nothing of the peer's any more
 */
struct local_end {
	struct kref ref;
	struct local_comm *lc;
	struct local_link *link;
	struct list_head ready_node;
	struct list_head inbox;
	struct list_head free;
	struct local_rx *pool;
	u8 **slots;
	u32 nslots;
	u8 *slot_mem;
	bool ping;
	bool pong;
	bool hangup;
	bool stopped;
	struct hcomm_fault last;
	struct completion quiet;
};

/**
 * struct local_link - link
 * @link: base
 * @own: where we receive
 * @far: where we send to; set once, under local_mutex
 * @stopped: no pairing any more (local_mutex)
 * @down: no sending any more (comm->lock)
 * @stranger: there is one who pretends to be the peer
 * @ping_ns: when our ping left
 * @watch: tells when the peer's communicator appears or ends
 * @connect: looks for the peer and pairs
 * @timeout: limit of that
 */
struct local_link {
	struct hcomm_link link;
	struct local_end *own;
	struct local_end *far;
	bool stopped;
	bool down;
	bool stranger;
	u64 ping_ns;
	struct hcomm_comm_watch watch;
	struct work_struct connect;
	struct delayed_work timeout;
};

static DEFINE_MUTEX(local_mutex);

static struct local_link *local_of(struct hcomm_link *link)
{
	return container_of(link, struct local_link, link);
}

static struct local_comm *local_comm_of(struct hcomm_comm *comm)
{
	return comm->tdata[hcomm_transport_local.index];
}

/* ---------------------------------------------------------------------- ends */

static void local_comm_release(struct kref *ref)
{
	kfree(container_of(ref, struct local_comm, ref));
}

static void local_comm_put(struct local_comm *lc)
{
	kref_put(&lc->ref, local_comm_release);
}

static void end_release(struct kref *ref)
{
	struct local_end *end = container_of(ref, struct local_end, ref);

	if (end->lc)
		local_comm_put(end->lc);
	kvfree(end->slot_mem);
	kvfree(end->slots);
	kvfree(end->pool);
	kfree(end);
}

static void end_put(struct local_end *end)
{
	if (end)
		kref_put(&end->ref, end_release);
}

static struct local_end *end_alloc(struct local_link *link, struct hcomm_comm *comm)
{
	const struct hcomm_engine_params *par = &comm->par;
	u32 i, nrx = hcomm_link_max_rx(par);
	/* Under credits, and one per run under CTS. */
	u32 nslots = par->eager_slots + par->max_runs;
	struct local_end *end;

	end = kzalloc(sizeof(*end), GFP_KERNEL_ACCOUNT);
	if (!end)
		return NULL;
	kref_init(&end->ref);
	end->link = link;
	INIT_LIST_HEAD(&end->ready_node);
	INIT_LIST_HEAD(&end->inbox);
	INIT_LIST_HEAD(&end->free);
	init_completion(&end->quiet);
	end->pool = kvcalloc(nrx, sizeof(*end->pool), GFP_KERNEL_ACCOUNT);
	end->slots = kvcalloc(nslots, sizeof(*end->slots), GFP_KERNEL_ACCOUNT);
	end->slot_mem = kvcalloc(nslots, par->eager_size, GFP_KERNEL_ACCOUNT);
	if (!end->pool || !end->slots || !end->slot_mem) {
		end_put(end);
		return NULL;
	}
	for (i = 0; i < nrx; i++) {
		end->pool[i].end = end;
		list_add_tail(&end->pool[i].node, &end->free);
	}
	for (i = 0; i < nslots; i++)
		end->slots[end->nslots++] = end->slot_mem + (size_t)i * par->eager_size;
	end->lc = local_comm_of(comm);
	kref_get(&end->lc->ref);
	return end;
}

/* Something is to be looked at; lc->lock held. */
static void end_ring(struct local_end *end)
{
	lockdep_assert_held(&end->lc->lock);
	if (end->stopped)
		return;
	if (list_empty(&end->ready_node))
		list_add_tail(&end->ready_node, &end->lc->ready);
	if (end->lc->comm)
		hcomm_comm_kick(end->lc->comm);
}

static void end_set(struct local_end *end, bool *flag)
{
	spin_lock(&end->lc->lock);
	*flag = true;
	end_ring(end);
	spin_unlock(&end->lc->lock);
}

/* ------------------------------------------------------------------- sending */

/* An entry, with a slot if there is a payload.  NULL: the peer is gone or full. */
static struct local_rx *rx_get(struct local_end *far, u32 payload, bool *gone)
{
	struct local_rx *rx = NULL;

	spin_lock(&far->lc->lock);
	*gone = far->stopped;
	if (!far->stopped && (!payload || far->nslots))
		rx = list_first_entry_or_null(&far->free, struct local_rx, node);
	if (rx) {
		list_del(&rx->node);
		rx->payload = payload ? far->slots[--far->nslots] : NULL;
	}
	spin_unlock(&far->lc->lock);
	return rx;
}

static void rx_free_locked(struct local_rx *rx)
{
	struct local_end *end = rx->end;

	if (rx->payload)
		end->slots[end->nslots++] = rx->payload;
	rx->payload = NULL;
	list_add(&rx->node, &end->free);
}

static void rx_drop(struct local_rx *rx)
{
	if (rx->msg.type == HCOMM_MSG_RTS)
		hcomm_memobj_put_later(hcomm_memobj_of(rx->msg.src.mem));
	rx->msg.type = 0;
}

static int local_send(struct hcomm_elink *l, const struct hcomm_msg *msg,
		      struct hcomm_buf payload)
{
	struct local_link *ll = container_of(l, struct local_link, link.el);
	u32 bytes = msg->type == HCOMM_MSG_EAGER ? msg->len : 0;
	struct local_end *far = ll->far;
	struct local_rx *rx;
	bool gone;

	if (ll->down || !far)
		return -ENOTCONN;
	if (bytes > ll->link.comm->par.eager_size)
		return -EMSGSIZE;
	rx = rx_get(far, bytes, &gone);
	if (!rx) {
		/*
		 * Gone: its last words are in our inbox and say why.  Full: not
		 * within the bounds that both engines keep.
		 */
		if (gone)
			return 0;
		ll->link.stats.retries++;
		return -ENOBUFS;
	}
	rx->msg = *msg;
	if (bytes)
		hcomm_mem_read(rx->payload, payload, bytes);
	if (msg->type == HCOMM_MSG_RTS)
		hcomm_memobj_get(hcomm_memobj_of(msg->src.mem));
	ll->link.stats.tx_msgs++;
	ll->link.stats.tx_bytes += msg->type == HCOMM_MSG_RTS ? msg->len : bytes;

	spin_lock(&far->lc->lock);
	gone = far->stopped;
	if (gone) {
		rx_free_locked(rx);
	} else {
		list_add_tail(&rx->node, &far->inbox);
		end_ring(far);
	}
	spin_unlock(&far->lc->lock);
	if (gone)
		rx_drop(rx);
	return 0;
}

static void local_release(struct hcomm_elink *l, void *arg)
{
	struct local_rx *rx = arg;
	struct local_comm *lc = rx->end->lc;

	rx_drop(rx);
	spin_lock(&lc->lock);
	rx_free_locked(rx);
	spin_unlock(&lc->lock);
}

static const struct hcomm_link_ops local_link_ops = {
	.send = local_send,
	.release = local_release,
};

/* ----------------------------------------------------------------- receiving */

static struct local_rx *inbox_pop(struct local_end *end)
{
	struct local_rx *rx;

	spin_lock(&end->lc->lock);
	rx = list_first_entry_or_null(&end->inbox, struct local_rx, node);
	if (rx)
		list_del_init(&rx->node);
	spin_unlock(&end->lc->lock);
	return rx;
}

static void end_deliver(struct local_link *ll, struct local_rx *rx)
{
	struct hcomm_link_stats *stats = &ll->link.stats;

	stats->rx_msgs++;
	ll->link.comm->progress++;
	if (rx->msg.type == HCOMM_MSG_EAGER || rx->msg.type == HCOMM_MSG_RTS)
		stats->rx_bytes += rx->msg.len;
	hcomm_engine_rx(&ll->link.el, &rx->msg, rx->payload, rx);
}

static bool link_over(enum hcomm_link_state state)
{
	return state == HCOMM_LINK_FAILED || state == HCOMM_LINK_CLOSED;
}

/* The peer ended with a fault, which is ours then, or in good order. */
static void link_end_as(struct hcomm_link *link, const struct hcomm_fault *fault)
{
	lockdep_assert_held(&link->comm->lock);
	if (fault->error) {
		hcomm_engine_fault(&link->comm->engine, fault);
		hcomm_link_set_state(link, HCOMM_LINK_FAILED, fault->reason,
				     -fault->error);
	} else {
		hcomm_link_set_state(link, HCOMM_LINK_CLOSED, 0, 0);
	}
}

/*
 * The peer hung up and all it said was passed on.  True when the engine knows:
 * until then it may still read the peer's memory.
 */
static bool end_hung_up(struct local_link *ll)
{
	struct hcomm_link *link = &ll->link;

	if (!link_over(READ_ONCE(link->state))) {
		/* Written before the hangup. */
		if (link->el.left)
			hcomm_link_set_state(link, HCOMM_LINK_CLOSED, 0, 0);
		else
			link_end_as(link, &ll->own->last);
	}
	return link_over(link->handled);
}

/* Look at one end.  True if it is to be looked at again. */
static bool end_poll(struct local_end *end, u32 *budget)
{
	struct local_link *ll = end->link;
	struct hcomm_link *link = &ll->link;
	bool ping, pong, hangup, deliver, empty;
	struct local_rx *rx;

	spin_lock(&end->lc->lock);
	ping = end->ping;
	pong = end->pong;
	end->ping = false;
	end->pong = false;
	spin_unlock(&end->lc->lock);
	if (ping)
		end_set(ll->far, &ll->far->pong);
	if (pong) {
		WRITE_ONCE(link->rtt_ns, ktime_get_ns() - ll->ping_ns);
		hcomm_link_set_state(link, HCOMM_LINK_READY, 0, 0);
	}

	/* Messages wait until the engine knows that the link is up. */
	deliver = link->handled == HCOMM_LINK_READY;
	while (deliver && *budget) {
		rx = inbox_pop(end);
		if (!rx)
			break;
		(*budget)--;
		end_deliver(ll, rx);
	}

	spin_lock(&end->lc->lock);
	hangup = end->hangup;
	empty = list_empty(&end->inbox);
	spin_unlock(&end->lc->lock);
	if (deliver && !empty)
		return true;
	if (hangup) {
		if (!end_hung_up(ll))
			return true;
		complete_all(&end->quiet);
		return false;
	}
	return READ_ONCE(link->state) == HCOMM_LINK_READY && !deliver;
}

static bool local_poll(struct hcomm_comm *comm, u32 budget)
{
	struct local_comm *lc = local_comm_of(comm);
	struct local_end *end, *again = NULL;
	bool more;

	lockdep_assert_held(&comm->lock);
	for (;;) {
		spin_lock(&lc->lock);
		if (again && !again->stopped && list_empty(&again->ready_node))
			list_add_tail(&again->ready_node, &lc->ready);
		end = list_first_entry_or_null(&lc->ready, struct local_end, ready_node);
		more = end;
		/* Once round, or out of budget. */
		if (end && budget && end != again)
			list_del_init(&end->ready_node);
		else
			end = NULL;
		spin_unlock(&lc->lock);
		if (!end)
			return more;
		budget--;
		again = end_poll(end, &budget) ? end : NULL;
	}
}

/* Whatever is put into an end kicks. */
static bool local_arm(struct hcomm_comm *comm)
{
	return false;
}

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
	end_set(ll->far, &ll->far->ping);
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
	link_end_as(&ll->link, &fault);
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
			link_end_as(&ll->link, &why.fault);
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
	ll->own = end_alloc(ll, comm);
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

/* Nothing is put into our end any more, and our engine takes nothing from it. */
static void end_stop(struct local_end *end)
{
	struct local_rx *rx, *next;
	LIST_HEAD(unread);

	spin_lock(&end->lc->lock);
	end->stopped = true;
	list_del_init(&end->ready_node);
	list_splice_init(&end->inbox, &unread);
	spin_unlock(&end->lc->lock);
	list_for_each_entry_safe(rx, next, &unread, node)
		rx_drop(rx);
	complete_all(&end->quiet);
}

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
	end_stop(ll->own);
	if (!far)
		return;
	spin_lock(&far->lc->lock);
	far->hangup = true;
	far->last = fault;
	end_ring(far);
	spin_unlock(&far->lc->lock);
	wait_for_completion(&far->quiet);
}

static void local_link_free(struct hcomm_link *link)
{
	struct local_link *ll = local_of(link);

	end_put(ll->far);
	end_put(ll->own);
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
	local_comm_put(lc);
}

const struct hcomm_transport hcomm_transport_local = {
	.name = "local",
	.id = HCOMM_TRANSPORT_LOCAL,
	.index = 0,
	.direct = true,
	.link_ops = &local_link_ops,
	.comm_init = local_comm_init,
	.comm_exit = local_comm_exit,
	.comm_poll = local_poll,
	.comm_arm = local_arm,
	.link_alloc = local_link_alloc,
	.link_start = local_link_start,
	.link_drain = local_link_drain,
	.link_stop = local_link_stop,
	.link_free = local_link_free,
	.link_info = local_link_info,
};
