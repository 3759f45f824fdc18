// SPDX-License-Identifier: GPL-2.0-only
/* The heap of events: by time, and by age where times are equal. */
#include <stdio.h>
#include "fabric.h"

static bool before(const struct sim_event *a, const struct sim_event *b)
{
	return a->time < b->time || (a->time == b->time && a->seq < b->seq);
}

struct sim_event *event_new(struct sim *sim, u32 type, u64 time)
{
	struct sim_event *ev = sim->free_events;

	if (ev)
		sim->free_events = (struct sim_event *)ev->node.next;
	else
		ev = malloc(sizeof(*ev));
	if (!ev)
		sim_die(sim, "out of memory");
	memset(ev, 0, sizeof(*ev));
	INIT_LIST_HEAD(&ev->node);
	ev->type = type;
	ev->time = time;
	return ev;
}

void event_free(struct sim *sim, struct sim_event *ev)
{
	ev->node.next = (struct list_head *)sim->free_events;
	sim->free_events = ev;
}

void event_push(struct sim *sim, struct sim_event *ev)
{
	u32 i, up;

	if (sim->nheap == sim->heap_size) {
		sim->heap_size = sim->heap_size ? 2 * sim->heap_size : 1024;
		sim->heap = realloc(sim->heap, sim->heap_size * sizeof(ev));
		if (!sim->heap)
			sim_die(sim, "out of memory");
	}
	ev->seq = sim->seq++;
	for (i = sim->nheap++; i; i = up) {
		up = (i - 1) / 2;
		if (!before(ev, sim->heap[up]))
			break;
		sim->heap[i] = sim->heap[up];
	}
	sim->heap[i] = ev;
}

struct sim_event *event_pop(struct sim *sim)
{
	struct sim_event *top, *last;
	u32 i = 0, kid;

	if (!sim->nheap)
		return NULL;
	top = sim->heap[0];
	last = sim->heap[--sim->nheap];
	while ((kid = 2 * i + 1) < sim->nheap) {
		if (kid + 1 < sim->nheap && before(sim->heap[kid + 1], sim->heap[kid]))
			kid++;
		if (!before(sim->heap[kid], last))
			break;
		sim->heap[i] = sim->heap[kid];
		i = kid;
	}
	sim->heap[i] = last;
	return top;
}

void events_exit(struct sim *sim)
{
	struct sim_event *ev;

	/* Burying the dead may have made some that never happen. */
	while ((ev = event_pop(sim)))
		event_free(sim, ev);
	while ((ev = sim->free_events)) {
		sim->free_events = (struct sim_event *)ev->node.next;
		free(ev);
	}
	free(sim->heap);
}
