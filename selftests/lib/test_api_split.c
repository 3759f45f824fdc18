// SPDX-License-Identifier: GPL-2.0-only
/* Communicators made of another one.  Run as 1 to 8 ranks. */
#include <errno.h>
#include <linux/hcomm.h>
#include <sys/syscall.h>

#include "api_util.h"

/* what the library asks of the kernel passes here: this plan and no other is refused */
static int plans_to_go, refused;

int ioctl(int fd, unsigned long cmd, ...)
{
	va_list ap;
	void *arg;

	va_start(ap, cmd);
	arg = va_arg(ap, void *);
	va_end(ap);
	if (cmd == HCOMM_PROG_LOAD && plans_to_go && !--plans_to_go) {
		refused++;
		errno = ENOMEM;
		return -1;
	}
	return (int)syscall(SYS_ioctl, fd, cmd, arg);
}

/* ranks @first, @first + @step, ... of the world, in rising or falling order */
static void check_comm(hcommComm_t comm, int first, int step, bool falling)
{
	int n = (size - first + step - 1) / step, want = (rank - first) / step;
	int r = -1, s = -1, i, sum = rank, all[8];

	MUST(hcommCommRank(comm, &r));
	MUST(hcommCommSize(comm, &s));
	if (falling)
		want = n - 1 - want;
	if (r != want || s != n) {
		FAIL("rank %d of %d, must be %d of %d", r, s, want, n);
		return;
	}
	MUST(hcommAllGather(&rank, all, 1, hcommInt32, comm));
	for (i = 0; i < n; i++) {
		int who = falling ? n - 1 - i : i;

		if (all[i] != first + who * step)
			FAIL("new rank %d is %d, must be %d", i, all[i], first + who * step);
	}
	MUST(hcommAllReduce(&rank, &sum, 1, hcommInt32, hcommSum, comm));
	if (sum != n * first + step * n * (n - 1) / 2)
		FAIL("sum %d", sum);
}

static void test_colors(void)
{
	hcommComm_t comm;

	MUST(hcommCommSplit(COMM_WORLD, rank % 2, 7, &comm, NULL));
	check_comm(comm, rank % 2, 2, false);
	MUST(hcommCommDestroy(comm));
	MUST(hcommCommSplit(COMM_WORLD, 1000000 * (rank % 2), -rank, &comm, NULL));
	check_comm(comm, rank % 2, 2, true);
	MUST(hcommCommDestroy(comm));
	MUST(hcommCommSplit(COMM_WORLD, 5, INT32_MIN + (size - rank), &comm, NULL));
	check_comm(comm, 0, 1, true);
	MUST(hcommCommDestroy(comm));
	verdict("colors and keys");
}

static void test_no_color(void)
{
	hcommComm_t comm = COMM_WORLD;

	MUST(hcommCommSplit(COMM_WORLD, rank ? 3 : HCOMM_SPLIT_NOCOLOR, 0, &comm, NULL));
	if (rank) {
		check_comm(comm, 1, 1, false);
		MUST(hcommCommDestroy(comm));
	} else if (comm) {
		FAIL("a rank without a color got a communicator");
	}
	MUST(hcommCommSplit(COMM_WORLD, HCOMM_SPLIT_NOCOLOR, 0, &comm, NULL));
	if (comm)
		FAIL("a communicator of no ranks");
	verdict("ranks without a color");
}

static void test_alone(void)
{
	hcommComm_t comm;
	int local = -1;

	MUST(hcommCommSplit(COMM_WORLD, rank, 0, &comm, NULL));
	check_comm(comm, rank, size, false);
	MUST(hcommCommLocalRank(comm, &local));
	if (local)
		FAIL("local rank %d of one rank", local);
	MUST(hcommCommDestroy(comm));
	verdict("a communicator for each rank");
}

/* of the nodes, which the local ranks tell apart */
static void test_nodes(void)
{
	int local = -1, node = -1, r = -1, nodes = 0;
	hcommComm_t comm;

	MUST(hcommCommLocalRank(COMM_WORLD, &local));
	nodes = !local;
	MUST(hcommAllReduce(&nodes, &nodes, 1, hcommInt32, hcommSum, COMM_WORLD));
	/* ranks come node by node: the number of a node is how many began before */
	for (r = 0; r < size; r++) {
		int l = local;

		MUST(hcommBcast(&l, 1, hcommInt32, r, COMM_WORLD));
		if (r <= rank)
			node += !l;
	}
	MUST(hcommCommSplit(COMM_WORLD, node, rank, &comm, NULL));
	MUST(hcommCommRank(comm, &r));
	if (r != local)
		FAIL("rank %d of the node, local rank %d", r, local);
	MUST(hcommCommLocalRank(comm, &r));
	if (r != local)
		FAIL("local rank %d in the new one, was %d", r, local);
	MUST(hcommCommDestroy(comm));
	/* one of each node */
	MUST(hcommCommSplit(COMM_WORLD, local, rank, &comm, NULL));
	MUST(hcommCommLocalRank(comm, &r));
	if (r)
		FAIL("local rank %d, alone on its node", r);
	MUST(hcommCommDestroy(comm));
	verdict("by node and across %d nodes", nodes);
}

/* what one carries does not meet what the other carries */
static void test_dup(void)
{
	int next = (rank + 1) % size, prev = (rank + size - 1) % size, a, b, sum;
	int one = 100 + rank, two = 200 + rank;
	hcommComm_t comm, copy;
	hcommRequest_t req[4];

	MUST(hcommCommDup(COMM_WORLD, &comm, NULL));
	check_comm(comm, 0, 1, false);
	if (size > 1) {
		MUST(hcommRecvAsync(&a, sizeof(a), prev, 1, comm, &req[0]));
		MUST(hcommRecvAsync(&b, sizeof(b), prev, 1, COMM_WORLD, &req[1]));
		MUST(hcommSendAsync(&two, sizeof(two), next, 1, COMM_WORLD, &req[2]));
		MUST(hcommSendAsync(&one, sizeof(one), next, 1, comm, &req[3]));
		MUST(hcommWaitAll(4, req));
		if (a != 100 + prev || b != 200 + prev)
			FAIL("got %d and %d from %d", a, b, prev);
	}
	/* the copy of a copy does not need it */
	MUST(hcommCommDup(comm, &copy, NULL));
	MUST(hcommCommDestroy(comm));
	check_comm(copy, 0, 1, false);
	MUST(hcommCommSplit(copy, rank / 2, 0, &comm, NULL));
	MUST(hcommCommDestroy(copy));
	MUST(hcommAllReduce(&rank, &sum, 1, hcommInt32, hcommMin, comm));
	if (sum != rank / 2 * 2)
		FAIL("the lowest of %d is %d", rank, sum);
	MUST(hcommCommDestroy(comm));
	verdict("copies, and communicators of communicators");
}

static void test_options(void)
{
	hcommConfig_t c = HCOMM_CONFIG_INITIALIZER;
	hcommComm_t comm = COMM_WORLD, child;
	hcommRequest_t req[2];
	int v = 1, w = 1, i;

	/* one call in flight is enough to carry it, also to a size not of powers of 2 */
	c.maxRuns = 1;
	c.eagerSize = 64;
	MUST(hcommCommDup(COMM_WORLD, &comm, &c));
	for (i = 0; i < 3; i++) {
		MUST(hcommCommDup(comm, &child, NULL));
		check_comm(child, 0, 1, false);
		/* its options are the parent's */
		MUST(hcommBarrier(child));
		if (size > 1) {
			MUST(hcommAllReduceAsync(&v, &v, 1, hcommInt32, hcommSum, child,
						 &req[0]));
			MUST(hcommBarrier(COMM_WORLD));
			MUST(hcommWait(&req[0]));
		}
		MUST(hcommCommDestroy(child));
	}
	c.probe = 1;
	MUST(hcommCommDup(comm, &child, &c));
	check_comm(child, 0, 1, false);
	MUST(hcommCommDestroy(child));
	MUST(hcommCommDestroy(comm));
	/* more than one in flight where the parent allowed one */
	c.maxRuns = 2;
	c.probe = 0;
	MUST(hcommCommDup(COMM_WORLD, &child, &c));
	MUST(hcommAllReduceAsync(&v, &v, 1, hcommInt32, hcommMax, child, &req[0]));
	MUST(hcommAllReduceAsync(&w, &w, 1, hcommInt32, hcommMax, child, &req[1]));
	MUST(hcommWaitAll(2, req));
	MUST(hcommCommDestroy(child));
	verdict("options are the parent's, or others");
}

/* of one rank: on all of a color, and the parent stays sound */
static void test_errors(void)
{
	hcommConfig_t c = HCOMM_CONFIG_INITIALIZER;
	hcommComm_t comm = COMM_WORLD, none = COMM_WORLD;
	hcommResult_t ret;

	expect(hcommCommSplit(COMM_WORLD, 0, 0, NULL, NULL), HCOMM_ERR_INVALID_ARGUMENT,
	       "newcomm is NULL");
	expect(hcommCommSplit(NULL, 0, 0, &comm, NULL), HCOMM_ERR_INVALID_ARGUMENT,
	       "not a communicator");
	/* bad arguments of the last rank */
	expect(hcommCommSplit(COMM_WORLD, rank == size - 1 ? -2 : 0, 0, &comm, NULL),
	       HCOMM_ERR_INVALID_ARGUMENT,
	       rank == size - 1 ? "color is -2" : "of the parent");
	c.chunkSize = rank == size - 1 ? 4097 : 0;
	expect(hcommCommSplit(COMM_WORLD, rank % 2, 0, &comm, &c),
	       HCOMM_ERR_INVALID_ARGUMENT,
	       rank == size - 1 ? "chunkSize 4097" : "of the parent");
	if (comm)
		FAIL("a communicator after an error");
	/* options that differ among the ranks of one color, if it has two */
	c.chunkSize = rank == 2 ? 8192 : 0;
	ret = hcommCommSplit(COMM_WORLD, rank % 2, 0, &comm, &c);
	if (rank % 2 == 0 && size > 2) {
		expect(ret, HCOMM_ERR_OPTIONS, "8192 on rank 1");
	} else {
		MUST(ret);
		check_comm(comm, rank % 2, 2, false);
		MUST(hcommCommDestroy(comm));
	}
	MUST(hcommCommDup(COMM_WORLD, &comm, NULL));
	MUST(hcommCommAbort(comm));
	expect(hcommCommDup(comm, &none, NULL), HCOMM_ERR_ABORTED, "has failed");
	if (none)
		FAIL("a communicator after an error");
	MUST(hcommCommDestroy(comm));
	MUST(hcommBarrier(COMM_WORLD));
	verdict("errors");
}

static uint64_t launched(hcommComm_t comm)
{
	hcommStats_t s = { .size = sizeof(s) };

	MUST(hcommCommGetStats(comm, &s));
	return s.launches;
}

/*
 * The last rank has no memory for one plan after the other.  Either it has done nothing,
 * and may call again while the others wait, or all ranks hear of it.
 */
static void test_no_memory(void)
{
	hcommComm_t parent, comm;
	int nth, last = size - 1, hit = 1;
	hcommResult_t ret;
	uint64_t before;

	for (nth = 1; nth < 100 && hit; nth++) {
		/* one that has no plans yet */
		MUST(hcommCommDup(COMM_WORLD, &parent, NULL));
		before = launched(parent);
		refused = 0;
		plans_to_go = rank == last ? nth : 0;
		ret = hcommCommSplit(parent, rank % 2, rank, &comm, NULL);
		plans_to_go = 0;
		hit = refused;
		if (ret && rank == last && launched(parent) == before)
			ret = hcommCommSplit(parent, rank % 2, rank, &comm, NULL);
		if (ret) {
			expect(ret, HCOMM_ERR_NO_MEMORY, rank == last ? "allocate memory" : "rank");
			/* and the parent is as it was */
			MUST(hcommCommSplit(parent, rank % 2, rank, &comm, NULL));
		}
		check_comm(comm, rank % 2, 2, false);
		MUST(hcommCommDestroy(comm));
		MUST(hcommCommDestroy(parent));
		MUST(hcommBcast(&hit, 1, hcommInt32, last, COMM_WORLD));
	}
	if (size > 1 && nth < 3)
		FAIL("only %d plans", nth - 1);
	verdict("a rank without memory for a plan");
}

static void test_many(void)
{
	hcommComm_t comm[8];
	int i;

	for (i = 0; i < 40; i++) {
		if (i >= 8)
			MUST(hcommCommDestroy(comm[i % 8]));
		MUST(hcommCommSplit(COMM_WORLD, rank * i % 3, i % 2 ? -rank : rank,
				    &comm[i % 8], NULL));
		MUST(hcommBarrier(comm[i % 8]));
	}
	for (i = 0; i < 8; i++)
		MUST(hcommCommDestroy(comm[i]));
	verdict("40 of them, 8 at a time");
}

int main(int argc, char **argv)
{
	begin(&argc, &argv);
	RUN_TESTS(test_colors, test_no_color, test_alone, test_nodes, test_dup,
		  test_options, test_errors, test_no_memory, test_many);
	return end();
}
