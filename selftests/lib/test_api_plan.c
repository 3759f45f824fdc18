// SPDX-License-Identifier: GPL-2.0-only
/* The planner through the API: wishes, probes, feedback.  Run as 1 to 8 ranks. */
#include "api_util.h"

#define COUNT	1000

static int32_t *in, *out;

static hcommResult_t make(const hcommConfig_t *config, hcommComm_t *comm)
{
	hcommUniqueId id;

	memset(&id, 0, sizeof(id));
	if (!rank)
		MUST(hcommGetUniqueId(&id));
	MUST(hcommBcast(&id, sizeof(id), hcommUint8, 0, COMM_WORLD));
	return hcommCommInitRankConfig(comm, size, id, rank, config);
}

static void check(int turn)
{
	size_t i;

	for (i = 0; i < COUNT; i++) {
		int32_t want = size * (size - 1) / 2 + size * (int32_t)(i + turn);

		if (out[i] != want) {
			FAIL("call %d: element %zu is %d, must be %d", turn, i, out[i], want);
			return;
		}
	}
}

static void fill(int turn)
{
	size_t i;

	for (i = 0; i < COUNT; i++)
		in[i] = rank + (int32_t)i + turn;
}

static void one_call(hcommComm_t comm, int turn)
{
	fill(turn);
	MUST(hcommAllReduce(in, out, COUNT, hcommInt32, hcommSum, comm));
	check(turn);
}

static uint64_t built(hcommComm_t comm)
{
	hcommStats_t stats = { .size = sizeof(stats) };

	MUST(hcommCommGetStats(comm, &stats));
	return stats.plansBuilt;
}

/* a bad word is refused before anybody is asked */
static void test_words(void)
{
	hcommConfig_t c = HCOMM_CONFIG_INITIALIZER;
	hcommComm_t comm;
	hcommUniqueId id;

	memset(&id, 0, sizeof(id));
	if (!rank)
		MUST(hcommGetUniqueId(&id));
	MUST(hcommBcast(&id, sizeof(id), hcommUint8, 0, COMM_WORLD));
	c.algo = "allreduce:rings";
	if (hcommCommInitRankConfig(&comm, size, id, rank, &c) !=
	    HCOMM_ERR_INVALID_ARGUMENT)
		FAIL("rings: %s", hcommGetLastError(NULL));
	if (!strstr(hcommGetLastError(NULL), "double-tree (dbtree)"))
		FAIL("no list of known words: %s", hcommGetLastError(NULL));
	c.algo = "allreduce:tree";
	c.algoTable = "allreduce: 0-1K=ring,1K-=dbtree";
	MUST(hcommCommInitRankConfig(&comm, size, id, rank, &c));
	one_call(comm, 1);
	MUST(hcommCommDestroy(comm));
	verdict("wishes: a bad one is refused, good ones work");
}

static void test_differ(void)
{
	hcommConfig_t c = HCOMM_CONFIG_INITIALIZER;
	hcommComm_t comm;

	if (size > 1) {
		c.algo = rank ? "allreduce:ring" : "allreduce:tree";
		if (make(&c, &comm) != HCOMM_ERR_OPTIONS ||
		    !strstr(hcommGetLastError(NULL), "HCOMM_ALGO differs"))
			FAIL("algorithms: %s", hcommGetLastError(NULL));
		c.algo = NULL;
		c.algoTable = rank ? "reduce: 0-=tree" : "reduce: 0-=dbtree";
		if (make(&c, &comm) != HCOMM_ERR_OPTIONS ||
		    !strstr(hcommGetLastError(NULL), "HCOMM_ALGO_TABLE"))
			FAIL("tables: %s", hcommGetLastError(NULL));
	}
	verdict("wishes that differ are an error on all ranks");
}

static void test_probe(void)
{
	hcommConfig_t c = HCOMM_CONFIG_INITIALIZER;
	hcommComm_t comm;
	int i;

	c.probe = 1;
	MUST(make(&c, &comm));
	if (built(comm))
		FAIL("the probe left %llu plans", (unsigned long long)built(comm));
	for (i = 0; i < 5; i++)
		one_call(comm, i);
	if (built(comm) != 1)
		FAIL("%llu plans for one kind of call", (unsigned long long)built(comm));
	MUST(hcommCommDestroy(comm));
	verdict("probing at creation");
}

/* long enough for trials, agreement and the rest of the job */
static void test_tune(void)
{
	hcommConfig_t c = HCOMM_CONFIG_INITIALIZER;
	hcommComm_t comm;
	uint64_t plans;
	int i;

	c.tune = 1;
	c.maxRuns = 2;
	MUST(make(&c, &comm));
	for (i = 0; i < 20; i++) {
		/* not all ranks are equally fast */
		if (i % size == rank)
			usleep(1000);
		one_call(comm, i);
	}
	plans = built(comm);
	for (; i < 30; i++)
		one_call(comm, i);
	if (built(comm) != plans)
		FAIL("a repeated call made %llu plans",
		     (unsigned long long)(built(comm) - plans));
	MUST(hcommCommDestroy(comm));
	verdict("tuning, blocking calls");
}

/* as many in flight as may be, through all of a trial */
static void test_tune_async(void)
{
	hcommConfig_t c = HCOMM_CONFIG_INITIALIZER;
	hcommRequest_t req[4] = { NULL };
	hcommResult_t ret;
	hcommComm_t comm;
	int32_t *outs[4];
	int i, k;

	c.tune = 1;
	c.maxRuns = 4;
	MUST(make(&c, &comm));
	fill(0);
	for (k = 0; k < 4; k++) {
		outs[k] = hcommMalloc(COUNT * sizeof(*outs[k]));
		if (!outs[k])
			MUST(HCOMM_ERR_NO_MEMORY);
	}
	for (i = 0; i < 60; i++) {
		hcommRequest_t *slot = &req[i % 4];

		MUST(hcommWait(slot));
		do {
			ret = hcommAllReduceAsync(in, outs[i % 4], COUNT, hcommInt32,
						  hcommMax, comm, slot);
			/* all slots may be taken, one by the library */
			if (ret == HCOMM_ERR_BUSY)
				MUST(hcommWait(&req[(i + 1) % 4]));
		} while (ret == HCOMM_ERR_BUSY);
		MUST(ret);
	}
	MUST(hcommWaitAll(4, req));
	for (i = 0; i < 4 * COUNT; i++) {
		if (outs[i / COUNT][i % COUNT] != size - 1 + i % COUNT) {
			FAIL("element %d is %d", i, outs[i / COUNT][i % COUNT]);
			break;
		}
	}
	for (k = 0; k < 4; k++)
		MUST(hcommFree(outs[k]));
	MUST(hcommCommDestroy(comm));
	verdict("tuning, calls in flight");
}

/* the communicator may end in the middle of a trial, its request later */
static void test_tune_end(void)
{
	hcommConfig_t c = HCOMM_CONFIG_INITIALIZER;
	hcommRequest_t req;
	hcommComm_t comm;
	int i;

	c.tune = 1;
	c.maxRuns = 2;
	MUST(make(&c, &comm));
	for (i = 0; i < 10; i++)
		one_call(comm, i);
	fill(i);
	MUST(hcommAllReduceAsync(in, out, COUNT, hcommInt32, hcommSum, comm, &req));
	MUST(hcommCommDestroy(comm));
	MUST(hcommWait(&req));
	check(i);
	verdict("tuning, an end in the middle");
}

int main(int argc, char **argv)
{
	begin(&argc, &argv);
	in = hcommMalloc(COUNT * sizeof(*in));
	out = hcommMalloc(COUNT * sizeof(*out));
	if (!in || !out)
		MUST(HCOMM_ERR_NO_MEMORY);
	test_words();
	test_differ();
	test_probe();
	test_tune();
	test_tune_async();
	test_tune_end();
	MUST(hcommFree(in));
	MUST(hcommFree(out));
	return end();
}
