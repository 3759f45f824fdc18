// SPDX-License-Identifier: LGPL-2.1-or-later
/* One connection of the hub: bytes in, frames out, nothing ever blocks. */
#include <endian.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/uio.h>
#include <unistd.h>

#include "hub.h"

struct hub_shared *hub_shared_new(uint32_t len)
{
	struct hub_shared *shared = malloc(sizeof(*shared) + len);

	if (shared) {
		shared->users = 1;
		shared->len = len;
	}
	return shared;
}

void hub_shared_put(struct hub_shared *shared)
{
	if (shared && !--shared->users)
		free(shared);
}

void hub_conn_drop(struct hub *hub, struct hub_conn *conn)
{
	if (conn->dead)
		return;
	conn->dead = true;
	if (!conn->joined) {
		hub->pending--;
		hub->strangers++;
		hcomm_log(HCOMM_LOG_INFO, "bootstrap: a stranger from %s dropped",
			  conn->name);
	}
	hub_lost(hub, conn);
}

void hub_conn_free(struct hub *hub, struct hub_conn *conn)
{
	epoll_ctl(hub->epoll, EPOLL_CTL_DEL, conn->fd, NULL);
	close(conn->fd);
	hub_shared_put(conn->out);
	free(conn->in);
	explicit_bzero(conn, sizeof(*conn));
	free(conn);
}

static void want(struct hub_conn *conn, enum conn_state state, size_t len)
{
	conn->state = state;
	conn->in_want = len;
	conn->in_have = 0;
}

struct hub_conn *hub_conn_new(struct hub *hub, int fd,
			      const struct sockaddr_storage *from)
{
	struct bs_hello hello = { .magic = "" };
	struct hub_conn *conn = calloc(1, sizeof(*conn));
	struct epoll_event ev = { .events = EPOLLIN, .data.ptr = conn };
	int one = 1;

	if (!conn)
		return NULL;
	conn->fd = fd;
	conn->since = hcomm_now_ms();
	conn->deadline = conn->since + HUB_AUTH_MS;
	conn->in_room = sizeof(struct bs_join);
	conn->in = malloc(conn->in_room);
	strcpy(conn->name, hcomm_addr_text(from));
	memcpy(hello.magic, BS_MAGIC, BS_MAGIC_SIZE);
	if (!conn->in || hcomm_random(conn->hub_nonce, sizeof(conn->hub_nonce)))
		goto fail;
	memcpy(hello.nonce, conn->hub_nonce, sizeof(hello.nonce));
	want(conn, CONN_JOIN, sizeof(struct bs_join));
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	/* the buffer of a new socket has room for it */
	if (send(fd, &hello, sizeof(hello), MSG_NOSIGNAL) != sizeof(hello) ||
	    epoll_ctl(hub->epoll, EPOLL_CTL_ADD, fd, &ev))
		goto fail;
	return conn;
fail:
	free(conn->in);
	free(conn);
	return NULL;
}

static void writable(struct hub *hub, struct hub_conn *conn)
{
	size_t len = conn->out->len, done = conn->out_done, skip;
	struct iovec iov[3] = {
		{ &conn->out_header, sizeof(conn->out_header) },
		{ conn->out->data, len },
		{ conn->out_mac, sizeof(conn->out_mac) },
	};
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = 3 };
	struct epoll_event ev = { .events = EPOLLIN, .data.ptr = conn };
	size_t total = sizeof(conn->out_header) + len + sizeof(conn->out_mac), i;
	ssize_t n;

	for (i = 0; i < 3; i++) {
		skip = done < iov[i].iov_len ? done : iov[i].iov_len;
		iov[i].iov_base = (char *)iov[i].iov_base + skip;
		iov[i].iov_len -= skip;
		done -= skip;
	}
	n = sendmsg(conn->fd, &msg, MSG_NOSIGNAL);
	if (n < 0 && errno != EAGAIN && errno != EINTR) {
		hub_conn_drop(hub, conn);
		return;
	}
	if (n > 0)
		conn->out_done += (size_t)n;
	if (conn->out_done < total) {
		ev.events |= EPOLLOUT;
	} else {
		hub_shared_put(conn->out);
		conn->out = NULL;
	}
	epoll_ctl(hub->epoll, EPOLL_CTL_MOD, conn->fd, &ev);
	/* an error had to wait for the frame before it */
	if (!conn->out && hub->error && !conn->error_sent)
		hub_conn_send(hub, conn, BS_ERROR, hub->error);
}

void hub_conn_send(struct hub *hub, struct hub_conn *conn, enum bs_frame type,
		   struct hub_shared *payload)
{
	/* a rank gets the next frame only after it asked for it, or an error */
	if (conn->out || conn->dead)
		return;
	if (type == BS_ERROR)
		conn->error_sent = true;
	payload->users++;
	conn->out = payload;
	conn->out_done = 0;
	conn->out_header.len = htole32(payload->len);
	conn->out_header.type = htole32(type);
	bs_frame_mac(conn->key, BS_HUB, conn->sent++, &conn->out_header,
		     payload->data, payload->len, conn->out_mac);
	writable(hub, conn);
}

static void got_join(struct hub *hub, struct hub_conn *conn)
{
	const struct bs_join *join = (const struct bs_join *)conn->in;
	uint8_t mac[HCOMM_MAC_SIZE];
	struct bs_proof proof = {
		.meeting = &hub->meeting,
		.hub_nonce = conn->hub_nonce,
		.rank_nonce = join->nonce,
		.rank = le32toh(join->rank),
		.nranks = le32toh(join->nranks),
	};
	ssize_t n;

	bs_proof_mac(&proof, BS_RANK, mac);
	if (memcmp(join->magic, BS_MAGIC, BS_MAGIC_SIZE) ||
	    !hcomm_mac_equal(mac, join->mac)) {
		n = send(conn->fd, bs_refused, sizeof(bs_refused), MSG_NOSIGNAL);
		(void)n;
		hub_conn_drop(hub, conn);
		return;
	}
	bs_proof_mac(&proof, BS_HUB, mac);
	bs_session_key(&proof, conn->key);
	if (send(conn->fd, mac, sizeof(mac), MSG_NOSIGNAL) != sizeof(mac)) {
		hub_conn_drop(hub, conn);
		return;
	}
	hub->pending--;
	conn->joined = true;
	want(conn, CONN_HEADER, sizeof(conn->header));
	if (!hub_joined(hub, conn, proof.rank, proof.nranks))
		hub_conn_drop(hub, conn);
}

static void got_header(struct hub *hub, struct hub_conn *conn)
{
	uint32_t len;
	uint8_t *in;

	memcpy(&conn->header, conn->in, sizeof(conn->header));
	len = le32toh(conn->header.len);
	if (len > HCOMM_BS_MAX_BLOB) {
		hub_conn_drop(hub, conn);
		return;
	}
	if (conn->in_room < len + HCOMM_MAC_SIZE) {
		in = realloc(conn->in, len + HCOMM_MAC_SIZE);
		if (!in) {
			hub_conn_drop(hub, conn);
			return;
		}
		conn->in = in;
		conn->in_room = len + HCOMM_MAC_SIZE;
	}
	want(conn, CONN_BODY, len + HCOMM_MAC_SIZE);
}

static void got_body(struct hub *hub, struct hub_conn *conn)
{
	uint32_t len = le32toh(conn->header.len);
	uint8_t mac[HCOMM_MAC_SIZE];

	bs_frame_mac(conn->key, BS_RANK, conn->received++, &conn->header,
		     conn->in, len, mac);
	if (!hcomm_mac_equal(mac, conn->in + len)) {
		hub_conn_drop(hub, conn);
		return;
	}
	want(conn, CONN_HEADER, sizeof(conn->header));
	hub_frame(hub, conn, le32toh(conn->header.type), conn->in, len);
}

static void readable(struct hub *hub, struct hub_conn *conn)
{
	ssize_t n;

	n = recv(conn->fd, conn->in + conn->in_have,
		 conn->in_want - conn->in_have, 0);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		hub_conn_drop(hub, conn);
		return;
	}
	conn->in_have += (size_t)n;
	if (conn->in_have < conn->in_want)
		return;
	if (conn->state == CONN_JOIN)
		got_join(hub, conn);
	else if (conn->state == CONN_HEADER)
		got_header(hub, conn);
	else
		got_body(hub, conn);
}

void hub_conn_event(struct hub *hub, struct hub_conn *conn, uint32_t events)
{
	if (!conn->dead && conn->out && (events & (EPOLLOUT | EPOLLERR)))
		writable(hub, conn);
	if (!conn->dead && (events & (EPOLLIN | EPOLLHUP | EPOLLERR)))
		readable(hub, conn);
}
