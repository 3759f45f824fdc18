// SPDX-License-Identifier: GPL-2.0-only
/*
 * Launches: bind memory to the slots of a program, hand the run to the engine,
 * run it on the caller's time, and report its completion.
 *
 * Nothing is allocated here: the run, its place in the completion ring and the
 * references are taken from what PROG_LOAD and RING_SETUP made.  A launch in
 * flight holds a reference to its program, which uses the communicator, and one
 * to each bound memory.  All is given back under the ring's lock, in which the
 * completion is posted, too: once the process sees it, it may launch again and
 * destroy the objects.
 *
 * Who waits for its launches keeps them in a list on its stack.  They are in it
 * from before they are submitted until they are reported, or until it gives up:
 * all under the ring's lock.
 */
#include <linux/ktime.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "comm_priv.h"
#include "trace.h"

/* How long a launch that does not wait works for its run before it returns. */
#define INLINE_NS		(20 * NSEC_PER_USEC)
#define INLINE_BUDGET		4u

/* --------------------------------------------------------------- memory for them */

static void launch_timeout(struct work_struct *work)
{
	struct hcomm_launch_ctx *lc = container_of(to_delayed_work(work),
						   struct hcomm_launch_ctx, timeout);
	struct hcomm_comm *comm = lc->po->comm;
	struct hcomm_fault fault = {
		.error = ETIME,
		.reason = HCOMM_FAULT_TIMEOUT,
		.reporter = comm->par.rank,
	};

	hcomm_comm_lock(comm);
	/* If it is set again the run that it was set for is over; this is the next. */
	if (lc->run->active && lc->timed && !delayed_work_pending(&lc->timeout)) {
		fault.run = lc->run->key;
		hcomm_run_blame(lc->run, &fault.step, &fault.rank);
		hcomm_engine_fault(&comm->engine, &fault);
	}
	hcomm_comm_unlock(comm);
}

int hcomm_launches_init(struct hcomm_progobj *po)
{
	u32 i;

	po->launches = kvcalloc(po->max_runs, sizeof(*po->launches), GFP_KERNEL_ACCOUNT);
	if (!po->launches)
		return -ENOMEM;
	for (i = 0; i < po->max_runs; i++) {
		struct hcomm_launch_ctx *lc = &po->launches[i];

		if (fatal_signal_pending(current))
			return -EINTR;
		INIT_DELAYED_WORK(&lc->timeout, launch_timeout);
		lc->po = po;
		lc->run = hcomm_run_create(po->prog);
		if (!lc->run)
			return -ENOMEM;
		lc->run->owner = lc;
		INIT_LIST_HEAD(&lc->waited);
		list_add_tail(&lc->node, &po->free);
		cond_resched();
	}
	return 0;
}

void hcomm_launches_exit(struct hcomm_progobj *po)
{
	u32 i;

	for (i = 0; po->launches && i < po->max_runs; i++) {
		struct hcomm_launch_ctx *lc = &po->launches[i];

		if (lc->run)
			cancel_delayed_work_sync(&lc->timeout);
		hcomm_run_free(lc->run);
		cond_resched();
	}
	kvfree(po->launches);
}

static struct hcomm_launch_ctx *launch_get(struct hcomm_progobj *po)
{
	struct hcomm_launch_ctx *lc;

	spin_lock(&po->lock);
	lc = list_first_entry_or_null(&po->free, struct hcomm_launch_ctx, node);
	if (lc)
		list_del_init(&lc->node);
	spin_unlock(&po->lock);
	return lc;
}

/*
 * Memory references go, the launch can be used again.  A launch that was
 * submitted is put under the ring's lock.
 */
static void launch_put(struct hcomm_launch_ctx *lc)
{
	struct hcomm_progobj *po = lc->po;
	u32 i;

	for (i = 0; i < po->prog->nslots; i++) {
		if (lc->mems[i])
			hcomm_memobj_put_later(lc->mems[i]);
		lc->mems[i] = NULL;
	}
	spin_lock(&po->lock);
	list_add_tail(&lc->node, &po->free);
	spin_unlock(&po->lock);
}

/* ------------------------------------------------------------------- completion */

/* The engine is done with a run; comm->lock held. */
void hcomm_launch_done(struct hcomm_comm *comm, struct hcomm_launch_ctx *lc, int status)
{
	const struct hcomm_fault *fault = &comm->engine.fault;

	lc->cqe.status = status;
	lc->cqe.fault_rank = status ? fault->rank : 0;
	lc->cqe.fault_step = status ? fault->step : 0;
	lc->cqe.duration_ns = ktime_get_ns() - lc->start_ns;
	if (status)
		comm->runs_failed++;
	trace_hcomm_complete(comm->index, comm->par.rank, lc->run->key, status,
			     lc->cqe.duration_ns);
	list_add_tail(&lc->node, &comm->done);
}

/* Give everything back and tell the process; no lock held. */
void hcomm_launch_report(struct hcomm_launch_ctx *lc)
{
	struct hcomm_progobj *po = lc->po;
	struct hcomm_ctx *ctx = po->comm->ctx;
	struct hcomm_cring *ring = ctx->ring;
	struct hcomm_cqe cqe = lc->cqe;

	if (lc->timed)
		cancel_delayed_work(&lc->timeout);
	spin_lock(&ring->lock);
	list_del_init(&lc->waited);
	launch_put(lc);
	atomic_dec(&po->obj.users);
	hcomm_ring_post_locked(ring, &cqe);
	spin_unlock(&ring->lock);
	hcomm_ring_signal(ctx);
	hcomm_object_put(&po->obj);
}

/* ---------------------------------------------------------------------- binding */

static int bind_slot(struct hcomm_ctx *ctx, struct hcomm_launch_ctx *lc, u32 i,
		     struct hcomm_launch *arg)
{
	const struct hcomm_slot_use *use = &lc->po->prog->slots[i];
	const struct hcomm_slot *slot = &lc->slots[i];
	struct hcomm_memobj *mo;
	struct hcomm_object *obj;
	u64 end;

	lc->bufs[i] = (struct hcomm_buf){};
	if (slot->pad)
		return -EINVAL;
	arg->err_slot = i;
	if (!slot->mem_id) {
		if (slot->offset || slot->length)
			return -EINVAL;
		if (!use->extent)
			return 0;
		arg->err_needed = use->extent;
		return -ERANGE;
	}
	obj = hcomm_object_get(ctx, slot->mem_id, HCOMM_OBJ_MEM);
	if (!obj)
		return -ENOENT;
	mo = container_of(obj, struct hcomm_memobj, obj);
	lc->mems[i] = mo;
	if (slot->length < use->extent ||
	    check_add_overflow(slot->offset, slot->length, &end) ||
	    end > mo->mem.length) {
		arg->err_needed = use->extent;
		return -ERANGE;
	}
	if (use->written && mo->read_only)
		return -EACCES;
	lc->bufs[i].mem = &mo->mem;
	lc->bufs[i].off = slot->offset;
	return 0;
}

/* As many slots as the program has: launch_one() compared. */
static int bind_slots(struct hcomm_ctx *ctx, struct hcomm_launch_ctx *lc,
		      struct hcomm_launch *arg)
{
	u32 i, n = lc->po->prog->nslots;
	int ret;

	if (copy_from_user(lc->slots, u64_to_user_ptr(arg->slots), n * sizeof(*lc->slots)))
		return -EFAULT;
	for (i = 0; i < n; i++) {
		ret = bind_slot(ctx, lc, i, arg);
		if (ret)
			return ret;
	}
	arg->err_slot = 0;
	return 0;
}

/* Links that keep something per memory must have it before the engine asks. */
static int prepare_memory(struct hcomm_launch_ctx *lc)
{
	struct hcomm_progobj *po = lc->po;
	u64 limit = (u64)po->comm->connect_timeout_ms * NSEC_PER_MSEC;
	u32 i, s;
	int ret;

	for (i = 0; i < po->prog->npeers; i++) {
		struct hcomm_link *link = po->links[i];

		if (!link->transport->mem_prepare)
			continue;
		ret = hcomm_link_wait_ready(link, limit);
		/* What a peer sent before it left may be all that the run needs. */
		if (ret == -EPIPE && READ_ONCE(link->state) == HCOMM_LINK_CLOSED)
			continue;
		if (ret)
			return ret;
		for (s = 0; s < po->prog->nslots; s++) {
			if (!lc->mems[s] || !po->prog->slots[s].extent)
				continue;
			ret = link->transport->mem_prepare(link, lc->mems[s]);
			if (ret)
				return ret;
		}
	}
	return 0;
}

/* ---------------------------------------------------------------------- LAUNCH */

/**
 * struct launch_wait - launches whose end is waited for
 * @ring: ring of their completions; its lock protects the list
 * @launches: those in flight, by &struct hcomm_launch_ctx.waited
 */
struct launch_wait {
	struct hcomm_cring *ring;
	struct list_head launches;
};

static void launch_wait_add(struct launch_wait *lw, struct hcomm_launch_ctx *lc)
{
	spin_lock(&lw->ring->lock);
	list_add_tail(&lc->waited, &lw->launches);
	spin_unlock(&lw->ring->lock);
}

static void launch_wait_drop(struct launch_wait *lw, struct hcomm_launch_ctx *lc)
{
	spin_lock(&lw->ring->lock);
	list_del_init(&lc->waited);
	spin_unlock(&lw->ring->lock);
}

static int launches_over(void *arg)
{
	struct launch_wait *lw = arg;
	bool over;

	if (!list_empty_careful(&lw->launches))
		return 0;
	/* With the lock: the completions are in the ring, too. */
	spin_lock(&lw->ring->lock);
	over = list_empty(&lw->launches);
	spin_unlock(&lw->ring->lock);
	return over;
}

/* What is still in flight is not waited for any more: somebody else must run it. */
static void launch_wait_end(struct launch_wait *lw)
{
	struct hcomm_launch_ctx *lc, *next;

	spin_lock(&lw->ring->lock);
	list_for_each_entry_safe(lc, next, &lw->launches, waited) {
		list_del_init(&lc->waited);
		hcomm_comm_dispatch(lc->po->comm);
	}
	spin_unlock(&lw->ring->lock);
}

/* Hand the run to the engine. */
static int launch_submit(struct hcomm_launch_ctx *lc, const struct hcomm_launch *arg)
{
	struct hcomm_progobj *po = lc->po;
	struct hcomm_comm *comm = po->comm;
	int ret = -ECANCELED;
	u32 i;

	hcomm_comm_lock(comm);
	if (comm->closing)
		goto out;
	/* What links became must be known before the engine relies on them. */
	hcomm_link_news(comm);
	/* With a peer that left after it was connected the engine deals itself. */
	for (i = 0; i < po->prog->npeers; i++)
		if (po->links[i]->handled == HCOMM_LINK_CLOSED &&
		    !po->links[i]->el.left)
			hcomm_comm_fault(comm, HCOMM_FAULT_PEER_LEFT, EPIPE,
					 po->links[i]->peer);
	lc->timed = arg->timeout_ms;
	lc->cqe.user_data = arg->user_data;
	lc->cqe.comm_id = comm->obj.id;
	lc->start_ns = ktime_get_ns();
	ret = hcomm_engine_launch(&comm->engine, lc->run, po->elinks, lc->bufs,
				  arg->run, &arg->call);
	if (ret)
		goto out;
	comm->launches++;
	trace_hcomm_launch(comm->index, comm->par.rank, po->obj.id, arg->run,
			   arg->user_data, &arg->call);
	if (lc->timed)
		mod_delayed_work(hcomm_end_wq, &lc->timeout,
				 msecs_to_jiffies(arg->timeout_ms));
	queue_delayed_work(hcomm_wq, &comm->tick, HCOMM_TICK_JIFFIES);
out:
	hcomm_comm_unlock(comm);
	return ret;
}

/* On the caller's time: as much as a launch may take that is to return. */
static void launch_inline(struct hcomm_comm *comm)
{
	u64 end = ktime_get_ns() + INLINE_NS;
	bool more;

	do {
		more = hcomm_comm_run(comm, INLINE_BUDGET, true);
	} while (more && ktime_get_ns() < end);
	if (more)
		hcomm_comm_dispatch(comm);
}

static int launch_wait(struct hcomm_ctx *ctx, struct launch_wait *lw)
{
	int ret = hcomm_ctx_wait(ctx, launches_over, lw, -1, false);

	/* The runs are in flight: calling again would launch others. */
	return ret == -ERESTARTSYS ? -EINTR : ret;
}

/*
 * Who will wait becomes the waiter and runs the engine then; not if another thread
 * is the waiter, which may be asleep and need not know of this run.
 */
static bool launch_runs_here(struct hcomm_ctx *ctx, const struct launch_wait *wait)
{
	/* Pairs with become_waiter(): who becomes it from here on sees the run. */
	smp_mb();
	return !wait || atomic_read(&ctx->waiter) != HCOMM_WAITER_NONE;
}

/* With @wait the launch is in its list then, else on its way. */
static int launch(struct hcomm_ctx *ctx, struct hcomm_progobj *po,
		  struct hcomm_launch *arg, struct hcomm_cring *ring,
		  struct launch_wait *wait)
{
	struct hcomm_launch_ctx *lc;
	int ret;

	ret = READ_ONCE(po->comm->error);
	if (ret)
		return ret;
	ret = hcomm_ring_reserve(ring);
	if (ret)
		return ret;
	ret = -EBUSY;
	lc = launch_get(po);
	if (!lc)
		goto err_ring;
	ret = bind_slots(ctx, lc, arg);
	if (ret)
		goto err_launch;
	ret = prepare_memory(lc);
	/* EINTR would say that the run is in flight. */
	if (ret == -ERESTARTSYS)
		ret = -EAGAIN;
	if (ret)
		goto err_launch;
	/* For the run in flight; its report gives it back. */
	kref_get(&po->obj.ref);
	atomic_inc(&po->obj.users);
	if (wait)
		launch_wait_add(wait, lc);
	ret = launch_submit(lc, arg);
	if (ret)
		goto err_unuse;
	if (launch_runs_here(ctx, wait))
		launch_inline(po->comm);
	return 0;

err_unuse:
	if (wait)
		launch_wait_drop(wait, lc);
	hcomm_object_unuse(&po->obj);
err_launch:
	launch_put(lc);
err_ring:
	hcomm_ring_unreserve(ring);
	return ret;
}

/* True if the error is told of in the launch itself, too. */
static bool launch_explains(int ret)
{
	return ret == -ERANGE || ret == -EACCES || ret == -ENOENT;
}

static int launch_one(struct hcomm_ctx *ctx, struct hcomm_launch *arg,
		      struct hcomm_cring *ring, struct launch_wait *wait)
{
	struct hcomm_progobj *po;
	struct hcomm_object *obj;
	int ret = -EINVAL;

	arg->err_slot = 0;
	arg->err_needed = 0;
	if (arg->queue_id)
		return -EOPNOTSUPP;
	if (arg->pad || arg->timeout_ms > HCOMM_MAX_TIMEOUT_MS)
		return -EINVAL;
	obj = hcomm_object_use(ctx, arg->prog_id, HCOMM_OBJ_PROG);
	if (!obj)
		return -ENOENT;
	po = container_of(obj, struct hcomm_progobj, obj);
	if (arg->nslots == po->prog->nslots)
		ret = ring ? launch(ctx, po, arg, ring, wait) : -ENXIO;
	hcomm_object_unuse(obj);
	return ret;
}

int hcomm_ioctl_launch(struct hcomm_cmd *cmd)
{
	struct hcomm_launch *arg = cmd->data;
	struct launch_wait wait = {
		.ring = hcomm_ctx_ring(cmd->ctx),
		.launches = LIST_HEAD_INIT(wait.launches),
	};
	bool waits = arg->flags & HCOMM_LAUNCH_WAIT;
	int ret;

	if (arg->flags & ~HCOMM_LAUNCH_WAIT)
		return -EOPNOTSUPP;
	ret = launch_one(cmd->ctx, arg, wait.ring, waits ? &wait : NULL);
	if (launch_explains(ret) && hcomm_cmd_respond(cmd))
		ret = -EFAULT;
	if (ret || !waits)
		return ret;
	ret = launch_wait(cmd->ctx, &wait);
	launch_wait_end(&wait);
	return ret;
}

/* ----------------------------------------------------------------- LAUNCH_BATCH */

/* Launch the next of a batch; what it explains goes back to where it came from. */
static int launch_member(struct hcomm_ctx *ctx, const struct hcomm_launch_batch *arg,
			 struct launch_wait *wait)
{
	u64 at = arg->launches + (u64)arg->out_done * arg->launch_size;
	void __user *user = u64_to_user_ptr(at);
	struct hcomm_launch one;
	int ret;

	ret = copy_struct_from_user(&one, sizeof(one), user, arg->launch_size);
	if (ret)
		return ret;
	if (one.size != arg->launch_size)
		return -EINVAL;
	/* The batch as a whole is waited for. */
	if (one.flags)
		return -EOPNOTSUPP;
	ret = launch_one(ctx, &one, wait->ring, arg->flags ? wait : NULL);
	if (launch_explains(ret) &&
	    copy_to_user(user, &one, min_t(size_t, sizeof(one), arg->launch_size)))
		ret = -EFAULT;
	return ret;
}

int hcomm_ioctl_launch_batch(struct hcomm_cmd *cmd)
{
	struct hcomm_launch_batch *arg = cmd->data;
	struct launch_wait wait = {
		.ring = hcomm_ctx_ring(cmd->ctx),
		.launches = LIST_HEAD_INIT(wait.launches),
	};
	int ret = 0;

	if (arg->flags & ~HCOMM_LAUNCH_WAIT)
		return -EOPNOTSUPP;
	if (arg->pad || !arg->count || arg->count > HCOMM_MAX_BATCH ||
	    arg->launch_size < offsetofend(struct hcomm_launch, err_needed))
		return -EINVAL;
	if (arg->launch_size > PAGE_SIZE)
		return -E2BIG;
	if (!wait.ring)
		return -ENXIO;
	for (arg->out_done = 0; arg->out_done < arg->count && !ret; arg->out_done += !ret)
		ret = launch_member(cmd->ctx, arg, &wait);
	if (!ret && arg->flags)
		ret = launch_wait(cmd->ctx, &wait);
	launch_wait_end(&wait);
	if (hcomm_cmd_respond(cmd) && !ret)
		ret = -EFAULT;
	return ret;
}
