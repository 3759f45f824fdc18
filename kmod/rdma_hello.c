// SPDX-License-Identifier: GPL-2.0-only
/*
 * The first messages of a connection:
 *
 *	connector                          acceptor
 *	HELLO (nonce, options)     ->
 *	                           <-      HELLO (nonce, options)
 *	PROOF                      ->
 *	                           <-      PROOF, or REFUSE
 *	PING/PONG, a few times, begun by each side for itself
 *
 * The connector speaks first because iWARP demands it.  A proof is an HMAC over
 * the connection request and both HELLOs, so options are authentic too and are
 * compared after it.  No key of any memory goes out before both proofs were
 * right.  An acceptor that gets a wrong proof drops the connection and nothing
 * else happens; a connector that gets one fails its link.
 *
 * All of it runs under comm->lock.
 */
#include <linux/ktime.h>
#include <linux/random.h>
#include "rdma.h"

static u32 hcomm_rdma_mtu(struct hcomm_rdma_conn *conn)
{
	struct ib_qp_init_attr init;
	struct ib_qp_attr attr;

	if (ib_query_qp(conn->qp, &attr, IB_QP_PATH_MTU, &init))
		return 0;
	return ib_mtu_enum_to_int(attr.path_mtu);
}

static void hcomm_rdma_ctl_init(struct hcomm_rdma_ctl *ctl, u32 type, u32 arg)
{
	ctl->magic = cpu_to_le32(HCOMM_RDMA_CTL_MAGIC);
	ctl->type = cpu_to_le32(type);
	ctl->arg = cpu_to_le32(arg);
	ctl->len = 0;
}

static void hcomm_rdma_ctl_send(struct hcomm_rdma_conn *conn, const void *msg, u32 len)
{
	int ret = hcomm_rdma_post_ctl(conn, msg, len);

	if (ret)
		hcomm_rdma_conn_lose(conn, HCOMM_FAULT_LINK, ret, false);
}

static void hcomm_rdma_hello_send(struct hcomm_rdma_conn *conn)
{
	const struct hcomm_engine_params *par = &conn->rc->comm->par;
	struct hcomm_rdma_hello *h = &conn->hello_mine;

	hcomm_rdma_ctl_init(&h->ctl, HCOMM_RDMA_HELLO, 0);
	get_random_bytes(h->nonce, sizeof(h->nonce));
	h->version = cpu_to_le32(HCOMM_ABI_VERSION);
	h->rank = cpu_to_le32(par->rank);
	h->nranks = cpu_to_le32(par->nranks);
	h->chunk_size = cpu_to_le32(par->chunk_size);
	h->eager_size = cpu_to_le32(par->eager_size);
	h->eager_slots = cpu_to_le32(par->eager_slots);
	h->window = cpu_to_le32(par->window);
	h->max_runs = cpu_to_le32(par->max_runs);
	h->mtu = cpu_to_le32(hcomm_rdma_mtu(conn));
	hcomm_rdma_ctl_send(conn, h, sizeof(*h));
}

static void hcomm_rdma_ping(struct hcomm_rdma_conn *conn)
{
	struct hcomm_rdma_ctl ctl;

	hcomm_rdma_ctl_init(&ctl, HCOMM_RDMA_PING, conn->pings_left);
	conn->ping_at = ktime_get_ns();
	hcomm_rdma_ctl_send(conn, &ctl, sizeof(ctl));
}

/**
 * hcomm_rdma_options_differ - do the two sides disagree?
 * @conn: connection
 *
 * Return: true if both HELLOs are known and their options differ.
 */
bool hcomm_rdma_options_differ(const struct hcomm_rdma_conn *conn)
{
	const struct hcomm_rdma_hello *a = &conn->hello_mine;
	const struct hcomm_rdma_hello *b = &conn->hello_theirs;

	if (!a->version || !b->version)
		return false;
	return a->version != b->version || a->nranks != b->nranks ||
	       a->chunk_size != b->chunk_size || a->eager_size != b->eager_size ||
	       a->eager_slots != b->eager_slots || a->window != b->window ||
	       a->max_runs != b->max_runs;
}

/* The peer is genuine: compare options, measure the round trip. */
static void hcomm_rdma_verified(struct hcomm_rdma_conn *conn)
{
	const struct hcomm_rdma_hello *a = &conn->hello_mine;
	const struct hcomm_rdma_hello *b = &conn->hello_theirs;

	if (hcomm_rdma_options_differ(conn)) {
		pr_warn_ratelimited("hcomm: rank %u and rank %u have different options: chunk size %u/%u, eager size %u/%u, eager slots %u/%u, window %u/%u, runs %u/%u\n",
				    le32_to_cpu(a->rank), le32_to_cpu(b->rank),
				    le32_to_cpu(a->chunk_size), le32_to_cpu(b->chunk_size),
				    le32_to_cpu(a->eager_size), le32_to_cpu(b->eager_size),
				    le32_to_cpu(a->eager_slots), le32_to_cpu(b->eager_slots),
				    le32_to_cpu(a->window), le32_to_cpu(b->window),
				    le32_to_cpu(a->max_runs), le32_to_cpu(b->max_runs));
		hcomm_rdma_conn_lose(conn, HCOMM_FAULT_OPTIONS, -EPROTO, false);
		return;
	}
	if (a->mtu != b->mtu)
		pr_warn_ratelimited("hcomm: path MTU of the link to rank %u is %u here and %u at its end\n",
				    conn->peer, le32_to_cpu(a->mtu), le32_to_cpu(b->mtu));
	conn->phase = HCOMM_RDMA_PINGING;
	conn->pings_left = HCOMM_RDMA_PINGS;
	conn->rtt_ns = U64_MAX;
	hcomm_rdma_ping(conn);
}

static void hcomm_rdma_pong(struct hcomm_rdma_conn *conn, u32 arg)
{
	struct hcomm_rdma_ctl ctl;

	hcomm_rdma_ctl_init(&ctl, HCOMM_RDMA_PONG, arg);
	hcomm_rdma_ctl_send(conn, &ctl, sizeof(ctl));
}

/**
 * hcomm_rdma_hello_start - begin the handshake
 * @conn: established connection
 */
void hcomm_rdma_hello_start(struct hcomm_rdma_conn *conn)
{
	if (!conn->active || conn->phase != HCOMM_RDMA_CONNECTING)
		return;
	conn->phase = HCOMM_RDMA_HELLO_WAIT;
	hcomm_rdma_hello_send(conn);
}

/**
 * hcomm_rdma_hello_attached - go on after the acceptor found the link
 * @conn: incoming connection
 */
void hcomm_rdma_hello_attached(struct hcomm_rdma_conn *conn)
{
	if (conn->phase != HCOMM_RDMA_ATTACHING)
		return;
	if (conn->ping_held)
		hcomm_rdma_pong(conn, conn->ping_held);
	hcomm_rdma_verified(conn);
}

static u32 hcomm_rdma_transcript(struct hcomm_rdma_conn *conn,
				 struct hcomm_auth_part *parts)
{
	parts[0].data = &conn->request;
	parts[0].len = sizeof(conn->request);
	parts[1].data = conn->active ? &conn->hello_mine : &conn->hello_theirs;
	parts[1].len = sizeof(conn->hello_mine);
	parts[2].data = conn->active ? &conn->hello_theirs : &conn->hello_mine;
	parts[2].len = sizeof(conn->hello_mine);
	return 3;
}

static void hcomm_rdma_proof_send(struct hcomm_rdma_conn *conn)
{
	enum hcomm_auth_role role;
	struct hcomm_auth_part parts[3];
	struct hcomm_rdma_proof proof;
	u32 n;
	int ret;

	role = conn->active ? HCOMM_AUTH_CONNECTOR : HCOMM_AUTH_ACCEPTOR;
	hcomm_rdma_ctl_init(&proof.ctl, HCOMM_RDMA_PROOF, 0);
	n = hcomm_rdma_transcript(conn, parts);
	ret = hcomm_auth_sign(conn->rc->auth, role, parts, n, proof.mac);
	if (ret)
		hcomm_rdma_conn_lose(conn, HCOMM_FAULT_MEMORY, ret, false);
	else
		hcomm_rdma_ctl_send(conn, &proof, sizeof(proof));
}

static void hcomm_rdma_refuse(struct hcomm_rdma_conn *conn)
{
	struct hcomm_rdma_ctl ctl;

	pr_warn_ratelimited("hcomm: rank %u: a connection that claims to be rank %u does not know the job secret\n",
			    conn->rc->comm->par.rank, conn->peer);
	conn->phase = HCOMM_RDMA_REFUSED;
	hcomm_rdma_ctl_init(&ctl, HCOMM_RDMA_REFUSE, HCOMM_FAULT_AUTH);
	hcomm_rdma_ctl_send(conn, &ctl, sizeof(ctl));
}

static bool hcomm_rdma_rx_hello(struct hcomm_rdma_conn *conn, const u8 *buf, u32 len)
{
	if (len != sizeof(conn->hello_theirs))
		return false;
	if (conn->phase != (conn->active ? HCOMM_RDMA_HELLO_WAIT : HCOMM_RDMA_CONNECTING))
		return false;
	memcpy(&conn->hello_theirs, buf, len);
	if (le32_to_cpu(conn->hello_theirs.rank) != conn->peer ||
	    !conn->hello_theirs.version)
		return false;
	conn->phase = HCOMM_RDMA_PROOF_WAIT;
	if (conn->active)
		hcomm_rdma_proof_send(conn);
	else
		hcomm_rdma_hello_send(conn);
	return true;
}

static bool hcomm_rdma_rx_proof(struct hcomm_rdma_conn *conn, const u8 *buf, u32 len)
{
	const struct hcomm_rdma_proof *proof = (void *)buf;
	enum hcomm_auth_role role;
	struct hcomm_auth_part parts[3];
	u32 n;
	int ret;

	if (len != sizeof(*proof) || conn->phase != HCOMM_RDMA_PROOF_WAIT)
		return false;
	role = conn->active ? HCOMM_AUTH_ACCEPTOR : HCOMM_AUTH_CONNECTOR;
	n = hcomm_rdma_transcript(conn, parts);
	ret = hcomm_auth_check(conn->rc->auth, role, parts, n, proof->mac);
	if (ret && !conn->active) {
		hcomm_rdma_refuse(conn);
	} else if (ret) {
		hcomm_rdma_conn_lose(conn, HCOMM_FAULT_AUTH, -EACCES, false);
	} else if (conn->active) {
		hcomm_rdma_verified(conn);
	} else {
		conn->phase = HCOMM_RDMA_ATTACHING;
		hcomm_rdma_proof_send(conn);
		queue_work(hcomm_rdma_wq, &conn->attach);
	}
	return true;
}

static bool hcomm_rdma_rx_ping(struct hcomm_rdma_conn *conn, const struct hcomm_rdma_ctl *ctl)
{
	u32 arg = le32_to_cpu(ctl->arg);

	/* A connector whose PINGs are answered has a link at both ends. */
	if (conn->phase == HCOMM_RDMA_ATTACHING && !conn->ping_held && arg) {
		conn->ping_held = arg;
		return true;
	}
	if (conn->phase != HCOMM_RDMA_PINGING && conn->phase != HCOMM_RDMA_UP)
		return false;
	hcomm_rdma_pong(conn, arg);
	return true;
}

static bool hcomm_rdma_rx_pong(struct hcomm_rdma_conn *conn, const struct hcomm_rdma_ctl *ctl)
{
	if (conn->phase != HCOMM_RDMA_PINGING ||
	    le32_to_cpu(ctl->arg) != conn->pings_left)
		return false;
	conn->rtt_ns = min(conn->rtt_ns, ktime_get_ns() - conn->ping_at);
	if (--conn->pings_left)
		hcomm_rdma_ping(conn);
	else
		hcomm_rdma_link_up(conn);
	return true;
}

/**
 * hcomm_rdma_hello_rx - a handshake message arrived
 * @conn: connection
 * @buf: message, at least a struct hcomm_rdma_ctl with the right magic
 * @len: its bytes
 */
void hcomm_rdma_hello_rx(struct hcomm_rdma_conn *conn, const u8 *buf, u32 len)
{
	const struct hcomm_rdma_ctl *ctl = (void *)buf;
	bool ok = false;

	switch (le32_to_cpu(ctl->type)) {
	case HCOMM_RDMA_HELLO:
		ok = hcomm_rdma_rx_hello(conn, buf, len);
		break;
	case HCOMM_RDMA_PROOF:
		ok = hcomm_rdma_rx_proof(conn, buf, len);
		break;
	case HCOMM_RDMA_REFUSE:
		ok = conn->active && conn->phase == HCOMM_RDMA_PROOF_WAIT &&
		     len == sizeof(*ctl);
		if (ok)
			hcomm_rdma_conn_lose(conn, HCOMM_FAULT_AUTH, -EACCES, false);
		break;
	case HCOMM_RDMA_PING:
		ok = len == sizeof(*ctl) && hcomm_rdma_rx_ping(conn, ctl);
		break;
	case HCOMM_RDMA_PONG:
		ok = len == sizeof(*ctl) && hcomm_rdma_rx_pong(conn, ctl);
		break;
	}
	if (!ok && conn->phase != HCOMM_RDMA_REFUSED)
		hcomm_rdma_conn_lose(conn, HCOMM_FAULT_PROTOCOL, -EBADMSG, false);
}
