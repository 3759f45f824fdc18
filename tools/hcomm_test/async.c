// SPDX-License-Identifier: GPL-2.0-only
/* Several calls at once, waited for in all ways; and the barrier. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../common/elems.h"
#include "../common/util.h"
#include "test.h"

#define CALLS		4
#define LATE_MS		100

struct batch {
	int32_t *data[CALLS];
	size_t count[CALLS];
	hcommRequest_t reqs[CALLS];
};

static void start(struct test *t, struct batch *b)
{
	char period[PERIOD * 4];
	unsigned int i;

	for (i = 0; i < CALLS; i++) {
		pattern_of_rank(period, hcommInt32, hcommSum, 10 + i, t->rank);
		pattern_fill(b->data[i], period, 4, 0, b->count[i]);
	}
	for (i = 0; i < CALLS; i++)
		must(hcommAllReduceAsync(b->data[i], b->data[i], b->count[i],
					 hcommInt32, hcommSum, COMM_WORLD,
					 &b->reqs[i]), "AllReduceAsync");
}

static void finish(struct test *t, struct batch *b, const char *how)
{
	char period[PERIOD * 4];
	unsigned int i;
	size_t wrong;

	for (i = 0; i < CALLS; i++) {
		pattern_reduced(period, hcommInt32, hcommSum, 10 + i, t->size);
		wrong = pattern_wrong(b->data[i], period, 4, 0, b->count[i],
				      NULL);
		check_result(t, !wrong && !b->reqs[i],
			     "%s: call %u: %zu elements are wrong", how, i,
			     wrong);
	}
}

static void wait_backwards(struct test *t, struct batch *b)
{
	unsigned int i;

	start(t, b);
	for (i = CALLS; i--;)
		must(hcommWait(&b->reqs[i]), "Wait");
	finish(t, b, "hcommWait");
}

static void wait_for_all(struct test *t, struct batch *b)
{
	start(t, b);
	must(hcommWaitAll(CALLS, b->reqs), "WaitAll");
	finish(t, b, "hcommWaitAll");
}

static void wait_by_asking(struct test *t, struct batch *b)
{
	unsigned int left = CALLS, i;
	int done;

	start(t, b);
	while (left) {
		for (i = 0; i < CALLS; i++) {
			if (!b->reqs[i])
				continue;
			must(hcommTest(&b->reqs[i], &done), "Test");
			left -= !!done;
		}
		usleep(100);
	}
	finish(t, b, "hcommTest");
}

void test_async(struct test *t)
{
	struct batch b;
	unsigned int i, rounds = t->all ? 10 : 2;

	group_begin(t);
	for (i = 0; i < CALLS; i++) {
		size_t bytes = (size_t)3000 << (3 * i);

		bytes = bytes < t->max_bytes ? bytes : t->max_bytes;
		b.count[i] = bytes / 4;
		b.data[i] = must_hcomm_malloc(bytes);
	}
	for (i = 0; i < rounds; i++) {
		wait_backwards(t, &b);
		wait_for_all(t, &b);
		wait_by_asking(t, &b);
	}
	for (i = 0; i < CALLS; i++)
		hcommFree(b.data[i]);
	group_end(t, "%u calls at once", CALLS);
}

/*
 * Nobody may leave before the one that comes late.  It begins to be late when it
 * knows that all others have looked at their clocks.
 */
static void check_late(struct test *t, unsigned int late)
{
	uint64_t begin, ms;
	unsigned int i;

	begin = now_ns();
	if (t->rank == late) {
		for (i = 0; i < t->size; i++) {
			if (i != late)
				must(hcommRecv(NULL, 0, (int)i, 9, COMM_WORLD),
				     "Recv");
		}
		usleep(LATE_MS * 1000);
	} else {
		must(hcommSend(NULL, 0, (int)late, 9, COMM_WORLD), "Send");
	}
	must(hcommBarrier(COMM_WORLD), "Barrier");
	ms = (now_ns() - begin) / 1000000;
	check_result(t, ms >= LATE_MS - 1,
		     "left the barrier after %llu ms; rank %u was %u ms late",
		     (unsigned long long)ms, late, LATE_MS);
}

void test_barrier(struct test *t)
{
	unsigned int late, i;

	group_begin(t);
	for (i = 0; i < 20; i++)
		must(hcommBarrier(COMM_WORLD), "Barrier");
	for (late = 0; late < t->size; late += t->size > 4 ? t->size / 4 : 1)
		check_late(t, late);
	group_end(t, "barrier");
}
