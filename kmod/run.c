// SPDX-License-Identifier: GPL-2.0-only
/*
 * Who runs the engine of a communicator, and how it is woken.
 *
 * comm->kicks is KICKS_NOW while something arrived that nobody has looked at.  Who
 * sets it to that must find somebody to look: a thread that is inside
 * hcomm_comm_run() (comm->runners; it looks again when it leaves), the waiter
 * of the context (spinning: it comes round; sleeping: it is woken; yielding its CPU:
 * it comes round later, and who kicks may run the engine before, see push.c), or the
 * worker.
 * Every party announces itself before it checks for kicks, and the kicker sets
 * kicks before it checks for parties: full barriers on both sides, so one of the
 * two sees the other.
 */
#include <linux/ktime.h>
#include <linux/sched.h>

#include "comm_priv.h"
#include "trace.h"

bool hcomm_comm_tell_waiter(struct hcomm_comm *comm)
{
	struct hcomm_ctx *ctx = comm->ctx;

	atomic_set(&comm->kicks, HCOMM_KICKS_NOW);
	/* A waiter that takes kicked back sees kicks. */
	smp_mb();
	atomic_set(&ctx->kicked, 1);
	/* Pairs with the barrier of a waiter that changes its state. */
	smp_mb();
	if (READ_ONCE(comm->unlisted))
		return false;
	switch (atomic_read(&ctx->waiter)) {
	case HCOMM_WAITER_SPIN:
	case HCOMM_WAITER_YIELD:
		return true;
	case HCOMM_WAITER_SLEEP:
		wake_up_all(&ctx->waiter_wq);
		return true;
	default:
		return false;
	}
}

void hcomm_comm_dispatch(struct hcomm_comm *comm)
{
	if (!hcomm_comm_tell_waiter(comm))
		queue_work(hcomm_wq, &comm->work);
}

void hcomm_comm_nudge(struct hcomm_comm *comm)
{
	/* Who takes it back sees what there is. */
	smp_mb();
	atomic_set(&comm->ctx->kicked, 1);
}

static void comm_kick(struct hcomm_comm *comm, struct list_head *push)
{
	if (atomic_xchg(&comm->kicks, HCOMM_KICKS_NOW) == HCOMM_KICKS_NOW)
		return;
	if (atomic_read(&comm->runners))
		return;
	if (push && hcomm_push_wants(comm))
		hcomm_push_add(push, comm);
	else
		hcomm_comm_dispatch(comm);
}

static void comm_kick_runs(struct hcomm_comm *comm, struct list_head *push)
{
	/* Either the run is seen here, or its launch sees what arrived. */
	smp_mb();
	if (READ_ONCE(comm->engine.nruns))
		comm_kick(comm, push);
	else if (atomic_cmpxchg(&comm->kicks, HCOMM_KICKS_NONE, HCOMM_KICKS_LATER) ==
		 HCOMM_KICKS_NONE)
		queue_delayed_work(hcomm_wq, &comm->tick, HCOMM_TICK_JIFFIES);
}

void hcomm_comm_kick(struct hcomm_comm *comm)
{
	comm_kick(comm, NULL);
}

void hcomm_comm_kick_by(struct hcomm_comm *comm, struct hcomm_comm *by, bool runs)
{
	lockdep_assert_held(&by->lock);
	if (runs)
		comm_kick_runs(comm, by->push);
	else
		comm_kick(comm, by->push);
}

void hcomm_comm_lock(struct hcomm_comm *comm)
{
	mutex_lock(&comm->lock);
}

/*
 * Runs that ended are reported without the lock: dropping the last reference to
 * memory may take time, and the process may at once launch again.
 */
void hcomm_comm_unlock(struct hcomm_comm *comm)
{
	struct hcomm_launch_ctx *lc, *next;
	LIST_HEAD(done);

	lockdep_assert_held(&comm->lock);
	list_splice_init(&comm->done, &done);
	mutex_unlock(&comm->lock);
	list_for_each_entry_safe(lc, next, &done, node)
		hcomm_launch_report(lc);
}

bool hcomm_comm_run_locked(struct hcomm_comm *comm, u32 budget, bool arm)
{
	const struct hcomm_transport *t;
	bool more = false;
	u32 i;

	lockdep_assert_held(&comm->lock);
	atomic_set(&comm->kicks, HCOMM_KICKS_NONE);
	WRITE_ONCE(comm->armed, false);
	if (comm->dead)
		return false;
	/* What is kicked from here on sets kicks again. */
	smp_mb();
	hcomm_link_news(comm);
	for (i = 0; i < HCOMM_NR_TRANSPORTS; i++) {
		t = hcomm_transports[i];
		if (hcomm_comm_uses(comm, t) && t->comm_poll(comm, budget))
			more = true;
	}
	if (hcomm_engine_run(&comm->engine, budget))
		more = true;
	if (more || !arm)
		return more;
	for (i = 0; i < HCOMM_NR_TRANSPORTS; i++) {
		t = hcomm_transports[i];
		if (hcomm_comm_uses(comm, t) && t->comm_arm(comm))
			more = true;
	}
	WRITE_ONCE(comm->armed, !more);
	return more;
}

/* With the lock, and as one of the runners; both are given up. */
static bool comm_run(struct hcomm_comm *comm, u32 budget, bool arm, struct list_head *push)
{
	bool more;

	comm->push = push;
	more = hcomm_comm_run_locked(comm, budget, arm);
	comm->push = NULL;
	hcomm_comm_unlock(comm);
	/* Fully ordered: a kick before it is seen below, one after it sees us gone. */
	atomic_dec_return(&comm->runners);
	return more || atomic_read(&comm->kicks) == HCOMM_KICKS_NOW;
}

bool hcomm_comm_run(struct hcomm_comm *comm, u32 budget, bool arm)
{
	return hcomm_comm_run_push(comm, budget, arm, NULL);
}

bool hcomm_comm_run_push(struct hcomm_comm *comm, u32 budget, bool arm,
			 struct list_head *push)
{
	atomic_inc(&comm->runners);
	hcomm_comm_lock(comm);
	return comm_run(comm, budget, arm, push);
}

bool hcomm_comm_try_run(struct hcomm_comm *comm, u32 budget, struct list_head *push,
			bool *more)
{
	atomic_inc(&comm->runners);
	if (!mutex_trylock(&comm->lock)) {
		atomic_dec_return(&comm->runners);
		return false;
	}
	*more = comm_run(comm, budget, true, push);
	return true;
}

void hcomm_comm_work(struct work_struct *work)
{
	struct hcomm_comm *comm = container_of(work, struct hcomm_comm, work);
	u64 end = ktime_get_ns() + HCOMM_WORKER_NS;

	do {
		if (!hcomm_comm_run(comm, HCOMM_WORKER_BUDGET, true))
			return;
		cond_resched();
	} while (ktime_get_ns() < end);
	hcomm_comm_dispatch(comm);
}

void hcomm_comm_tick(struct work_struct *work)
{
	struct hcomm_comm *comm = container_of(to_delayed_work(work), struct hcomm_comm,
					       tick);
	bool again;

	hcomm_comm_lock(comm);
	hcomm_engine_tick(&comm->engine);
	again = comm->engine.nruns && !comm->engine.fault.error;
	hcomm_comm_unlock(comm);
	if (again || atomic_read(&comm->kicks))
		hcomm_comm_dispatch(comm);
	if (again)
		queue_delayed_work(hcomm_wq, &comm->tick, HCOMM_TICK_JIFFIES);
}
