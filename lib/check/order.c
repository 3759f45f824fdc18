// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Is one chunk complete before another one begins, whatever the timing?
 *
 * What always holds: a chunk begins after the chunks that it depends on are
 * complete, and the RECV of a message is complete only after its SEND began.
 * (That a large SEND is complete only after its RECV began, and that chunks of a
 * link begin in order, is left out: programs must not rely on it.)
 *
 * The search goes back from the later chunk.  The run that was simulated is one
 * of the possible ones, so whatever was over there before the earlier chunk was
 * complete cannot depend on it: that keeps the search short.  Most orders are
 * local, so messages are looked at only in a second search.
 */
#include <errno.h>
#include <stdlib.h>

#include "internal.h"

struct search {
	struct checker *c;
	uint32_t goal;
	uint32_t depth;
	bool found;
};

static int push(struct search *q, uint32_t node)
{
	struct checker *c = q->c;
	struct node *n = &c->node[node];
	uint32_t *stack, room;

	if (node == q->goal) {
		q->found = true;
		return 0;
	}
	if (n->stamp == c->stamp || n->done < c->node[q->goal].done)
		return 0;
	n->stamp = c->stamp;
	if (q->depth == c->stack_room) {
		room = c->stack_room ? 2 * c->stack_room : 1024;
		stack = realloc(c->stack, room * sizeof(*stack));
		if (!stack)
			return -ENOMEM;
		c->stack = stack;
		c->stack_room = room;
	}
	c->stack[q->depth++] = node;
	return 0;
}

/* what must be complete before a chunk begins */
static int push_deps(struct search *q, uint32_t node)
{
	struct checker *c = q->c;
	const struct node *n = &c->node[node];
	const struct gstep *g = &c->g[n->gstep], *d;
	uint32_t k, i;

	if (n->issued < c->node[q->goal].done)
		return 0;
	for (k = 0; k < g->s->dep_count && !q->found; k++) {
		uint32_t dep = c->progs[g->rank].deps[g->s->dep_first + k];

		d = &c->g[c->first[g->rank] + HCOMM_DEP_INDEX(dep)];
		if (dep & HCOMM_DEP_STREAM) {
			if (push(q, d->node + (node - g->node)))
				return -ENOMEM;
			continue;
		}
		for (i = 0; i < d->nchunks; i++) {
			if (push(q, d->node + i))
				return -ENOMEM;
		}
	}
	return 0;
}

static int search(struct search *q, uint32_t from, bool messages)
{
	struct checker *c = q->c;
	const struct gstep *g;
	uint32_t node;

	c->stamp++;
	q->depth = 0;
	if (push_deps(q, from))
		return -ENOMEM;
	while (q->depth && !q->found) {
		node = c->stack[--q->depth];
		if (push_deps(q, node))
			return -ENOMEM;
		g = &c->g[c->node[node].gstep];
		if (messages && is_recv(g->s) &&
		    push_deps(q, c->g[g->peer].node + (node - g->node)))
			return -ENOMEM;
	}
	return 0;
}

int chk_ordered(struct checker *c, uint32_t x, uint32_t y, bool *yes)
{
	struct search q = { .c = c, .goal = x };

	*yes = false;
	if (c->node[y].issued < c->node[x].done)
		return 0;
	if (search(&q, y, false) || (!q.found && search(&q, y, true)))
		return -ENOMEM;
	*yes = q.found;
	return 0;
}
