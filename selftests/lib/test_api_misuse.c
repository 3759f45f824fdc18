// SPDX-License-Identifier: GPL-2.0-only
/*
 * Misuse that is easy to commit: it is told by name, it changes nothing, and it does not
 * set the ranks at odds.  Any number of ranks.
 */
#include <sys/mman.h>
#include <sys/wait.h>

#include "api_util.h"

#define N	(1 << 16)

static void expect_sum(int sum, const char *what)
{
	if (sum != size * (size - 1) / 2)
		FAIL("%s: sum %d", what, sum);
}

/* one rank knows of a fault before the others do: what else is in the group is done */
static void test_known_fault(void)
{
	int sum = rank, message[2] = { rank, -1 }, next = (rank + 1) % size;
	int prev = (rank + size - 1) % size;
	hcommComm_t good, bad;
	hcommRequest_t req, lasting;
	hcommResult_t ret;

	MUST(hcommCommDup(COMM_WORLD, &good, NULL));
	MUST(hcommCommDup(COMM_WORLD, &bad, NULL));
	MUST(hcommBarrierInit(bad, &lasting));
	if (rank)
		MUST(hcommRecvAsync(&message[1], 4, 0, 1, bad, &req));
	MUST(hcommBarrier(COMM_WORLD));
	if (!rank)
		MUST(hcommCommAbort(bad));
	MUST(hcommBarrier(COMM_WORLD));
	MUST(hcommGroupStart());
	MUST(hcommAllReduce(&sum, &sum, 1, hcommInt32, hcommSum, good));
	/* what each rank may find out about it meanwhile */
	if (rank % 3 == 0)
		expect(hcommStart(lasting), HCOMM_ERR_ABORTED, "rank 0");
	if (rank % 3 == 1)
		expect(hcommWait(&req), HCOMM_ERR_ABORTED, "rank 0");
	ret = hcommBarrier(bad);
	if (rank % 3 != 2)
		expect(ret, HCOMM_ERR_ABORTED, "rank 0");
	MUST(hcommSendRecv(&message[0], 4, next, 2, &message[1], 4, prev, 2, good));
	expect(hcommGroupEnd(), HCOMM_ERR_ABORTED, "rank 0 aborted");
	expect_sum(sum, "beside the fault");
	if (message[1] != prev)
		FAIL("message %d, not %d", message[1], prev);
	if (rank % 3 == 2)
		expect(hcommWait(&req), HCOMM_ERR_ABORTED, "rank 0");
	MUST(hcommRequestFree(&lasting));
	MUST(hcommCommDestroy(bad));
	MUST(hcommBarrier(good));
	MUST(hcommCommDestroy(good));
	verdict("a group with a fault that only some ranks know of");
}

/* the last call of a group is bad: all is as before */
static void test_undone(void)
{
	hcommStats_t a = { .size = sizeof(a) }, b = { .size = sizeof(b) };
	void *p = mmap(NULL, 2 * N, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int sum = rank, x = -1;

	/* nothing is written by one rank that is in place */
	if (size == 1)
		return;
	MUST(hcommCommGetStats(COMM_WORLD, &a));
	MUST(hcommGroupStart());
	MUST(hcommAllReduce(&sum, &x, 1, hcommInt32, hcommSum, COMM_WORLD));
	MUST(hcommAllReduce(p, p, 2 * N, hcommInt8, hcommSum, COMM_WORLD));
	expect(hcommGroupEnd(), HCOMM_ERR_INVALID_ARGUMENT, "writable");
	MUST(hcommCommGetStats(COMM_WORLD, &b));
	if (x != -1 || b.launches != a.launches)
		FAIL("%d, %llu launches are counted", x,
		     (unsigned long long)(b.launches - a.launches));
	munmap(p, 2 * N);
	MUST(hcommAllReduce(&sum, &x, 1, hcommInt32, hcommSum, COMM_WORLD));
	expect_sum(x, "later");
	verdict("a group that is refused changes nothing");
}

/* what is received would lie on what is sent, or on what else is received */
static void test_overlap(void)
{
	int next = (rank + 1) % size, prev = (rank + size - 1) % size;
	static uint8_t buf[3 * N], was[3 * N];
	hcommP2p_t ops[] = {
		{ hcommP2pSend, buf, 100, next, 1 }, { hcommP2pRecv, buf + N, 100, prev, 1 },
		{ hcommP2pSend, buf, 100, next, 2 }, { hcommP2pRecv, buf + N + 99, 100, prev, 2 },
		{ hcommP2pRecv, buf, 0, prev, 3 }, { hcommP2pSend, buf, 0, next, 3 },
	};
	hcommRequest_t req = NULL;

	pattern(buf, sizeof(buf), rank);
	memcpy(was, buf, sizeof(buf));
	expect(hcommSendRecv(buf, 100, next, 1, buf, 100, prev, 1, COMM_WORLD),
	       HCOMM_ERR_INVALID_ARGUMENT, "overlap");
	expect(hcommSendRecv(buf, N, next, 1, buf + N - 1, N, prev, 1, COMM_WORLD),
	       HCOMM_ERR_INVALID_ARGUMENT, "overlap");
	expect(hcommSendRecvAsync(buf + 50, N, rank, 1, buf, 51, rank, 1, COMM_WORLD, &req),
	       HCOMM_ERR_INVALID_ARGUMENT, "overlap");
	expect(hcommBatchSendRecv(ops, 6, COMM_WORLD), HCOMM_ERR_INVALID_ARGUMENT,
	       "and message 3 (100 bytes");
	MUST(hcommGroupStart());
	MUST(hcommBarrier(COMM_WORLD));
	expect(hcommBatchSendRecv(ops, 6, COMM_WORLD), HCOMM_ERR_INVALID_ARGUMENT,
	       "overlap");
	expect(hcommGroupEnd(), HCOMM_ERR_INVALID_ARGUMENT, "overlap");
	if (req || memcmp(buf, was, sizeof(buf)))
		FAIL("something was done");
	/* side by side they may lie, and what is only sent may be sent twice */
	ops[3].buf = buf + N + 100;
	MUST(hcommBatchSendRecv(ops, 6, COMM_WORLD));
	expect_pattern(buf + N, 100, prev, "first");
	expect_pattern(buf + N + 100, 100, prev, "second");
	verdict("messages that overlap are refused");
}

static void blocks(size_t *counts, size_t each)
{
	int r;

	for (r = 0; r < size; r++)
		counts[r] = each;
}

/* counts that only two ranks can compare: not a bug of hcomm, but theirs */
static void test_counts(void)
{
	static int32_t in[8 * N], out[8 * N];
	size_t few = 100, many = 20000, counts[64], sent[64], each;
	hcommResult_t ret;
	hcommComm_t comm;
	int form;

	for (form = 0; form < 6 && size > 1; form++) {
		each = form < 3 ? few : many;
		blocks(counts, each);
		blocks(sent, each);
		sent[0] += rank == 1;
		MUST(hcommCommDup(COMM_WORLD, &comm, NULL));
		switch (form % 3) {
		case 0:
			ret = hcommGatherV(in, rank == 1 ? each + 1 : each, out, counts, NULL,
					   hcommInt32, 0, comm);
			break;
		case 1:
			ret = hcommScatterV(in, counts, NULL, out, rank == 1 ? each - 1 : each,
					    hcommInt32, 0, comm);
			break;
		default:
			ret = hcommAlltoAllV(in, sent, NULL, out, counts, NULL, hcommInt32,
					     comm);
		}
		if (!ret)
			ret = hcommBarrier(comm);
		expect(ret, HCOMM_ERR_MISMATCH, "counts");
		MUST(hcommBarrier(COMM_WORLD));
		MUST(hcommCommDestroy(comm));
	}
	verdict("counts of V forms that do not fit are the ranks' mismatch");
}

/* nothing to give and nowhere to put it: in place like the others */
static void test_null_in_place(void)
{
	size_t counts[64], places[64];
	int32_t buf[64];
	int r;

	if (size < 2 || size > 64)
		return;
	for (r = 0; r < size; r++) {
		/* rank 1 has nothing for anybody */
		counts[r] = rank != 1 && r != 1;
		places[r] = (size_t)r;
		buf[r] = rank * 100 + r;
	}
	if (rank == 1)
		MUST(hcommAlltoAllV(NULL, NULL, NULL, NULL, counts, places, hcommInt32,
				    COMM_WORLD));
	else
		MUST(hcommAlltoAllV(buf, NULL, NULL, buf, counts, places, hcommInt32,
				    COMM_WORLD));
	for (r = 0; r < size; r++) {
		int want = rank == 1 || r == 1 ? rank * 100 + r : r * 100 + rank;

		if (buf[r] != want)
			FAIL("block %d is %d, not %d", r, buf[r], want);
	}
	expect(hcommAlltoAllV(buf, NULL, NULL, NULL, counts, NULL, hcommInt32, COMM_WORLD),
	       HCOMM_ERR_INVALID_ARGUMENT, "sendCounts is NULL");
	verdict("AlltoAllV in place on a rank without data");
}

/* what an error says: the function, the argument, the value as it was given */
static void test_words(void)
{
	int32_t x = 0;
	size_t counts[64];
	hcommStats_t s = { 0 };
	const void *mine;

	blocks(counts, (size_t)1 << 62);
	expect(hcommCommRank(COMM_WORLD, NULL), HCOMM_ERR_INVALID_ARGUMENT,
	       "CommRank: rank is NULL");
	expect(hcommCommGetStats(COMM_WORLD, &s), HCOMM_ERR_INVALID_ARGUMENT,
	       "CommGetStats: stats.size is 0");
	expect(hcommWait(NULL), HCOMM_ERR_INVALID_ARGUMENT, "Wait: req is NULL");
	expect(hcommStart(NULL), HCOMM_ERR_INVALID_ARGUMENT, "Start: req is NULL");
	expect(hcommGetUniqueId(NULL), HCOMM_ERR_INVALID_ARGUMENT, "GetUniqueId: id is NULL");
	expect(hcommAllReduce(&x, &x, 1, -1, hcommSum, COMM_WORLD),
	       HCOMM_ERR_INVALID_ARGUMENT, "dtype is -1");
	expect(hcommAllReduce(&x, &x, 1, hcommInt32, -1, COMM_WORLD),
	       HCOMM_ERR_INVALID_ARGUMENT, "op is -1");
	expect(hcommSend(&x, SIZE_MAX, !rank, 0, COMM_WORLD), HCOMM_ERR_INVALID_ARGUMENT,
	       size > 1 ? "n is 18446744073709551615" : NULL);
	if (size == 1)
		goto out;
	expect(hcommAllReduce(&x, &x, (size_t)1 << 62, hcommInt8, hcommSum, COMM_WORLD),
	       HCOMM_ERR_INVALID_ARGUMENT, "AllReduce: 4611686018427387904 elements of int8");
	expect(hcommAllGatherV(&x, &x, counts, counts, hcommInt8, COMM_WORLD),
	       HCOMM_ERR_INVALID_ARGUMENT, "AllGatherV: ");
	blocks(counts, (size_t)1 << 57);
	mine = (const void *)((uintptr_t)&x + ((size_t)rank << 57));
	expect(hcommAllGatherV(mine, &x, counts, NULL, hcommInt8, COMM_WORLD),
	       HCOMM_ERR_UNSUPPORTED, "AllGatherV by ");
	expect(hcommScan(&x, &x, (size_t)1 << 57, hcommInt8, hcommSum, COMM_WORLD),
	       HCOMM_ERR_UNSUPPORTED, "several calls");
out:
	MUST(hcommBarrier(COMM_WORLD));
	verdict("errors tell function, argument and value");
}

/* an operation of another communicator, and one that is no more */
static void test_ops(void)
{
	int32_t two = 2, three = 3, x = 1, y = -1;
	hcommRedOp_t here, there, next;
	hcommRequest_t req;
	hcommComm_t comm;

	MUST(hcommCommDup(COMM_WORLD, &comm, NULL));
	MUST(hcommRedOpCreatePreMulSum(&here, &two, hcommInt32, COMM_WORLD));
	MUST(hcommRedOpCreatePreMulSum(&there, &three, hcommInt32, comm));
	expect(hcommAllReduce(&x, &y, 1, hcommInt32, here, comm), HCOMM_ERR_INVALID_ARGUMENT,
	       "of this communicator");
	MUST(hcommRedOpDestroy(here, COMM_WORLD));
	MUST(hcommRedOpCreatePreMulSum(&next, &three, hcommInt32, COMM_WORLD));
	expect(hcommAllReduce(&x, &y, 1, hcommInt32, here, COMM_WORLD),
	       HCOMM_ERR_INVALID_ARGUMENT, "of this communicator");
	expect(hcommRedOpDestroy(here, COMM_WORLD), HCOMM_ERR_INVALID_ARGUMENT, "op");
	/* what was prepared with one that ends goes on */
	MUST(hcommAllReduceInit(&x, &y, 1, hcommInt32, next, COMM_WORLD, &req));
	MUST(hcommRedOpDestroy(next, COMM_WORLD));
	MUST(hcommStart(req));
	MUST(hcommWait(&req));
	if (y != 3 * size)
		FAIL("%d, not %d", y, 3 * size);
	MUST(hcommRequestFree(&req));
	MUST(hcommCommDestroy(comm));
	verdict("an operation is that of one communicator, until it ends");
}

/* a request whose memory is gone */
static void test_deregistered(void)
{
	static int32_t buf[1000];
	hcommRequest_t req;
	hcommMem_t mem;

	if (size == 1)
		return;
	MUST(hcommMemRegister(buf, sizeof(buf), &mem));
	MUST(hcommAllReduceInit(buf, buf, 1000, hcommInt32, hcommSum, COMM_WORLD, &req));
	MUST(hcommMemDeregister(mem));
	expect(hcommStart(req), HCOMM_ERR_INVALID_USAGE, "AllReduce: a buffer of this request");
	MUST(hcommRequestFree(&req));
	MUST(hcommBarrier(COMM_WORLD));
	verdict("a request whose buffer was deregistered says so");
}

static void bad_config(const hcommConfig_t *c, const char *text)
{
	hcommComm_t comm = COMM_WORLD;

	expect(hcommCommDup(COMM_WORLD, &comm, c), HCOMM_ERR_INVALID_ARGUMENT, text);
	if (comm)
		FAIL("a communicator for \"%s\"", text);
}

static void test_config(void)
{
	const hcommConfig_t none = HCOMM_CONFIG_INITIALIZER;
	hcommConfig_t c = none;

	c.runTimeoutMs = 3600001;
	bad_config(&c, "runTimeoutMs 3600001: use 0 to 3600000");
	c = none;
	c.bootstrapTimeoutMs = 86400001;
	bad_config(&c, "bootstrapTimeoutMs 86400001: use 1 to 86400000");
	c = none;
	c.connectTimeoutMs = 3600001;
	bad_config(&c, "connectTimeoutMs 3600001: use 1 to 3600000");
	c = none;
	c.reserved = 7;
	bad_config(&c, "reserved is 7, must be 0");
	c = none;
	c.size = 3;
	bad_config(&c, "size is 3, must be");
	c = none;
	c.transports = 9;
	bad_config(&c, "transports 0x9: use HCOMM_CONFIG_LOCAL");
	c = none;
	c.chunkSize = 4096;
	c.eagerSize = 8192;
	bad_config(&c, "eagerSize 8192: at most the chunk size, 4096");
	c = none;
	c.tuner = "/nowhere.so";
	bad_config(&c, "tuner=/nowhere.so");
	verdict("bad options are named, with what they may be");
}

/* rank 1 gives @given elements to a root that expects @expected of it */
static void zero_count(size_t given, size_t expected)
{
	int in[5] = { 0 }, out[8 * 5] = { 0 }, i;
	size_t counts[8] = { 5, expected, 5, 5, 5, 5, 5, 5 };
	hcommResult_t ret = HCOMM_SUCCESS;
	hcommComm_t comm;

	MUST(hcommCommDup(COMM_WORLD, &comm, NULL));
	/* what is small is sent before anybody expects it; in the end all must know */
	for (i = 0; i < 40 && !ret; i++)
		ret = hcommGatherV(in, rank == 1 ? given : 5, out, counts, NULL, hcommInt32, 0,
				   comm);
	expect(hcommBarrier(comm), HCOMM_ERR_MISMATCH, "compare the counts of GatherV");
	MUST(hcommCommDestroy(comm));
}

static void test_zero_count(void)
{
	if (size > 1 && size <= 8) {
		zero_count(5, 0);
		zero_count(0, 5);
	}
	verdict("a block that only one of two ranks knows of");
}

static void test_fork(void)
{
	hcommRequest_t req = NULL;
	pid_t pid = fork();
	int status;

	if (!pid)
		_exit(hcommWaitAll(0, NULL) != HCOMM_ERR_FORKED ||
		      hcommStartAll(0, NULL) != HCOMM_ERR_FORKED ||
		      hcommCommDestroy(NULL) != HCOMM_ERR_FORKED ||
		      hcommWaitAll(1, &req) != HCOMM_ERR_FORKED);
	waitpid(pid, &status, 0);
	if (status)
		FAIL("child: status %#x", status);
	verdict("every function tells a child what it is");
}

int main(int argc, char **argv)
{
	int failed;

	begin(&argc, &argv);
	RUN_TESTS(test_known_fault, test_undone, test_overlap, test_counts,
		  test_null_in_place, test_words, test_ops, test_deregistered, test_config,
		  test_zero_count, test_fork);
	failed = end();
	expect(hcommFinalize(), HCOMM_ERR_INVALID_USAGE, "hcommFinalize() was called already");
	expect(hcommInit(NULL, NULL), HCOMM_ERR_INVALID_USAGE, "hcommFinalize()");
	return failed || failures;
}
