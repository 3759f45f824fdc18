// SPDX-License-Identifier: GPL-2.0-only
/*
 * Ranks that die, leave, abort or take too long, a network that goes away: all
 * others know who and why, in bounded time.
 */
#include <signal.h>
#include <sys/wait.h>
#include "multi.h"

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

void killed(void)
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

void left(void)
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

void aborted(void)
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
void timed_out(void)
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
void killed_busy(void)
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
void link_down(void)
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
void link_up(void)
{
	struct node x;

	node_open(&x, nodes, NULL);
	node_memory(&x, 1 << 20);
	ring_pass(&x, 300000, true, 0, 1);
	meet(nodes);
	node_close(&x);
}
