// SPDX-License-Identifier: GPL-2.0-only
/*
 * Loaded programs: what user space gave, verified by core, with the links it
 * needs and memory for as many launches at a time as were asked for.
 */
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "comm_priv.h"

static struct hcomm_progobj *prog_of(struct hcomm_object *obj)
{
	return container_of(obj, struct hcomm_progobj, obj);
}

static void prog_release(struct hcomm_object *obj)
{
	struct hcomm_progobj *po = prog_of(obj);

	hcomm_launches_exit(po);
	kvfree(po->elinks);
	kvfree(po->links);
	hcomm_prog_free(po->prog);
	hcomm_comm_put(po->comm);
	kfree(po);
}

/* No run of it can begin: the communicator may go, whoever still holds us. */
static void prog_shutdown(struct hcomm_object *obj, bool killed)
{
	atomic_dec(&prog_of(obj)->comm->obj.users);
}

static const struct hcomm_object_ops prog_ops = {
	.kind = HCOMM_OBJ_PROG,
	.shutdown = prog_shutdown,
	.release = prog_release,
};

static void *copy_array(u64 from, u32 n, size_t size)
{
	void *to = hcomm_zalloc_array(n, size);

	if (!to)
		return ERR_PTR(-ENOMEM);
	if (copy_from_user(to, u64_to_user_ptr(from), array_size(n, size))) {
		hcomm_free(to);
		return ERR_PTR(-EFAULT);
	}
	return to;
}

static int prog_verify(struct hcomm_progobj *po, const struct hcomm_prog_load *arg,
		       struct hcomm_prog_reject *why)
{
	const struct hcomm_engine_params *par = &po->comm->par;
	const struct hcomm_prog_params pp = {
		.rank = par->rank,
		.nranks = par->nranks,
		.chunk_size = par->chunk_size,
		.eager_size = par->eager_size,
	};
	struct hcomm_step *steps;
	u32 *deps = NULL;
	int ret;

	ret = hcomm_prog_limits(arg->nsteps, arg->ndeps, arg->nslots, why);
	if (ret)
		return ret;
	steps = copy_array(arg->steps, arg->nsteps, sizeof(*steps));
	if (IS_ERR(steps))
		return PTR_ERR(steps);
	if (arg->ndeps) {
		deps = copy_array(arg->deps, arg->ndeps, sizeof(*deps));
		if (IS_ERR(deps)) {
			hcomm_free(steps);
			return PTR_ERR(deps);
		}
	}
	/* Takes both arrays over. */
	return hcomm_prog_create(&po->prog, &pp, steps, arg->nsteps, deps, arg->ndeps,
				 arg->nslots, why);
}

/* Begin to make the links that the program needs. */
static int prog_links(struct hcomm_progobj *po)
{
	struct hcomm_comm *comm = po->comm;
	u32 i, n = po->prog->npeers;
	struct hcomm_link *link;
	int ret = 0;

	po->links = kvcalloc(n + 1, sizeof(*po->links), GFP_KERNEL_ACCOUNT);
	po->elinks = kvcalloc(n + 1, sizeof(*po->elinks), GFP_KERNEL_ACCOUNT);
	if (!po->links || !po->elinks)
		return -ENOMEM;
	mutex_lock(&comm->link_lock);
	for (i = 0; i < n; i++) {
		link = hcomm_link_need_locked(comm, po->prog->peers[i].peer);
		if (IS_ERR(link)) {
			ret = PTR_ERR(link);
			break;
		}
		po->links[i] = link;
		po->elinks[i] = &link->el;
	}
	if (!ret)
		comm->loaded = true;
	mutex_unlock(&comm->link_lock);
	return ret;
}

int hcomm_ioctl_prog_load(struct hcomm_cmd *cmd)
{
	struct hcomm_prog_load *arg = cmd->data;
	struct hcomm_prog_reject why = { .step = U32_MAX };
	struct hcomm_progobj *po;
	struct hcomm_object *obj;
	int ret;

	arg->err_reason = HCOMM_PE_NONE;
	arg->err_step = 0;
	if (arg->flags)
		return -EOPNOTSUPP;
	if (arg->max_runs > HCOMM_MAX_PROG_RUNS)
		return -EINVAL;
	obj = hcomm_object_use(cmd->ctx, arg->comm_id, HCOMM_OBJ_COMM);
	if (!obj)
		return -ENOENT;
	po = kzalloc(sizeof(*po), GFP_KERNEL_ACCOUNT);
	if (!po) {
		hcomm_object_unuse(obj);
		return -ENOMEM;
	}
	/* From here on the program's release gives everything back. */
	hcomm_object_init(&po->obj, cmd->ctx, &prog_ops);
	spin_lock_init(&po->lock);
	INIT_LIST_HEAD(&po->free);
	po->comm = hcomm_comm_of(obj);
	po->max_runs = arg->max_runs ?: 1;

	ret = READ_ONCE(po->comm->error);
	if (ret)
		goto err_put;
	ret = prog_verify(po, arg, &why);
	if (ret == -EINVAL) {
		arg->err_reason = why.reason;
		arg->err_step = why.step;
		if (hcomm_cmd_respond(cmd))
			ret = -EFAULT;
	}
	if (ret)
		goto err_put;
	ret = hcomm_launches_init(po);
	if (ret)
		goto err_put;
	ret = prog_links(po);
	if (ret)
		goto err_put;
	ret = hcomm_object_reserve(&po->obj);
	if (ret)
		goto err_put;
	arg->out_prog_id = po->obj.id;
	ret = hcomm_cmd_respond(cmd);
	if (ret)
		goto err_abort;
	hcomm_object_publish(&po->obj);
	return 0;

err_abort:
	hcomm_object_abort(&po->obj);
err_put:
	prog_shutdown(&po->obj, false);
	hcomm_object_put(&po->obj);
	return ret;
}
