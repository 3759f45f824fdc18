// SPDX-License-Identifier: GPL-2.0-only
/*
 * Messages: of all sizes, by tag, in flight, of threads.  Ranks 0 and 1 play, the others
 * only agree on the verdict.  Two ranks or more.
 */
#include <pthread.h>

#include "api_util.h"

#define BIG	(1 << 20)

static int peer;

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

int main(int argc, char **argv)
{
	begin(&argc, &argv);
	need_two();
	peer = rank < 2 ? !rank : -1;
	RUN_TESTS(test_sizes, test_tags, test_eager, test_async, test_busy, test_threads);
	return end();
}
