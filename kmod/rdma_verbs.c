// SPDX-License-Identifier: GPL-2.0-only
/*
 * Posting and completions.
 *
 * Every work request is signalled and its wr_id points to a struct
 * hcomm_rdma_wr, so completions are dispatched whatever their status, and a
 * count of what is outstanding tells when a queue pair is drained.  All of it
 * runs under comm->lock, but for the ends of a queue pair's life, see rdma_qp.c.
 */
#include "core/wire.h"
#include "rdma.h"

#define HCOMM_RDMA_POLL_BATCH	8	/* on the stack */

/* ------------------------------------------------------------------- receives */

static void hcomm_rdma_rx_put(struct hcomm_rdma_conn *conn, struct hcomm_rdma_rx *rx)
{
	list_add(&rx->wr.node, &conn->rx_spare);
}

/**
 * hcomm_rdma_refill - post spare buffers
 * @conn: connection
 *
 * Until the receive queue is as deep as it should be.
 *
 * Return: 0 or what the device says.
 */
int hcomm_rdma_refill(struct hcomm_rdma_conn *conn)
{
	struct hcomm_rdma_rx *rx;
	struct ib_recv_wr wr = {};
	struct ib_sge sge;
	int ret;

	while (conn->rx_posted < conn->rx_depth && !list_empty(&conn->rx_spare)) {
		rx = list_first_entry(&conn->rx_spare, struct hcomm_rdma_rx, wr.node);
		ib_dma_sync_single_for_device(conn->dev->ibdev, rx->dma,
					      conn->rx_pool.size, DMA_FROM_DEVICE);
		sge.addr = rx->dma;
		sge.length = conn->rx_pool.size;
		sge.lkey = conn->dev->pd->local_dma_lkey;
		wr.wr_id = (uintptr_t)&rx->wr;
		wr.sg_list = &sge;
		wr.num_sge = 1;
		ret = ib_post_recv(conn->qp, &wr, NULL);
		if (ret)
			return ret;
		list_del(&rx->wr.node);
		conn->rx_posted++;
		conn->outstanding++;
	}
	return 0;
}

/* May the engine have what arrives? */
static bool hcomm_rdma_engine_listens(const struct hcomm_rdma_conn *conn)
{
	return conn->phase == HCOMM_RDMA_UP && conn->link->link.el.up;
}

static void hcomm_rdma_notify(struct hcomm_rdma_conn *conn, u32 imm, u32 len)
{
	struct hcomm_link *link = &conn->link->link;

	link->stats.rx_msgs++;
	link->comm->progress++;
	link->stats.rx_bytes += len;
	hcomm_engine_notify(&link->el, imm);
}

/* Passes what is in a buffer on to the engine. */
static void hcomm_rdma_deliver(struct hcomm_rdma_conn *conn, struct hcomm_rdma_rx *rx)
{
	const struct hcomm_rdma_ctl *ctl = (void *)rx->buf;
	struct hcomm_link *link = &conn->link->link;
	const u8 *payload = NULL;
	struct hcomm_msg msg;
	u32 imm, len = rx->len;

	if (rx->has_imm) {
		imm = rx->imm;
		hcomm_rdma_rx_put(conn, rx);
		hcomm_rdma_refill(conn);
		hcomm_rdma_notify(conn, imm, len);
		return;
	}
	if (len == sizeof(*ctl) && ctl->magic == cpu_to_le32(HCOMM_RDMA_CTL_MAGIC) &&
	    ctl->type == cpu_to_le32(HCOMM_RDMA_NOTIFY)) {
		imm = le32_to_cpu(ctl->arg);
		len = le32_to_cpu(ctl->len);
		hcomm_rdma_rx_put(conn, rx);
		hcomm_rdma_refill(conn);
		hcomm_rdma_notify(conn, imm, len);
		return;
	}

	hcomm_rdma_refill(conn);
	if (hcomm_wire_decode(&msg, rx->buf, len, &payload)) {
		link->stats.errors++;
		hcomm_rdma_rx_put(conn, rx);
		hcomm_rdma_conn_lose(conn, HCOMM_FAULT_PROTOCOL, -EBADMSG, false);
		return;
	}
	link->stats.rx_msgs++;
	link->comm->progress++;
	link->stats.rx_bytes += len;
	hcomm_engine_rx(&link->el, &msg, payload, rx);
}

/**
 * hcomm_rdma_deliver_held - pass on what came before the link was up
 * @conn: connection
 */
void hcomm_rdma_deliver_held(struct hcomm_rdma_conn *conn)
{
	struct hcomm_rdma_rx *rx;

	while (!list_empty(&conn->held) && hcomm_rdma_engine_listens(conn)) {
		rx = list_first_entry(&conn->held, struct hcomm_rdma_rx, wr.node);
		list_del(&rx->wr.node);
		hcomm_rdma_deliver(conn, rx);
	}
}

/* Is this for the handshake (true) or for the engine? */
static bool hcomm_rdma_is_ctl(const struct hcomm_rdma_rx *rx)
{
	const struct hcomm_rdma_ctl *ctl = (void *)rx->buf;

	return !rx->has_imm && rx->len >= sizeof(*ctl) &&
	       ctl->magic == cpu_to_le32(HCOMM_RDMA_CTL_MAGIC) &&
	       ctl->type != cpu_to_le32(HCOMM_RDMA_NOTIFY);
}

static void hcomm_rdma_recv(struct hcomm_rdma_conn *conn, struct hcomm_rdma_rx *rx,
			    const struct ib_wc *wc)
{
	rx->len = wc->byte_len;
	rx->has_imm = wc->wc_flags & IB_WC_WITH_IMM;
	if (rx->has_imm) {
		rx->imm = be32_to_cpu(wc->ex.imm_data);
	} else {
		rx->len = min(rx->len, conn->rx_pool.size);
		ib_dma_sync_single_for_cpu(conn->dev->ibdev, rx->dma, rx->len,
					   DMA_FROM_DEVICE);
	}

	if (hcomm_rdma_is_ctl(rx)) {
		hcomm_rdma_hello_rx(conn, rx->buf, rx->len);
		hcomm_rdma_rx_put(conn, rx);
		hcomm_rdma_refill(conn);
	} else if (hcomm_rdma_engine_listens(conn) && list_empty(&conn->held)) {
		hcomm_rdma_deliver(conn, rx);
	} else if (conn->phase == HCOMM_RDMA_ATTACHING ||
		   conn->phase == HCOMM_RDMA_PINGING ||
		   (conn->phase == HCOMM_RDMA_UP &&
		    conn->link->link.state == HCOMM_LINK_READY)) {
		/* The peer was READY before this end is. */
		list_add_tail(&rx->wr.node, &conn->held);
		hcomm_rdma_refill(conn);
	} else {
		hcomm_rdma_rx_put(conn, rx);
		if (conn->phase != HCOMM_RDMA_UP)
			hcomm_rdma_conn_lose(conn, HCOMM_FAULT_PROTOCOL, -EBADMSG, false);
	}
}

/**
 * hcomm_rdma_release - the engine needs a received message no longer
 * @l: link
 * @rx: its buffer
 */
void hcomm_rdma_release(struct hcomm_elink *l, void *rx)
{
	struct hcomm_rdma_conn *conn = hcomm_rdma_elink_of(l)->conn;

	hcomm_rdma_rx_put(conn, rx);
	if (!conn->stopped)
		hcomm_rdma_refill(conn);
}

/* ---------------------------------------------------------------------- sends */

static struct hcomm_rdma_tx *hcomm_rdma_tx_get(struct hcomm_rdma_conn *conn,
					       struct list_head *list)
{
	struct hcomm_rdma_tx *tx;

	if (!conn->sq_free)
		return NULL;
	tx = list_first_entry_or_null(list, struct hcomm_rdma_tx, wr.node);
	if (!tx)
		return NULL;
	list_del(&tx->wr.node);
	conn->sq_free--;
	return tx;
}

static void hcomm_rdma_tx_put(struct hcomm_rdma_conn *conn, struct hcomm_rdma_tx *tx)
{
	list_add(&tx->wr.node, tx->free);
	conn->sq_free++;
}

static int hcomm_rdma_post_buf(struct hcomm_rdma_conn *conn, struct hcomm_rdma_tx *tx,
			       u32 len, bool engine)
{
	struct ib_sge sge = {
		.addr = tx->dma,
		.length = len,
		.lkey = conn->dev->pd->local_dma_lkey,
	};
	struct ib_send_wr wr = {
		.wr_id = (uintptr_t)&tx->wr,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IB_WR_SEND,
		.send_flags = IB_SEND_SIGNALED,
	};
	int ret;

	ib_dma_sync_single_for_device(conn->dev->ibdev, tx->dma, len, DMA_TO_DEVICE);
	tx->engine = engine;
	ret = ib_post_send(conn->qp, &wr, NULL);
	if (ret) {
		hcomm_rdma_tx_put(conn, tx);
		return ret;
	}
	conn->outstanding++;
	if (engine)
		conn->sends++;
	else
		conn->ctls++;
	return 0;
}

/**
 * hcomm_rdma_post_ctl - send a handshake message
 * @conn: connection
 * @msg: message
 * @len: its bytes
 *
 * Return: 0 or negative errno.
 */
int hcomm_rdma_post_ctl(struct hcomm_rdma_conn *conn, const void *msg, u32 len)
{
	struct hcomm_rdma_tx *tx;

	tx = hcomm_rdma_tx_get(conn, &conn->small_free);
	if (!tx)
		return -EAGAIN;
	memcpy(tx->buf, msg, len);
	return hcomm_rdma_post_buf(conn, tx, len, false);
}

static struct hcomm_rdma_conn *hcomm_rdma_conn_up(struct hcomm_elink *l)
{
	struct hcomm_rdma_conn *conn = hcomm_rdma_elink_of(l)->conn;

	if (!conn || conn->stopped || conn->phase != HCOMM_RDMA_UP)
		return NULL;
	return conn;
}

static int hcomm_rdma_no_room(struct hcomm_rdma_conn *conn)
{
	conn->link->link.stats.retries++;
	conn->starved = true;
	return -EAGAIN;
}

/**
 * hcomm_rdma_send - send an engine's message
 * @l: link
 * @msg: message
 * @payload: of an EAGER message
 *
 * Return: 0, -EAGAIN, -ENOTCONN or what the device says.
 */
int hcomm_rdma_send(struct hcomm_elink *l, const struct hcomm_msg *msg,
		    struct hcomm_buf payload)
{
	struct hcomm_rdma_conn *conn = hcomm_rdma_conn_up(l);
	bool eager = msg->type == HCOMM_MSG_EAGER;
	struct hcomm_rdma_tx *tx;
	u32 len;
	int ret;

	if (!conn)
		return -ENOTCONN;
	if (eager && msg->len > conn->rc->comm->par.eager_size)
		return -EMSGSIZE;
	tx = hcomm_rdma_tx_get(conn, eager ? &conn->big_free : &conn->small_free);
	if (!tx)
		return hcomm_rdma_no_room(conn);

	len = hcomm_wire_encode(msg, tx->buf);
	if (eager && msg->len) {
		hcomm_mem_read(tx->buf + len, payload, msg->len);
		len += msg->len;
	}
	ret = hcomm_rdma_post_buf(conn, tx, len, true);
	if (!ret) {
		conn->link->link.stats.tx_msgs++;
		conn->link->link.stats.tx_bytes += len;
	}
	return ret;
}

/* Where a write can't carry immediate data a message follows it. */
static int hcomm_rdma_post_notify(struct hcomm_rdma_conn *conn, struct hcomm_rdma_tx *tx,
				  u32 imm, u32 len)
{
	struct hcomm_rdma_ctl ctl = {
		.magic = cpu_to_le32(HCOMM_RDMA_CTL_MAGIC),
		.type = cpu_to_le32(HCOMM_RDMA_NOTIFY),
		.arg = cpu_to_le32(imm),
		.len = cpu_to_le32(len),
	};

	memcpy(tx->buf, &ctl, sizeof(ctl));
	return hcomm_rdma_post_buf(conn, tx, sizeof(ctl), true);
}

/**
 * hcomm_rdma_write - write a chunk into a grant
 * @l: link
 * @src: source
 * @len: bytes
 * @addr: address in the grant
 * @rkey: key in the grant
 * @imm: what to notify
 * @cookie: for hcomm_engine_write_done()
 *
 * Return: 0, -EAGAIN, -ENOTCONN or what the device says.
 */
int hcomm_rdma_write(struct hcomm_elink *l, struct hcomm_buf src, u32 len,
		     u64 addr, u32 rkey, u32 imm, u32 cookie)
{
	struct hcomm_rdma_conn *conn = hcomm_rdma_conn_up(l);
	struct hcomm_rdma_tx *tx, *notify = NULL;
	struct ib_rdma_wr wr = {};
	struct ib_sge sge;
	struct ib_mr *mr;
	int ret;

	if (!conn)
		return -ENOTCONN;
	ret = hcomm_rdma_mem_lookup(conn->dev, src, len, &sge.addr, &mr);
	if (ret)
		return ret;
	tx = hcomm_rdma_tx_get(conn, &conn->write_free);
	if (!tx)
		return hcomm_rdma_no_room(conn);
	if (conn->iwarp) {
		notify = hcomm_rdma_tx_get(conn, &conn->small_free);
		if (!notify) {
			hcomm_rdma_tx_put(conn, tx);
			return hcomm_rdma_no_room(conn);
		}
	}

	sge.length = len;
	sge.lkey = mr->lkey;
	wr.wr.wr_id = (uintptr_t)&tx->wr;
	wr.wr.sg_list = &sge;
	wr.wr.num_sge = 1;
	wr.wr.send_flags = IB_SEND_SIGNALED;
	wr.wr.opcode = conn->iwarp ? IB_WR_RDMA_WRITE : IB_WR_RDMA_WRITE_WITH_IMM;
	if (!conn->iwarp)
		wr.wr.ex.imm_data = cpu_to_be32(imm);
	wr.remote_addr = addr;
	wr.rkey = rkey;
	tx->engine = true;
	tx->cookie = cookie;
	ret = ib_post_send(conn->qp, &wr.wr, NULL);
	if (ret) {
		hcomm_rdma_tx_put(conn, tx);
		if (notify)
			hcomm_rdma_tx_put(conn, notify);
		return ret;
	}
	conn->outstanding++;
	conn->sends++;
	/* The write is on its way: without its notification the link is dead. */
	if (notify && hcomm_rdma_post_notify(conn, notify, imm, len))
		hcomm_rdma_conn_lose(conn, HCOMM_FAULT_LINK, -ECONNRESET, false);
	conn->link->link.stats.tx_msgs++;
	conn->link->link.stats.tx_bytes += len;
	return 0;
}

/**
 * hcomm_rdma_expose - address and key for a grant
 * @l: link
 * @dst: place
 * @len: bytes, at most a chunk
 * @addr: out: address
 * @rkey: out: key
 *
 * Return: 0, -ENOTCONN, or -ENXIO if the memory was not made ready.
 */
int hcomm_rdma_expose(struct hcomm_elink *l, struct hcomm_buf dst, u32 len,
		      u64 *addr, u32 *rkey)
{
	struct hcomm_rdma_conn *conn = hcomm_rdma_conn_up(l);
	struct ib_mr *mr;
	int ret;

	if (!conn)
		return -ENOTCONN;
	ret = hcomm_rdma_mem_lookup(conn->dev, dst, len, addr, &mr);
	if (!ret)
		*rkey = mr->rkey;
	return ret;
}

/**
 * hcomm_rdma_post_reg - post a registration
 * @conn: connection
 * @reg: request, alive until reg->done
 *
 * At most HCOMM_RDMA_REG_BATCH at a time: the send queue has room for them.
 *
 * Return: 0 or negative errno.
 */
int hcomm_rdma_post_reg(struct hcomm_rdma_conn *conn, struct hcomm_rdma_reg *reg)
{
	int ret;

	if (conn->stopped || conn->phase != HCOMM_RDMA_UP)
		return -ENOTCONN;
	ret = ib_post_send(conn->qp, &reg->reg.wr, NULL);
	if (ret)
		return ret;
	list_add_tail(&reg->wr.node, &conn->regs);
	conn->outstanding++;
	return 0;
}

/* ---------------------------------------------------------------- completions */

/**
 * hcomm_rdma_reg_done - a registration is over
 * @reg: registration
 * @status: 0 or negative errno
 */
void hcomm_rdma_reg_done(struct hcomm_rdma_reg *reg, int status)
{
	list_del(&reg->wr.node);
	reg->status = status;
	complete(&reg->done);
}

static void hcomm_rdma_sent(struct hcomm_rdma_conn *conn, struct hcomm_rdma_tx *tx,
			    bool ok)
{
	bool engine = tx->engine;
	u32 cookie = tx->cookie;

	hcomm_rdma_tx_put(conn, tx);
	if (engine)
		conn->sends--;
	else
		conn->ctls--;
	if (!ok || conn->stopped)
		return;
	if (tx->wr.kind == HCOMM_RDMA_WR_WRITE) {
		if (conn->link->link.el.up)
			hcomm_engine_write_done(&conn->link->link.el, cookie);
	} else if (conn->phase == HCOMM_RDMA_REFUSED && !conn->ctls) {
		/* The REFUSE is out. */
		hcomm_rdma_conn_lose(conn, HCOMM_FAULT_AUTH, -EACCES, false);
	}
}

static void hcomm_rdma_wc_error(struct hcomm_rdma_conn *conn, const struct ib_wc *wc)
{
	if (conn->stopped)
		return;
	/* A refusal flushes too; the CM is about to tell what it was. */
	if (wc->status == IB_WC_WR_FLUSH_ERR && conn->phase == HCOMM_RDMA_CONNECTING)
		return;
	if (wc->status != IB_WC_WR_FLUSH_ERR) {
		if (conn->link)
			conn->link->link.stats.errors++;
		pr_warn_ratelimited("hcomm: rank %u: work request to rank %u on %s failed: %s\n",
				    conn->rc->comm->par.rank, conn->peer,
				    dev_name(&conn->dev->ibdev->dev),
				    ib_wc_status_msg(wc->status));
	}
	hcomm_rdma_conn_lose(conn, HCOMM_FAULT_LINK, -ECONNRESET, false);
}

static void hcomm_rdma_wc(struct hcomm_rdma_conn *conn, const struct ib_wc *wc)
{
	struct hcomm_rdma_wr *wr = (void *)(uintptr_t)wc->wr_id;
	bool ok = wc->status == IB_WC_SUCCESS;

	conn->outstanding--;
	if (!ok)
		hcomm_rdma_wc_error(conn, wc);

	switch (wr->kind) {
	case HCOMM_RDMA_WR_RECV: {
		struct hcomm_rdma_rx *rx = container_of(wr, struct hcomm_rdma_rx, wr);

		conn->rx_posted--;
		if (ok && !conn->stopped)
			hcomm_rdma_recv(conn, rx, wc);
		else
			hcomm_rdma_rx_put(conn, rx);
		break;
	}
	case HCOMM_RDMA_WR_SEND:
	case HCOMM_RDMA_WR_WRITE:
		hcomm_rdma_sent(conn, container_of(wr, struct hcomm_rdma_tx, wr), ok);
		break;
	case HCOMM_RDMA_WR_REG:
		hcomm_rdma_reg_done(container_of(wr, struct hcomm_rdma_reg, wr),
				    ok ? 0 : -ENOTCONN);
		break;
	}
}

/**
 * hcomm_rdma_cq_poll - handle completions
 * @conn: connection with a CQ
 * @budget: number of completions at most
 *
 * Return: number of completions handled.
 */
u32 hcomm_rdma_cq_poll(struct hcomm_rdma_conn *conn, u32 budget)
{
	struct ib_wc wc[HCOMM_RDMA_POLL_BATCH];
	u32 done = 0;
	int i, n, want;

	while (done < budget) {
		want = min_t(u32, budget - done, ARRAY_SIZE(wc));
		n = ib_poll_cq(conn->cq, want, wc);
		if (n <= 0)
			break;
		for (i = 0; i < n; i++)
			hcomm_rdma_wc(conn, &wc[i]);
		done += n;
		if (n < want)
			break;
	}
	if (done && conn->starved && !conn->stopped && conn->sq_free) {
		conn->starved = false;
		hcomm_engine_tx_space(&conn->link->link.el);
	}
	return done;
}
