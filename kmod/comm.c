// SPDX-License-Identifier: GPL-2.0-only
/*
 * Communicators: how they are made, and how they end.
 *
 * Ending (shutdown) has two ways.  In good order: BYE to all peers, a bounded
 * wait for their answers.  Otherwise a fault that is told to all peers.  Either
 * way all links are stopped, and only then runs are reported and memory is
 * given back.  The struct itself lives until the last reference (a peer on this
 * kernel that just looked it up) is dropped.
 */
#include <linux/cred.h>
#include <linux/delay.h>
#include <linux/idr.h>
#include <linux/memcontrol.h>
#include <linux/nsproxy.h>
#include <linux/pid.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/socket.h>
#include <linux/uaccess.h>
#include <net/net_namespace.h>

#include "comm_priv.h"
#include "compat.h"
#include "trace.h"

#define DEF_CHUNK_SIZE		(256u << 10)
#define DEF_EAGER_SIZE		4096u
#define DEF_EAGER_SLOTS		16u
#define DEF_WINDOW		4u
#define DEF_MAX_RUNS		8u
#define DEF_CONNECT_MS		30000u

/* Bounds of what the end of a communicator waits for. */
#define SETTLE_WAIT_MS		500
#define BYE_WAIT_MS		2000
#define ABORT_WAIT_MS		500

static DEFINE_IDA(comm_ida);

/* ------------------------------------------------------------ engine callbacks */

static struct hcomm_comm *engine_comm(struct hcomm_engine *e)
{
	return container_of(e, struct hcomm_comm, engine);
}

static void comm_run_done(struct hcomm_engine *e, struct hcomm_run *run, int status)
{
	hcomm_launch_done(engine_comm(e), run->owner, status);
}

static void comm_fault(struct hcomm_engine *e)
{
	struct hcomm_comm *comm = engine_comm(e);

	WRITE_ONCE(comm->error, -e->fault.error);
	queue_work(hcomm_end_wq, &comm->fault_work);
	wake_up_all(&comm->link_wq);
}

static void comm_trace(struct hcomm_engine *e, struct hcomm_run *run, u32 step,
		       u32 chunk, enum hcomm_step_event ev)
{
	trace_hcomm_step(engine_comm(e)->index, e->par.rank, run->key, step, chunk,
			 ev == HCOMM_EV_DONE);
}

static void comm_account(struct hcomm_engine *e, enum hcomm_work work, u64 bytes)
{
	struct hcomm_comm *comm = engine_comm(e);

	comm->progress++;
	if (work == HCOMM_WORK_COPY)
		comm->bytes_copied += bytes;
	else
		comm->bytes_reduced += bytes;
}

const struct hcomm_engine_ops hcomm_comm_engine_ops = {
	.run_done = comm_run_done,
	.fault = comm_fault,
	.trace = comm_trace,
	.account = comm_account,
};

/* --------------------------------------------------------------------- the end */

void hcomm_comm_put(struct hcomm_comm *comm)
{
	hcomm_object_put(&comm->obj);
}

/* A fault that this rank declares; ignored if there is one. */
void hcomm_comm_fault(struct hcomm_comm *comm, u32 reason, int error, u32 rank)
{
	struct hcomm_fault fault = {
		.error = error,
		.reason = reason,
		.rank = rank,
		.reporter = comm->par.rank,
		.step = ~0u,
	};

	lockdep_assert_held(&comm->lock);
	hcomm_engine_fault(&comm->engine, &fault);
}

static bool links_drained(struct hcomm_comm *comm)
{
	struct hcomm_link *link;

	list_for_each_entry(link, &comm->link_list, list)
		if (READ_ONCE(link->state) == HCOMM_LINK_READY &&
		    !link->transport->link_drain(link))
			return false;
	return true;
}

/* A peer may already count on a link that is being verified here. */
static bool links_settled(struct hcomm_comm *comm)
{
	struct hcomm_link *link;
	enum hcomm_link_state state;

	list_for_each_entry(link, &comm->link_list, list) {
		state = READ_ONCE(link->state);
		if (state == HCOMM_LINK_VERIFYING ||
		    (state == HCOMM_LINK_READY && link->handled != state))
			return false;
	}
	return true;
}

static bool bye_done(struct hcomm_comm *comm)
{
	return hcomm_engine_bye_done(&comm->engine) && links_drained(comm);
}

static bool aborts_done(struct hcomm_comm *comm)
{
	return hcomm_engine_aborts_sent(&comm->engine) && links_drained(comm);
}

/* Run the engine until @done, for a bounded time. */
static void comm_flush(struct hcomm_comm *comm, bool (*done)(struct hcomm_comm *comm),
		       unsigned int ms)
{
	u64 end = ktime_get_ns() + (u64)ms * NSEC_PER_MSEC;
	bool more, ok;

	for (;;) {
		more = hcomm_comm_run(comm, HCOMM_ROUND_BUDGET, true);
		mutex_lock(&comm->link_lock);
		mutex_lock(&comm->lock);
		ok = done(comm);
		mutex_unlock(&comm->lock);
		mutex_unlock(&comm->link_lock);
		if (ok || ktime_get_ns() >= end)
			break;
		if (!more)
			usleep_range(20, 100);
	}
	hcomm_comm_dispatch(comm);
}

/* Stop all links; none begins after. */
void hcomm_comm_teardown(struct hcomm_comm *comm)
{
	struct hcomm_link *link;

	mutex_lock(&comm->link_lock);
	comm->torn_down = true;
	mutex_unlock(&comm->link_lock);
	list_for_each_entry(link, &comm->link_list, list)
		link->transport->link_stop(link);
}

static void comm_fail_runs(struct hcomm_comm *comm)
{
	hcomm_comm_lock(comm);
	if (comm->engine.fault.error)
		hcomm_engine_fail_runs(&comm->engine);
	hcomm_comm_unlock(comm);
}

/* After a fault: tell the peers, stop the links, and only then report runs. */
static void comm_fault_work(struct work_struct *work)
{
	struct hcomm_comm *comm = container_of(work, struct hcomm_comm, fault_work);

	comm_flush(comm, aborts_done, ABORT_WAIT_MS);
	hcomm_comm_teardown(comm);
	comm_fail_runs(comm);
}

static void comm_unlist(struct hcomm_comm *comm)
{
	mutex_lock(&comm->ctx->comms_lock);
	list_del_init(&comm->ctx_node);
	WRITE_ONCE(comm->unlisted, true);
	mutex_unlock(&comm->ctx->comms_lock);
	/* What the waiter was to look at is the worker's now. */
	hcomm_comm_dispatch(comm);
}

/* Everything but the memory of the struct; the links' peers were told. */
static void comm_end(struct hcomm_comm *comm)
{
	const struct hcomm_transport *t;
	u32 i;

	flush_work(&comm->fault_work);
	hcomm_comm_teardown(comm);
	/* Peers on this kernel queue it until their links are told. */
	cancel_delayed_work_sync(&comm->tick);
	/* A last message may have brought a fault. */
	flush_work(&comm->fault_work);
	comm_fail_runs(comm);
	hcomm_comm_lock(comm);
	comm->dead = true;
	hcomm_comm_unlock(comm);
	hcomm_links_free(comm);
	for (i = 0; i < HCOMM_NR_TRANSPORTS; i++) {
		t = hcomm_transports[i];
		if (hcomm_comm_uses(comm, t))
			t->comm_exit(comm);
	}
	cancel_work_sync(&comm->work);
	/* Who ran the engine last may have found a fault. */
	flush_work(&comm->fault_work);
	hcomm_sysfs_remove(&comm->dev);
	hcomm_table_bury(comm);
}

static void comm_shutdown(struct hcomm_object *obj, bool killed)
{
	struct hcomm_comm *comm = hcomm_comm_of(obj);

	comm_unlist(comm);
	hcomm_table_hide(comm);
	mutex_lock(&comm->link_lock);
	hcomm_comm_lock(comm);
	WRITE_ONCE(comm->closing, true);
	killed |= comm->engine.nruns;
	if (killed)
		hcomm_comm_fault(comm, HCOMM_FAULT_PEER_DIED, EOWNERDEAD,
				 comm->par.rank);
	hcomm_comm_unlock(comm);
	mutex_unlock(&comm->link_lock);
	wake_up_all(&comm->link_wq);
	if (!killed) {
		comm_flush(comm, links_settled, SETTLE_WAIT_MS);
		hcomm_comm_lock(comm);
		hcomm_engine_bye(&comm->engine);
		hcomm_comm_unlock(comm);
		comm_flush(comm, bye_done, BYE_WAIT_MS);
	}
	comm_end(comm);
}

/*
 * A rank is its process.  A child that was forked keeps the file open, but the
 * memory that runs use is not the child's, and nobody launches any more.
 */
void hcomm_comms_orphan(struct hcomm_ctx *ctx)
{
	struct hcomm_comm *comm;

	mutex_lock(&ctx->comms_lock);
	list_for_each_entry(comm, &ctx->comms, ctx_node) {
		if (comm->owner != task_tgid(current))
			continue;
		hcomm_comm_lock(comm);
		hcomm_comm_fault(comm, HCOMM_FAULT_PEER_DIED, EOWNERDEAD,
				 comm->par.rank);
		hcomm_comm_unlock(comm);
	}
	mutex_unlock(&ctx->comms_lock);
}

static void comm_release(struct hcomm_object *obj)
{
	struct hcomm_comm *comm = hcomm_comm_of(obj);

	hcomm_engine_exit(&comm->engine);
	hcomm_memobj_put(comm->staging);
	kfree(comm->tomb);
	kvfree(comm->peers);
	kvfree(comm->links);
	put_net(comm->net);
	put_pid(comm->owner);
	mem_cgroup_put(comm->memcg);
	ida_free(&comm_ida, comm->index);
	hcomm_ctx_put(comm->ctx);
	mutex_destroy(&comm->link_lock);
	mutex_destroy(&comm->lock);
	kfree_sensitive(comm);
}

const struct hcomm_object_ops hcomm_comm_ops = {
	.kind = HCOMM_OBJ_COMM,
	.shutdown = comm_shutdown,
	.release = comm_release,
};

/* -------------------------------------------------------------------- creation */

static bool addr_valid(const struct hcomm_addr *addr)
{
	if (addr->reserved[0] || addr->reserved[1])
		return false;
	return !addr->family || addr->family == AF_INET || addr->family == AF_INET6;
}

static int comm_params(struct hcomm_engine_params *par, const struct hcomm_comm_create *arg)
{
	*par = (struct hcomm_engine_params){
		.rank = arg->rank,
		.nranks = arg->nranks,
		.chunk_size = arg->chunk_size ?: DEF_CHUNK_SIZE,
		.eager_size = arg->eager_size ?: DEF_EAGER_SIZE,
		.eager_slots = arg->eager_slots ?: DEF_EAGER_SLOTS,
		.window = arg->window ?: DEF_WINDOW,
		.max_runs = arg->max_runs ?: DEF_MAX_RUNS,
	};
	par->staging_slots = arg->staging_slots ?:
			     min(par->max_runs + 2 * par->window, HCOMM_MAX_STAGING_SLOTS);

	if (!par->nranks || par->nranks > HCOMM_MAX_RANKS || par->rank >= par->nranks)
		return -EINVAL;
	if (par->chunk_size < HCOMM_MIN_CHUNK_SIZE ||
	    par->chunk_size > HCOMM_MAX_CHUNK_SIZE || par->chunk_size % 4096)
		return -EINVAL;
	if (par->eager_size > HCOMM_MAX_EAGER_SIZE || par->eager_size % 64 ||
	    par->eager_size > par->chunk_size)
		return -EINVAL;
	if (par->eager_slots > HCOMM_MAX_EAGER_SLOTS || par->window > HCOMM_MAX_WINDOW ||
	    par->max_runs > HCOMM_MAX_COMM_RUNS)
		return -EINVAL;
	if (par->staging_slots < par->max_runs ||
	    par->staging_slots > HCOMM_MAX_STAGING_SLOTS)
		return -EINVAL;
	return 0;
}

/* Memory and fields; nothing that others see. */
static struct hcomm_comm *comm_alloc(struct hcomm_ctx *ctx,
				     const struct hcomm_comm_create *arg)
{
	struct hcomm_comm *comm;
	int ret;

	comm = kzalloc(sizeof(*comm), GFP_KERNEL_ACCOUNT);
	if (!comm)
		return ERR_PTR(-ENOMEM);
	ret = comm_params(&comm->par, arg);
	if (ret)
		goto err_free;
	comm->transports = arg->transports ?: HCOMM_TRANSPORT_ALL;
	/* Without an address to listen on there is no RDMA. */
	if (!arg->listen.family)
		comm->transports &= ~HCOMM_TRANSPORT_RDMA;
	ret = -EINVAL;
	if (!comm->transports)
		goto err_free;
	ret = ida_alloc(&comm_ida, GFP_KERNEL_ACCOUNT);
	if (ret < 0)
		goto err_free;
	comm->index = ret;

	hcomm_object_init(&comm->obj, ctx, &hcomm_comm_ops);
	memcpy(comm->uuid, arg->uuid, sizeof(comm->uuid));
	memcpy(comm->secret, arg->secret, sizeof(comm->secret));
	comm->connect_timeout_ms = arg->connect_timeout_ms ?: DEF_CONNECT_MS;
	comm->listen = arg->listen;
	INIT_LIST_HEAD(&comm->node);
	INIT_LIST_HEAD(&comm->ctx_node);
	mutex_init(&comm->lock);
	mutex_init(&comm->link_lock);
	init_waitqueue_head(&comm->link_wq);
	INIT_WORK(&comm->work, hcomm_comm_work);
	INIT_WORK(&comm->fault_work, comm_fault_work);
	INIT_DELAYED_WORK(&comm->tick, hcomm_comm_tick);
	INIT_LIST_HEAD(&comm->link_list);
	spin_lock_init(&comm->news_lock);
	INIT_LIST_HEAD(&comm->news);
	INIT_LIST_HEAD(&comm->done);
	INIT_LIST_HEAD(&comm->push_node);

	ret = -ENOMEM;
	comm->tomb = hcomm_tomb_alloc();
	if (!comm->tomb)
		goto err_ida;
	comm->links = kvcalloc(comm->par.nranks, sizeof(*comm->links), GFP_KERNEL_ACCOUNT);
	if (!comm->links)
		goto err_tomb;
	if (comm->transports & HCOMM_TRANSPORT_RDMA) {
		comm->staging = hcomm_memobj_alloc_kernel((size_t)comm->par.staging_slots *
							  comm->par.chunk_size);
		if (!comm->staging)
			goto err_links;
	}
	ret = hcomm_engine_init(&comm->engine, &comm->par, &hcomm_comm_engine_ops,
				comm->staging ? &comm->staging->mem : NULL);
	if (ret)
		goto err_staging;
	hcomm_ctx_get(ctx);
	comm->ctx = ctx;
	comm->net = get_net(current->nsproxy->net_ns);
	comm->owner = get_task_pid(current, PIDTYPE_TGID);
	comm->memcg = get_mem_cgroup_from_mm(current->mm);
	return comm;

err_staging:
	hcomm_memobj_put(comm->staging);
err_links:
	kvfree(comm->links);
err_tomb:
	kfree(comm->tomb);
err_ida:
	ida_free(&comm_ida, comm->index);
err_free:
	kfree_sensitive(comm);
	return ERR_PTR(ret);
}

static int comm_start_transports(struct hcomm_comm *comm, u32 allowed)
{
	const struct hcomm_transport *t;
	int ret;
	u32 i;

	for (i = 0; i < HCOMM_NR_TRANSPORTS; i++) {
		t = hcomm_transports[i];
		if (!(allowed & t->id))
			continue;
		ret = t->comm_init(comm);
		if (ret)
			return ret;
		hcomm_comm_lock(comm);
		/* A waiter looks without the lock whether it polls. */
		smp_store_release(&comm->transports, comm->transports | t->id);
		hcomm_comm_unlock(comm);
	}
	return 0;
}

int hcomm_ioctl_comm_create(struct hcomm_cmd *cmd)
{
	struct hcomm_comm_create *arg = cmd->data;
	struct hcomm_ctx *ctx = cmd->ctx;
	struct hcomm_comm *comm;
	u32 allowed;
	int ret;

	if (arg->flags || (arg->transports & ~HCOMM_TRANSPORT_ALL))
		return -EOPNOTSUPP;
	if (arg->pad || arg->connect_timeout_ms > HCOMM_MAX_TIMEOUT_MS ||
	    !addr_valid(&arg->listen))
		return -EINVAL;
	comm = comm_alloc(ctx, arg);
	if (IS_ERR(comm))
		return PTR_ERR(comm);
	ret = hcomm_table_add(comm);
	if (ret)
		goto err_put;

	/*
	 * What is not started is not used: neither polled nor ended.  The
	 * context's waiter may poll as soon as the communicator is listed.
	 */
	allowed = comm->transports;
	comm->transports = 0;
	mutex_lock(&ctx->comms_lock);
	list_add_tail(&comm->ctx_node, &ctx->comms);
	mutex_unlock(&ctx->comms_lock);
	ret = hcomm_sysfs_add_comm(comm);
	if (ret)
		goto err_end;
	ret = comm_start_transports(comm, allowed);
	if (ret)
		goto err_end;
	ret = hcomm_object_reserve(&comm->obj);
	if (ret)
		goto err_end;
	arg->listen = comm->listen;
	arg->out_comm_id = comm->obj.id;
	ret = hcomm_cmd_respond(cmd);
	if (ret)
		goto err_abort;
	hcomm_table_show(comm);
	hcomm_object_publish(&comm->obj);
	return 0;

err_abort:
	hcomm_object_abort(&comm->obj);
err_end:
	comm_unlist(comm);
	mutex_lock(&comm->link_lock);
	WRITE_ONCE(comm->closing, true);
	mutex_unlock(&comm->link_lock);
	comm_end(comm);
err_put:
	hcomm_comm_put(comm);
	return ret;
}

/* ------------------------------------------------------------------- the ioctls */

int hcomm_ioctl_comm_peers(struct hcomm_cmd *cmd)
{
	struct hcomm_comm_peers *arg = cmd->data;
	struct hcomm_peer *peers = NULL;
	struct hcomm_object *obj;
	struct hcomm_comm *comm;
	int ret = -EINVAL;
	u32 i;

	if (arg->flags)
		return -EOPNOTSUPP;
	obj = hcomm_object_use(cmd->ctx, arg->comm_id, HCOMM_OBJ_COMM);
	if (!obj)
		return -ENOENT;
	comm = hcomm_comm_of(obj);
	if (arg->count != comm->par.nranks)
		goto out;
	ret = -ENOMEM;
	peers = kvcalloc(arg->count, sizeof(*peers), GFP_KERNEL_ACCOUNT);
	if (!peers)
		goto out;
	ret = -EFAULT;
	if (copy_from_user(peers, u64_to_user_ptr(arg->peers),
			   array_size(arg->count, sizeof(*peers))))
		goto out;
	ret = -EINVAL;
	for (i = 0; i < arg->count; i++)
		if (!addr_valid(&peers[i].addr))
			goto out;
	mutex_lock(&comm->link_lock);
	ret = -EBUSY;
	if (!comm->peers && !comm->loaded) {
		swap(comm->peers, peers);
		ret = 0;
	}
	mutex_unlock(&comm->link_lock);
out:
	kvfree(peers);
	hcomm_object_unuse(obj);
	return ret;
}

int hcomm_ioctl_comm_query(struct hcomm_cmd *cmd)
{
	struct hcomm_comm_query *arg = cmd->data;
	struct hcomm_object *obj;
	struct hcomm_comm *comm;
	int ret;

	if (arg->pad)
		return -EINVAL;
	obj = hcomm_object_get(cmd->ctx, arg->comm_id, HCOMM_OBJ_COMM);
	if (!obj)
		return -ENOENT;
	comm = hcomm_comm_of(obj);
	mutex_lock(&comm->lock);
	arg->out_active_runs = comm->engine.nruns;
	arg->fault = comm->engine.fault;
	mutex_unlock(&comm->lock);
	ret = hcomm_cmd_respond(cmd);
	hcomm_object_put(obj);
	return ret;
}

int hcomm_ioctl_comm_abort(struct hcomm_cmd *cmd)
{
	struct hcomm_comm_abort *arg = cmd->data;
	struct hcomm_object *obj;
	struct hcomm_comm *comm;

	obj = hcomm_object_use(cmd->ctx, arg->comm_id, HCOMM_OBJ_COMM);
	if (!obj)
		return -ENOENT;
	comm = hcomm_comm_of(obj);
	hcomm_comm_lock(comm);
	hcomm_comm_fault(comm, HCOMM_FAULT_ABORTED, ECANCELED, comm->par.rank);
	hcomm_comm_unlock(comm);
	hcomm_object_unuse(obj);
	return 0;
}
