// SPDX-License-Identifier: GPL-2.0-only
/*
 * Groups of calls, messages both ways at once, batches of messages.  Run as 1 to 8
 * ranks.
 */
#include <linux/hcomm.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/time.h>

#include "api_util.h"

#define BIG	(1 << 20)

/* what the library asks of the kernel passes here, and is counted */
static unsigned int launches, batches;

int ioctl(int fd, unsigned long cmd, ...)
{
	va_list ap;
	void *arg;

	va_start(ap, cmd);
	arg = va_arg(ap, void *);
	va_end(ap);
	if (cmd == HCOMM_LAUNCH)
		__atomic_add_fetch(&launches, 1, __ATOMIC_RELAXED);
	if (cmd == HCOMM_LAUNCH_BATCH)
		__atomic_add_fetch(&batches, 1, __ATOMIC_RELAXED);
	return (int)syscall(SYS_ioctl, fd, cmd, arg);
}

static void *get(size_t n)
{
	void *p = hcommMalloc(n);

	if (!p)
		MUST(HCOMM_ERR_NO_MEMORY);
	return p;
}

/* ------------------------------------------------------------------ messages */

/* all send first, too much to be sent without asking; to themselves, too */
static void test_all_to_all(void)
{
	uint8_t *out = get((size_t)size * BIG), *in = get((size_t)size * BIG);
	size_t sizes[] = { 0, 100, 5000, BIG };
	unsigned int i, before;
	int p;

	for (i = 0; i < 4; i++) {
		size_t n = sizes[i];

		memset(in, 0xee, (size_t)size * BIG);
		before = batches;
		launches = 0;
		MUST(hcommGroupStart());
		for (p = 0; p < size; p++) {
			pattern(out + (size_t)p * BIG, n, rank * 8 + p);
			MUST(hcommSend(out + (size_t)p * BIG, n, p, 3, COMM_WORLD));
		}
		for (p = 0; p < size; p++)
			MUST(hcommRecv(in + (size_t)p * BIG, n, p, 3, COMM_WORLD));
		if (batches != before)
			FAIL("launched before the end");
		MUST(hcommGroupEnd());
		if (batches != before + (size > 1) || launches)
			FAIL("%u + %u launches", batches - before, launches);
		for (p = 0; p < size; p++)
			expect_pattern(in + (size_t)p * BIG, n, p * 8 + rank, "block");
	}
	MUST(hcommFree(out));
	MUST(hcommFree(in));
	verdict("all send first, one system call");
}

static void test_send_recv(void)
{
	int next = (rank + 1) % size, prev = (rank + size - 1) % size, done = 0, i;
	size_t mine = BIG / 2 + (size_t)rank * 1000, theirs = BIG / 2 + (size_t)prev * 1000;
	uint8_t *out = malloc(BIG), *in = malloc(BIG);
	hcommRequest_t req = NULL;

	for (i = 0; i < 4; i++) {
		pattern(out, mine, rank + i);
		memset(in, 0, BIG);
		if (i % 2) {
			MUST(hcommSendRecv(out, mine, next, 9, in, theirs, prev, 9,
					   COMM_WORLD));
		} else {
			MUST(hcommSendRecvAsync(out, mine, next, 9, in, theirs, prev, 9,
						COMM_WORLD, &req));
			while (i == 2 && !done)
				MUST(hcommTest(&req, &done));
			MUST(hcommWait(&req));
		}
		expect_pattern(in, theirs, prev + i, "from before");
		if (in[theirs])
			FAIL("a byte too many");
	}
	/* to itself, and into nothing */
	pattern(out, 999, rank);
	MUST(hcommSendRecv(out, 999, rank, 1, in, 999, rank, 1, COMM_WORLD));
	expect_pattern(in, 999, rank, "to itself");
	memset(in, 0, 999);
	MUST(hcommSendRecvAsync(out, 999, rank, 1, in, 999, rank, 1, COMM_WORLD, &req));
	MUST(hcommWait(&req));
	expect_pattern(in, 999, rank, "to itself");
	MUST(hcommSendRecv(NULL, 0, next, 4, NULL, 0, prev, 4, COMM_WORLD));
	/* two in a group, one from each side */
	MUST(hcommGroupStart());
	MUST(hcommSendRecv(out, 500, next, 1, in, 500, prev, 1, COMM_WORLD));
	MUST(hcommSendRecv(out + 500, 400, prev, 2, in + 500, 400, next, 2, COMM_WORLD));
	MUST(hcommGroupEnd());
	expect_pattern(in, 500, prev, "in a group");
	free(out);
	free(in);
	verdict("messages both ways");
}

static void test_batch(void)
{
	int next = (rank + 1) % size, prev = (rank + size - 1) % size;
	hcommP2p_t ops[8];
	uint8_t *mem = get(8 * 70000);
	hcommRequest_t req;
	int i, turn;

	for (turn = 0; turn < 2; turn++) {
		memset(mem, 0, 8 * 70000);
		for (i = 0; i < 4; i++) {
			ops[i] = (hcommP2p_t){ hcommP2pSend, mem + i * 70000,
				20000 * (size_t)i, next, i / 2 };
			ops[7 - i] = (hcommP2p_t){ hcommP2pRecv, mem + (4 + i) * 70000,
				20000 * (size_t)i, prev, i / 2 };
			pattern(mem + i * 70000, 20000 * (size_t)i, rank * 4 + i);
		}
		/* messages of a tag are in order: 4 to 7 are received as 3, 2, 1, 0 */
		for (i = 4; i < 8; i += 2) {
			hcommP2p_t other = ops[i];

			ops[i] = ops[i + 1];
			ops[i + 1] = other;
		}
		if (turn) {
			MUST(hcommBatchSendRecvAsync(ops, 8, COMM_WORLD, &req));
			MUST(hcommWait(&req));
		} else {
			MUST(hcommBatchSendRecv(ops, 8, COMM_WORLD));
		}
		for (i = 0; i < 4; i++)
			expect_pattern(mem + (4 + i) * 70000, 20000 * (size_t)i,
				       prev * 4 + i, "message");
	}
	MUST(hcommBatchSendRecv(NULL, 0, COMM_WORLD));
	expect(hcommBatchSendRecv(NULL, 1, COMM_WORLD), HCOMM_ERR_INVALID_ARGUMENT, "ops is");
	expect(hcommBatchSendRecv(ops, 0, NULL), HCOMM_ERR_INVALID_ARGUMENT,
	       "not a communicator");
	expect(hcommBatchSendRecvAsync(ops, 8, COMM_WORLD, NULL),
	       HCOMM_ERR_INVALID_ARGUMENT, "req is NULL");
	ops[7].op = 2;
	expect(hcommBatchSendRecv(ops, 8, COMM_WORLD), HCOMM_ERR_INVALID_ARGUMENT,
	       "op is 2");
	MUST(hcommFree(mem));
	verdict("batches of messages");
}

static uint32_t seed = 12345;

static uint32_t draw(uint32_t below)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 8) % below;
}

/* messages between any two, put into groups in any order */
static void test_random(void)
{
	uint8_t *mem = get(16 * 65536);
	struct { int from, to; size_t n; } m[8];
	int round, i, k, slot;

	for (round = 0; round < 50; round++) {
		for (i = 0; i < 8; i++) {
			m[i].from = (int)draw((uint32_t)size);
			m[i].to = (int)draw((uint32_t)size);
			m[i].n = draw(2) ? draw(300) : draw(65536);
		}
		memset(mem, 0, 16 * 65536);
		MUST(hcommGroupStart());
		for (k = 0; k < 16; k++) {
			/* another order on each rank */
			slot = (k * 5 + rank * 3 + round) % 16;
			i = slot / 2;
			if (slot % 2 && m[i].to == rank) {
				MUST(hcommRecv(mem + slot * 65536, m[i].n, m[i].from, i,
					       COMM_WORLD));
			} else if (!(slot % 2) && m[i].from == rank) {
				pattern(mem + slot * 65536, m[i].n, round + i);
				MUST(hcommSend(mem + slot * 65536, m[i].n, m[i].to, i,
					       COMM_WORLD));
			}
		}
		MUST(hcommGroupEnd());
		for (i = 0; i < 8; i++) {
			if (m[i].to == rank)
				expect_pattern(mem + (2 * i + 1) * 65536, m[i].n, round + i,
					       "random message");
		}
	}
	MUST(hcommFree(mem));
	verdict("50 groups of random messages, seed 12345");
}

/* --------------------------------------------------------------- collectives */

/* of two communicators, with messages, nested; some ranks without a group */
static void test_collectives(void)
{
	int next = (rank + 1) % size, prev = (rank + size - 1) % size, i, turn;
	int sum, all[8], got[8], own[8], from = -1, low = rank, root = rank;
	size_t counts[8], displs[8];
	hcommRequest_t req[6];
	hcommComm_t comm;

	MUST(hcommCommDup(COMM_WORLD, &comm, NULL));
	for (turn = 0; turn < 4; turn++) {
		for (i = 0; i < size; i++) {
			counts[i] = 1;
			displs[i] = (size_t)i;
			own[i] = rank * 100 + i;
		}
		sum = rank;
		root = rank + turn;
		from = -1;
		/* rank 0 makes the same calls without a group, every other time */
		if (!rank && turn % 2 && size > 1) {
			MUST(hcommAllReduceAsync(&sum, &sum, 1, hcommInt32, hcommSum,
						 COMM_WORLD, &req[0]));
			MUST(hcommAllReduceAsync(&rank, &low, 1, hcommInt32, hcommMin, comm,
						 &req[1]));
			MUST(hcommAllGatherVAsync(&rank, all, counts, displs, hcommInt32,
						  COMM_WORLD, &req[2]));
			MUST(hcommSendRecvAsync(&rank, 4, next, 0, &from, 4, prev, 0, comm,
						&req[3]));
			MUST(hcommAlltoAllAsync(own, got, 1, hcommInt32, comm, &req[4]));
			MUST(hcommBcastAsync(&root, 1, hcommInt32, size - 1, COMM_WORLD,
					     &req[5]));
			MUST(hcommWaitAll(6, req));
		} else {
			MUST(hcommGroupStart());
			MUST(hcommAllReduce(&sum, &sum, 1, hcommInt32, hcommSum, COMM_WORLD));
			MUST(hcommGroupStart());
			MUST(hcommAllReduce(&rank, &low, 1, hcommInt32, hcommMin, comm));
			MUST(hcommAllGatherV(&rank, all, counts, displs, hcommInt32,
					     COMM_WORLD));
			/* they were read */
			memset(counts, 0xff, sizeof(counts));
			memset(displs, 0xff, sizeof(displs));
			MUST(hcommGroupEnd());
			MUST(hcommSendRecv(&rank, 4, next, 0, &from, 4, prev, 0, comm));
			MUST(hcommAlltoAll(own, got, 1, hcommInt32, comm));
			MUST(hcommBcast(&root, 1, hcommInt32, size - 1, COMM_WORLD));
			if (size > 1 && (sum != rank || from != -1))
				FAIL("done before the end");
			MUST(hcommGroupEnd());
		}
		if (sum != size * (size - 1) / 2 || low || from != prev ||
		    root != size - 1 + turn)
			FAIL("sum %d, low %d, from %d, root %d", sum, low, from, root);
		for (i = 0; i < size; i++) {
			if (all[i] != i || got[i] != i * 100 + rank)
				FAIL("%d and %d from rank %d", all[i], got[i], i);
		}
	}
	MUST(hcommCommDestroy(comm));
	MUST(hcommGroupStart());
	MUST(hcommGroupEnd());
	verdict("collectives of two communicators, nested groups");
}

/* more than one batch holds */
static void test_large(void)
{
	hcommComm_t comm[6];
	int in[6][16], out[6][16], i, k;

	for (i = 0; i < 6; i++)
		MUST(hcommCommDup(COMM_WORLD, &comm[i], NULL));
	batches = 0;
	MUST(hcommGroupStart());
	for (i = 0; i < 6; i++) {
		for (k = 0; k < 16; k++) {
			in[i][k] = i * k + rank;
			MUST(hcommAllReduce(&in[i][k], &out[i][k], 1, hcommInt32, hcommSum,
					    comm[i]));
		}
	}
	MUST(hcommGroupEnd());
	if (batches != 2)
		FAIL("96 calls took %u batches", batches);
	for (i = 0; i < 6; i++) {
		for (k = 0; k < 16; k++) {
			if (out[i][k] != size * i * k + size * (size - 1) / 2)
				FAIL("%d of %d: %d", k, i, out[i][k]);
		}
		MUST(hcommCommDestroy(comm[i]));
	}
	verdict("96 calls in a group");
}

static void *thread(void *arg)
{
	hcommComm_t comm = arg;
	int next = (rank + 1) % size, prev = (rank + size - 1) % size, i, k, in[4], out[4];

	for (i = 0; i < 50; i++) {
		MUST(hcommGroupStart());
		for (k = 0; k < 4; k++) {
			out[k] = rank * 1000 + i * 4 + k;
			MUST(hcommSend(&out[k], 4, next, k, comm));
			MUST(hcommRecv(&in[k], 4, prev, k, comm));
		}
		MUST(hcommGroupEnd());
		for (k = 0; k < 4; k++) {
			if (in[k] != prev * 1000 + i * 4 + k)
				FAIL("message %d of group %d is %d", k, i, in[k]);
		}
	}
	return NULL;
}

static void test_threads(void)
{
	hcommComm_t comm[3];
	pthread_t id[3];
	int i;

	for (i = 0; i < 3; i++) {
		MUST(hcommCommDup(COMM_WORLD, &comm[i], NULL));
		if (pthread_create(&id[i], NULL, thread, comm[i]))
			MUST(HCOMM_ERR_SYSTEM);
	}
	for (i = 0; i < 3; i++) {
		pthread_join(id[i], NULL);
		MUST(hcommCommDestroy(comm[i]));
	}
	verdict("groups of three threads");
}

/* -------------------------------------------------------------------- errors */

/* what failed was not done: the next message of the tag is the first */
static void still_sound(hcommComm_t comm)
{
	int next = (rank + 1) % size, prev = (rank + size - 1) % size;
	int out = rank + 50, in = -1, sum = rank;

	MUST(hcommSendRecv(&out, 4, next, 7, &in, 4, prev, 7, comm));
	if (in != prev + 50)
		FAIL("got %d from rank %d", in, prev);
	MUST(hcommAllReduce(&sum, &sum, 1, hcommInt32, hcommSum, comm));
	if (sum != size * (size - 1) / 2)
		FAIL("sum %d", sum);
}

static void test_errors(void)
{
	int next = (rank + 1) % size, x = 0, y = 0;
	hcommComm_t comm;

	expect(hcommGroupEnd(), HCOMM_ERR_INVALID_USAGE, "without hcommGroupStart");
	/* told at the call, and at the end */
	MUST(hcommGroupStart());
	MUST(hcommSend(&x, 4, next, 7, COMM_WORLD));
	MUST(hcommAllReduce(&x, &x, 1, hcommInt32, hcommSum, COMM_WORLD));
	expect(hcommRecv(&x, 4, size, 7, COMM_WORLD), HCOMM_ERR_INVALID_ARGUMENT, "src is");
	expect(hcommAllReduce(NULL, &x, 1, hcommInt32, hcommSum, COMM_WORLD),
	       HCOMM_ERR_INVALID_ARGUMENT, "send buffer");
	expect(hcommGroupEnd(), HCOMM_ERR_INVALID_ARGUMENT, "group: Recv: src is");
	expect(hcommGroupEnd(), HCOMM_ERR_INVALID_USAGE, NULL);
	still_sound(COMM_WORLD);
	/* messages to itself */
	expect(hcommSend(&x, 4, rank, 1, COMM_WORLD), HCOMM_ERR_INVALID_ARGUMENT,
	       "other than this one");
	MUST(hcommGroupStart());
	MUST(hcommSend(&x, 4, rank, 1, COMM_WORLD));
	MUST(hcommRecv(&y, 4, rank, 2, COMM_WORLD));
	expect(hcommGroupEnd(), HCOMM_ERR_INVALID_USAGE, "sends to itself with tag 1");
	expect(hcommSendRecv(&x, 4, rank, 1, &y, 3, rank, 1, COMM_WORLD), HCOMM_ERR_MISMATCH,
	       "sends 4 bytes to itself");
	still_sound(COMM_WORLD);
	/* a communicator that is gone */
	MUST(hcommCommDup(COMM_WORLD, &comm, NULL));
	MUST(hcommGroupStart());
	MUST(hcommBarrier(comm));
	MUST(hcommCommDestroy(comm));
	expect(hcommGroupEnd(), HCOMM_ERR_INVALID_USAGE, "destroyed before");
	verdict("errors: nothing is done");
}

static void test_busy(void)
{
	hcommConfig_t c = HCOMM_CONFIG_INITIALIZER;
	int v[4] = { 1, 1, 1, 1 }, peer = rank ^ 1, i;
	hcommRequest_t req;
	hcommComm_t comm;

	c.maxRuns = 3;
	MUST(hcommCommDup(COMM_WORLD, &comm, &c));
	MUST(hcommGroupStart());
	for (i = 0; i < 4; i++)
		MUST(hcommAllReduce(&v[i], &v[i], 1, hcommInt32, hcommSum, comm));
	batches = 0;
	expect(hcommGroupEnd(), HCOMM_ERR_BUSY, "4 calls on one communicator, and 0");
	if (batches || v[0] != 1)
		FAIL("%u batches, %d", batches, v[0]);
	still_sound(comm);
	/* with one in flight that ends only after these */
	if (size > 1) {
		if (peer < size) {
			MUST(hcommRecvAsync(&v[3], 4, peer, 0, comm, &req));
			MUST(hcommGroupStart());
			for (i = 0; i < 3; i++)
				MUST(hcommBarrier(comm));
			expect(hcommGroupEnd(), HCOMM_ERR_BUSY, "and 1 are in flight");
		}
		MUST(hcommGroupStart());
		MUST(hcommAllReduce(&v[0], &v[0], 1, hcommInt32, hcommSum, comm));
		MUST(hcommBarrier(comm));
		MUST(hcommGroupEnd());
		if (v[0] != size)
			FAIL("sum %d", v[0]);
		if (peer < size) {
			MUST(hcommSend(&rank, 4, peer, 0, comm));
			MUST(hcommWait(&req));
			if (v[3] != peer)
				FAIL("got %d from rank %d", v[3], peer);
		}
		still_sound(comm);
	}
	MUST(hcommCommDestroy(comm));
	verdict("more than may be in flight");
}

/* a fault of one communicator is that of its calls alone */
static void test_fault(void)
{
	hcommComm_t bad, good;
	int x[2] = { 1, 1 }, y[2], sum = rank;
	hcommResult_t ret;

	MUST(hcommCommDup(COMM_WORLD, &bad, NULL));
	MUST(hcommCommDup(COMM_WORLD, &good, NULL));
	MUST(hcommGroupStart());
	MUST(hcommAllReduce(x, y, rank ? 2 : 1, hcommInt32, hcommSum, bad));
	MUST(hcommAllReduce(&sum, &sum, 1, hcommInt32, hcommSum, good));
	ret = hcommGroupEnd();
	if (size > 1)
		expect(ret, HCOMM_ERR_MISMATCH, "calls of two ranks differ");
	else
		MUST(ret);
	if (sum != size * (size - 1) / 2)
		FAIL("sum %d beside the fault", sum);
	still_sound(good);
	if (size > 1) {
		MUST(hcommGroupStart());
		expect(hcommBarrier(bad), HCOMM_ERR_MISMATCH, "has failed");
		expect(hcommGroupEnd(), HCOMM_ERR_MISMATCH, "has failed");
	}
	MUST(hcommCommDestroy(bad));
	MUST(hcommCommDestroy(good));
	verdict("a fault in a group");
}

static void *aborter(void *comm)
{
	usleep(20000);
	MUST(hcommCommAbort(comm));
	return NULL;
}

/* messages that nobody sends end by an abort, on all ranks */
static void test_abort(void)
{
	int next = (rank + 1) % size, x[2], sum = rank;
	hcommComm_t bad, good;
	pthread_t id;

	MUST(hcommCommDup(COMM_WORLD, &bad, NULL));
	MUST(hcommCommDup(COMM_WORLD, &good, NULL));
	if (size > 1) {
		MUST(hcommGroupStart());
		MUST(hcommRecv(&x[0], 4, next, 0, bad));
		MUST(hcommAllReduce(&sum, &sum, 1, hcommInt32, hcommSum, good));
		MUST(hcommRecv(&x[1], 4, next, 1, bad));
		if (!rank && pthread_create(&id, NULL, aborter, bad))
			MUST(HCOMM_ERR_SYSTEM);
		expect(hcommGroupEnd(), HCOMM_ERR_ABORTED, NULL);
		if (!rank)
			pthread_join(id, NULL);
		if (sum != size * (size - 1) / 2)
			FAIL("sum %d beside the abort", sum);
	}
	still_sound(good);
	MUST(hcommCommDestroy(bad));
	MUST(hcommCommDestroy(good));
	verdict("an abort in a group");
}

static unsigned int alarms;

static void on_alarm(int sig)
{
	alarms += sig == SIGALRM;
}

/* a handler that runs during the wait, or before a launch, changes nothing */
static void test_signals(void)
{
	struct sigaction act = { .sa_handler = on_alarm }, old;
	struct itimerval often = { { 0, 700 }, { 0, 700 } }, never = { { 0, 0 }, { 0, 0 } };
	int next = (rank + 1) % size, prev = (rank + size - 1) % size, i, in, sum;

	sigaction(SIGALRM, &act, &old);
	setitimer(ITIMER_REAL, &often, NULL);
	for (i = 0; i < 100; i++) {
		int out = rank * 100 + i;

		if (i % size == rank)
			usleep(3000);
		MUST(hcommGroupStart());
		MUST(hcommAllReduce(&i, &sum, 1, hcommInt32, hcommSum, COMM_WORLD));
		MUST(hcommSendRecv(&out, 4, next, 0, &in, 4, prev, 0, COMM_WORLD));
		MUST(hcommGroupEnd());
		if (sum != size * i || in != prev * 100 + i)
			FAIL("group %d: sum %d, message %d", i, sum, in);
	}
	setitimer(ITIMER_REAL, &never, NULL);
	sigaction(SIGALRM, &old, NULL);
	if (!alarms)
		FAIL("no signal");
	verdict("groups among signals");
}

int main(int argc, char **argv)
{
	begin(&argc, &argv);
	RUN_TESTS(test_all_to_all, test_send_recv, test_batch, test_random,
		  test_collectives, test_large, test_threads, test_errors, test_busy,
		  test_fault, test_abort, test_signals);
	return end();
}
