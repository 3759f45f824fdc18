// SPDX-License-Identifier: LGPL-2.1-or-later
/* The hub: a thread that listens, counts ranks and turns their blobs into rounds. */
#include <endian.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "hub.h"

static struct hub_shared *all_ranks(struct hub *hub, enum bs_frame type,
				    struct hub_shared *payload)
{
	uint32_t i;

	/*
	 * From the last to the first: rank 0, whose process this mostly is, may
	 * exit as soon as it has its copy of an error.
	 */
	for (i = hub->nranks; i-- > 0;) {
		if (hub->ranks[i])
			hub_conn_send(hub, hub->ranks[i], type, payload);
	}
	return payload;
}

void hub_fail(struct hub *hub, hcommResult_t code, const char *fmt, ...)
{
	uint32_t le_code = htole32((uint32_t)code);
	char text[HCOMM_ERROR_TEXT];
	va_list ap;
	int len;

	if (hub->error)
		return;
	va_start(ap, fmt);
	len = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (len >= (int)sizeof(text))
		len = (int)sizeof(text) - 1;
	hcomm_log(HCOMM_LOG_INFO, "bootstrap: %s", text);
	hub->deadline = hcomm_now_ms() + HUB_LINGER_MS;
	hub->error = hub_shared_new(4 + (uint32_t)len);
	if (!hub->error)
		return;
	memcpy(hub->error->data, &le_code, 4);
	memcpy(hub->error->data + 4, text, (size_t)len);
	all_ranks(hub, BS_ERROR, hub->error);
}

/* "3, 5-7, 9": those that are not here, or have not given their blob */
static void missing(const struct hub *hub, bool blob, char *text, size_t room)
{
	uint32_t i, end;
	size_t len = 0;

	*text = 0;
	for (i = 0; i < hub->nranks && len + 40 < room; i = end + 1) {
		bool here = hub->ranks[i] && (!blob || hub->ranks[i]->gave);

		end = i;
		if (here)
			continue;
		while (end + 1 < hub->nranks) {
			const struct hub_conn *c = hub->ranks[end + 1];

			if (c && (!blob || c->gave))
				break;
			end++;
		}
		len += (size_t)snprintf(text + len, room - len,
					i == end ? "%s%u" : "%s%u-%u",
					len ? ", " : "", i, end);
	}
	if (i < hub->nranks)
		snprintf(text + len, room - len, ", ...");
}

static void timed_out(struct hub *hub)
{
	unsigned long long s = hub->timeout_ms / 1000;
	unsigned long long ms = hub->timeout_ms % 1000;
	char list[512], strangers[96] = "";

	if (hub->strangers)
		snprintf(strangers, sizeof(strangers),
			 "; %u connections did not know the job's secret",
			 hub->strangers);
	if (hub->njoined < hub->nranks) {
		missing(hub, false, list, sizeof(list));
		hub_fail(hub, HCOMM_ERR_TIMEOUT,
			 "%u of %u ranks are missing after %llu.%03llu s: rank %s%s; were they started, and can they reach this host? HCOMM_BOOTSTRAP_TIMEOUT sets the limit",
			 hub->nranks - hub->njoined, hub->nranks, s, ms, list,
			 strangers);
		return;
	}
	missing(hub, true, list, sizeof(list));
	hub_fail(hub, HCOMM_ERR_TIMEOUT,
		 "%u of %u ranks do not answer for %llu.%03llu s: rank %s",
		 hub->nranks - hub->ngave, hub->nranks, s, ms, list);
}

static void new_phase(struct hub *hub)
{
	hub->deadline = hcomm_now_ms() + (int64_t)hub->timeout_ms;
}

/* room for the descriptors of all ranks, where the process may have so many */
static void raise_nofile(uint32_t nranks)
{
	struct rlimit lim;

	if (getrlimit(RLIMIT_NOFILE, &lim))
		return;
	nranks += HUB_MAX_PENDING + 128;
	if (lim.rlim_cur >= nranks)
		return;
	lim.rlim_cur = lim.rlim_max < nranks ? lim.rlim_max : nranks;
	setrlimit(RLIMIT_NOFILE, &lim);
}

bool hub_joined(struct hub *hub, struct hub_conn *conn, uint32_t rank,
		uint32_t nranks)
{
	conn->rank = UINT32_MAX;
	if (!nranks || nranks > 65536 || rank >= nranks)
		return false;
	if (!hub->nranks) {
		hub->ranks = calloc(nranks, sizeof(hub->ranks[0]));
		if (!hub->ranks)
			return false;
		hub->nranks = nranks;
		raise_nofile(nranks);
		new_phase(hub);
	}
	if (nranks != hub->nranks) {
		/* it is no rank of ours, but it shall hear why */
		hub_fail(hub, HCOMM_ERR_INVALID_ARGUMENT,
			 "rank %u (%s) says that there are %u ranks, the ranks before it said %u",
			 rank, conn->name, nranks, hub->nranks);
		if (hub->error)
			hub_conn_send(hub, conn, BS_ERROR, hub->error);
		return true;
	}
	if (hub->ranks[rank]) {
		hub_fail(hub, HCOMM_ERR_INVALID_ARGUMENT,
			 "rank %u came twice, from %s and from %s", rank,
			 hub->ranks[rank]->name, conn->name);
		if (hub->error)
			hub_conn_send(hub, conn, BS_ERROR, hub->error);
		return true;
	}
	conn->rank = rank;
	hub->ranks[rank] = conn;
	hub->njoined++;
	if (hub->error)
		hub_conn_send(hub, conn, BS_ERROR, hub->error);
	return true;
}

void hub_lost(struct hub *hub, struct hub_conn *conn)
{
	if (!conn->joined || conn->rank == UINT32_MAX)
		return;
	hub->ranks[conn->rank] = NULL;
	hub->njoined--;
	if (conn->gave)
		hub->ngave--;
	/* before the first round is complete it may come again */
	if (!conn->bye && hub->round)
		hub_fail(hub, HCOMM_ERR_BOOTSTRAP,
			 "rank %u (%s) ended while the ranks met", conn->rank,
			 conn->name);
}

static void round_done(struct hub *hub)
{
	struct hub_shared *data = hub->blobs;
	uint32_t i;

	hub->blobs = NULL;
	hub->blob_len = 0;
	hub->ngave = 0;
	hub->round++;
	for (i = 0; i < hub->nranks; i++)
		hub->ranks[i]->gave = false;
	new_phase(hub);
	hub_shared_put(all_ranks(hub, BS_DATA, data));
}

static void got_blob(struct hub *hub, struct hub_conn *conn,
		     const uint8_t *payload, uint32_t len)
{
	if (!len || (uint64_t)len * hub->nranks > HCOMM_BS_MAX_TOTAL ||
	    conn->gave) {
		hub_conn_drop(hub, conn);
		return;
	}
	if (!hub->blobs) {
		hub->blobs = hub_shared_new(len * hub->nranks);
		hub->blob_len = len;
	}
	if (!hub->blobs) {
		hub_fail(hub, HCOMM_ERR_NO_MEMORY,
			 "no memory for the data of %u ranks", hub->nranks);
		return;
	}
	if (hub->blob_len != len) {
		hub_fail(hub, HCOMM_ERR_VERSION,
			 "rank %u (%s) gives %u bytes, others %u: the libraries have different versions",
			 conn->rank, conn->name, len, hub->blob_len);
		return;
	}
	memcpy(hub->blobs->data + (size_t)conn->rank * len, payload, len);
	conn->gave = true;
	if (++hub->ngave == hub->nranks)
		round_done(hub);
}

void hub_frame(struct hub *hub, struct hub_conn *conn, uint32_t type,
	       const uint8_t *payload, uint32_t len)
{
	if (hub->error || conn->rank == UINT32_MAX)
		return;
	if (type == BS_GATHER) {
		got_blob(hub, conn, payload, len);
	} else if (type == BS_BYE && !conn->bye) {
		conn->bye = true;
		hub->nbye++;
	} else {
		hub_conn_drop(hub, conn);
	}
}

/* -------------------------------------------------------------------- thread */

/* a new connection when there are too many strangers: the oldest goes */
static bool make_room(struct hub *hub)
{
	struct hub_conn *conn, *oldest = NULL;

	for (conn = hub->conns; conn; conn = conn->next) {
		if (!conn->joined && !conn->dead &&
		    (!oldest || conn->since < oldest->since))
			oldest = conn;
	}
	if (!oldest || oldest->since + HUB_EVICT_MS > hcomm_now_ms())
		return false;
	hub_conn_drop(hub, oldest);
	return true;
}

/* while there is no room, connections wait in the backlog */
static void listening(struct hub *hub, bool on)
{
	struct epoll_event ev = { .events = EPOLLIN };
	uint32_t i;

	if (hub->listening == on)
		return;
	hub->listening = on;
	for (i = 0; i < hub->nlisten; i++) {
		ev.data.ptr = &hub->listen[i];
		epoll_ctl(hub->epoll, on ? EPOLL_CTL_ADD : EPOLL_CTL_DEL,
			  hub->listen[i], &ev);
	}
}

static void accept_one(struct hub *hub, int listen_fd)
{
	struct sockaddr_storage from = { 0 };
	socklen_t len = sizeof(from);
	struct hub_conn *conn;
	int fd;

	if (hub->pending >= HUB_MAX_PENDING && !make_room(hub)) {
		listening(hub, false);
		return;
	}
	fd = accept4(listen_fd, (struct sockaddr *)&from, &len,
		     SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd < 0) {
		/* out of descriptors: those that end make room */
		if (errno == EMFILE || errno == ENFILE)
			listening(hub, false);
		return;
	}
	conn = hub_conn_new(hub, fd, &from);
	if (!conn) {
		close(fd);
		return;
	}
	hub->pending++;
	conn->next = hub->conns;
	hub->conns = conn;
}

static bool is_listener(const struct hub *hub, const void *ptr)
{
	return (const int *)ptr >= hub->listen &&
	       (const int *)ptr < hub->listen + HCOMM_BS_MAX_ADDRS;
}

/* drop who is late, free who is dropped; the time of the next look */
static int64_t sweep(struct hub *hub)
{
	struct hub_conn **p = &hub->conns, *conn;
	int64_t now = hcomm_now_ms(), next = hub->deadline;

	while ((conn = *p)) {
		if (!conn->joined && !conn->dead && conn->deadline <= now)
			hub_conn_drop(hub, conn);
		if (conn->dead) {
			*p = conn->next;
			hub_conn_free(hub, conn);
			listening(hub, true);
			continue;
		}
		if (!conn->joined && conn->deadline < next)
			next = conn->deadline;
		p = &conn->next;
	}
	/* refused connections wait for somebody to be old enough */
	if (!hub->listening && now + HUB_EVICT_MS < next) {
		next = now + HUB_EVICT_MS;
		if (hub->pending >= HUB_MAX_PENDING && make_room(hub))
			next = now;
	}
	return next;
}

static bool finished(const struct hub *hub, int64_t now)
{
	const struct hub_conn *conn;

	if (!hub->error)
		return hub->nranks && hub->nbye == hub->nranks;
	if (now >= hub->deadline)
		return true;
	/* the error was told to all that are here; stay for those who come */
	for (conn = hub->conns; conn; conn = conn->next) {
		if (conn->joined && (conn->out || !conn->error_sent))
			return false;
	}
	return hub->njoined == 0 || hub->njoined == hub->nranks;
}

static void hub_end(struct hub *hub)
{
	struct hub_conn *conn;
	uint32_t i;

	while ((conn = hub->conns)) {
		hub->conns = conn->next;
		hub_conn_free(hub, conn);
	}
	for (i = 0; i < hub->nlisten; i++)
		close(hub->listen[i]);
	if (hub->epoll >= 0)
		close(hub->epoll);
	hub_shared_put(hub->error);
	hub_shared_put(hub->blobs);
	free(hub->ranks);
	explicit_bzero(hub, sizeof(*hub));
	free(hub);
}

/* for epoll_wait(): until @next, which may be over by now */
static int timeout_until(int64_t next)
{
	int64_t left = next - hcomm_now_ms();

	if (next == INT64_MAX)
		return -1;
	if (left < 0)
		return 0;
	return left > 1000000 ? 1000000 : (int)left;
}

static void *hub_thread(void *arg)
{
	struct epoll_event ev[64];
	struct hub *hub = arg;
	int64_t next;
	int n, i;

	pthread_setname_np(pthread_self(), "hcomm-bootstrap");
	listening(hub, true);
	for (;;) {
		next = sweep(hub);
		if (finished(hub, hcomm_now_ms()))
			break;
		if (hcomm_now_ms() >= hub->deadline) {
			timed_out(hub);
			continue;
		}
		n = epoll_wait(hub->epoll, ev, ARRAY_SIZE(ev), timeout_until(next));
		/* whatever kept us from accepting may be over */
		if (!n)
			listening(hub, true);
		for (i = 0; i < n; i++) {
			if (is_listener(hub, ev[i].data.ptr))
				accept_one(hub, *(int *)ev[i].data.ptr);
			else
				hub_conn_event(hub, ev[i].data.ptr, ev[i].events);
		}
	}
	hub_end(hub);
	return NULL;
}

/* a listening socket, or a negative errno */
static int listen_on(const struct sockaddr_storage *addr)
{
	int one = 1, fd, err;

	fd = socket(addr->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (addr->ss_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one));
	if (bind(fd, (const struct sockaddr *)addr, hcomm_addr_len(addr)) ||
	    listen(fd, 4096)) {
		err = -errno;
		close(fd);
		return err;
	}
	return fd;
}

/* all addresses, or those that can be had, on one port; 0 or a negative errno */
static int listen_all(struct hub *hub, bool some)
{
	struct hcomm_meeting *m = &hub->meeting;
	struct sockaddr_storage addr;
	socklen_t len;
	uint32_t i;
	int fd;

	for (i = 0; i < m->naddrs; i++) {
		addr = m->addrs[i];
		fd = listen_on(&addr);
		/* a name's other addresses may be of other kinds */
		if (fd < 0 && some && m->naddrs > 1 && fd != -EADDRINUSE)
			continue;
		if (fd < 0)
			return fd;
		hub->listen[hub->nlisten++] = fd;
		if (hcomm_addr_port(&m->addrs[i]))
			continue;
		len = sizeof(addr);
		getsockname(fd, (struct sockaddr *)&addr, &len);
		for (len = 0; len < m->naddrs; len++)
			hcomm_addr_set_port(&m->addrs[len], hcomm_addr_port(&addr));
	}
	return hub->nlisten ? 0 : -EADDRNOTAVAIL;
}

static int open_port(struct hub *hub, bool some)
{
	bool chosen = hcomm_addr_port(&hub->meeting.addrs[0]) == 0;
	struct hcomm_meeting *m = &hub->meeting;
	int tries = chosen ? 32 : 1, err;
	uint32_t i;

	for (;;) {
		err = listen_all(hub, some);
		if (!err || --tries == 0 || err != -EADDRINUSE)
			return err;
		/* the port is free on one address but not on another */
		while (hub->nlisten)
			close(hub->listen[--hub->nlisten]);
		for (i = 0; i < m->naddrs; i++)
			hcomm_addr_set_port(&m->addrs[i], 0);
	}
}

static int start_thread(struct hub *hub)
{
	sigset_t all, old;
	pthread_attr_t attr;
	pthread_t thread;
	int err;

	/* signals are for the program's own threads */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	err = pthread_create(&thread, &attr, hub_thread, hub);
	pthread_attr_destroy(&attr);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return err;
}

hcommResult_t hcomm_hub_start(struct hcomm_meeting *meeting, bool some,
			      uint64_t timeout_ms)
{
	struct hub *hub = calloc(1, sizeof(*hub));
	hcommResult_t ret;
	int err;

	if (!hub)
		return hcomm_fail_nomem("the bootstrap");
	hub->meeting = *meeting;
	hub->timeout_ms = timeout_ms;
	hub->deadline = INT64_MAX;
	hub->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (hub->epoll < 0) {
		ret = hcomm_fail_errno(errno, "epoll of the bootstrap");
		goto fail;
	}
	err = open_port(hub, some);
	if (err == -EADDRNOTAVAIL) {
		ret = hcomm_fail(HCOMM_ERR_ENVIRONMENT,
				 "%s is not an address of this host; HCOMM_ROOT (or MASTER_ADDR) must be that of the node of rank 0",
				 hcomm_addr_text(&hub->meeting.addrs[0]));
		goto fail;
	}
	if (err) {
		ret = hcomm_fail_errno(-err, "listening on %s for the other ranks",
				       hcomm_addr_text(&hub->meeting.addrs[0]));
		goto fail;
	}
	/* the ports may be new; the thread may end the hub at once */
	*meeting = hub->meeting;
	err = start_thread(hub);
	if (err) {
		ret = hcomm_fail_errno(err, "thread of the bootstrap");
		goto fail;
	}
	return HCOMM_SUCCESS;
fail:
	hub_end(hub);
	return ret;
}
