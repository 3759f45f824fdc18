// SPDX-License-Identifier: GPL-2.0-only
/*
 * Transport "local": the ends of links, where what the peer sends is put.
 *
 * A sender takes an entry of the peer's end, and for the payload of an eager
 * message a slot, under the peer's lock, fills them without it, and puts the entry
 * into the inbox.  Whoever runs the receiving communicator polls its ends.
 */
#include <linux/slab.h>

#include "local.h"

/* ---------------------------------------------------------------------- ends */

static void local_comm_release(struct kref *ref)
{
	kfree(container_of(ref, struct local_comm, ref));
}

/**
 * hcomm_local_comm_put - drop a reference
 * @lc: communicator as its peers see it
 */
void hcomm_local_comm_put(struct local_comm *lc)
{
	kref_put(&lc->ref, local_comm_release);
}

static void end_release(struct kref *ref)
{
	struct local_end *end = container_of(ref, struct local_end, ref);

	if (end->lc)
		hcomm_local_comm_put(end->lc);
	kvfree(end->slot_mem);
	kvfree(end->slots);
	kvfree(end->pool);
	kfree(end);
}

/**
 * hcomm_local_end_put - drop a reference
 * @end: end or NULL
 */
void hcomm_local_end_put(struct local_end *end)
{
	if (end)
		kref_put(&end->ref, end_release);
}

/**
 * hcomm_local_end_alloc - make the receiving end of a link
 * @link: its link, which owns it
 * @comm: communicator that receives
 *
 * Return: the end, with all memory that messages will take; NULL without memory.
 */
struct local_end *hcomm_local_end_alloc(struct local_link *link, struct hcomm_comm *comm)
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
		hcomm_local_end_put(end);
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

static bool end_make_ready(struct local_end *end)
{
	lockdep_assert_held(&end->lc->lock);
	if (end->stopped)
		return false;
	if (list_empty(&end->ready_node))
		list_add_tail(&end->ready_node, &end->lc->ready);
	return end->lc->comm;
}

/**
 * hcomm_local_end_ring - something is to be looked at
 * @end: end, its communicator's lock held
 */
void hcomm_local_end_ring(struct local_end *end)
{
	if (end_make_ready(end))
		hcomm_comm_kick(end->lc->comm);
}

/* The same for what a peer, which is locked, sent. */
static void end_ring_by(struct local_end *end, struct hcomm_comm *by, u8 type)
{
	if (end_make_ready(end))
		hcomm_comm_kick_by(end->lc->comm, by,
				   type == HCOMM_MSG_EAGER || type == HCOMM_MSG_RTS);
}

/**
 * hcomm_local_end_set - tell an end something
 * @end: end
 * @flag: which of its flags
 *
 * Takes the lock of the end's communicator.
 */
void hcomm_local_end_set(struct local_end *end, bool *flag)
{
	spin_lock(&end->lc->lock);
	*flag = true;
	hcomm_local_end_ring(end);
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
	hcomm_msg_copy(&rx->msg, msg);
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
		end_ring_by(far, ll->link.comm, msg->type);
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

const struct hcomm_link_ops hcomm_local_link_ops = {
	.send = local_send,
	.pull = hcomm_local_pull,
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

/**
 * hcomm_local_link_end_as - the peer ended
 * @link: link; its communicator is locked
 * @fault: with what fault, which is ours then; error 0: in good order
 */
void hcomm_local_link_end_as(struct hcomm_link *link, const struct hcomm_fault *fault)
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
			hcomm_local_link_end_as(link, &ll->own->last);
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
		hcomm_local_end_set(ll->far, &ll->far->pong);
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

/**
 * hcomm_local_poll - look at the ends of a communicator that are ready
 * @comm: communicator, locked
 * @budget: messages to deliver at most
 *
 * Return: true if there is more.
 */
bool hcomm_local_poll(struct hcomm_comm *comm, u32 budget)
{
	struct local_comm *lc = local_comm_of(comm);
	struct local_end *end, *again = NULL;
	bool more;

	lockdep_assert_held(&comm->lock);
	/* Who adds an end kicks after it. */
	if (list_empty_careful(&lc->ready))
		return false;
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

/**
 * hcomm_local_arm - nothing to arm
 * @comm: communicator
 *
 * Return: false: whatever is put into an end kicks.
 */
bool hcomm_local_arm(struct hcomm_comm *comm)
{
	return false;
}

/* -------------------------------------------------------------------- the end */

/**
 * hcomm_local_end_stop - receive no more
 * @end: end
 *
 * Nothing is put into it any more, and our engine takes nothing from it.
 */
void hcomm_local_end_stop(struct local_end *end)
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
