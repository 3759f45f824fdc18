// SPDX-License-Identifier: GPL-2.0-only
/* Errors name what went wrong, on all ranks that it concerns.  Two ranks or more. */
#include <sys/mman.h>

#include "api_util.h"

static void test_arguments(void)
{
	uint8_t buf[256] = { 0 };
	int n;

	expect(hcommSend(buf, 1, rank, 0, COMM_WORLD), HCOMM_ERR_INVALID_ARGUMENT,
	       "dst");
	expect(hcommSend(buf, 1, size, 0, COMM_WORLD), HCOMM_ERR_INVALID_ARGUMENT,
	       "dst");
	expect(hcommRecv(buf, 1, -1, 0, COMM_WORLD), HCOMM_ERR_INVALID_ARGUMENT,
	       "src");
	expect(hcommRecv(buf, 1, !rank, -1, COMM_WORLD), HCOMM_ERR_INVALID_ARGUMENT,
	       "tag");
	expect(hcommSend(buf, 1, !rank, HCOMM_MAX_TAG + 1, COMM_WORLD),
	       HCOMM_ERR_INVALID_ARGUMENT, "tag");
	expect(hcommSend(NULL, 1, !rank, 0, COMM_WORLD), HCOMM_ERR_INVALID_ARGUMENT,
	       "NULL");
	expect(hcommAllReduce(buf, buf, 1, 14, hcommSum, COMM_WORLD),
	       HCOMM_ERR_INVALID_ARGUMENT, "dtype");
	expect(hcommAllReduce(buf, buf, 1, hcommInt8, 10, COMM_WORLD),
	       HCOMM_ERR_INVALID_ARGUMENT, "op");
	expect(hcommAllReduce(buf, buf, 1, hcommBfloat16, hcommBxor, COMM_WORLD),
	       HCOMM_ERR_INVALID_ARGUMENT, "bxor");
	expect(hcommAllReduce(buf, buf + 8, 16, hcommInt8, hcommSum, COMM_WORLD),
	       HCOMM_ERR_INVALID_ARGUMENT, "overlap");
	expect(hcommAllReduce(buf, buf, SIZE_MAX / 2, hcommInt64, hcommSum,
			      COMM_WORLD), HCOMM_ERR_INVALID_ARGUMENT, "more than");
	expect(hcommBcast(buf, 1, hcommInt8, size, COMM_WORLD),
	       HCOMM_ERR_INVALID_ARGUMENT, "root");
	expect(hcommReduce(buf, buf, 1, hcommInt8, hcommSum, -1, COMM_WORLD),
	       HCOMM_ERR_INVALID_ARGUMENT, "root");
	expect(hcommAllGather(buf + 1, buf, 8, hcommInt8, COMM_WORLD),
	       HCOMM_ERR_INVALID_ARGUMENT, "overlap");
	expect(hcommBarrier(NULL), HCOMM_ERR_INVALID_ARGUMENT, "communicator");
	expect(hcommBarrierAsync(COMM_WORLD, NULL), HCOMM_ERR_INVALID_ARGUMENT, "req");
	expect(hcommCommDestroy(COMM_WORLD), HCOMM_ERR_INVALID_USAGE, "Finalize");
	expect(hcommInit(NULL, NULL), HCOMM_ERR_INVALID_USAGE, "already");
	expect(hcommCommRank(COMM_WORLD, NULL), HCOMM_ERR_INVALID_ARGUMENT, NULL);
	expect(hcommFree(buf), HCOMM_ERR_INVALID_ARGUMENT, "hcommMalloc");
	MUST(hcommCommLocalRank(COMM_WORLD, &n));
	if (n < 0 || n > rank)
		FAIL("local rank %d of rank %d", n, rank);
	/* nothing of this reached the others */
	MUST(hcommBarrier(COMM_WORLD));
	verdict("bad arguments are refused by name and do no harm");
}

/* a buffer that is not there: an error here, and the next call works */
static void test_bad_buffers(void)
{
	size_t n = 1 << 20;
	uint8_t *p = mmap(NULL, 2 * n, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	munmap(p + n, n);
	expect(hcommAllReduce(p + n - 100, p + n - 100, n, hcommInt8, hcommSum,
			      COMM_WORLD), HCOMM_ERR_INVALID_ARGUMENT, "not all mapped");
	mprotect(p, n, PROT_READ);
	expect(hcommBcast(p, n, hcommInt8, (rank + 1) % size, COMM_WORLD),
	       HCOMM_ERR_INVALID_ARGUMENT, "writable");
	munmap(p, n);
	MUST(hcommBarrier(COMM_WORLD));
	verdict("unmapped and read-only buffers are refused");
}

static void both_fail(hcommComm_t comm, hcommResult_t got, hcommResult_t want,
		      const char *text, const char *text2)
{
	hcommResult_t state;

	expect(got, want, text);
	if (text2 && !strstr(hcommGetLastError(NULL), text2))
		FAIL("\"%s\" is not in: %s", text2, hcommGetLastError(NULL));
	/* the communicator remembers */
	MUST(hcommCommGetAsyncError(comm, &state));
	if (state != want)
		FAIL("async error is %s", hcommGetErrorString(state));
	if (!strstr(hcommGetLastError(comm), text))
		FAIL("of the communicator: %s", hcommGetLastError(comm));
	expect(hcommBarrier(comm), want, "has failed");
	/* who is gone can't tell the others */
	MUST(hcommBarrier(COMM_WORLD));
	MUST(hcommCommDestroy(comm));
}

static void test_mismatch(void)
{
	hcommComm_t comm;
	uint8_t buf[4096] = { 0 };
	hcommResult_t r = HCOMM_ERR_MISMATCH;

	if (size == 2) {
		comm = new_comm();
		if (rank == 0)
			/* eager: complete before the receiver looks */
			(void)hcommSend(buf, 100, 1, 0, comm);
		else
			r = hcommRecv(buf, 200, 0, 0, comm);
		if (rank == 0)
			r = hcommRecv(buf, 1, 1, 1, comm);
		both_fail(comm, r, HCOMM_ERR_MISMATCH, "100 bytes", "200 bytes");
	}
	comm = new_comm();
	r = hcommAllReduce(buf, buf, rank == 1 ? 17 : 16, hcommInt32, hcommSum, comm);
	both_fail(comm, r, HCOMM_ERR_MISMATCH, "16 int32", "17 int32");
	comm = new_comm();
	if (rank == 1)
		r = hcommBcast(buf, 16, hcommInt32, 0, comm);
	else
		r = hcommAllReduce(buf, buf, 16, hcommInt32, hcommSum, comm);
	/* a root that only sends may be done before anybody can complain */
	if (r || rank != 1)
		both_fail(comm, r, HCOMM_ERR_MISMATCH, "differ", NULL);
	comm = new_comm();
	r = hcommAllReduce(buf, buf, rank == 1 ? 0 : 16, hcommInt32, hcommSum, comm);
	if (!r)
		r = hcommBarrier(comm);
	both_fail(comm, r, HCOMM_ERR_MISMATCH, "differ", NULL);
	verdict("calls that do not match fail on all ranks and name both");
}

static void test_abort(void)
{
	hcommComm_t comm = new_comm();
	uint8_t byte;

	if (rank == 0) {
		usleep(100000);
		MUST(hcommCommAbort(comm));
		expect(hcommBarrier(comm), HCOMM_ERR_ABORTED, NULL);
	} else {
		expect(hcommRecv(&byte, 1, 0, 0, comm), HCOMM_ERR_ABORTED, "rank 0");
	}
	MUST(hcommCommDestroy(comm));
	verdict("an abort ends the calls of all ranks");
}

static void test_timeout(void)
{
	hcommComm_t comm;
	uint8_t byte;

	setenv("HCOMM_TIMEOUT", "0.3", 1);
	comm = new_comm();
	unsetenv("HCOMM_TIMEOUT");
	if (rank == 1)
		expect(hcommRecv(&byte, 1, 0, 0, comm), HCOMM_ERR_TIMEOUT, "rank 0");
	MUST(hcommBarrier(COMM_WORLD));
	MUST(hcommCommDestroy(comm));
	verdict("a call that takes too long fails");
}

static void test_options(void)
{
	hcommConfig_t c = HCOMM_CONFIG_INITIALIZER;
	hcommUniqueId id;
	hcommComm_t comm;

	memset(&id, 0, sizeof(id));
	if (!rank)
		MUST(hcommGetUniqueId(&id));
	MUST(hcommBcast(&id, sizeof(id), hcommUint8, 0, COMM_WORLD));
	c.chunkSize = rank == 1 ? 8192 : 16384;
	expect(hcommCommInitRankConfig(&comm, size, id, rank, &c),
	       HCOMM_ERR_OPTIONS, "16384 on rank 0");
	if (!strstr(hcommGetLastError(NULL), "8192 on rank 1"))
		FAIL("%s", hcommGetLastError(NULL));
	verdict("different options are named on all ranks");
}

static void test_missing(void)
{
	hcommUniqueId id;
	hcommComm_t comm;

	setenv("HCOMM_BOOTSTRAP_TIMEOUT", "0.5", 1);
	memset(&id, 0, sizeof(id));
	if (!rank)
		MUST(hcommGetUniqueId(&id));
	unsetenv("HCOMM_BOOTSTRAP_TIMEOUT");
	MUST(hcommBcast(&id, sizeof(id), hcommUint8, 0, COMM_WORLD));
	if (rank != 1)
		expect(hcommCommInitRank(&comm, size, id, rank), HCOMM_ERR_TIMEOUT,
		       "rank 1");
	verdict("a rank that does not come is named");
}

int main(int argc, char **argv)
{
	begin(&argc, &argv);
	need_two();
	RUN_TESTS(test_arguments, test_bad_buffers, test_mismatch, test_abort,
		  test_timeout, test_options, test_missing);
	return end();
}
