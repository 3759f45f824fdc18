// SPDX-License-Identifier: GPL-2.0-only
/*
 * Queue pairs: how they are made and ended.
 *
 * Making runs in a CM handler, before the poll may look at the connection
 * (conn->cq tells).  Ending runs after it was stopped: nobody else touches it.
 */
#include <linux/delay.h>
#include <linux/jiffies.h>
#include "rdma.h"

#define HCOMM_RDMA_DRAIN_MS	5000
#define HCOMM_RDMA_DRAIN_BATCH	16

static void hcomm_rdma_cq_event(struct ib_cq *cq, void *context)
{
	hcomm_rdma_conn_wake(context);
}

static void hcomm_rdma_cq_error(struct ib_event *event, void *context)
{
	hcomm_rdma_conn_lose(context, HCOMM_FAULT_LINK, -ECONNRESET, false);
}

static void hcomm_rdma_qp_event(struct ib_event *event, void *context)
{
	struct hcomm_rdma_conn *conn = context;

	switch (event->event) {
	case IB_EVENT_COMM_EST:
		rdma_notify(conn->id, IB_EVENT_COMM_EST);
		break;
	case IB_EVENT_QP_FATAL:
	case IB_EVENT_QP_REQ_ERR:
	case IB_EVENT_QP_ACCESS_ERR:
		hcomm_rdma_conn_lose(conn, HCOMM_FAULT_LINK, -ECONNRESET, false);
		break;
	default:
		break;
	}
}

/**
 * hcomm_rdma_qp_create - make queue pair, CQ and buffers; post the receives
 * @conn: connection whose id is bound to its device
 *
 * Called from a CM handler.
 *
 * Return: 0; -EOPNOTSUPP if the device is too small for the options; or
 * another negative errno.  What was made is ended with the connection.
 */
int hcomm_rdma_qp_create(struct hcomm_rdma_conn *conn)
{
	struct ib_device *ibdev = conn->dev->ibdev;
	struct ib_qp_init_attr attr = {};
	struct ib_cq_init_attr cq_attr = {};
	u32 depth, max_wr = ibdev->attrs.max_qp_wr;
	struct ib_cq *cq;
	int ret;

	ret = hcomm_rdma_bufs_alloc(conn);
	if (ret)
		return ret;
	depth = conn->ntx + HCOMM_RDMA_REG_BATCH;
	if (conn->rx_depth >= max_wr || max_wr <= 4 * HCOMM_RDMA_REG_BATCH)
		return -EOPNOTSUPP;
	depth = min(depth, max_wr - 1);
	cq_attr.cqe = depth + conn->rx_depth + 1;
	if (cq_attr.cqe > ibdev->attrs.max_cqe)
		return -EOPNOTSUPP;
	cq_attr.comp_vector = conn->peer % max(ibdev->num_comp_vectors, 1);

	cq = ib_create_cq(ibdev, hcomm_rdma_cq_event, hcomm_rdma_cq_error, conn, &cq_attr);
	if (IS_ERR(cq))
		return PTR_ERR(cq);

	attr.event_handler = hcomm_rdma_qp_event;
	attr.qp_context = conn;
	attr.send_cq = cq;
	attr.recv_cq = cq;
	attr.cap.max_send_wr = depth;
	attr.cap.max_recv_wr = conn->rx_depth;
	attr.cap.max_send_sge = 1;
	attr.cap.max_recv_sge = 1;
	attr.sq_sig_type = IB_SIGNAL_REQ_WR;
	attr.qp_type = IB_QPT_RC;
	ret = rdma_create_qp(conn->id, conn->dev->pd, &attr);
	if (ret)
		goto err_cq;
	conn->qp = conn->id->qp;
	conn->iwarp = rdma_protocol_iwarp(ibdev, conn->id->port_num);
	conn->sq_free = depth - HCOMM_RDMA_REG_BATCH;
	ret = hcomm_rdma_refill(conn);
	if (ret)
		goto err_qp;

	/* From here on the poll may look at it. */
	smp_store_release(&conn->cq, cq);
	if (ib_req_notify_cq(cq, IB_CQ_NEXT_COMP | IB_CQ_REPORT_MISSED_EVENTS) > 0)
		hcomm_rdma_conn_wake(conn);
	return 0;

err_qp:
	conn->qp = NULL;
	rdma_destroy_qp(conn->id);
err_cq:
	ib_destroy_cq(cq);
	return ret;
}

static void hcomm_rdma_drain(struct hcomm_rdma_conn *conn)
{
	unsigned long end = jiffies + msecs_to_jiffies(HCOMM_RDMA_DRAIN_MS);
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };

	rdma_disconnect(conn->id);
	ib_modify_qp(conn->qp, &attr, IB_QP_STATE);
	while (conn->outstanding && time_before(jiffies, end)) {
		if (!hcomm_rdma_cq_poll(conn, HCOMM_RDMA_DRAIN_BATCH))
			usleep_range(100, 500);
	}
	if (conn->outstanding)
		pr_warn_ratelimited("hcomm: rank %u: %u work requests to rank %u were not flushed by %s\n",
				    conn->rc->comm->par.rank, conn->outstanding, conn->peer,
				    dev_name(&conn->dev->ibdev->dev));
}

/**
 * hcomm_rdma_qp_destroy - end all traffic, then queue pair and CQ
 * @conn: stopped connection; its CM handlers do nothing any more
 *
 * A destroyed queue pair touches no memory.  So even where a device flushes
 * badly, what is outstanding after it may be ended here.
 */
void hcomm_rdma_qp_destroy(struct hcomm_rdma_conn *conn)
{
	struct hcomm_rdma_reg *reg, *next;

	if (!conn->cq)
		return;
	hcomm_rdma_drain(conn);
	mutex_lock(&conn->qp_lock);
	conn->qp = NULL;
	rdma_destroy_qp(conn->id);
	mutex_unlock(&conn->qp_lock);

	while (hcomm_rdma_cq_poll(conn, HCOMM_RDMA_DRAIN_BATCH))
		;
	list_for_each_entry_safe(reg, next, &conn->regs, wr.node)
		hcomm_rdma_reg_done(reg, -ENOTCONN);
	ib_destroy_cq(conn->cq);
	conn->cq = NULL;
}
