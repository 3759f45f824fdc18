// SPDX-License-Identifier: GPL-2.0-only
/*
 * Several nodes over RDMA, by raw ioctls: one rank per node.  Runs on all nodes
 * at once; the nodes are numbered by LAB_NODE, their addresses are LAB_ADDRS.
 * With the same address for all, these are ranks of one kernel.
 *
 * Each scenario runs in a child on every node, and meets the others over TCP on
 * a port of its own, so that a scenario that ends badly does not disturb the
 * next.  Node 0 collects the verdicts and prints TAP.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include "../kselftest/util.h"
#include "stranger.h"

#define PORT 47000
#define MAX_NODES 8
#define SCENARIO_LIMIT 90		/* seconds */
#define SEC 1000000000ll

static uint32_t me, nodes;
static struct in_addr addrs[MAX_NODES];
static int checks_failed;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

__attribute__((format(printf, 3, 4)))
static bool check_failed(int line, const char *what, const char *fmt, ...)
{
	va_list ap;

	printf("# rank %u, line %d: %s: ", me, line, what);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
	fflush(stdout);
	checks_failed++;
	return false;
}

#define CHECK(cond, ...) ({						\
	bool ok_ = (cond);						\
									\
	if (!ok_)							\
		check_failed(__LINE__, #cond, __VA_ARGS__);		\
	ok_;								\
})
#define NEED(cond, ...)							\
	do {								\
		if (!CHECK(cond, __VA_ARGS__))				\
			exit(1);					\
	} while (0)
#define EQ(want, have)							\
	do {								\
		long long want_ = (want), have_ = (have);		\
									\
		if (want_ != have_)					\
			check_failed(__LINE__, #have, "%lld, not %lld", have_, want_); \
	} while (0)
#define NEED0(expr)							\
	do {								\
		int ret_ = (expr);					\
									\
		NEED(!ret_, "%s", strerror(-ret_));			\
	} while (0)

/* --------------------------------------------------------------------- bootstrap */

struct boot {
	int peer[MAX_NODES];	/* node 0: one to each; others: [0] */
};

static bool io_all(int fd, void *buf, size_t len, bool out)
{
	char *p = buf;

	while (len) {
		ssize_t n = out ? send(fd, p, len, MSG_NOSIGNAL) : recv(fd, p, len, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		p += n;
		len -= n;
	}
	return true;
}

static int boot_accept(int port, struct boot *b, uint32_t n)
{
	struct sockaddr_in sa = { .sin_family = AF_INET, .sin_port = htons(port) };
	int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, (void *)&sa, sizeof(sa)) || listen(fd, 16))
		return -errno;
	for (uint32_t i = 1; i < n; i++) {
		uint32_t who;
		int c = accept(fd, NULL, NULL);

		if (c < 0)
			return -errno;
		if (!io_all(c, &who, sizeof(who), false) || who >= n)
			return -EPROTO;
		b->peer[who] = c;
	}
	close(fd);
	return 0;
}

static int boot_connect(int port, struct boot *b)
{
	struct sockaddr_in sa = {
		.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = addrs[0],
	};
	double end = now() + SCENARIO_LIMIT + 30;

	while (now() < end) {
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		struct timeval limit = { .tv_sec = 3 };

		setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
		if (!connect(fd, (void *)&sa, sizeof(sa))) {
			if (!io_all(fd, &me, sizeof(me), true))
				return -EPROTO;
			b->peer[0] = fd;
			return 0;
		}
		close(fd);
		usleep(100000);
	}
	return -ETIMEDOUT;
}

static int boot_open(struct boot *b, int port, uint32_t n)
{
	memset(b, -1, sizeof(*b));
	return me ? boot_connect(port, b) : boot_accept(port, b, n);
}

/* all[me] is given; on return all of all[] is known to all. */
static void boot_gather(struct boot *b, void *all, size_t size, uint32_t n)
{
	char *p = all;

	if (me) {
		NEED(io_all(b->peer[0], p + me * size, size, true), "%m");
		NEED(io_all(b->peer[0], p, n * size, false), "%m");
		return;
	}
	for (uint32_t i = 1; i < n; i++)
		NEED(io_all(b->peer[i], p + i * size, size, false), "rank %u: %m", i);
	for (uint32_t i = 1; i < n; i++)
		NEED(io_all(b->peer[i], p, n * size, true), "rank %u: %m", i);
}

static struct boot boot;

static void meet(uint32_t n)
{
	uint8_t all[MAX_NODES] = {};

	boot_gather(&boot, all, 1, n);
}

/* ----------------------------------------------------------------- communicators */

struct node {
	struct rank r;
	uint32_t n;
	uint8_t *buf;
	size_t len;
	uint32_t mem;
};

static void options(struct hcomm_comm_create *opt)
{
	create_init(opt, me, nodes);
	/* All on one node: they would not use RDMA by themselves. */
	opt->transports = addrs[0].s_addr == addrs[1].s_addr ? HCOMM_TRANSPORT_RDMA :
							       HCOMM_TRANSPORT_ALL;
	opt->connect_timeout_ms = 20000;
	opt->listen.family = AF_INET;
	memcpy(opt->listen.addr, &addrs[me], 4);
}

/* Rank me of n, known to the others; opt may differ from rank to rank. */
static void node_open(struct node *x, uint32_t n, const struct hcomm_comm_create *opt)
{
	struct hcomm_info info = { .size = sizeof(info) };
	struct hcomm_peer peers[MAX_NODES] = {};
	uint8_t uuids[MAX_NODES][16];
	struct hcomm_comm_peers arg = {
		.size = sizeof(arg), .peers = (uintptr_t)peers, .count = n,
	};

	memset(x, 0, sizeof(*x));
	x->n = n;
	if (opt)
		x->r.create = *opt;
	else
		options(&x->r.create);
	x->r.create.nranks = n;
	getrandom(uuids[me], sizeof(uuids[me]), 0);
	boot_gather(&boot, uuids, sizeof(uuids[0]), n);
	memcpy(x->r.create.uuid, uuids[0], 16);
	x->r.fd = dev_open();
	NEED(x->r.fd >= 0, "%m");
	NEED0(ring_setup(x->r.fd, 64, -1, &x->r.ring, &x->r.ring_size));
	NEED0(call(x->r.fd, HCOMM_COMM_CREATE, &x->r.create));
	x->r.comm = x->r.create.out_comm_id;
	NEED0(call(x->r.fd, HCOMM_INFO, &info));
	memcpy(peers[me].node_id, info.node_id, sizeof(info.node_id));
	peers[me].addr = x->r.create.listen;
	boot_gather(&boot, peers, sizeof(peers[0]), n);
	arg.comm_id = x->r.comm;
	NEED0(call(x->r.fd, HCOMM_COMM_PEERS, &arg));
}

static void node_memory(struct node *x, size_t len)
{
	x->len = len;
	x->buf = pages(len);
	NEED(x->buf, "%m");
	NEED0(mem_reg(x->r.fd, x->buf, len, 0, &x->mem));
}

static void node_close(struct node *x)
{
	rank_close(&x->r);
	if (x->buf)
		munmap(x->buf, x->len);
	x->buf = NULL;
}

static int link_open(struct node *x, uint32_t peer, struct hcomm_link_open *arg)
{
	*arg = (struct hcomm_link_open){
		.size = sizeof(*arg), .comm_id = x->r.comm, .peer = peer, .timeout_ms = 20000,
	};
	return call(x->r.fd, HCOMM_LINK_OPEN, arg);
}

static uint32_t load(struct node *x, const struct hcomm_step *steps, uint32_t n,
		     const uint32_t *deps, uint32_t ndeps)
{
	uint32_t id = 0;

	NEED0(prog_load(x->r.fd, x->r.comm, steps, n, deps, ndeps, 1, &id));
	return id;
}

static int go(struct node *x, uint32_t prog, uint64_t run, uint32_t timeout_ms)
{
	struct hcomm_slot slot = { .mem_id = x->mem, .length = x->len };
	struct hcomm_launch arg = {
		.size = sizeof(arg), .prog_id = prog, .slots = (uintptr_t)&slot, .nslots = 1,
		.run = run, .user_data = run, .timeout_ms = timeout_ms,
		.call = { .coll = HCOMM_COLL_P2P },
	};

	return call(x->r.fd, HCOMM_LAUNCH, &arg);
}

/* The status of the next completion; -EDEADLK when there is none in time. */
static int done(struct node *x, double seconds, struct hcomm_cqe *cqe)
{
	struct hcomm_cqe none;
	int ret = ring_wait(x->r.fd, 1, (int64_t)(seconds * SEC));

	if (ret)
		return ret == -ETIMEDOUT ? -EDEADLK : ret;
	cqe = cqe ?: &none;
	return ring_next(x->r.ring, cqe) ? cqe->status : -EDEADLK;
}

static struct hcomm_fault fault_of(struct node *x)
{
	struct hcomm_fault f = {};

	EQ(0, query_fault(x->r.fd, x->r.comm, &f));
	return f;
}

/* The communicator has failed, for this reason and this rank. */
static void expect_fault(struct node *x, int error, uint32_t reason, uint32_t rank)
{
	struct hcomm_fault f = fault_of(x);

	if (f.error != error || f.reason != reason || f.rank != rank)
		check_failed(__LINE__, "fault", "%d (%s), reason %u, rank %u; not %d (%s), %u, %u",
			     f.error, strerror(f.error), f.reason, f.rank, error,
			     strerror(error), reason, rank);
}

/* -------------------------------------------------------------------------- data */

static uint8_t pattern(uint32_t rank, uint64_t i, uint32_t salt)
{
	return (i * 2654435761u + rank * 97 + salt * 31) >> 5;
}

/* Each to its next, from its last; stored, or added to what is there. */
static void ring_pass(struct node *x, uint64_t len, bool reduce, uint32_t shift, uint32_t salt)
{
	uint32_t next = (me + 1) % x->n, last = (me + x->n - 1) % x->n;
	uint64_t half = x->len / 2 + shift;
	struct hcomm_step steps[] = {
		{ .op = HCOMM_STEP_SEND, .peer = next, .src_off = shift, .len = len },
		{ .op = reduce ? HCOMM_STEP_RECV_REDUCE : HCOMM_STEP_RECV, .peer = last,
		  .dtype = reduce ? HCOMM_DT_UINT8 : 0, .src_off = reduce ? half : 0,
		  .dst_off = half, .len = len },
	};
	uint32_t prog;
	uint64_t i;
	int ret;

	for (i = 0; i < len; i++)
		x->buf[shift + i] = pattern(me, i, salt);
	memset(x->buf + x->len / 2, 0x33, x->len / 2);
	prog = load(x, steps, 2, NULL, 0);
	NEED0(go(x, prog, salt, 60000));
	ret = done(x, 70, NULL);
	NEED(!ret, "%llu bytes: %s", (unsigned long long)len, strerror(-ret));
	for (i = x->len / 2; i < x->len; i++) {
		uint64_t at = i - half;
		uint8_t want = 0x33;

		if (i >= half && at < len)
			want = pattern(last, at, salt) + (reduce ? 0x33 : 0);
		if (x->buf[i] != want)
			break;
	}
	NEED(i == x->len, "%llu bytes, shift %u: wrong at %lld", (unsigned long long)len,
	     shift, (long long)(i - half));
	EQ(0, destroy(x->r.fd, prog));
}

static void exchange_sizes(struct node *x, const uint32_t *lens, size_t n)
{
	static uint32_t salt;

	for (size_t k = 0; k < n; k++) {
		ring_pass(x, lens[k], false, 0, ++salt);
		ring_pass(x, lens[k], true, 3, ++salt);
	}
}

static void exchange(void)
{
	static const uint32_t lens[] = {
		0, 1, 63, 64, 65, 4095, 4096, 4097, 16384, 65536, 262143, 262144, 262145,
		1048576, 3000001,
	};
	struct hcomm_link_open arg;
	struct node x;

	node_open(&x, nodes, NULL);
	node_memory(&x, 8 << 20);
	exchange_sizes(&x, lens, ARRAY_LEN(lens));
	NEED0(link_open(&x, (me + 1) % nodes, &arg));
	EQ(HCOMM_LINK_READY, arg.out_state);
	EQ(HCOMM_TRANSPORT_RDMA, arg.out_transport);
	CHECK(arg.out_rtt_ns > 0, " ");
	meet(nodes);
	node_close(&x);
}

static void small_chunks(void)
{
	static const uint32_t lens[] = { 64, 65, 4096, 8192, 8193, 40960, 40961, 200000 };
	struct hcomm_comm_create opt;
	struct node x;

	options(&opt);
	opt.chunk_size = 4096;
	opt.eager_size = 64;
	opt.eager_slots = 2;
	opt.window = 2;
	opt.max_runs = 2;
	opt.staging_slots = 2;
	node_open(&x, nodes, &opt);
	node_memory(&x, 1 << 20);
	exchange_sizes(&x, lens, ARRAY_LEN(lens));
	meet(nodes);
	node_close(&x);
}

/* Eight runs in flight, launched in another order on each rank. */
static void many_runs(void)
{
	enum { RUNS = 8, LEN = 100000 };
	uint32_t next = (me + 1) % nodes, last = (me + nodes - 1) % nodes;
	uint32_t prog[RUNS];
	struct node x;

	node_open(&x, nodes, NULL);
	node_memory(&x, 2 * RUNS * LEN);
	for (uint32_t k = 0; k < RUNS; k++) {
		struct hcomm_step steps[] = {
			{ .op = HCOMM_STEP_SEND, .peer = next, .src_off = k * LEN, .len = LEN },
			{ .op = HCOMM_STEP_RECV, .peer = last, .dst_off = (RUNS + k) * LEN,
			  .len = LEN },
		};

		prog[k] = load(&x, steps, 2, NULL, 0);
		for (uint32_t i = 0; i < LEN; i++)
			x.buf[k * LEN + i] = pattern(me, i, k);
	}
	for (uint32_t k = 0; k < RUNS; k++) {
		uint32_t run = (k * 3 + me) % RUNS;

		NEED0(go(&x, prog[run], run, 60000));
	}
	for (uint32_t k = 0; k < RUNS; k++) {
		int ret = done(&x, 70, NULL);

		NEED(!ret, "%s", strerror(-ret));
	}
	for (uint32_t i = 0; i < RUNS * LEN; i++)
		NEED(x.buf[RUNS * LEN + i] == pattern(last, i % LEN, i / LEN), "at %u", i);
	meet(nodes);
	node_close(&x);
}

/* 100 in sequence, with a message in each tenth. */
static void sequence(void)
{
	for (uint32_t k = 0; k < 100; k++) {
		struct node x;

		node_open(&x, nodes, NULL);
		if (k % 10 == 0) {
			node_memory(&x, 65536);
			ring_pass(&x, 5000, false, 0, k);
			meet(nodes);
		}
		node_close(&x);
	}
}

/* ------------------------------------------------------------------------ refusals */

static void other_secret(void)
{
	struct hcomm_comm_create opt;
	struct hcomm_link_open arg;
	struct hcomm_fault f;
	double start;
	struct node x;
	int ret;

	if (me > 1)
		return;
	options(&opt);
	opt.secret[7] = me;
	opt.connect_timeout_ms = 5000;
	node_open(&x, 2, &opt);
	start = now();
	ret = link_open(&x, !me, &arg);
	CHECK(ret == -EACCES || ret == -ETIMEDOUT, "%s", strerror(-ret));
	CHECK(now() - start < 25, "%f s", now() - start);
	EQ(!me, arg.out_peer);
	f = fault_of(&x);
	CHECK(f.reason == HCOMM_FAULT_AUTH || f.reason == HCOMM_FAULT_CONNECT,
	      "reason %u, error %d", f.reason, f.error);
	EQ(!me, f.rank);
	meet(2);
	node_close(&x);
}

static void other_options(void)
{
	struct hcomm_comm_create opt;
	struct hcomm_link_open arg;
	struct node x;

	if (me > 1)
		return;
	options(&opt);
	opt.chunk_size = 65536 << me;
	node_open(&x, 2, &opt);
	EQ(-EPROTO, link_open(&x, !me, &arg));
	expect_fault(&x, EPROTO, HCOMM_FAULT_OPTIONS, !me);
	meet(2);
	node_close(&x);
}

static void other_call(void)
{
	struct hcomm_step steps[2] = {
		{ .op = HCOMM_STEP_SEND, .peer = !me, .len = 1000 },
		{ .op = HCOMM_STEP_RECV, .peer = !me, .dst_off = 4096, .len = 1000 },
	};
	struct hcomm_slot slot;
	struct hcomm_launch arg = {
		.size = sizeof(arg), .slots = (uintptr_t)&slot, .nslots = 1, .run = 5,
		.call = { .coll = HCOMM_COLL_ALLREDUCE, .count = 250 + me },
	};
	struct hcomm_fault f;
	struct node x;

	if (me > 1)
		return;
	node_open(&x, 2, NULL);
	node_memory(&x, 8192);
	slot = (struct hcomm_slot){ .mem_id = x.mem, .length = x.len };
	arg.prog_id = load(&x, steps, 2, NULL, 0);
	NEED0(call(x.r.fd, HCOMM_LAUNCH, &arg));
	EQ(-EBADE, done(&x, 30, NULL));
	f = fault_of(&x);
	EQ(HCOMM_FAULT_MISMATCH, f.reason);
	/* Seen from the reporter, whichever of the two it was. */
	EQ(1, f.rank + f.reporter);
	EQ(250 + f.reporter, f.mine.count);
	EQ(250 + f.rank, f.theirs.count);
	meet(2);
	node_close(&x);
}

/* -------------------------------------------------------------------------- deaths */

/*
 * A chain: rank 0 waits for 1, 1 for 2, and so on; the last sends nothing, and
 * has a link to the one before it only.
 */
static void chain_open(struct node *x)
{
	struct hcomm_step steps[2] = {
		{ .op = HCOMM_STEP_RECV, .peer = me + 1, .len = 4096 },
		{ .op = HCOMM_STEP_SEND, .peer = me - 1, .len = 4096, .dep_count = 1 },
	};
	uint32_t dep = 0, prog;
	struct hcomm_link_open arg;

	node_open(x, nodes, NULL);
	node_memory(x, 4096);
	if (!me) {
		prog = load(x, steps, 1, NULL, 0);
	} else if (me < nodes - 1) {
		prog = load(x, steps, 2, &dep, 1);
	} else {
		steps[1].dep_count = 0;
		prog = load(x, steps + 1, 1, NULL, 0);
	}
	NEED0(link_open(x, HCOMM_ALL_LINKS, &arg));
	if (me < nodes - 1)
		NEED0(go(x, prog, 1, 0));
	meet(nodes);
}

static void chain_expect(struct node *x, int error, uint32_t reason, uint32_t rank)
{
	double start = now();
	struct hcomm_cqe cqe = {};

	EQ(-error, done(x, 40, &cqe));
	EQ(rank, cqe.fault_rank);
	expect_fault(x, error, reason, rank);
	CHECK(now() - start < 30, "%.1f s", now() - start);
	/* It stays failed. */
	EQ(-error, call(x->r.fd, HCOMM_LINK_OPEN, &(struct hcomm_link_open){
			.size = sizeof(struct hcomm_link_open), .comm_id = x->r.comm,
			.peer = HCOMM_ALL_LINKS, .timeout_ms = 100 }));
}

static void killed(void)
{
	struct node x;

	chain_open(&x);
	if (me == nodes - 1) {
		/* The others' runs wait for this. */
		usleep(200000);
		raise(SIGKILL);
	}
	chain_expect(&x, EOWNERDEAD, HCOMM_FAULT_PEER_DIED, nodes - 1);
	node_close(&x);
}

static void left(void)
{
	struct node x;

	chain_open(&x);
	if (me == nodes - 1) {
		usleep(200000);
		node_close(&x);
		return;
	}
	chain_expect(&x, EPIPE, HCOMM_FAULT_PEER_LEFT, nodes - 1);
	node_close(&x);
}

static void aborted(void)
{
	struct node x;

	chain_open(&x);
	if (me == nodes - 1) {
		struct hcomm_comm_abort arg = { .size = sizeof(arg), .comm_id = x.r.comm };

		usleep(200000);
		EQ(0, call(x.r.fd, HCOMM_COMM_ABORT, &arg));
		expect_fault(&x, ECANCELED, HCOMM_FAULT_ABORTED, me);
	} else {
		chain_expect(&x, ECANCELED, HCOMM_FAULT_ABORTED, nodes - 1);
	}
	node_close(&x);
}

/* One rank's limit ends the run on all. */
static void timed_out(void)
{
	struct hcomm_step step = { .op = HCOMM_STEP_RECV, .peer = !me, .len = 4096 };
	struct hcomm_link_open arg;
	struct node x;
	uint32_t prog;

	if (me > 1)
		return;
	node_open(&x, 2, NULL);
	node_memory(&x, 4096);
	prog = load(&x, &step, 1, NULL, 0);
	NEED0(link_open(&x, HCOMM_ALL_LINKS, &arg));
	meet(2);
	NEED0(go(&x, prog, 1, me ? 700 : 0));
	EQ(-ETIME, done(&x, 20, NULL));
	EQ(HCOMM_FAULT_TIMEOUT, fault_of(&x).reason);
	EQ(1, fault_of(&x).reporter);
	node_close(&x);
}

/* SIGKILL in the middle of a lot of data, at another moment each time. */
static void killed_busy(void)
{
	enum { LEN = 16 << 20 };
	uint32_t next = (me + 1) % nodes, last = (me + nodes - 1) % nodes;
	struct hcomm_step steps[] = {
		{ .op = HCOMM_STEP_SEND, .peer = next, .len = LEN },
		{ .op = HCOMM_STEP_RECV_REDUCE, .peer = last, .dtype = HCOMM_DT_FP32,
		  .src_off = LEN, .dst_off = LEN, .len = LEN },
	};

	for (int k = 0; k < 4; k++) {
		struct hcomm_link_open arg;
		struct node x;
		uint32_t prog;
		pid_t pid = 0;
		int ret;

		if (me == nodes - 1) {
			pid = fork();
			if (pid) {
				NEED(waitpid(pid, &ret, 0) == pid, "%m");
				NEED(WIFSIGNALED(ret), "status %d", ret);
				continue;
			}
		}
		node_open(&x, nodes, NULL);
		node_memory(&x, 2 * LEN);
		prog = load(&x, steps, 2, NULL, 0);
		NEED0(link_open(&x, HCOMM_ALL_LINKS, &arg));
		meet(nodes);
		ret = go(&x, prog, 1, 0);
		if (me == nodes - 1) {
			usleep(1000 + 30000 * k);
			raise(SIGKILL);
		}
		/* The launch itself may come too late. */
		if (!ret)
			ret = done(&x, 40, NULL);
		/* It may have been over before. */
		if (ret || k < 2) {
			EQ(-EOWNERDEAD, ret);
			expect_fault(&x, EOWNERDEAD, HCOMM_FAULT_PEER_DIED, nodes - 1);
		}
		node_close(&x);
	}
}

/*
 * Soft-RoCE loses its QP for management when it sends while its port is down
 * (rxe moves it to the error state, for good): make the device again.
 */
static int new_rxe(void)
{
	return system("rdma link show rxe0/1 >/dev/null 2>&1 || exit 0\n"
		      "rdma link delete rxe0 && rdma link add rxe0 type rxe netdev eth0");
}

/*
 * The cable is pulled at rank 1.  Then each end sends to the other, and finds
 * out by what is not acknowledged; an end that only waits could not know.
 */
static void link_down(void)
{
	enum { LEN = 1000, DOWN_SECONDS = 25 };
	struct hcomm_step steps[] = {
		{ .op = HCOMM_STEP_SEND, .peer = !me, .len = LEN },
		{ .op = HCOMM_STEP_RECV, .peer = !me, .dst_off = LEN, .len = LEN },
	};
	struct hcomm_link_open arg;
	struct hcomm_fault f;
	struct node x;
	uint32_t prog;
	double start;
	int ret;

	if (me > 1)
		return;
	node_open(&x, 2, NULL);
	node_memory(&x, 2 * LEN);
	prog = load(&x, steps, 2, NULL, 0);
	NEED0(link_open(&x, HCOMM_ALL_LINKS, &arg));
	meet(2);
	start = now();
	if (me)
		NEED(!system("ip link set eth0 down"), " ");
	else
		sleep(8);
	NEED0(go(&x, prog, 1, 0));
	ret = done(&x, 60, NULL);
	printf("# rank %u: %s after %.1f s\n", me, strerror(-ret), now() - start);
	if (me) {
		usleep(now() - start < DOWN_SECONDS ? (DOWN_SECONDS - (now() - start)) * 1e6 : 0);
		NEED(!system("ip link set eth0 up"), " ");
	}
	CHECK(ret == -ECONNRESET || ret == -ETIMEDOUT, "%s", strerror(-ret));
	f = fault_of(&x);
	CHECK(f.reason == HCOMM_FAULT_LINK || f.reason == HCOMM_FAULT_CONNECT, "%u", f.reason);
	EQ(!me, f.rank);
	node_close(&x);
	if (me)
		EQ(0, new_rxe());
}

/* After that, as before it. */
static void link_up(void)
{
	struct node x;

	node_open(&x, nodes, NULL);
	node_memory(&x, 1 << 20);
	ring_pass(&x, 300000, true, 0, 1);
	meet(nodes);
	node_close(&x);
}

/* -------------------------------------------------------------------------- others */

/*
 * Strangers at the port where rank 0 listens, while ranks work: another private
 * data, none, a cut one.
 */
static void strangers(void)
{
	struct sockaddr_in to = { .sin_family = AF_INET };
	struct hcomm_link_open arg;
	uint16_t ports[MAX_NODES] = {};
	struct node x;

	node_open(&x, nodes, NULL);
	node_memory(&x, 2 << 20);
	ports[me] = x.r.create.listen.port;
	boot_gather(&boot, ports, sizeof(ports[0]), nodes);
	/* The last rank knocks at rank 0 before and after there are links. */
	to.sin_addr = addrs[0];
	to.sin_port = ports[0];
	CHECK(ports[0], " ");
	if (me == nodes - 1)
		for (uint32_t k = 0; k < 6; k++)
			EQ(0, stranger_knock(&to, k));
	for (uint32_t k = 0; k < 4; k++) {
		ring_pass(&x, 500000, false, 0, k);
		if (me == nodes - 1)
			EQ(0, stranger_knock(&to, k));
	}
	NEED0(link_open(&x, HCOMM_ALL_LINKS, &arg));
	EQ(0, fault_of(&x).error);
	meet(nodes);
	node_close(&x);
}

/* Two ranks of one node with RDMA alone between them. */
static void loopback(void)
{
	enum { LEN = 700001 };
	struct hcomm_comm_create opt;
	struct rank r[2] = {};
	uint32_t prog[2], mem[2];
	uint8_t *buf[2];

	options(&opt);
	opt.transports = HCOMM_TRANSPORT_RDMA;
	NEED0(ranks_open(r, 2, &opt));
	for (int i = 0; i < 2; i++) {
		struct hcomm_step steps[] = {
			{ .op = HCOMM_STEP_SEND, .peer = !i, .len = LEN },
			{ .op = HCOMM_STEP_RECV, .peer = !i, .dst_off = LEN, .len = LEN },
		};
		struct hcomm_slot slot = { .length = 2 * LEN };

		buf[i] = pages(2 * LEN);
		NEED(buf[i], "%m");
		for (uint32_t k = 0; k < LEN; k++)
			buf[i][k] = pattern(i, k, 9);
		NEED0(mem_reg(r[i].fd, buf[i], 2 * LEN, 0, &mem[i]));
		NEED0(prog_load(r[i].fd, r[i].comm, steps, 2, NULL, 0, 1, &prog[i]));
		slot.mem_id = mem[i];
		NEED0(launch(r[i].fd, prog[i], &slot, 1, 1, 0, 0));
	}
	for (int i = 0; i < 2; i++) {
		struct hcomm_link_open arg = {
			.size = sizeof(arg), .comm_id = r[i].comm, .peer = !i,
		};
		struct hcomm_cqe cqe = { .status = -EDEADLK };
		uint32_t k;

		NEED0(ring_wait(r[i].fd, 1, 40 * SEC));
		ring_next(r[i].ring, &cqe);
		EQ(0, cqe.status);
		for (k = 0; k < LEN && buf[i][LEN + k] == pattern(!i, k, 9); k++)
			;
		EQ(LEN, k);
		EQ(0, call(r[i].fd, HCOMM_LINK_OPEN, &arg));
		EQ(HCOMM_TRANSPORT_RDMA, arg.out_transport);
	}
	rank_close(&r[0]);
	rank_close(&r[1]);
}

/* ---------------------------------------------------------------------------- main */

struct scenario {
	const char *name;
	void (*run)(void);
};

static const struct scenario scenarios[] = {
	{ "exchange of all sizes, unaligned, reduced", exchange },
	{ "small chunks, little staging", small_chunks },
	{ "eight runs in any order", many_runs },
	{ "loopback over RDMA on one node", loopback },
	{ "another secret is refused", other_secret },
	{ "other options are named on both sides", other_options },
	{ "another call is named on both sides", other_call },
	{ "a killed rank is named by all", killed },
	{ "a rank killed while data flows", killed_busy },
	{ "a rank that leaves is named by all", left },
	{ "an abort ends all runs", aborted },
	{ "a time limit ends the run on all", timed_out },
	{ "strangers do not disturb", strangers },
	{ "a cut link fails in bounded time", link_down },
	{ "all works after the link is back", link_up },
	{ "100 communicators in sequence", sequence },
};

/* In a child: 0 passed, else not. */
static int run_scenario(const struct scenario *s, int port)
{
	int status, ret;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid < 0)
		return 1;
	if (!pid) {
		alarm(SCENARIO_LIMIT);
		ret = boot_open(&boot, port, nodes);
		if (!CHECK(!ret, "bootstrap: %s", strerror(-ret)))
			exit(1);
		s->run();
		fflush(stdout);
		_exit(checks_failed != 0);
	}
	if (waitpid(pid, &status, 0) != pid)
		return 1;
	/* The one that is to be killed. */
	if (s->run == killed && me == nodes - 1)
		return !(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	if (WIFSIGNALED(status))
		printf("# rank %u: ended by signal %d\n", me, WTERMSIG(status));
	return !(WIFEXITED(status) && !WEXITSTATUS(status));
}

static bool parse_env(void)
{
	const char *list = getenv("LAB_ADDRS"), *node = getenv("LAB_NODE");
	char *copy, *word, *save = NULL;

	if (!list || !node)
		return false;
	copy = strdup(list);
	for (word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
		if (nodes == MAX_NODES || !inet_aton(word, &addrs[nodes]))
			return false;
		nodes++;
	}
	free(copy);
	me = atoi(node);
	return nodes >= 2 && me < nodes;
}

/* A verdict of each node; also keeps the nodes in step. */
static uint32_t verdicts(int port, int failed)
{
	uint8_t all[MAX_NODES] = {};
	uint32_t sum = 0;
	struct boot b;
	int ret;

	all[me] = failed;
	/* A node that does not come ends the test. */
	alarm(SCENARIO_LIMIT + 60);
	ret = boot_open(&b, port, nodes);
	NEED(!ret, "verdicts: %s", strerror(-ret));
	boot_gather(&b, all, 1, nodes);
	for (uint32_t i = 0; i < nodes; i++) {
		if (b.peer[i] >= 0)
			close(b.peer[i]);
		if (all[i] && !me)
			printf("# failed on node %u\n", i);
		sum += all[i];
	}
	alarm(0);
	return sum;
}

/* Words of the command line select scenarios by a part of their name. */
int main(int argc, char **argv)
{
	uint32_t n = 0, failed = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	signal(SIGPIPE, SIG_IGN);
	if (!parse_env()) {
		fprintf(stderr, "LAB_NODE and LAB_ADDRS are to name the nodes\n");
		return 2;
	}
	for (uint32_t i = 0; i < ARRAY_LEN(scenarios); i++) {
		bool wanted = argc < 2;
		double start = now();
		uint32_t bad;

		for (int k = 1; k < argc; k++)
			wanted |= !!strstr(scenarios[i].name, argv[k]);
		if (!wanted)
			continue;
		bad = run_scenario(&scenarios[i], PORT + 2 * i);
		bad = verdicts(PORT + 2 * i + 1, bad);
		failed += !!bad;
		if (!me)
			printf("%sok %u - %u nodes: %s (%.1f s)\n", bad ? "not " : "", ++n, nodes,
			       scenarios[i].name, now() - start);
	}
	if (!me)
		printf("1..%u\n", n);
	return failed || (!me && !n);
}
