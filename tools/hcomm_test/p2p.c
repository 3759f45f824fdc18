// SPDX-License-Identifier: GPL-2.0-only
/* Messages from every rank to every other rank, and so over every link. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../common/elems.h"
#include "../common/util.h"
#include "test.h"

static size_t wrong_from(unsigned int src, unsigned int seed, const void *data,
			 size_t bytes)
{
	char period[PERIOD];

	pattern_of_rank(period, hcommUint8, hcommSum, seed, src);
	return pattern_wrong(data, period, 1, 0, bytes, NULL);
}

static void fill_from(unsigned int src, unsigned int seed, void *data,
		      size_t bytes)
{
	char period[PERIOD];

	pattern_of_rank(period, hcommUint8, hcommSum, seed, src);
	pattern_fill(data, period, 1, 0, bytes);
}

/* each rank to the one @distance further on, at the same time */
static void check_shift(struct test *t, unsigned int distance, size_t bytes,
			size_t skew)
{
	unsigned int dst = (t->rank + distance) % t->size;
	unsigned int src = (t->rank + t->size - distance) % t->size;
	char *out = t->memory[0] + skew, *in = t->memory[1] + GUARD_BYTES + skew;
	hcommRequest_t reqs[2];
	size_t wrong;

	t->seed++;
	fill_from(t->rank, t->seed, out, bytes);
	memset(in - GUARD_BYTES, POISON, bytes + 2 * GUARD_BYTES);
	must(hcommRecvAsync(in, bytes, (int)src, 3, COMM_WORLD, &reqs[0]),
	     "RecvAsync");
	must(hcommSendAsync(out, bytes, (int)dst, 3, COMM_WORLD, &reqs[1]),
	     "SendAsync");
	must(hcommWaitAll(2, reqs), "WaitAll");
	wrong = wrong_from(src, t->seed, in, bytes);
	check_result(t, !wrong, "%zu of %zu bytes from rank %u are wrong", wrong,
		     bytes, src);
	check_result(t, in[-1] == POISON && in[bytes] == POISON,
		     "%zu bytes from rank %u: wrote outside of the buffer",
		     bytes, src);
}

/* there and back, with the blocking calls */
static void check_echo(struct test *t, size_t bytes)
{
	unsigned int peer = t->rank ^ 1;
	char *out = t->memory[0], *in = t->memory[1];
	size_t wrong;

	/* the seeds of all ranks stay the same */
	t->seed++;
	if (peer >= t->size)
		return;
	memset(in, POISON, bytes);
	fill_from(t->rank, t->seed, out, bytes);
	if (t->rank < peer) {
		must(hcommSend(out, bytes, (int)peer, 5, COMM_WORLD), "Send");
		must(hcommRecv(in, bytes, (int)peer, 6, COMM_WORLD), "Recv");
	} else {
		must(hcommRecv(in, bytes, (int)peer, 5, COMM_WORLD), "Recv");
		must(hcommSend(out, bytes, (int)peer, 6, COMM_WORLD), "Send");
	}
	wrong = wrong_from(peer, t->seed, in, bytes);
	check_result(t, !wrong, "%zu of %zu bytes from rank %u are wrong", wrong,
		     bytes, peer);
}

/* Tags, not the order of arrival, say which message is which. */
static void check_tags(struct test *t)
{
	unsigned int peer = t->rank ^ 1, i, seed = t->seed;
	size_t bytes = t->eager < 64 ? t->eager : 64, wrong;
	char *out = t->memory[0], *in = t->memory[1];

	if (peer >= t->size || !bytes)
		return;
	for (i = 0; i < 4; i++) {
		fill_from(t->rank, seed + i, out + i * bytes, bytes);
		must(hcommSend(out + i * bytes, bytes, (int)peer, (int)(100 + i),
			       COMM_WORLD), "Send");
	}
	for (i = 4; i--;) {
		memset(in, POISON, bytes);
		must(hcommRecv(in, bytes, (int)peer, (int)(100 + i), COMM_WORLD),
		     "Recv");
		wrong = wrong_from(peer, seed + i, in, bytes);
		check_result(t, !wrong, "tag %u from rank %u has the wrong message",
			     100 + i, peer);
	}
}

void test_p2p(struct test *t)
{
	uint64_t sizes[MAX_SIZES];
	unsigned int n = test_sizes(t, sizes), i, distance;

	if (t->size == 1) {
		printf("SKIP  send and receive: a rank alone has nobody to send to\n");
		return;
	}
	group_begin(t);
	for (i = 0; i < n; i++)
		check_echo(t, (size_t)sizes[i]);
	check_tags(t);
	t->seed += 4;
	group_end(t, "send and receive, blocking, by tags");

	for (distance = 1; distance < t->size; distance++) {
		group_begin(t);
		for (i = 0; i < n; i++) {
			check_shift(t, distance, (size_t)sizes[i], 0);
			if (t->all || i % 2)
				check_shift(t, distance, (size_t)sizes[i],
					    MISALIGNMENT);
		}
		group_end(t, "send and receive, rank n to n + %u", distance);
	}
}
