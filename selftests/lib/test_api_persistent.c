// SPDX-License-Identifier: GPL-2.0-only
/*
 * Persistent requests: planned once, started many times, never evicted, errors of
 * those who misuse them; plans of V forms are found again.  Run as 1 to 8 ranks.
 */
#include <linux/hcomm.h>

#include "api_case.h"

#define COUNT	2500
#define STARTS	20

static uint64_t counter(hcommComm_t comm, int which)
{
	hcommStats_t stats = { .size = sizeof(stats) };

	MUST(hcommCommGetStats(comm, &stats));
	switch (which) {
	case 'b':
		return stats.plansBuilt;
	case 'h':
		return stats.planHits;
	case 'e':
		return stats.plansEvicted;
	case 'c':
		return stats.bounced + stats.pinned;
	default:
		return stats.launches;
	}
}

/* another input each time, in memory of both kinds */
static void test_starts(int32_t *in, int32_t *out, const char *kind)
{
	static const char which[] = "bhec";
	hcommRequest_t req = NULL, same;
	uint64_t before[4], launches;
	int turn, i, k, done;

	MUST(hcommAllReduceInit(in, out, COUNT, hcommInt32, hcommSum, COMM_WORLD, &req));
	same = req;
	for (k = 0; k < 4; k++)
		before[k] = counter(COMM_WORLD, which[k]);
	launches = counter(COMM_WORLD, 'l');
	for (turn = 0; turn < STARTS; turn++) {
		for (i = 0; i < COUNT; i++) {
			in[i] = (rank + 1) * (turn + i);
			out[i] = -1;
		}
		MUST(hcommStart(req));
		if (turn % 2) {
			MUST(hcommWait(&req));
		} else {
			do {
				MUST(hcommTest(&req, &done));
			} while (!done);
		}
		if (req != same)
			FAIL("start %d changed the request", turn);
		for (i = 0; i < COUNT; i++) {
			if (out[i] != size * (size + 1) / 2 * (turn + i)) {
				FAIL("start %d: element %d is %d", turn, i, out[i]);
				break;
			}
		}
	}
	for (k = 0; k < 4; k++) {
		if (counter(COMM_WORLD, which[k]) != before[k])
			FAIL("starts changed counter '%c'", which[k]);
	}
	if (counter(COMM_WORLD, 'l') != launches + STARTS)
		FAIL("%d starts were %llu launches", STARTS,
		     (unsigned long long)(counter(COMM_WORLD, 'l') - launches));
	MUST(hcommRequestFree(&req));
	if (req)
		FAIL("a request was freed and is not NULL");
	verdict("starts of one plan, memory of %s", kind);
}

static void test_misuse(void)
{
	int32_t one = 1, two = 0;
	hcommRequest_t req = NULL, once = NULL;
	int done = 0;

	expect(hcommStart(NULL), HCOMM_ERR_INVALID_ARGUMENT, NULL);
	expect(hcommAllReduceInit(&one, &two, 1, hcommInt32, hcommSum, COMM_WORLD, NULL),
	       HCOMM_ERR_INVALID_ARGUMENT, NULL);
	MUST(hcommAllReduceInit(&one, &two, 1, hcommInt32, hcommSum, COMM_WORLD, &req));
	/* not in flight: complete */
	MUST(hcommWait(&req));
	MUST(hcommTest(&req, &done));
	if (!done || !req)
		FAIL("a request that was never started: done %d", done);
	MUST(hcommStart(req));
	expect(hcommStart(req), HCOMM_ERR_INVALID_USAGE, NULL);
	expect(hcommRequestFree(&req), HCOMM_ERR_INVALID_USAGE, NULL);
	MUST(hcommWait(&req));
	if (two != size)
		FAIL("the result is %d", two);
	MUST(hcommRequestFree(&req));
	MUST(hcommRequestFree(&req));
	MUST(hcommBarrierAsync(COMM_WORLD, &once));
	expect(hcommStart(once), HCOMM_ERR_INVALID_ARGUMENT, NULL);
	expect(hcommRequestFree(&once), HCOMM_ERR_INVALID_ARGUMENT, NULL);
	MUST(hcommWait(&once));
	verdict("misuse of requests");
}

/* a request outlives a failure, but can't be started any more */
static void test_failed(void)
{
	int32_t in[100] = { 0 }, out[100];
	hcommRequest_t req = NULL;
	hcommComm_t comm = new_comm();

	MUST(hcommAllReduceInit(in, out, 100, hcommInt32, hcommSum, comm, &req));
	MUST(hcommStart(req));
	MUST(hcommWait(&req));
	/* nobody is in a call any more; then everybody knows */
	MUST(hcommBarrier(COMM_WORLD));
	MUST(hcommCommAbort(comm));
	MUST(hcommBarrier(COMM_WORLD));
	expect(hcommStart(req), HCOMM_ERR_ABORTED, NULL);
	MUST(hcommWait(&req));
	MUST(hcommRequestFree(&req));
	MUST(hcommCommDestroy(comm));
	verdict("requests of a failed communicator");
}

/* a request outlives its communicator: what is in flight ends, and no start comes after */
static void test_destroyed(void)
{
	int32_t *in = malloc(COUNT * sizeof(*in)), *out = malloc(COUNT * sizeof(*out));
	hcommRequest_t req[2] = { NULL };
	hcommComm_t comm = new_comm();
	int i, done = 0;

	if (!in || !out)
		MUST(HCOMM_ERR_NO_MEMORY);
	for (i = 0; i < COUNT; i++) {
		in[i] = rank + i;
		out[i] = -1;
	}
	MUST(hcommAllReduceInit(in, out, COUNT, hcommInt32, hcommSum, comm, &req[0]));
	MUST(hcommBarrierInit(comm, &req[1]));
	MUST(hcommStart(req[0]));
	MUST(hcommCommDestroy(comm));
	MUST(hcommWait(&req[0]));
	for (i = 0; i < COUNT; i++) {
		if (out[i] != size * (size - 1) / 2 + size * i)
			FAIL("element %d is %d", i, out[i]);
	}
	for (i = 0; i < 2; i++) {
		expect(hcommStart(req[i]), HCOMM_ERR_INVALID_USAGE, NULL);
		MUST(hcommTest(&req[i], &done));
		if (!done)
			FAIL("a request of a destroyed communicator is in flight");
		MUST(hcommRequestFree(&req[i]));
	}
	free(in);
	free(out);
	verdict("requests of a destroyed communicator");
}

static hcommComm_t alone(void)
{
	hcommUniqueId id;
	hcommComm_t comm;

	MUST(hcommGetUniqueId(&id));
	MUST(hcommCommInitRank(&comm, 1, id, 0));
	return comm;
}

/*
 * Before the job: the last communicator goes, and the device is opened again.  What
 * an old request gives back must not be a new one's.
 */
static void test_reopened(void)
{
	enum { OLD = 4, NEW = 16 };
	hcommRequest_t old[OLD], req[NEW];
	int32_t in[NEW] = { 0 }, out[NEW];
	hcommComm_t comm;
	int i;

	comm = alone();
	for (i = 0; i < OLD; i++)
		MUST(hcommAllReduceInit(&in[i], &out[i], 1, hcommInt32, hcommSum, comm,
					&old[i]));
	MUST(hcommCommDestroy(comm));
	comm = alone();
	for (i = 0; i < NEW; i++)
		MUST(hcommAllReduceInit(&in[i], &out[i], 1, hcommInt32, hcommSum, comm,
					&req[i]));
	for (i = 0; i < OLD; i++) {
		expect(hcommStart(old[i]), HCOMM_ERR_INVALID_USAGE, NULL);
		MUST(hcommRequestFree(&old[i]));
	}
	for (i = 0; i < NEW; i++) {
		in[i] = i + 5;
		out[i] = 0;
		expect(hcommStart(req[i]), HCOMM_SUCCESS, NULL);
		expect(hcommWait(&req[i]), HCOMM_SUCCESS, NULL);
		if (out[i] != i + 5)
			FAIL("request %d: %d", i, out[i]);
		MUST(hcommRequestFree(&req[i]));
	}
	MUST(hcommCommDestroy(comm));
}

/* messages round a ring, and a collective among them */
static void test_all(void)
{
	int32_t out[4] = { rank, 0, 0, 0 }, in[4] = { -1 }, sum = 0;
	hcommRequest_t req[4];
	int turn, left = (rank + size - 1) % size, n = 0;

	if (size > 1) {
		MUST(hcommRecvInit(in, sizeof(in), left, 7, COMM_WORLD, &req[n++]));
		MUST(hcommSendInit(out, sizeof(out), (rank + 1) % size, 7, COMM_WORLD,
				   &req[n++]));
	}
	MUST(hcommAllReduceInit(&out[1], &sum, 1, hcommInt32, hcommSum, COMM_WORLD,
				&req[n++]));
	MUST(hcommBarrierInit(COMM_WORLD, &req[n++]));
	for (turn = 0; turn < 5; turn++) {
		out[1] = turn;
		MUST(hcommStartAll(n, req));
		MUST(hcommWaitAll(n, req));
		if (sum != turn * size)
			FAIL("turn %d: the sum is %d", turn, sum);
		if (size > 1 && (in[0] != left || in[1] != turn))
			FAIL("turn %d: received %d %d", turn, in[0], in[1]);
	}
	while (n--)
		MUST(hcommRequestFree(&req[n]));
	verdict("messages and collectives started together");
}

/* a small cache, and more plans than it holds */
static void test_pinned(void)
{
	static int32_t in[64], out[64];
	hcommRequest_t req;
	hcommComm_t comm;
	int i;

	setenv("HCOMM_PLAN_CACHE", "2", 1);
	comm = new_comm();
	unsetenv("HCOMM_PLAN_CACHE");
	MUST(hcommAllReduceInit(in, out, 64, hcommInt32, hcommMax, comm, &req));
	for (i = 1; i < 20; i++)
		MUST(hcommAllReduce(in, out, (size_t)i, hcommInt32, hcommSum, comm));
	if (!counter(comm, 'e'))
		FAIL("no plan was evicted");
	for (i = 0; i < 64; i++)
		in[i] = rank * 100 + i;
	MUST(hcommStart(req));
	MUST(hcommWait(&req));
	for (i = 0; i < 64; i++) {
		if (out[i] != (size - 1) * 100 + i)
			FAIL("element %d is %d", i, out[i]);
	}
	MUST(hcommRequestFree(&req));
	/* now it may go */
	for (i = 1; i < 20; i++)
		MUST(hcommAllReduce(in, out, (size_t)i, hcommInt32, hcommSum, comm));
	MUST(hcommCommDestroy(comm));
	verdict("a plan in use is not evicted");
}

/* equal counts find the plan again, others don't */
static void test_vector_plans(void)
{
	struct acase c = {
		.comm = COMM_WORLD, .vector = 1, .type = hcommInt32, .op = hcommSum,
		.count = 333, .gap = 2,
	};
	uint64_t built;
	int i;

	for (c.coll = CASE_REDUCE_SCATTER; c.coll < CASE_COLLS; c.coll++) {
		if (!case_has_vector(c.coll))
			continue;
		c.spread = 1;
		case_run(&c);
		built = counter(COMM_WORLD, 'b');
		for (i = 0; i < 3; i++)
			case_run(&c);
		if (counter(COMM_WORLD, 'b') != built)
			FAIL("%sV: the same call was planned again", case_names[c.coll]);
		for (i = 2; i < 6; i++) {
			c.spread = (size_t)i;
			case_run(&c);
		}
		if (counter(COMM_WORLD, 'b') == built && (!case_has_root(c.coll) ||
							  rank == c.root))
			FAIL("%sV: other counts were not planned", case_names[c.coll]);
	}
	verdict("plans of V forms");
}

int main(int argc, char **argv)
{
	int32_t *pool[2], *plain[2];
	int i;

	if (!access(HCOMM_DEVICE, F_OK))
		test_reopened();
	begin(&argc, &argv);
	verdict("requests that are older than the device's context");
	if (size > CASE_RANKS)
		MUST(HCOMM_ERR_INVALID_USAGE);
	case_begin(1 << 16);
	for (i = 0; i < 2; i++) {
		pool[i] = hcommMalloc(COUNT * sizeof(int32_t));
		plain[i] = malloc(COUNT * sizeof(int32_t));
		if (!pool[i] || !plain[i])
			MUST(HCOMM_ERR_NO_MEMORY);
	}
	test_starts(pool[0], pool[1], "hcommMalloc()");
	test_starts(plain[0], plain[1], "malloc()");
	test_misuse();
	test_failed();
	test_destroyed();
	test_all();
	test_pinned();
	test_vector_plans();
	for (i = 0; i < 2; i++) {
		MUST(hcommFree(pool[i]));
		free(plain[i]);
	}
	case_end();
	return end();
}
