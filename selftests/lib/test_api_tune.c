// SPDX-License-Identifier: GPL-2.0-only
/*
 * Trials of the planner (HCOMM_TUNE) through the API: all ranks go on alike, whatever
 * happens while one is under way.  Run as 1 to 8 ranks.
 */
#include <pthread.h>
#include <sys/mman.h>

#include "api_repeat.h"

#define GROUP	3	/* calls of the kind, and one more */
#define BIG	(1 << 16)

static hcommComm_t tuned(int max_runs)
{
	hcommConfig_t c = HCOMM_CONFIG_INITIALIZER;
	hcommComm_t comm;

	c.tune = 1;
	c.maxRuns = max_runs;
	MUST(make(&c, &comm));
	return comm;
}

/* long enough for trials, agreement and the rest of the job */
static void test_tune(void)
{
	hcommComm_t comm = tuned(2);
	uint64_t plans;
	int i;

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
	hcommRequest_t req[4] = { NULL };
	hcommComm_t comm = tuned(4);
	hcommResult_t ret;
	int32_t *outs[4];
	int i, k;

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
	hcommComm_t comm = tuned(2);
	hcommRequest_t req;
	int i;

	for (i = 0; i < 10; i++)
		one_call(comm, i);
	fill(i);
	MUST(hcommAllReduceAsync(in, out, COUNT, hcommInt32, hcommSum, comm, &req));
	MUST(hcommCommDestroy(comm));
	MUST(hcommWait(&req));
	check(i);
	verdict("tuning, an end in the middle");
}

/* ---------------------------------------------------------------- groups that fail */

static int32_t *many, *big;

static hcommResult_t group(hcommComm_t comm, int turn, int32_t *last)
{
	int i, k;

	for (i = 0; i < GROUP * COUNT; i++)
		many[i] = rank + turn * 7 + i;
	MUST(hcommGroupStart());
	for (k = 0; k < GROUP; k++)
		hcommAllReduce(many + k * COUNT, many + k * COUNT, COUNT, hcommInt32,
			       hcommSum, comm);
	hcommAllReduce(last, last, BIG, hcommInt32, hcommMax, comm);
	return hcommGroupEnd();
}

static void check_group(int turn)
{
	int i;

	for (i = 0; i < GROUP * COUNT; i++) {
		if (many[i] == size * (size - 1) / 2 + size * (turn * 7 + i))
			continue;
		FAIL("group %d: element %d is %d", turn, i, many[i]);
		return;
	}
}

/*
 * The last call has no memory, after the others were numbered: on one rank, which makes
 * the group again while the others wait for it, or on all, which don't.
 */
static void test_group(bool all)
{
	int32_t *none = mmap(NULL, BIG * sizeof(*none), PROT_NONE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	hcommComm_t comm;
	int turn;

	setenv("HCOMM_TIMEOUT", "10", 1);
	comm = tuned(8);
	unsetenv("HCOMM_TIMEOUT");
	for (turn = 0; turn < 30; turn++) {
		if (size > 1 && (all ? turn % 4 == 1 : turn % size == rank)) {
			if (group(comm, turn, none) != HCOMM_ERR_INVALID_ARGUMENT)
				FAIL("group %d: %s", turn, hcommGetLastError(NULL));
		}
		if (group(comm, turn, big)) {
			FAIL("group %d: %s", turn, hcommGetLastError(NULL));
			break;
		}
		check_group(turn);
	}
	MUST(hcommCommDestroy(comm));
	munmap(none, BIG * sizeof(*none));
	verdict("tuning, groups that fail on %s", all ? "all ranks" : "one rank and are repeated");
}

static void *aborter(void *comm)
{
	usleep(20000);
	MUST(hcommCommAbort(comm));
	return NULL;
}

/* between any two groups of a trial: all ranks fail, and all come to an end */
static void test_abort(void)
{
	hcommResult_t ret;
	hcommComm_t comm;
	pthread_t id;
	int at, turn;

	for (at = 0; at < 12; at++) {
		comm = tuned(8);
		for (turn = 0; turn < at; turn++) {
			MUST(group(comm, turn, big));
			check_group(turn);
		}
		MUST(hcommBarrier(COMM_WORLD));
		/* one rank waits, and never comes */
		if (size > 1 && rank == at % size) {
			if (pthread_create(&id, NULL, aborter, comm))
				MUST(HCOMM_ERR_SYSTEM);
			pthread_join(id, NULL);
		}
		if (size == 1)
			MUST(hcommCommAbort(comm));
		ret = group(comm, turn, big);
		if (ret != HCOMM_ERR_ABORTED)
			FAIL("after %d groups: %s", at, hcommGetLastError(NULL));
		MUST(hcommCommDestroy(comm));
	}
	verdict("tuning, aborts");
}

int main(int argc, char **argv)
{
	begin_repeat(&argc, &argv);
	many = hcommMalloc(GROUP * COUNT * sizeof(*many));
	big = hcommMalloc(BIG * sizeof(*big));
	if (!many || !big)
		MUST(HCOMM_ERR_NO_MEMORY);
	test_tune();
	test_tune_async();
	test_tune_end();
	test_group(true);
	test_group(false);
	test_abort();
	MUST(hcommFree(many));
	MUST(hcommFree(big));
	return end_repeat();
}
