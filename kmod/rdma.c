// SPDX-License-Identifier: GPL-2.0-only
/*
 * Transport "rdma": links and the communicator's part.  See rdma.h for the
 * objects, rdma_cm.c, rdma_hello.c, rdma_conn.c, rdma_verbs.c, rdma_buf.c and
 * rdma_mem.c for what they do.
 *
 * Bring-up of a link has one limit, link->limit.  Within it the lower rank
 * connects, and again after a refusal: the peer may not be there yet.  The
 * higher rank gives it a moment and then connects itself: the lower may have no
 * need of the link.  When both try at once the lower rank's connection counts:
 * it refuses the other's, and the higher gives up its own.
 */
#include <linux/module.h>
#include <linux/slab.h>
#include "rdma.h"

struct workqueue_struct *hcomm_rdma_wq;

/* ----------------------------------------------------------------------- links */

/**
 * hcomm_rdma_link_up - the handshake is over
 * @conn: connection with a link
 *
 * comm->lock is held.
 */
void hcomm_rdma_link_up(struct hcomm_rdma_conn *conn)
{
	struct hcomm_rdma_link *rl = conn->link;

	conn->phase = HCOMM_RDMA_UP;
	rl->is_up = true;
	rl->link.rtt_ns = conn->rtt_ns;
	/* Its own work may be what waits for comm->lock: do not wait for it. */
	cancel_delayed_work(&rl->limit);
	cancel_delayed_work(&conn->timer);
	hcomm_link_set_state(&rl->link, HCOMM_LINK_READY, 0, 0);
}

/**
 * hcomm_rdma_calls - may the peer prefer a connection of its own?
 * @conn: connection
 *
 * Return: true if the higher rank connects.
 */
bool hcomm_rdma_calls(const struct hcomm_rdma_conn *conn)
{
	return conn->active && conn->rc->comm->par.rank > conn->peer;
}

/**
 * hcomm_rdma_link_lost - a connection was lost
 * @conn: connection
 * @reason: enum hcomm_fault_reason
 * @error: negative errno
 * @retry: it was refused and may be tried again
 *
 * comm->lock is held.  Called once per connection.
 */
void hcomm_rdma_link_lost(struct hcomm_rdma_conn *conn, u32 reason, int error,
			  bool retry)
{
	struct hcomm_rdma_link *rl = conn->link;
	bool differ;

	if (conn->superseded) {
		hcomm_rdma_conn_reap(conn);
		return;
	}
	if (!rl) {
		atomic64_inc(&conn->rc->comm->refused);
		hcomm_rdma_conn_reap(conn);
		return;
	}
	if (rl->stopping)
		return;
	if (rl->link.el.left) {
		hcomm_link_set_state(&rl->link, HCOMM_LINK_CLOSED, 0, 0);
		return;
	}
	differ = !rl->is_up && hcomm_rdma_options_differ(conn);
	if (reason == HCOMM_FAULT_LINK && hcomm_rdma_calls(conn))
		retry = true;
	if (retry && !rl->is_up && !differ) {
		rl->last_error = error;
		/* Who refuses gets more time and more; another port may do at once. */
		if (error == -EADDRINUSE)
			rl->backoff_ms = 0;
		rl->backoff_ms = clamp(rl->backoff_ms * 2, HCOMM_RDMA_RETRY_MIN_MS,
				       HCOMM_RDMA_RETRY_MAX_MS);
		queue_delayed_work(hcomm_rdma_wq, &rl->retry,
				   msecs_to_jiffies(rl->backoff_ms));
		return;
	}
	/* The peer compares options first and hangs up. */
	if (reason == HCOMM_FAULT_LINK && differ) {
		reason = HCOMM_FAULT_OPTIONS;
		error = -EPROTO;
	}
	hcomm_link_set_state(&rl->link, HCOMM_LINK_FAILED, reason, error);
}

static void hcomm_rdma_limit_work(struct work_struct *work)
{
	struct hcomm_rdma_link *rl = container_of(to_delayed_work(work),
						  struct hcomm_rdma_link, limit);
	struct hcomm_comm *comm = rl->link.comm;

	mutex_lock(&comm->lock);
	if (!rl->is_up && !rl->stopping)
		hcomm_link_set_state(&rl->link, HCOMM_LINK_FAILED, HCOMM_FAULT_CONNECT,
				     rl->last_error);
	mutex_unlock(&comm->lock);
}

static u32 hcomm_rdma_time_left(const struct hcomm_rdma_link *rl)
{
	if (time_after_eq(jiffies, rl->deadline))
		return 1;
	return max(jiffies_to_msecs(rl->deadline - jiffies), 1u);
}

static void hcomm_rdma_retry_work(struct work_struct *work)
{
	struct hcomm_rdma_link *rl = container_of(to_delayed_work(work),
						  struct hcomm_rdma_link, retry);
	struct hcomm_comm *comm = rl->link.comm;
	struct hcomm_rdma_conn *old;
	int ret;

	mutex_lock(&comm->lock);
	if (rl->stopping || READ_ONCE(rl->link.state) == HCOMM_LINK_FAILED ||
	    (rl->conn && !rl->conn->lost)) {
		mutex_unlock(&comm->lock);
		return;
	}
	old = rl->conn;
	rl->conn = NULL;
	mutex_unlock(&comm->lock);
	if (old) {
		hcomm_rdma_conn_end(old, 0, 0);
		hcomm_rdma_conn_put(old);
	}

	ret = hcomm_rdma_connect(rl, hcomm_rdma_time_left(rl));
	if (ret)
		hcomm_link_set_state(&rl->link, HCOMM_LINK_FAILED, HCOMM_FAULT_CONNECT, ret);
}

static struct hcomm_link *hcomm_rdma_link_alloc(struct hcomm_comm *comm, u32 peer)
{
	struct hcomm_rdma_link *rl;

	rl = kzalloc(sizeof(*rl), GFP_KERNEL_ACCOUNT);
	if (!rl)
		return ERR_PTR(-ENOMEM);
	rl->last_error = -ETIMEDOUT;
	INIT_DELAYED_WORK(&rl->limit, hcomm_rdma_limit_work);
	INIT_DELAYED_WORK(&rl->retry, hcomm_rdma_retry_work);
	return &rl->link;
}

static int hcomm_rdma_link_start(struct hcomm_link *link)
{
	struct hcomm_rdma_link *rl = hcomm_rdma_link_of(link);
	struct hcomm_comm *comm = link->comm;
	unsigned long limit = msecs_to_jiffies(comm->connect_timeout_ms);

	rl->deadline = jiffies + limit;
	queue_delayed_work(hcomm_rdma_wq, &rl->limit, limit);
	if (!comm->peers || !comm->peers[link->peer].addr.family)
		return -EHOSTUNREACH;
	if (comm->par.rank > link->peer) {
		hcomm_link_set_state(link, HCOMM_LINK_CONNECTING, 0, 0);
		queue_delayed_work(hcomm_rdma_wq, &rl->retry,
				   msecs_to_jiffies(HCOMM_RDMA_YIELD_MS));
		return 0;
	}
	return hcomm_rdma_connect(rl, comm->connect_timeout_ms);
}

static bool hcomm_rdma_link_drain(struct hcomm_link *link)
{
	struct hcomm_rdma_conn *conn = hcomm_rdma_link_of(link)->conn;

	return !conn || conn->stopped || !conn->sends;
}

static void hcomm_rdma_link_stop(struct hcomm_link *link)
{
	struct hcomm_rdma_link *rl = hcomm_rdma_link_of(link);
	struct hcomm_rdma_conn *conn;

	mutex_lock(&link->comm->lock);
	rl->stopping = true;
	mutex_unlock(&link->comm->lock);
	cancel_delayed_work_sync(&rl->limit);
	cancel_delayed_work_sync(&rl->retry);

	mutex_lock(&link->comm->lock);
	conn = rl->conn;
	if (conn)
		kref_get(&conn->ref);
	mutex_unlock(&link->comm->lock);
	if (conn) {
		hcomm_rdma_conn_end(conn, 0, 0);
		hcomm_rdma_conn_put(conn);
	}
}

static void hcomm_rdma_link_free(struct hcomm_link *link)
{
	struct hcomm_rdma_link *rl = hcomm_rdma_link_of(link);

	hcomm_rdma_conn_put(rl->conn);
	kfree(rl);
}

static const char *hcomm_rdma_qp_state(enum ib_qp_state state)
{
	static const char * const names[] = {
		[IB_QPS_RESET] = "reset",
		[IB_QPS_INIT] = "init",
		[IB_QPS_RTR] = "rtr",
		[IB_QPS_RTS] = "rts",
		[IB_QPS_SQD] = "sqd",
		[IB_QPS_SQE] = "sqe",
		[IB_QPS_ERR] = "err",
	};

	return state < ARRAY_SIZE(names) && names[state] ? names[state] : "unknown";
}

static void hcomm_rdma_conn_info(struct hcomm_rdma_conn *conn,
				 struct hcomm_link_info *info)
{
	struct ib_qp_init_attr init;
	struct ib_qp_attr attr;

	mutex_lock(&conn->qp_lock);
	if (conn->qp) {
		strscpy(info->device, dev_name(&conn->qp->device->dev), sizeof(info->device));
		info->qp_num = conn->qp->qp_num;
		if (!ib_query_qp(conn->qp, &attr, IB_QP_STATE | IB_QP_PATH_MTU, &init)) {
			strscpy(info->qp_state, hcomm_rdma_qp_state(attr.qp_state),
				sizeof(info->qp_state));
			info->mtu = max(ib_mtu_enum_to_int(attr.path_mtu), 0);
		}
	}
	mutex_unlock(&conn->qp_lock);
}

static void hcomm_rdma_link_info(struct hcomm_link *link, struct hcomm_link_info *info)
{
	struct hcomm_rdma_link *rl = hcomm_rdma_link_of(link);
	struct hcomm_rdma_conn *conn;

	memset(info, 0, sizeof(*info));
	mutex_lock(&link->comm->lock);
	conn = rl->conn;
	if (conn)
		kref_get(&conn->ref);
	mutex_unlock(&link->comm->lock);
	if (!conn)
		return;
	hcomm_rdma_conn_info(conn, info);
	hcomm_rdma_conn_put(conn);
}

/* --------------------------------------------------------------- communicators */

static int hcomm_rdma_comm_init(struct hcomm_comm *comm)
{
	struct hcomm_rdma_comm *rc;
	int ret;

	rc = kzalloc(sizeof(*rc), GFP_KERNEL_ACCOUNT);
	if (!rc)
		return -ENOMEM;
	rc->comm = comm;
	spin_lock_init(&rc->lock);
	INIT_LIST_HEAD(&rc->ready);
	INIT_LIST_HEAD(&rc->conns);
	init_completion(&rc->listener_gone);
	init_waitqueue_head(&rc->idle);
	rc->auth = hcomm_auth_alloc(comm->secret, sizeof(comm->secret));
	if (IS_ERR(rc->auth)) {
		ret = PTR_ERR(rc->auth);
		goto err_free;
	}
	comm->tdata[hcomm_transport_rdma.index] = rc;
	ret = hcomm_rdma_listen(rc);
	if (ret)
		goto err_auth;
	return 0;

err_auth:
	comm->tdata[hcomm_transport_rdma.index] = NULL;
	hcomm_auth_free(rc->auth);
err_free:
	kfree(rc);
	return ret;
}

static struct hcomm_rdma_conn *hcomm_rdma_first_conn(struct hcomm_rdma_comm *rc)
{
	struct hcomm_rdma_conn *conn;

	spin_lock_irq(&rc->lock);
	conn = list_first_entry_or_null(&rc->conns, struct hcomm_rdma_conn, node);
	if (conn)
		kref_get(&conn->ref);
	spin_unlock_irq(&rc->lock);
	return conn;
}

static void hcomm_rdma_comm_exit(struct hcomm_comm *comm)
{
	struct hcomm_rdma_comm *rc = hcomm_rdma_comm_of(comm);
	struct hcomm_rdma_conn *conn;

	spin_lock_irq(&rc->lock);
	rc->closing = true;
	spin_unlock_irq(&rc->lock);
	hcomm_rdma_unlisten(rc);
	while ((conn = hcomm_rdma_first_conn(rc))) {
		hcomm_rdma_conn_end(conn, 0, 0);
		hcomm_rdma_conn_put(conn);
		cond_resched();
	}
	wait_event(rc->idle, !READ_ONCE(rc->nconns));
	/* Whoever ended the last one is out of the lock. */
	spin_lock_irq(&rc->lock);
	spin_unlock_irq(&rc->lock);

	comm->tdata[hcomm_transport_rdma.index] = NULL;
	hcomm_auth_free(rc->auth);
	kfree(rc);
}

/* Takes the first connection of rc->ready with a reference; it stays, as last. */
static struct hcomm_rdma_conn *hcomm_rdma_next_ready(struct hcomm_rdma_comm *rc)
{
	struct hcomm_rdma_conn *conn;

	spin_lock_irq(&rc->lock);
	conn = list_first_entry_or_null(&rc->ready, struct hcomm_rdma_conn, ready);
	if (conn) {
		list_move_tail(&conn->ready, &rc->ready);
		kref_get(&conn->ref);
	}
	spin_unlock_irq(&rc->lock);
	return conn;
}

static bool hcomm_rdma_comm_poll(struct hcomm_comm *comm, u32 budget)
{
	struct hcomm_rdma_comm *rc = hcomm_rdma_comm_of(comm);
	struct hcomm_rdma_conn *conn;
	bool more = false;
	u32 i, n;

	n = READ_ONCE(rc->nready);
	for (i = 0; i < n; i++) {
		if (!budget)
			return true;
		conn = hcomm_rdma_next_ready(rc);
		if (!conn)
			break;
		more |= hcomm_rdma_conn_poll(conn, &budget);
		hcomm_rdma_conn_put(conn);
	}
	return more;
}

/* Completion queues that are not armed. */
static bool hcomm_rdma_comm_polls(struct hcomm_comm *comm)
{
	return READ_ONCE(hcomm_rdma_comm_of(comm)->nready);
}

static bool hcomm_rdma_comm_arm(struct hcomm_comm *comm)
{
	struct hcomm_rdma_comm *rc = hcomm_rdma_comm_of(comm);
	struct hcomm_rdma_conn *conn;
	bool more = false;
	u32 i, n;

	n = READ_ONCE(rc->nready);
	for (i = 0; i < n; i++) {
		spin_lock_irq(&rc->lock);
		conn = list_first_entry_or_null(&rc->ready, struct hcomm_rdma_conn, ready);
		if (conn) {
			list_del_init(&conn->ready);
			rc->nready--;
			kref_get(&conn->ref);
		}
		spin_unlock_irq(&rc->lock);
		if (!conn)
			break;
		if (hcomm_rdma_conn_arm(conn)) {
			hcomm_rdma_conn_wake(conn);
			more = true;
		}
		hcomm_rdma_conn_put(conn);
	}
	return more;
}

/* ---------------------------------------------------------------------- module */

static int hcomm_rdma_init(void)
{
	int ret;

	hcomm_rdma_wq = alloc_workqueue("hcomm_rdma", WQ_UNBOUND, 0);
	if (!hcomm_rdma_wq)
		return -ENOMEM;
	ret = hcomm_rdma_dev_init();
	if (ret)
		destroy_workqueue(hcomm_rdma_wq);
	return ret;
}

static void hcomm_rdma_exit(void)
{
	hcomm_rdma_dev_exit();
	destroy_workqueue(hcomm_rdma_wq);
}

static const struct hcomm_link_ops hcomm_rdma_link_ops = {
	.send = hcomm_rdma_send,
	.write = hcomm_rdma_write,
	.expose = hcomm_rdma_expose,
	.release = hcomm_rdma_release,
};

const struct hcomm_transport hcomm_transport_rdma = {
	.name = "rdma",
	.id = HCOMM_TRANSPORT_RDMA,
	.index = 1,
	.link_ops = &hcomm_rdma_link_ops,
	.init = hcomm_rdma_init,
	.exit = hcomm_rdma_exit,
	.comm_init = hcomm_rdma_comm_init,
	.comm_exit = hcomm_rdma_comm_exit,
	.comm_poll = hcomm_rdma_comm_poll,
	.comm_polls = hcomm_rdma_comm_polls,
	.comm_arm = hcomm_rdma_comm_arm,
	.link_alloc = hcomm_rdma_link_alloc,
	.link_start = hcomm_rdma_link_start,
	.link_drain = hcomm_rdma_link_drain,
	.link_stop = hcomm_rdma_link_stop,
	.link_free = hcomm_rdma_link_free,
	.link_info = hcomm_rdma_link_info,
	.mem_prepare = hcomm_rdma_mem_prepare,
};
