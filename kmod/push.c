// SPDX-License-Identifier: GPL-2.0-only
/*
 * Running the engines of peers on this kernel.
 *
 * With more ranks than CPUs a rank that waits gives its CPU to others, and to let it
 * run for each message that it only passes on costs a switch to its process and one
 * back.  But an engine needs nothing of its process: memory is pinned.  So
 * who waits and has a CPU runs it: a thread that runs engines has a list, and what
 * they send to a rank that gave its CPU away adds it there instead of waking it.
 * It is woken when its run is over, if it sleeps.
 *
 * A communicator is in one list at most: who sets comm->pushed adds it, with a
 * reference, and clears that before it runs the engine.  Whatever comes in between
 * is seen by that run, as the thread announces itself (comm->runners) after it.
 * Its own waiter may run it at any time, too.
 */
#include "comm_priv.h"

bool hcomm_push_wants(struct hcomm_comm *comm)
{
	return !READ_ONCE(comm->unlisted) &&
	       atomic_read(&comm->ctx->waiter) == HCOMM_WAITER_YIELD;
}

void hcomm_push_add(struct list_head *push, struct hcomm_comm *comm)
{
	if (atomic_xchg(&comm->pushed, 1))
		return;
	kref_get(&comm->obj.ref);
	list_add_tail(&comm->push_node, push);
}

/* The next one, which is the caller's with its reference. */
static struct hcomm_comm *push_take(struct list_head *push)
{
	struct hcomm_comm *comm;

	comm = list_first_entry_or_null(push, struct hcomm_comm, push_node);
	if (!comm)
		return NULL;
	list_del_init(&comm->push_node);
	/* Fully ordered: who finds it set has kicked before. */
	atomic_xchg(&comm->pushed, 0);
	return comm;
}

bool hcomm_push_next(struct list_head *push)
{
	struct hcomm_comm *comm = push_take(push);

	if (!comm)
		return false;
	if (hcomm_comm_run_push(comm, HCOMM_ROUND_BUDGET, true, push)) {
		atomic_set(&comm->kicks, HCOMM_KICKS_NOW);
		hcomm_push_add(push, comm);
	}
	atomic64_inc(&comm->pushes);
	hcomm_comm_put(comm);
	return true;
}

void hcomm_push_leave(struct list_head *push)
{
	struct hcomm_comm *comm;

	while ((comm = push_take(push))) {
		hcomm_comm_lock(comm);
		/* Its work is not waited for any more once it is dead. */
		if (!comm->dead)
			hcomm_comm_dispatch(comm);
		hcomm_comm_unlock(comm);
		hcomm_comm_put(comm);
	}
}
