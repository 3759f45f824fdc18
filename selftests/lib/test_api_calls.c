// SPDX-License-Identifier: GPL-2.0-only
/*
 * What calls promise beside right sums: messages by tag, requests, limits, errors
 * that name what went wrong, threads, fork, memory.  Two ranks or more.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "api_util.h"

#define BIG	(1 << 20)

/* ranks 0 and 1 play, the others only agree on the verdict */
static int peer;

static void pattern(uint8_t *buf, size_t n, int seed)
{
	size_t i;

	for (i = 0; i < n; i++)
		buf[i] = (uint8_t)(i * 13 + (i >> 8) + (size_t)seed);
}

static void expect_pattern(const uint8_t *buf, size_t n, int seed, const char *what)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (buf[i] != (uint8_t)(i * 13 + (i >> 8) + (size_t)seed)) {
			FAIL("%s: byte %zu of %zu is wrong", what, i, n);
			return;
		}
	}
}

static void expect(hcommResult_t got, hcommResult_t want, const char *text)
{
	if (got != want)
		FAIL("got \"%s\" (%s), wanted \"%s\"", hcommGetErrorString(got),
		     hcommGetLastError(NULL), hcommGetErrorString(want));
	else if (text && !strstr(hcommGetLastError(NULL), text))
		FAIL("\"%s\" is not in: %s", text, hcommGetLastError(NULL));
}

/* ------------------------------------------------------------------- messages */

static void test_sizes(void)
{
	static const size_t sizes[] = { 0, 1, 63, 4095, 4096, 4097, 65536, 65537,
		262144, 262145, BIG };
	uint8_t *pooled = hcommMalloc(BIG), *plain = malloc(BIG + 3), *buf;
	size_t i, turn;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]) && peer >= 0; i++) {
		for (turn = 0; turn < 2; turn++) {
			buf = turn ? plain + 3 : pooled;
			if (rank == 0) {
				pattern(buf, sizes[i], (int)i);
				MUST(hcommSend(buf, sizes[i], 1, 5, COMM_WORLD));
				MUST(hcommRecv(buf, sizes[i], 1, 6, COMM_WORLD));
				expect_pattern(buf, sizes[i], (int)i + 1, "answer");
			} else {
				memset(buf, 0xee, sizes[i]);
				MUST(hcommRecv(buf, sizes[i], 0, 5, COMM_WORLD));
				expect_pattern(buf, sizes[i], (int)i, "message");
				pattern(buf, sizes[i], (int)i + 1);
				MUST(hcommSend(buf, sizes[i], 0, 6, COMM_WORLD));
			}
		}
	}
	MUST(hcommFree(pooled));
	free(plain);
	verdict("messages of all sizes, from memory of both kinds");
}

/* received in another order of tags than sent, in order within a tag */
static void test_tags(void)
{
	uint8_t buf[8][100];
	int i;

	if (rank == 0) {
		for (i = 0; i < 8; i++) {
			pattern(buf[i], 100, i);
			MUST(hcommSend(buf[i], 100, 1, i % 4 * 1000, COMM_WORLD));
		}
	} else if (rank == 1) {
		for (i = 7; i >= 0; i--) {
			MUST(hcommRecv(buf[0], 100, 0, (7 - i) % 4 == 0 ? 3000 :
				       (7 - i) % 4 == 1 ? 2000 :
				       (7 - i) % 4 == 2 ? 1000 : 0, COMM_WORLD));
			/* the first round gets messages 3..0, the second 7..4 */
			expect_pattern(buf[0], 100, i >= 4 ? i - 4 : i + 4, "tag");
		}
	}
	verdict("tags select messages, in order within a tag");
}

/* small sends do not wait for the receiver: both may send first */
static void test_eager(void)
{
	uint8_t out[1024], in[1024];

	if (peer >= 0) {
		pattern(out, sizeof(out), rank);
		MUST(hcommSend(out, sizeof(out), peer, 1, COMM_WORLD));
		MUST(hcommRecv(in, sizeof(in), peer, 1, COMM_WORLD));
		expect_pattern(in, sizeof(in), peer, "eager");
	}
	verdict("two ranks may both send a small message first");
}

static void test_async(void)
{
	uint8_t *buf[2][4];
	hcommRequest_t req[8];
	int i, done;

	for (i = 0; i < 4; i++) {
		/* of both kinds; the small ones go through pinned memory */
		buf[0][i] = i & 1 ? hcommMalloc(BIG) : malloc(BIG);
		buf[1][i] = i & 1 ? hcommMalloc(BIG) : malloc(BIG);
	}
	if (peer >= 0) {
		for (i = 0; i < 4; i++) {
			size_t n = i < 2 ? 2000 : BIG;

			pattern(buf[0][i], n, rank * 10 + i);
			MUST(hcommRecvAsync(buf[1][i], n, peer, i, COMM_WORLD,
					    &req[i]));
			MUST(hcommSendAsync(buf[0][i], n, peer, i, COMM_WORLD,
					    &req[4 + i]));
		}
		/* one by testing, one by waiting, the rest together */
		do {
			MUST(hcommTest(&req[3], &done));
		} while (!done);
		if (req[3])
			FAIL("a complete request was not cleared");
		MUST(hcommWait(&req[0]));
		MUST(hcommWaitAll(8, req));
		for (i = 0; i < 4; i++)
			expect_pattern(buf[1][i], i < 2 ? 2000 : BIG,
				       peer * 10 + i, "async");
	}
	for (i = 0; i < 4; i++) {
		if (i & 1) {
			MUST(hcommFree(buf[0][i]));
			MUST(hcommFree(buf[1][i]));
		} else {
			free(buf[0][i]);
			free(buf[1][i]);
		}
	}
	verdict("requests");
}

static void test_async_colls(void)
{
	enum { N = 8, COUNT = 20000 };
	float *buf[N];
	hcommRequest_t req[N];
	int i, k;

	for (i = 0; i < N; i++) {
		buf[i] = hcommMalloc(COUNT * sizeof(float));
		for (k = 0; k < COUNT; k++)
			buf[i][k] = (float)(rank + i + k % 5);
	}
	for (i = 0; i < N; i++) {
		hcommResult_t r;

		r = hcommAllReduceAsync(buf[i], buf[i], COUNT, hcommFloat32, hcommSum,
					COMM_WORLD, &req[i]);
		MUST(r);
	}
	/* another call between them and their end */
	MUST(hcommBarrier(COMM_WORLD));
	MUST(hcommWaitAll(N, req));
	for (i = 0; i < N; i++) {
		for (k = 0; k < COUNT; k++) {
			float want = (float)(size * (size - 1) / 2 +
					     size * (i + k % 5));

			if (buf[i][k] != want) {
				FAIL("call %d element %d: %g, not %g", i, k,
				     buf[i][k], want);
				break;
			}
		}
		MUST(hcommFree(buf[i]));
	}
	verdict("several collectives in flight");
}

static void test_busy(void)
{
	hcommComm_t comm = new_comm();
	hcommRequest_t req[70] = { NULL }, more = NULL;
	uint8_t buf[70][8];
	int i, n = 0;
	hcommResult_t r = HCOMM_SUCCESS;

	if (rank == 1) {
		for (n = 0; n < 65; n++) {
			r = hcommRecvAsync(buf[n], 8, 0, 9, comm, &req[n]);
			if (r)
				break;
		}
		expect(r, HCOMM_ERR_BUSY, "16 calls are in flight");
		if (n != 16)
			FAIL("%d calls in flight", n);
		r = hcommRecvAsync(buf[n], 8, 0, 9, comm, &more);
		expect(r, HCOMM_ERR_BUSY, NULL);
		if (more)
			FAIL("a refused call has a request");
		MUST(hcommSend("", 1, 0, 9, COMM_WORLD));
	}
	if (rank == 0) {
		/* not before rank 1 has counted */
		MUST(hcommRecv(buf[0], 1, 1, 9, COMM_WORLD));
		for (i = 0; i < 17; i++) {
			memset(buf[0], i, 8);
			MUST(hcommSend(buf[0], 8, 1, 9, comm));
		}
	}
	if (rank == 1) {
		MUST(hcommWaitAll(n, req));
		/* the refused calls did not count as messages */
		MUST(hcommRecv(buf[16], 8, 0, 9, comm));
		for (i = 0; i < 17; i++) {
			if (buf[i][0] != i)
				FAIL("message %d came as %d", buf[i][0], i);
		}
	}
	MUST(hcommBarrier(comm));
	MUST(hcommCommDestroy(comm));
	verdict("more calls than allowed are refused and lose nothing");
}

/* each rank's input times a number of its own, in both kinds of arithmetic */
static void test_premul(void)
{
	hcommRedOp_t ints = hcommSum, floats = hcommSum, other = hcommSum;
	int32_t factor = rank + 2, in[100], out[100], want[100];
	float ffactor = (float)rank + 0.5f, fin[100], fout[100], fwant[100];
	int i, r;

	memset(want, 0, sizeof(want));
	memset(fwant, 0, sizeof(fwant));
	for (i = 0; i < 100; i++) {
		in[i] = i - 50 * rank;
		fin[i] = (float)(i + rank);
		for (r = 0; r < size; r++) {
			want[i] += (r + 2) * (i - 50 * r);
			fwant[i] += ((float)r + 0.5f) * (float)(i + r);
		}
	}
	MUST(hcommRedOpCreatePreMulSum(&ints, &factor, hcommInt32, COMM_WORLD));
	MUST(hcommRedOpCreatePreMulSum(&floats, &ffactor, hcommFloat32, COMM_WORLD));
	MUST(hcommAllReduce(in, out, 100, hcommInt32, ints, COMM_WORLD));
	if (memcmp(out, want, sizeof(want)))
		FAIL("integers: element 1 is %d, must be %d", out[1], want[1]);
	for (i = 0; i < 100; i++) {
		if (in[i] != i - 50 * rank)
			FAIL("input %d has changed", i);
	}
	MUST(hcommAllReduce(in, in, 100, hcommInt32, ints, COMM_WORLD));
	if (memcmp(in, want, sizeof(want)))
		FAIL("integers, in place: element 1 is %d, must be %d", in[1], want[1]);
	MUST(hcommReduce(fin, fout, 100, hcommFloat32, floats, size - 1, COMM_WORLD));
	if (rank == size - 1 && memcmp(fout, fwant, sizeof(fwant)))
		FAIL("floats: element 1 is %f, must be %f", (double)fout[1], (double)fwant[1]);
	expect(hcommAllReduce(in, out, 100, hcommInt64, ints, COMM_WORLD),
	       HCOMM_ERR_INVALID_ARGUMENT, "made for int32");
	expect(hcommRedOpCreatePreMulSum(&other, NULL, hcommInt32, COMM_WORLD),
	       HCOMM_ERR_INVALID_ARGUMENT, "scalar");
	expect(hcommRedOpDestroy(hcommSum, COMM_WORLD), HCOMM_ERR_INVALID_ARGUMENT, "op");
	MUST(hcommRedOpDestroy(ints, COMM_WORLD));
	expect(hcommAllReduce(in, out, 100, hcommInt32, ints, COMM_WORLD),
	       HCOMM_ERR_INVALID_ARGUMENT, "op");
	MUST(hcommRedOpDestroy(floats, COMM_WORLD));
	verdict("sums of scaled inputs");
}

/* --------------------------------------------------------------------- errors */

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

/* memory that is unmapped and mapped again between calls */
static void test_remap(void)
{
	size_t n = 300000;
	void *at = NULL;
	uint8_t *p;
	int turn;

	for (turn = 0; turn < 4; turn++) {
		p = mmap(at, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS |
			 (at ? MAP_FIXED : 0), -1, 0);
		at = p;
		if (rank == 0)
			pattern(p, n, turn);
		MUST(hcommBcast(p, n, hcommUint8, 0, COMM_WORLD));
		expect_pattern(p, n, turn, "remapped memory");
		munmap(p, n);
	}
	verdict("memory that is mapped again is never stale");
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

/* ---------------------------------------------------------------- agreement */

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

/* ------------------------------------------------------------- plans, memory */

static void test_plans(void)
{
	hcommStats_t a = { .size = sizeof(a) }, b = { .size = sizeof(b) };
	hcommComm_t comm;
	int32_t x[64] = { 0 };
	int i;

	setenv("HCOMM_PLAN_CACHE", "4", 1);
	comm = new_comm();
	unsetenv("HCOMM_PLAN_CACHE");
	MUST(hcommAllReduce(x, x, 10, hcommInt32, hcommSum, comm));
	MUST(hcommCommGetStats(comm, &a));
	for (i = 0; i < 10; i++)
		MUST(hcommAllReduce(x, x, 10, hcommInt32, hcommSum, comm));
	MUST(hcommCommGetStats(comm, &b));
	if (b.plansBuilt != a.plansBuilt || b.planHits != a.planHits + 10 ||
	    b.launches != a.launches + 10)
		FAIL("plans %llu, hits %llu, launches %llu",
		     (unsigned long long)(b.plansBuilt - a.plansBuilt),
		     (unsigned long long)(b.planHits - a.planHits),
		     (unsigned long long)(b.launches - a.launches));
	for (i = 0; i < 20; i++)
		MUST(hcommAllReduce(x, x, 11 + (size_t)i % 10, hcommInt32, hcommSum,
				    comm));
	MUST(hcommCommGetStats(comm, &b));
	if (b.plansEvicted < 16)
		FAIL("%llu plans evicted", (unsigned long long)b.plansEvicted);
	MUST(hcommCommDestroy(comm));
	verdict("plans are kept, and given up in turn");
}

static void test_memory(void)
{
	hcommStats_t a = { .size = sizeof(a) }, b = { .size = sizeof(b) };
	size_t n = 400000;
	uint8_t *p = malloc(n);
	hcommMem_t mem, again;

	memset(p, 1, n);
	MUST(hcommMemRegister(p, n, &mem));
	expect(hcommMemRegister(p + 10, 10, &again), HCOMM_ERR_INVALID_ARGUMENT,
	       "overlap");
	MUST(hcommCommGetStats(COMM_WORLD, &a));
	MUST(hcommAllReduce(p + 1, p + 1, n - 1, hcommUint8, hcommMax, COMM_WORLD));
	MUST(hcommCommGetStats(COMM_WORLD, &b));
	if (b.pinned != a.pinned || b.bounced != a.bounced)
		FAIL("registered memory was not used");
	MUST(hcommMemDeregister(mem));
	MUST(hcommAllReduce(p + 1, p + 1, n - 1, hcommUint8, hcommMax, COMM_WORLD));
	MUST(hcommCommGetStats(COMM_WORLD, &b));
	if (b.pinned != a.pinned + 1)
		FAIL("memory that is not registered was pinned %llu times",
		     (unsigned long long)(b.pinned - a.pinned));
	free(p);
	verdict("registered memory is used as it is");
}

/* without CAP_IPC_LOCK the limit counts: the text says which */
static void test_memlock(void)
{
	struct rlimit lim = { 1 << 20, 1 << 20 };
	pid_t pid;
	int status;

	/* a child that has its own context, and no privileges */
	pid = fork();
	if (!pid) {
		char arg[16];

		snprintf(arg, sizeof(arg), "%d", rank);
		if (setrlimit(RLIMIT_MEMLOCK, &lim) || setgid(65534) ||
		    setuid(65534))
			_exit(77);
		execl("/proc/self/exe", "test_api_calls", "--memlock", arg, NULL);
		_exit(78);
	}
	waitpid(pid, &status, 0);
	if (status)
		FAIL("status %#x", status);
	verdict("the locked memory limit is told in numbers");
}

static int memlock_child(void)
{
	hcommMem_t mem;
	uint8_t *p = malloc(8 << 20);
	hcommResult_t r;

	unsetenv("HCOMM_RANK");
	unsetenv("HCOMM_SIZE");
	unsetenv("HCOMM_ROOT");
	r = hcommInit(NULL, NULL);
	if (r) {
		printf("# init: %s\n", hcommGetLastError(NULL));
		return 1;
	}
	memset(p, 1, 8 << 20);
	r = hcommMemRegister(p, 8 << 20, &mem);
	if (r != HCOMM_ERR_MEMLOCK ||
	    !strstr(hcommGetLastError(NULL), "the limit is 1048576") ||
	    !strstr(hcommGetLastError(NULL), "RLIMIT_MEMLOCK")) {
		printf("# %s: %s\n", hcommGetErrorString(r), hcommGetLastError(NULL));
		return 2;
	}
	free(p);
	return hcommFinalize() != HCOMM_SUCCESS;
}

/* ------------------------------------------------------------ threads, fork */

#define THREADS	4
#define TURNS	60

static void *thread_main(void *arg)
{
	int t = (int)(intptr_t)arg, i;
	uint8_t out[9000], in[9000];
	size_t n;

	for (i = 0; i < TURNS; i++) {
		n = i % 3 ? 200 : 9000;
		pattern(out, n, t + i);
		if ((rank + i) & 1) {
			MUST(hcommSend(out, n, peer, 100 + t, COMM_WORLD));
			MUST(hcommRecv(in, n, peer, 100 + t, COMM_WORLD));
		} else {
			hcommRequest_t req;
			hcommResult_t r;

			/* now and then all others are in flight too */
			do {
				r = hcommRecvAsync(in, n, peer, 100 + t, COMM_WORLD,
						   &req);
			} while (r == HCOMM_ERR_BUSY);
			MUST(r);
			MUST(hcommSend(out, n, peer, 100 + t, COMM_WORLD));
			MUST(hcommWait(&req));
		}
		expect_pattern(in, n, t + i, "thread");
	}
	return NULL;
}

static void test_threads(void)
{
	pthread_t threads[THREADS];
	intptr_t t;

	for (t = 0; peer >= 0 && t < THREADS; t++)
		pthread_create(&threads[t], NULL, thread_main, (void *)t);
	for (t = 0; peer >= 0 && t < THREADS; t++)
		pthread_join(threads[t], NULL);
	verdict("threads with their own tags");
}

static void test_fork(void)
{
	int status;
	pid_t pid;
	char byte = 0;

	pid = fork();
	if (!pid) {
		if (hcommBarrier(COMM_WORLD) != HCOMM_ERR_FORKED ||
		    hcommInit(NULL, NULL) != HCOMM_ERR_FORKED ||
		    hcommMalloc(1) || hcommFinalize() != HCOMM_ERR_FORKED ||
		    !strstr(hcommGetLastError(NULL), "child"))
			_exit(1);
		/* lives on while its parent goes on */
		usleep(300000);
		_exit(0);
	}
	MUST(hcommBcast(&byte, 1, hcommInt8, 0, COMM_WORLD));
	waitpid(pid, &status, 0);
	if (status)
		FAIL("child: status %#x", status);
	verdict("a child gets HCOMM_ERR_FORKED and does no harm");
}

/* ---------------------------------------------------------------- signals */

static volatile sig_atomic_t signals;

static void count_signal(int sig)
{
	(void)sig;
	signals++;
}

/* signals without SA_RESTART while calls wait */
static void test_signals(void)
{
	struct sigaction sa = { .sa_handler = count_signal };
	struct itimerval every = { { 0, 2000 }, { 0, 2000 } }, never = { { 0, 0 }, { 0, 0 } };
	int32_t x;
	int i;

	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
	for (i = 0; i < 100; i++) {
		x = i;
		if (i % size == rank)
			usleep(3000);
		MUST(hcommAllReduce(&x, &x, 1, hcommInt32, hcommSum, COMM_WORLD));
		if (x != i * size)
			FAIL("turn %d: %d", i, x);
	}
	setitimer(ITIMER_REAL, &never, NULL);
	if (!signals)
		FAIL("no signal came");
	verdict("signals interrupt no call");
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "--memlock")) {
		rank = atoi(argv[2]);
		return memlock_child();
	}
	begin(&argc, &argv);
	if (size < 2)
		MUST(HCOMM_ERR_INVALID_USAGE);
	peer = rank < 2 ? !rank : -1;
	test_sizes();
	test_tags();
	test_eager();
	test_async();
	test_async_colls();
	test_busy();
	test_premul();
	test_arguments();
	test_bad_buffers();
	test_remap();
	test_mismatch();
	test_abort();
	test_timeout();
	test_options();
	test_missing();
	test_plans();
	test_memory();
	test_memlock();
	test_threads();
	test_fork();
	test_signals();
	return end();
}
