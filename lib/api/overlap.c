// SPDX-License-Identifier: LGPL-2.1-or-later
/* Messages of one call: what one of them receives, no other may touch. */
#include <stdlib.h>

#include "api.h"

#define FEW	16

/**
 * struct span - memory of a message
 * @start: its first byte
 * @end: the byte behind its last one
 * @op: number of the message
 * @received: it is written
 */
struct span {
	uintptr_t start;
	uintptr_t end;
	int op;
	bool received;
};

static int compare(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static hcommResult_t overlap(const char *name, const struct span *a, const struct span *b)
{
	const struct span *first = a->op < b->op ? a : b, *second = a->op < b->op ? b : a;

	return hcomm_fail(HCOMM_ERR_INVALID_ARGUMENT,
			  "%s: the buffers of message %d (%zu bytes at %p, %s) and message %d (%zu bytes at %p, %s) overlap",
			  name, first->op, (size_t)(first->end - first->start),
			  (void *)first->start, first->received ? "received" : "sent",
			  second->op, (size_t)(second->end - second->start),
			  (void *)second->start, second->received ? "received" : "sent");
}

/* in the order of their starts, each can only overlap one that reaches further */
static hcommResult_t sweep(const char *name, struct span *spans, int n)
{
	const struct span *furthest = NULL, *furthest_received = NULL, *s;

	qsort(spans, (size_t)n, sizeof(*spans), compare);
	for (s = spans; s < spans + n; s++) {
		if (s->received && furthest && furthest->end > s->start)
			return overlap(name, furthest, s);
		if (furthest_received && furthest_received->end > s->start)
			return overlap(name, furthest_received, s);
		if (!furthest || s->end > furthest->end)
			furthest = s;
		if (s->received && (!furthest_received || s->end > furthest_received->end))
			furthest_received = s;
	}
	return HCOMM_SUCCESS;
}

hcommResult_t hcomm_api_messages_apart(const char *name, const hcommP2p_t *ops, int count)
{
	struct span few[FEW], *spans = few;
	hcommResult_t ret;
	int i, n = 0;

	if (count > FEW)
		spans = calloc((size_t)count, sizeof(*spans));
	if (!spans)
		return hcomm_fail_nomem("a look at the buffers");
	for (i = 0; i < count; i++) {
		uintptr_t start = (uintptr_t)ops[i].buf;

		/* what is no buffer is told of where its message is looked at */
		if (ops[i].bytes && ops[i].bytes <= UINTPTR_MAX - start)
			spans[n++] = (struct span){ start, start + ops[i].bytes, i,
						    ops[i].op == hcommP2pRecv };
	}
	ret = sweep(name, spans, n);
	if (spans != few)
		free(spans);
	return ret;
}
