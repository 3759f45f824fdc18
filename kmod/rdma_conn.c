// SPDX-License-Identifier: GPL-2.0-only
/*
 * A connection's life.  Made by a link that connects or by a connection request;
 * whatever happens to it becomes a bit in conn->events and is dealt with by the
 * poll, after what arrived before it; ended once, by hcomm_rdma_conn_end(), by
 * whoever comes first (link, reaper, device removal, communicator).
 */
#include <linux/slab.h>
#include "rdma.h"

static void hcomm_rdma_conn_release(struct kref *ref)
{
	struct hcomm_rdma_conn *conn = container_of(ref, struct hcomm_rdma_conn, ref);

	hcomm_rdma_bufs_free(conn);
	mutex_destroy(&conn->qp_lock);
	mutex_destroy(&conn->reg_lock);
	kfree(conn);
}

/**
 * hcomm_rdma_conn_put - drop a reference
 * @conn: connection or NULL
 */
void hcomm_rdma_conn_put(struct hcomm_rdma_conn *conn)
{
	if (conn)
		kref_put(&conn->ref, hcomm_rdma_conn_release);
}

/**
 * hcomm_rdma_conn_wake - have a connection polled
 * @conn: connection
 *
 * Any context.
 */
void hcomm_rdma_conn_wake(struct hcomm_rdma_conn *conn)
{
	struct hcomm_rdma_comm *rc = conn->rc;
	unsigned long flags;

	spin_lock_irqsave(&rc->lock, flags);
	if (conn->listed) {
		if (list_empty(&conn->ready)) {
			list_add_tail(&conn->ready, &rc->ready);
			rc->nready++;
		}
		hcomm_comm_kick(rc->comm);
	}
	spin_unlock_irqrestore(&rc->lock, flags);
}

/**
 * hcomm_rdma_conn_event - something happened to a connection
 * @conn: connection
 * @ev: what
 *
 * Any context.
 */
void hcomm_rdma_conn_event(struct hcomm_rdma_conn *conn, enum hcomm_rdma_event ev)
{
	set_bit(ev, &conn->events);
	hcomm_rdma_conn_wake(conn);
}

/**
 * hcomm_rdma_conn_lose - a connection is of no more use
 * @conn: connection
 * @reason: enum hcomm_fault_reason
 * @error: negative errno
 * @retry: refused for a cause that may pass
 *
 * Any context.  The first cause counts.
 */
void hcomm_rdma_conn_lose(struct hcomm_rdma_conn *conn, u32 reason, int error,
			  bool retry)
{
	struct hcomm_rdma_comm *rc = conn->rc;
	unsigned long flags;

	spin_lock_irqsave(&rc->lock, flags);
	if (!test_bit(HCOMM_RDMA_EV_LOST, &conn->events)) {
		conn->lost_reason = reason;
		conn->lost_error = error;
		conn->lost_retry = retry;
		/* The causes are there before the bit is. */
		smp_wmb();
		set_bit(HCOMM_RDMA_EV_LOST, &conn->events);
	}
	spin_unlock_irqrestore(&rc->lock, flags);
	hcomm_rdma_conn_wake(conn);
}

/**
 * hcomm_rdma_conn_reap - end an incoming connection that has no link
 * @conn: connection
 *
 * comm->lock may be held.
 */
void hcomm_rdma_conn_reap(struct hcomm_rdma_conn *conn)
{
	kref_get(&conn->ref);
	if (!queue_work(hcomm_rdma_wq, &conn->reap))
		hcomm_rdma_conn_put(conn);
}

static void hcomm_rdma_conn_timeout(struct work_struct *work)
{
	struct hcomm_rdma_conn *conn = container_of(to_delayed_work(work),
						    struct hcomm_rdma_conn, timer);

	hcomm_rdma_conn_lose(conn, HCOMM_FAULT_CONNECT, -ETIMEDOUT, false);
}

static void hcomm_rdma_conn_reap_work(struct work_struct *work)
{
	struct hcomm_rdma_conn *conn = container_of(work, struct hcomm_rdma_conn, reap);

	hcomm_rdma_conn_end(conn, 0, 0);
	hcomm_rdma_conn_put(conn);
}

/*
 * Too many incoming handshakes: the oldest goes if it had time enough.  So who
 * only occupies places can't keep a rank away for long.  rc->lock is held.
 */
static struct hcomm_rdma_conn *hcomm_rdma_conn_victim(struct hcomm_rdma_comm *rc)
{
	struct hcomm_rdma_conn *conn;

	lockdep_assert_held(&rc->lock);
	list_for_each_entry(conn, &rc->conns, node) {
		if (!conn->pending || test_bit(HCOMM_RDMA_EV_LOST, &conn->events))
			continue;
		if (time_before(jiffies, conn->born + msecs_to_jiffies(HCOMM_RDMA_CROWDED_MS)))
			return NULL;
		kref_get(&conn->ref);
		return conn;
	}
	return NULL;
}

/**
 * hcomm_rdma_conn_new - make a connection
 * @rc: communicator's part
 * @rl: link that connects, or NULL: incoming
 * @peer: other rank
 * @id: CM id; belongs to the connection on success
 *
 * Return: with a reference for the caller, beside the one that
 * hcomm_rdma_conn_end() drops; ERR_PTR(-EBUSY) with too many incoming ones,
 * -ESHUTDOWN or -ENOMEM.
 */
struct hcomm_rdma_conn *hcomm_rdma_conn_new(struct hcomm_rdma_comm *rc,
					    struct hcomm_rdma_link *rl, u32 peer,
					    struct rdma_cm_id *id)
{
	struct hcomm_rdma_conn *conn, *victim = NULL;
	int ret = 0;

	conn = kzalloc(sizeof(*conn), GFP_KERNEL_ACCOUNT);
	if (!conn)
		return ERR_PTR(-ENOMEM);
	kref_init(&conn->ref);
	conn->rc = rc;
	conn->link = rl;
	conn->peer = peer;
	conn->id = id;
	conn->born = jiffies;
	conn->active = rl;
	mutex_init(&conn->qp_lock);
	mutex_init(&conn->reg_lock);
	INIT_LIST_HEAD(&conn->node);
	INIT_LIST_HEAD(&conn->dev_node);
	INIT_LIST_HEAD(&conn->ready);
	INIT_LIST_HEAD(&conn->rx_spare);
	INIT_LIST_HEAD(&conn->held);
	INIT_LIST_HEAD(&conn->small_free);
	INIT_LIST_HEAD(&conn->big_free);
	INIT_LIST_HEAD(&conn->write_free);
	INIT_LIST_HEAD(&conn->regs);
	init_completion(&conn->gone);
	INIT_DELAYED_WORK(&conn->timer, hcomm_rdma_conn_timeout);
	INIT_WORK(&conn->reap, hcomm_rdma_conn_reap_work);
	INIT_WORK(&conn->attach, hcomm_rdma_attach_work);

	spin_lock_irq(&rc->lock);
	if (rc->closing) {
		ret = -ESHUTDOWN;
	} else if (!rl && rc->npending >= HCOMM_RDMA_MAX_PENDING) {
		ret = -EBUSY;
		victim = hcomm_rdma_conn_victim(rc);
	} else {
		kref_get(&conn->ref);
		list_add_tail(&conn->node, &rc->conns);
		rc->nconns++;
		conn->listed = true;
		conn->pending = !rl;
		rc->npending += conn->pending;
	}
	spin_unlock_irq(&rc->lock);
	if (victim) {
		hcomm_rdma_conn_lose(victim, HCOMM_FAULT_CONNECT, -ETIMEDOUT, false);
		hcomm_rdma_conn_put(victim);
	}
	if (ret) {
		hcomm_rdma_conn_put(conn);
		return ERR_PTR(ret);
	}
	return conn;
}

/**
 * hcomm_rdma_conn_end - end a connection
 * @conn: connection; a reference is held
 * @reason: enum hcomm_fault_reason that its link fails with, or 0
 * @error: negative errno that its link fails with
 *
 * After it returns no callback runs and the device is not used.  No lock is
 * held; may sleep; any number of callers.
 */
void hcomm_rdma_conn_end(struct hcomm_rdma_conn *conn, u32 reason, int error)
{
	struct hcomm_rdma_comm *rc = conn->rc;
	struct hcomm_comm *comm;

	if (test_and_set_bit(HCOMM_RDMA_F_CLAIMED, &conn->flags)) {
		wait_for_completion(&conn->gone);
		return;
	}

	/* Until nconns goes down the communicator stays. */
	comm = rc->comm;
	mutex_lock(&comm->lock);
	if (reason && !conn->lost)
		hcomm_rdma_link_lost(conn, reason, error, false);
	conn->lost = true;
	conn->stopped = true;
	mutex_unlock(&comm->lock);

	spin_lock_irq(&rc->lock);
	conn->listed = false;
	if (!list_empty(&conn->ready)) {
		list_del_init(&conn->ready);
		rc->nready--;
	}
	spin_unlock_irq(&rc->lock);
	cancel_delayed_work_sync(&conn->timer);
	cancel_work_sync(&conn->attach);

	rdma_lock_handler(conn->id);
	conn->closing = true;
	rdma_unlock_handler(conn->id);
	hcomm_rdma_qp_destroy(conn);
	rdma_destroy_id(conn->id);
	hcomm_rdma_bufs_unmap(conn);
	if (conn->dev)
		hcomm_rdma_dev_unbind(conn);

	complete_all(&conn->gone);
	spin_lock_irq(&rc->lock);
	list_del(&conn->node);
	rc->npending -= conn->pending;
	rc->nconns--;
	if (!rc->nconns)
		wake_up_all(&rc->idle);
	spin_unlock_irq(&rc->lock);
	hcomm_rdma_conn_put(conn);
}

/* Something to do that no completion would tell of. */
static bool hcomm_rdma_conn_due(struct hcomm_rdma_conn *conn)
{
	unsigned long ev = READ_ONCE(conn->events);

	if (conn->lost)
		ev &= ~BIT(HCOMM_RDMA_EV_LOST);
	return ev || !list_empty(&conn->held);
}

/**
 * hcomm_rdma_conn_poll - do what there is to do
 * @conn: connection
 * @budget: in/out: completions to handle at most
 *
 * comm->lock is held.
 *
 * Return: true if there may be more.
 */
bool hcomm_rdma_conn_poll(struct hcomm_rdma_conn *conn, u32 *budget)
{
	bool lost, more = false;
	u32 n;

	if (conn->stopped || conn->superseded)
		return false;
	/* Looked at first: what arrived before the loss is handled before it. */
	lost = test_bit(HCOMM_RDMA_EV_LOST, &conn->events);
	smp_rmb();	/* pairs with smp_wmb() in hcomm_rdma_conn_lose() */

	if (test_and_clear_bit(HCOMM_RDMA_EV_ESTABLISHED, &conn->events))
		hcomm_rdma_hello_start(conn);
	if (test_and_clear_bit(HCOMM_RDMA_EV_ATTACHED, &conn->events))
		hcomm_rdma_hello_attached(conn);

	/* Paired with the release in hcomm_rdma_qp_create(). */
	if (smp_load_acquire(&conn->cq)) {
		hcomm_rdma_deliver_held(conn);
		n = hcomm_rdma_cq_poll(conn, *budget);
		more = n == *budget;
		*budget -= n;
	}
	if (lost && !more && !conn->lost) {
		conn->lost = true;
		/* Nobody waits for these any more. */
		list_splice_init(&conn->held, &conn->rx_spare);
		hcomm_rdma_link_lost(conn, conn->lost_reason, conn->lost_error,
				     conn->lost_retry);
	}
	return more || hcomm_rdma_conn_due(conn);
}

/**
 * hcomm_rdma_conn_arm - have the next completion wake the connection
 * @conn: connection that is no more in rc->ready
 *
 * comm->lock is held.
 *
 * Return: true if it must be polled again instead.
 */
bool hcomm_rdma_conn_arm(struct hcomm_rdma_conn *conn)
{
	if (conn->stopped)
		return false;
	/* Paired with the release in hcomm_rdma_qp_create(). */
	if (smp_load_acquire(&conn->cq) &&
	    ib_req_notify_cq(conn->cq, IB_CQ_NEXT_COMP | IB_CQ_REPORT_MISSED_EVENTS) > 0)
		return true;
	return hcomm_rdma_conn_due(conn);
}
