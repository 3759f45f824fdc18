// SPDX-License-Identifier: GPL-2.0-only
/*
 * Connection management: the listener of a communicator, connecting, and what
 * the CM tells about connections.
 *
 * CM handlers run one after the other in the CM's own threads, for all
 * communicators, so they take no lock that an engine could hold.  They make the
 * queue pair, and turn everything else into events for the poll.
 *
 * A handler that returns nonzero has the CM destroy the id that it was called
 * for.  That is done in two places only: a request that never became a
 * connection, and the listener when its device is removed.
 */
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/sched/mm.h>
#include <rdma/ib_cm.h>
#include "rdma.h"

#define HCOMM_RDMA_BACKLOG	128

/* Ports to try where any will do. */
#define HCOMM_RDMA_LISTEN_TRIES	64
#define HCOMM_RDMA_RNR_TIMER	12	/* 0.64 ms; not expected to be needed */

#define HCOMM_RDMA_PARAM(_name, _max)						\
static int _name##_set(const char *val, const struct kernel_param *kp)		\
{										\
	return param_set_uint_minmax(val, kp, 0, _max);				\
}										\
										\
static const struct kernel_param_ops _name##_ops = {				\
	.set = _name##_set,							\
	.get = param_get_uint,							\
};										\
module_param_cb(_name, &_name##_ops, &_name, 0644);				\
__MODULE_PARM_TYPE(_name, "uint")

/* Soft-RoCE takes 7 for no limit, and then a dead peer is never noticed. */
static unsigned int rdma_retry_count = 6;
HCOMM_RDMA_PARAM(rdma_retry_count, 7);
MODULE_PARM_DESC(rdma_retry_count,
		 "Transport retries of an RDMA connection, 0 to 7; 7 may mean for ever");

static unsigned int rdma_ack_timeout;
HCOMM_RDMA_PARAM(rdma_ack_timeout, 31);
MODULE_PARM_DESC(rdma_ack_timeout,
		 "ACK timeout of RDMA connections, 4.096 us * 2^n; 0: what the CM finds out");

static unsigned int rdma_tos;
HCOMM_RDMA_PARAM(rdma_tos, 255);
MODULE_PARM_DESC(rdma_tos, "Type of service of RDMA connections, 0 to 255");

static void hcomm_rdma_sockaddr(struct sockaddr_storage *ss, const struct hcomm_addr *addr,
				__be16 port)
{
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)ss;
	struct sockaddr_in *in = (struct sockaddr_in *)ss;

	memset(ss, 0, sizeof(*ss));
	if (addr->family == AF_INET) {
		in->sin_family = AF_INET;
		in->sin_port = port;
		memcpy(&in->sin_addr, addr->addr, sizeof(in->sin_addr));
	} else {
		in6->sin6_family = AF_INET6;
		in6->sin6_port = port;
		in6->sin6_scope_id = addr->scope_id;
		memcpy(&in6->sin6_addr, addr->addr, sizeof(in6->sin6_addr));
	}
}

static void hcomm_rdma_id_options(struct rdma_cm_id *id)
{
	if (rdma_tos)
		rdma_set_service_type(id, rdma_tos);
	if (rdma_ack_timeout)
		rdma_set_ack_timeout(id, rdma_ack_timeout);
	rdma_set_min_rnr_timer(id, HCOMM_RDMA_RNR_TIMER);
}

static void hcomm_rdma_conn_param(struct rdma_conn_param *param)
{
	memset(param, 0, sizeof(*param));
	param->responder_resources = 1;
	param->initiator_depth = 1;
	param->retry_count = rdma_retry_count;
	param->rnr_retry_count = 7;
}

/* The queue pair, charged to the communicator's owner. */
static int hcomm_rdma_setup_qp(struct hcomm_rdma_conn *conn)
{
	struct mem_cgroup *old = set_active_memcg(conn->rc->comm->memcg);
	int ret = hcomm_rdma_qp_create(conn);

	set_active_memcg(old);
	return ret;
}

/* ----------------------------------------------------------------- connections */

/* Only an errno that says something to the user. */
static int hcomm_rdma_connect_error(int status)
{
	switch (status) {
	case -ETIMEDOUT:
	case -ECONNREFUSED:
	case -EADDRINUSE:
	case -ENOMEM:
	case -EOPNOTSUPP:
		return status;
	default:
		return -EHOSTUNREACH;
	}
}

/*
 * Nobody listens there yet; or iWARP, which connects by a TCP socket, finds the
 * port that the CM chose for it in use.
 */
static bool hcomm_rdma_connect_again(int status)
{
	return status == -ECONNREFUSED || status == -EADDRINUSE;
}

static void hcomm_rdma_set_state(struct hcomm_rdma_conn *conn, enum hcomm_link_state state)
{
	unsigned long flags;

	if (!conn->active)
		return;
	/* Not while another connection takes over. */
	spin_lock_irqsave(&conn->rc->lock, flags);
	if (!conn->superseded)
		hcomm_link_set_state(&conn->link->link, state, 0, 0);
	spin_unlock_irqrestore(&conn->rc->lock, flags);
}

static void hcomm_rdma_route_resolved(struct hcomm_rdma_conn *conn)
{
	struct rdma_conn_param param;
	int ret;

	ret = hcomm_rdma_setup_qp(conn);
	if (!ret) {
		hcomm_rdma_conn_param(&param);
		param.private_data = &conn->request;
		param.private_data_len = sizeof(conn->request);
		hcomm_rdma_set_state(conn, HCOMM_LINK_CONNECTING);
		ret = rdma_connect_locked(conn->id, &param);
	}
	/* Where a connect is synchronous so is a refusal. */
	if (ret)
		hcomm_rdma_conn_lose(conn, HCOMM_FAULT_CONNECT,
				     hcomm_rdma_connect_error(ret),
				     hcomm_rdma_connect_again(ret));
}

static void hcomm_rdma_addr_resolved(struct hcomm_rdma_conn *conn)
{
	int ret;

	ret = hcomm_rdma_dev_bind(conn);
	if (!ret)
		ret = rdma_resolve_route(conn->id, conn->rc->comm->connect_timeout_ms);
	if (ret)
		hcomm_rdma_conn_lose(conn, HCOMM_FAULT_CONNECT,
				     hcomm_rdma_connect_error(ret), false);
}

static void hcomm_rdma_rejected(struct hcomm_rdma_conn *conn, struct rdma_cm_event *ev)
{
	const struct hcomm_rdma_reject *rej;
	u8 len = 0;

	rej = rdma_consumer_reject_data(conn->id, ev, &len);
	if (rej && len >= sizeof(*rej) && rej->magic == cpu_to_le32(HCOMM_RDMA_MAGIC) &&
	    rej->code == cpu_to_le32(HCOMM_RDMA_REJ_VERSION)) {
		hcomm_rdma_conn_lose(conn, HCOMM_FAULT_OPTIONS, -EPROTO, false);
		return;
	}
	/* Nobody listens there yet, or it is busy. */
	hcomm_rdma_conn_lose(conn, HCOMM_FAULT_CONNECT, -ECONNREFUSED, true);
}

static int hcomm_rdma_conn_handler(struct rdma_cm_id *id, struct rdma_cm_event *ev)
{
	struct hcomm_rdma_conn *conn = id->context;

	/* Who ends it destroys the id too. */
	if (conn->closing)
		return 0;

	switch (ev->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		hcomm_rdma_addr_resolved(conn);
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		hcomm_rdma_route_resolved(conn);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		hcomm_rdma_set_state(conn, HCOMM_LINK_VERIFYING);
		hcomm_rdma_conn_event(conn, HCOMM_RDMA_EV_ESTABLISHED);
		break;
	case RDMA_CM_EVENT_REJECTED:
		hcomm_rdma_rejected(conn, ev);
		break;
	case RDMA_CM_EVENT_ADDR_ERROR:
		/*
		 * Resolving may miss the answer that comes as it begins to wait,
		 * and would wait to the end: it is given little time, and tried again.
		 */
		hcomm_rdma_conn_lose(conn, HCOMM_FAULT_CONNECT,
				     hcomm_rdma_connect_error(ev->status),
				     ev->status == -ETIMEDOUT);
		break;
	case RDMA_CM_EVENT_ROUTE_ERROR:
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
		hcomm_rdma_conn_lose(conn, HCOMM_FAULT_CONNECT,
				     hcomm_rdma_connect_error(ev->status),
				     hcomm_rdma_connect_again(ev->status));
		break;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
	case RDMA_CM_EVENT_DISCONNECTED:
	case RDMA_CM_EVENT_ADDR_CHANGE:
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		hcomm_rdma_conn_lose(conn, HCOMM_FAULT_LINK, -ECONNRESET, false);
		break;
	default:
		break;
	}
	return 0;
}

/**
 * hcomm_rdma_connect - try to connect a link
 * @rl: link without a connection
 * @timeout_ms: what is left of the time for it
 *
 * Return: 0 if it is under way, or negative errno.
 */
int hcomm_rdma_connect(struct hcomm_rdma_link *rl, u32 timeout_ms)
{
	struct hcomm_comm *comm = rl->link.comm;
	struct hcomm_rdma_comm *rc = hcomm_rdma_comm_of(comm);
	const struct hcomm_addr *addr = &comm->peers[rl->link.peer].addr;
	struct sockaddr_storage src, dst;
	struct hcomm_rdma_conn *conn;
	struct rdma_cm_id *id;
	bool taken;
	int ret;

	id = rdma_create_id(comm->net, hcomm_rdma_conn_handler, NULL, RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(id))
		return PTR_ERR(id);
	conn = hcomm_rdma_conn_new(rc, rl, rl->link.peer, id);
	if (IS_ERR(conn)) {
		rdma_destroy_id(id);
		return PTR_ERR(conn);
	}
	id->context = conn;
	conn->request.magic = cpu_to_le32(HCOMM_RDMA_MAGIC);
	conn->request.version = cpu_to_le16(HCOMM_ABI_VERSION);
	memcpy(conn->request.uuid, comm->uuid, sizeof(conn->request.uuid));
	conn->request.src = cpu_to_le32(comm->par.rank);
	conn->request.dst = cpu_to_le32(rl->link.peer);
	get_random_bytes(conn->request.nonce, sizeof(conn->request.nonce));

	/* The link's reference; hcomm_rdma_link_stop() finds it from here on. */
	mutex_lock(&comm->lock);
	taken = rl->conn || rl->stopping;
	if (!taken)
		rl->conn = conn;
	mutex_unlock(&comm->lock);
	if (taken) {
		hcomm_rdma_conn_end(conn, 0, 0);
		hcomm_rdma_conn_put(conn);
		return 0;
	}

	hcomm_rdma_id_options(id);
	hcomm_rdma_sockaddr(&dst, addr, addr->port);
	hcomm_rdma_sockaddr(&src, &comm->listen, 0);
	hcomm_rdma_set_state(conn, HCOMM_LINK_RESOLVING);
	ret = rdma_resolve_addr(id, comm->listen.family == addr->family ?
				(struct sockaddr *)&src : NULL,
				(struct sockaddr *)&dst,
				min_t(u32, timeout_ms, HCOMM_RDMA_RESOLVE_MS));
	return ret ? hcomm_rdma_connect_error(ret) : 0;
}

/* -------------------------------------------------------------------- listener */

static int hcomm_rdma_reject_request(struct hcomm_rdma_comm *rc, struct rdma_cm_id *id,
				     u32 code)
{
	struct hcomm_rdma_reject rej = {
		.magic = cpu_to_le32(HCOMM_RDMA_MAGIC),
		.code = cpu_to_le32(code),
	};

	atomic64_inc(&rc->comm->refused);
	rdma_reject(id, &rej, sizeof(rej), IB_CM_REJ_CONSUMER_DEFINED);
	return -ECONNREFUSED;
}

static int hcomm_rdma_request_check(struct hcomm_rdma_comm *rc,
				    const struct rdma_conn_param *param)
{
	const struct hcomm_rdma_request *req = param->private_data;
	const struct hcomm_engine_params *par = &rc->comm->par;

	if (!req || param->private_data_len < sizeof(*req) ||
	    req->magic != cpu_to_le32(HCOMM_RDMA_MAGIC))
		return HCOMM_RDMA_REJ_UNKNOWN;
	if (req->version != cpu_to_le16(HCOMM_ABI_VERSION))
		return HCOMM_RDMA_REJ_VERSION;
	if (req->pad || memcmp(req->uuid, rc->comm->uuid, sizeof(req->uuid)) ||
	    le32_to_cpu(req->dst) != par->rank || le32_to_cpu(req->src) == par->rank ||
	    le32_to_cpu(req->src) >= par->nranks)
		return HCOMM_RDMA_REJ_UNKNOWN;
	return 0;
}

static int hcomm_rdma_connect_request(struct hcomm_rdma_comm *rc, struct rdma_cm_id *id,
				      struct rdma_cm_event *ev)
{
	const struct hcomm_rdma_request *req = ev->param.conn.private_data;
	struct rdma_conn_param param;
	struct hcomm_rdma_conn *conn;
	int code, ret;

	code = hcomm_rdma_request_check(rc, &ev->param.conn);
	if (code)
		return hcomm_rdma_reject_request(rc, id, code);
	conn = hcomm_rdma_conn_new(rc, NULL, le32_to_cpu(req->src), id);
	if (IS_ERR(conn))
		return hcomm_rdma_reject_request(rc, id, HCOMM_RDMA_REJ_BUSY);

	/* From here on the connection owns the id: never return nonzero. */
	conn->request = *req;
	id->context = conn;
	id->event_handler = hcomm_rdma_conn_handler;
	hcomm_rdma_id_options(id);
	ret = hcomm_rdma_dev_bind(conn);
	if (!ret)
		ret = hcomm_rdma_setup_qp(conn);
	if (ret) {
		hcomm_rdma_reject_request(rc, id, HCOMM_RDMA_REJ_BUSY);
	} else {
		hcomm_rdma_conn_param(&param);
		ret = rdma_accept(id, &param);
	}
	if (ret)
		hcomm_rdma_conn_lose(conn, HCOMM_FAULT_CONNECT, ret, false);
	else
		mod_delayed_work(hcomm_rdma_wq, &conn->timer,
				 msecs_to_jiffies(HCOMM_RDMA_HANDSHAKE_MS));
	hcomm_rdma_conn_put(conn);
	return 0;
}

static int hcomm_rdma_listen_handler(struct rdma_cm_id *id, struct rdma_cm_event *ev)
{
	struct hcomm_rdma_comm *rc = id->context;
	bool mine;

	switch (ev->event) {
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		return hcomm_rdma_connect_request(rc, id, ev);
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		/* Either unlisten destroys it, or the CM when this returns. */
		spin_lock_irq(&rc->lock);
		mine = rc->listener == id;
		if (mine)
			rc->listener = NULL;
		spin_unlock_irq(&rc->lock);
		if (mine)
			complete(&rc->listener_gone);
		return mine;
	default:
		return 0;
	}
}

static int hcomm_rdma_listen_once(struct hcomm_rdma_comm *rc)
{
	struct hcomm_addr *addr = &rc->comm->listen;
	struct sockaddr_storage ss;
	struct sockaddr *bound;
	struct rdma_cm_id *id;
	int ret;

	id = rdma_create_id(rc->comm->net, hcomm_rdma_listen_handler, rc,
			    RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(id))
		return PTR_ERR(id);
	hcomm_rdma_sockaddr(&ss, addr, addr->port);
	ret = rdma_bind_addr(id, (struct sockaddr *)&ss);
	if (ret)
		goto err_id;

	/* Known before the first event can come. */
	rc->listener = id;
	ret = rdma_listen(id, HCOMM_RDMA_BACKLOG);
	if (ret)
		goto err_listener;
	bound = (struct sockaddr *)&id->route.addr.src_addr;
	addr->port = bound->sa_family == AF_INET ?
		     ((struct sockaddr_in *)bound)->sin_port :
		     ((struct sockaddr_in6 *)bound)->sin6_port;
	return 0;

err_listener:
	hcomm_rdma_unlisten(rc);
	return ret;
err_id:
	rdma_destroy_id(id);
	return ret;
}

/**
 * hcomm_rdma_listen - accept connections to a communicator
 * @rc: communicator's part
 *
 * Fills in the port.  Where the CM chooses it, it knows its own ports alone, but
 * iWARP listens by a TCP socket: a port that is in use there is changed for another.
 *
 * Return: 0; -ENODEV if no RDMA device has the address; -EADDRNOTAVAIL if
 * nothing has; -EADDRINUSE if the port is taken, or all that were tried; or
 * another negative errno.
 */
int hcomm_rdma_listen(struct hcomm_rdma_comm *rc)
{
	int tries = rc->comm->listen.port ? 1 : HCOMM_RDMA_LISTEN_TRIES;
	int ret;

	do {
		ret = hcomm_rdma_listen_once(rc);
	} while (ret == -EADDRINUSE && --tries);
	return ret;
}

/**
 * hcomm_rdma_unlisten - accept no more connections
 * @rc: communicator's part
 *
 * No handler of the listener runs after.
 */
void hcomm_rdma_unlisten(struct hcomm_rdma_comm *rc)
{
	struct rdma_cm_id *id;

	spin_lock_irq(&rc->lock);
	id = rc->listener;
	rc->listener = NULL;
	spin_unlock_irq(&rc->lock);
	if (id)
		rdma_destroy_id(id);
	else
		wait_for_completion(&rc->listener_gone);
}

/* ------------------------------------------------------------------- attaching */

/*
 * The lower rank connected: our own attempt, which it will refuse, ends.  Not once
 * that is up: the lower rank has attached it then.  comm->lock is held.
 */
static bool hcomm_rdma_supersede(struct hcomm_rdma_comm *rc, struct hcomm_rdma_link *rl)
{
	struct hcomm_rdma_conn *old = rl->conn;

	if (!old)
		return true;
	if (!hcomm_rdma_calls(old) || rl->is_up)
		return false;
	spin_lock_irq(&rc->lock);
	old->superseded = true;
	spin_unlock_irq(&rc->lock);
	rl->conn = NULL;
	hcomm_rdma_conn_reap(old);
	hcomm_rdma_conn_put(old);
	return true;
}

static bool hcomm_rdma_attach_locked(struct hcomm_rdma_conn *conn)
{
	struct hcomm_rdma_comm *rc = conn->rc;
	struct hcomm_comm *comm = rc->comm;
	struct hcomm_rdma_link *rl;
	struct hcomm_link *link;
	bool ok = false;

	link = hcomm_link_get_locked(comm, conn->peer, &hcomm_transport_rdma);
	if (IS_ERR(link))
		return false;
	rl = hcomm_rdma_link_of(link);

	mutex_lock(&comm->lock);
	if (!rl->stopping && !conn->stopped && !conn->lost &&
	    hcomm_rdma_supersede(rc, rl)) {
		kref_get(&conn->ref);
		rl->conn = conn;
		conn->link = rl;
		ok = true;
	}
	mutex_unlock(&comm->lock);
	if (!ok)
		return false;

	spin_lock_irq(&rc->lock);
	if (conn->pending)
		rc->npending--;
	conn->pending = false;
	spin_unlock_irq(&rc->lock);
	hcomm_link_set_state(link, HCOMM_LINK_CONNECTING, 0, 0);
	return hcomm_link_set_state(link, HCOMM_LINK_VERIFYING, 0, 0) ||
	       READ_ONCE(link->state) == HCOMM_LINK_VERIFYING;
}

/**
 * hcomm_rdma_attach_work - give a genuine incoming connection to its link
 * @work: conn->attach
 */
void hcomm_rdma_attach_work(struct work_struct *work)
{
	struct hcomm_rdma_conn *conn = container_of(work, struct hcomm_rdma_conn, attach);
	struct hcomm_comm *comm = conn->rc->comm;
	bool ok;

	mutex_lock(&comm->link_lock);
	ok = hcomm_rdma_attach_locked(conn);
	mutex_unlock(&comm->link_lock);
	if (ok)
		hcomm_rdma_conn_event(conn, HCOMM_RDMA_EV_ATTACHED);
	else
		hcomm_rdma_conn_lose(conn, HCOMM_FAULT_CONNECT, -ECONNREFUSED, false);
}
