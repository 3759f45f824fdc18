// SPDX-License-Identifier: GPL-2.0-only
/*
 * Running the engines of peers on this kernel.
 *
 * With more ranks than CPUs a rank that waits gives its CPU to others, and to let it
 * run for each message that it only passes on costs a switch to its process and one
 * back.  But an engine needs nothing of its process: memory is pinned.  So
 * who waits and has a CPU runs it: a thread that runs engines has a list, and what
 * they send to a rank that yields its CPU adds it there.  That one goes on by itself
 * when its turn comes, so it does not depend on who has it in a list; one that sleeps
 * is woken as ever.
 *
 * A communicator is in one list at most: who sets comm->pushed adds it, with a
 * reference, and clears that before it runs the engine.  Whatever comes in between
 * is seen by that run, as the thread announces itself (comm->runners) after it.
 * Its own waiter may run it at any time, too; nobody waits for who has the lock.
 *
 * A thread with work of its own pushes nobody, and what a short time is not enough
 * for goes back: to the waiter, which is told, or the worker.
 */
#include <linux/ktime.h>

#include "comm_priv.h"

/*
 * For so long one thread works for another process at once.  What takes longer is
 * for the process itself, on its own CPU and account.
 */
#define PUSH_NS		(100 * NSEC_PER_USEC)

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

/* The rest is for its own waiter, or the worker. */
static void push_give_back(struct hcomm_comm *comm)
{
	if (hcomm_comm_tell_waiter(comm))
		return;
	hcomm_comm_lock(comm);
	/* Nobody waits for its work any more once it is dead. */
	if (!comm->dead)
		hcomm_comm_dispatch(comm);
	hcomm_comm_unlock(comm);
}

bool hcomm_push_next(struct list_head *push)
{
	struct hcomm_comm *comm = push_take(push);
	u64 end = ktime_get_ns() + PUSH_NS;
	bool more = true;

	if (!comm)
		return false;
	while (more && hcomm_comm_try_run(comm, HCOMM_WORKER_BUDGET, push, &more) &&
	       ktime_get_ns() < end)
		;
	atomic64_inc(&comm->pushes);
	if (more)
		push_give_back(comm);
	hcomm_comm_put(comm);
	return true;
}

void hcomm_push_leave(struct list_head *push)
{
	struct hcomm_comm *comm;

	while ((comm = push_take(push))) {
		push_give_back(comm);
		hcomm_comm_put(comm);
	}
}
