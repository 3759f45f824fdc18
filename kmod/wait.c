// SPDX-License-Identifier: GPL-2.0-only
/*
 * Waiting in the kernel, and helping meanwhile.
 *
 * The waiter of a context runs the engines of its communicators: it spins for a
 * bounded time, then makes sure that what comes wakes it, and sleeps.  When it
 * leaves it hands what is left to the workers.
 */
#include <linux/ktime.h>
#include <linux/sched/signal.h>
#include <linux/sched/stat.h>

#include "comm_priv.h"

/* Must the engine's transports be asked whether something came? */
static bool comm_polls(struct hcomm_comm *comm)
{
	/* Their parts were there before. */
	u32 i, uses = smp_load_acquire(&comm->transports);
	const struct hcomm_transport *t;

	for (i = 0; i < HCOMM_NR_TRANSPORTS; i++) {
		t = hcomm_transports[i];
		if (t->comm_polls && (uses & t->id) && t->comm_polls(comm))
			return true;
	}
	return false;
}

/**
 * enum round - which engines are run, beside those that were kicked
 * @ROUND_RUNS: that have runs, of which some may be new
 * @ROUND_NEWS: that have runs and must be asked whether something came
 * @ROUND_ARM: that must be asked; after that what comes for them kicks
 */
enum round {
	ROUND_RUNS,
	ROUND_NEWS,
	ROUND_ARM,
};

/* Is there no need to run it in this round? */
static bool comm_rests(struct hcomm_comm *comm, enum round round)
{
	if (atomic_read(&comm->kicks))
		return false;
	if (round == ROUND_ARM && READ_ONCE(comm->armed))
		return true;
	/* Without runs there is nothing to be spun for. */
	if (round != ROUND_ARM && !READ_ONCE(comm->engine.nruns))
		return true;
	return round != ROUND_RUNS && !comm_polls(comm);
}

/* Nothing came: what a peer does with our memory goes faster by two. */
static bool comm_help(struct hcomm_comm *comm)
{
	const struct hcomm_transport *t;
	bool helped = false;
	u32 i;

	/* Only for a run of ours does a peer read it. */
	if (!smp_load_acquire(&comm->engine.nruns))
		return false;
	for (i = 0; i < HCOMM_NR_TRANSPORTS; i++) {
		t = hcomm_transports[i];
		if (t->comm_help && hcomm_comm_uses(comm, t))
			helped |= t->comm_help(comm);
	}
	return helped;
}

/**
 * struct found - what a round found
 * @more: there is more to do at once
 * @progress: something moved
 * @polls: something may come that does not kick
 */
struct found {
	bool more;
	bool progress;
	bool polls;
};

/* Run an engine; true if something moved. */
static bool comm_round(struct hcomm_comm *comm, enum round round, struct list_head *push,
		       struct found *found)
{
	u64 before = READ_ONCE(comm->progress);
	bool moved;

	if (hcomm_comm_run_push(comm, HCOMM_ROUND_BUDGET, round == ROUND_ARM, push)) {
		found->more = true;
		atomic_set(&comm->kicks, HCOMM_KICKS_NOW);
	}
	moved = READ_ONCE(comm->progress) != before;
	found->progress |= moved;
	return moved;
}

/* One round of all engines; peers to push are added to @push. */
static struct found ctx_round(struct hcomm_ctx *ctx, enum round round,
			      struct list_head *push)
{
	struct found found = {};
	struct hcomm_comm *comm;
	bool moved;

	mutex_lock(&ctx->comms_lock);
	list_for_each_entry(comm, &ctx->comms, ctx_node) {
		moved = !comm_rests(comm, round) && comm_round(comm, round, push, &found);
		if (!moved && round != ROUND_ARM && comm_help(comm))
			found.progress = true;
		if (READ_ONCE(comm->engine.nruns) && comm_polls(comm))
			found.polls = true;
	}
	mutex_unlock(&ctx->comms_lock);
	return found;
}

/* Arm, and give what is still to be done to the workers. */
static void ctx_hand_over(struct hcomm_ctx *ctx)
{
	struct hcomm_comm *comm;

	ctx_round(ctx, ROUND_ARM, NULL);
	atomic_set(&ctx->waiter, HCOMM_WAITER_NONE);
	/* Pairs with the barrier in hcomm_comm_dispatch(). */
	smp_mb();
	mutex_lock(&ctx->comms_lock);
	list_for_each_entry(comm, &ctx->comms, ctx_node)
		if (atomic_read(&comm->kicks) == HCOMM_KICKS_NOW)
			hcomm_comm_dispatch(comm);
	mutex_unlock(&ctx->comms_lock);
	/* Who sleeps beside us may become the waiter. */
	if (wq_has_sleeper(&ctx->waiter_wq))
		wake_up_all(&ctx->waiter_wq);
}

static bool become_waiter(struct hcomm_ctx *ctx)
{
	/* Fully ordered: what others launched before they saw no waiter is seen. */
	return atomic_cmpxchg(&ctx->waiter, HCOMM_WAITER_NONE, HCOMM_WAITER_SPIN) ==
	       HCOMM_WAITER_NONE;
}

/* Rounds without news between looks at the clock and at who else wants the CPU. */
#define SPIN_ROUNDS	16

/**
 * struct spin - a waiter that spins
 * @push: peers whose engines it is to run
 * @found: what its last round found
 * @end: time, when it gives up unless something comes
 * @shares: others want the CPU
 */
struct spin {
	struct list_head push;
	struct found found;
	u64 end;
	bool shares;
};

/* Look round, if there may be anything to see. */
static void spin_round(struct hcomm_ctx *ctx, struct spin *spin, enum round round)
{
	const struct found *found = &spin->found;

	if (round == ROUND_NEWS && !found->more && !found->progress && !found->polls &&
	    !atomic_read(&ctx->kicked))
		return;
	atomic_set(&ctx->kicked, 0);
	/* What is kicked from here on sets kicked again. */
	smp_mb();
	spin->found = ctx_round(ctx, round, &spin->push);
	/* Peers do not wait for what there is to be done here. */
	if (spin->found.more)
		hcomm_push_leave(&spin->push);
	else if (hcomm_push_next(&spin->push))
		spin->found.progress = true;
}

static u64 spin_end(u64 now)
{
	return now + (u64)READ_ONCE(hcomm_spin_us) * NSEC_PER_USEC;
}

/* Would those who want the CPU get it from yield()? */
static bool fair_task(void)
{
	return current->policy == SCHED_NORMAL || current->policy == SCHED_BATCH ||
	       current->policy == SCHED_IDLE;
}

/* True if it is time to sleep; if it is not, others may want the CPU: spin->shares. */
static bool spin_over(struct hcomm_ctx *ctx, struct spin *spin, u64 now)
{
	if (spin->found.progress)
		spin->end = spin_end(now);
	if (spin->found.more || !list_empty(&spin->push))
		return false;
	/* Who shares its CPU may keep from it the very rank that it waits for. */
	spin->shares = need_resched() || !single_task_running();
	return now >= spin->end ||
	       (spin->shares && (now < ctx->no_yield || !fair_task()));
}

/* For how long a waiter does not yield again to who kept the CPU for long. */
#define NO_YIELD_NS	(100 * NSEC_PER_MSEC)

/*
 * Let others have the CPU and stay runnable.  With more ranks than CPUs that is what
 * ranks wait for, and to sleep and be woken takes longer.  A waiter yields while it may
 * spin.  Who keeps the CPU for longer than that computes and does not wait as we do:
 * it is better then to sleep and be woken.
 */
static void ctx_yield(struct hcomm_ctx *ctx, u64 now)
{
	atomic_set(&ctx->waiter, HCOMM_WAITER_YIELD);
	/* From here on peers may run our engines; what came before is seen. */
	smp_mb();
	if (!ctx_round(ctx, ROUND_ARM, NULL).more)
		yield();
	atomic_set(&ctx->waiter, HCOMM_WAITER_SPIN);
	/* What they did not run yet is seen below. */
	smp_mb();
	if (ktime_get_ns() > spin_end(now))
		ctx->no_yield = ktime_get_ns() + NO_YIELD_NS;
}

/* Spin: until it is done, or nothing came for the time that the user allows. */
static int ctx_spin(struct hcomm_ctx *ctx, int (*done)(void *arg), void *arg, u64 end)
{
	struct spin spin = {
		.push = LIST_HEAD_INIT(spin.push),
		.end = spin_end(ktime_get_ns()),
	};
	enum round round = ROUND_RUNS;
	u32 idle = 0;
	u64 now;
	int ret;

	for (;;) {
		spin_round(ctx, &spin, round);
		round = ROUND_NEWS;
		ret = done(arg);
		if (ret)
			break;
		if (!spin.found.more && !spin.found.progress && ++idle % SPIN_ROUNDS)
			continue;
		now = ktime_get_ns();
		if (signal_pending(current) || now >= end || spin_over(ctx, &spin, now))
			break;
		if (spin.shares && !spin.found.more && list_empty(&spin.push)) {
			ctx_yield(ctx, now);
			round = ROUND_RUNS;
		}
		cond_resched();
		cpu_relax();
	}
	hcomm_push_leave(&spin.push);
	return ret;
}

/* Sleep until @done, a kick, a signal, or the end. */
static int ctx_sleep(struct hcomm_ctx *ctx, int (*done)(void *arg), void *arg, u64 end)
{
	u64 now = ktime_get_ns();
	int ret;

	if (now >= end)
		return -ETIMEDOUT;
	if (end == U64_MAX)
		return wait_event_interruptible(ctx->waiter_wq, done(arg) ||
						atomic_read(&ctx->kicked));
	ret = wait_event_interruptible_hrtimeout(ctx->waiter_wq, done(arg) ||
						 atomic_read(&ctx->kicked),
						 ns_to_ktime(end - now));
	return ret == -ETIME ? -ETIMEDOUT : ret;
}

static int wait_as_waiter(struct hcomm_ctx *ctx, int (*done)(void *arg), void *arg, u64 end)
{
	int ret;

	for (;;) {
		ret = ctx_spin(ctx, done, arg, end);
		if (!ret && signal_pending(current))
			ret = -ERESTARTSYS;
		/* Also if there is more to be done: that is for the worker then. */
		if (!ret && ktime_get_ns() >= end)
			ret = done(arg) ?: -ETIMEDOUT;
		if (ret)
			break;
		atomic_set(&ctx->kicked, 0);
		atomic_set(&ctx->waiter, HCOMM_WAITER_SLEEP);
		/* From here on a kick sets kicked and wakes; what came before is seen. */
		smp_mb();
		ret = 0;
		if (!ctx_round(ctx, ROUND_ARM, NULL).more)
			ret = ctx_sleep(ctx, done, arg, end);
		atomic_set(&ctx->waiter, HCOMM_WAITER_SPIN);
		/* It may have come just then. */
		if (ret == -ETIMEDOUT)
			ret = done(arg) ?: ret;
		if (ret)
			break;
	}
	ctx_hand_over(ctx);
	return ret;
}

/* Somebody else of this context runs the engines. */
static int wait_beside(struct hcomm_ctx *ctx, int (*done)(void *arg), void *arg)
{
	return wait_event_interruptible(ctx->waiter_wq, done(arg) ||
					atomic_read(&ctx->waiter) == HCOMM_WAITER_NONE);
}

int hcomm_ctx_wait(struct hcomm_ctx *ctx, int (*done)(void *arg), void *arg,
		   s64 timeout_ns, bool exclusive)
{
	u64 end = timeout_ns < 0 ? U64_MAX : ktime_get_ns() + timeout_ns;
	int ret;

	for (;;) {
		ret = done(arg);
		if (ret)
			break;
		if (become_waiter(ctx)) {
			ret = wait_as_waiter(ctx, done, arg, end);
			break;
		}
		if (exclusive)
			return -EBUSY;
		ret = wait_beside(ctx, done, arg);
		if (ret)
			break;
	}
	return ret > 0 ? 0 : ret;
}

/* ---------------------------------------------------------------------- WAIT */

struct ring_wait {
	struct hcomm_cring *ring;
	u32 count;
};

static int ring_has(void *arg)
{
	struct ring_wait *rw = arg;
	u32 unread, inflight;

	unread = hcomm_ring_unread(rw->ring, &inflight);
	if (unread >= rw->count)
		return 1;
	return unread + inflight < rw->count ? -EDEADLK : 0;
}

int hcomm_ioctl_wait(struct hcomm_cmd *cmd)
{
	struct hcomm_wait *arg = cmd->data;
	struct ring_wait rw = { .count = arg->count };
	int ret;

	if (arg->flags)
		return -EOPNOTSUPP;
	if (arg->pad)
		return -EINVAL;
	rw.ring = hcomm_ctx_ring(cmd->ctx);
	if (!rw.ring)
		return -ENXIO;
	if (!arg->count || arg->count > rw.ring->mask + 1)
		return -EINVAL;
	if (!arg->timeout_ns) {
		ret = ring_has(&rw);
		return ret > 0 ? 0 : ret ? ret : -ETIMEDOUT;
	}
	ret = hcomm_ctx_wait(cmd->ctx, ring_has, &rw, arg->timeout_ns, true);
	return arg->timeout_ns > 0 ? hcomm_limited_wait(ret) : ret;
}
