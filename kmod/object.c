// SPDX-License-Identifier: GPL-2.0-only
/*
 * Objects of a context: the table of ids, and how objects end.
 *
 * An id is reserved first, published when the object is complete and user space
 * has its number, and aborted otherwise: nobody can see a half-made object.
 * The lock of the table orders "use" against "destroy".
 */
#include <linux/completion.h>

#include "comm_priv.h"

void hcomm_object_init(struct hcomm_object *obj, struct hcomm_ctx *ctx,
		       const struct hcomm_object_ops *ops)
{
	kref_init(&obj->ref);
	atomic_set(&obj->users, 0);
	obj->id = 0;
	obj->ctx = ctx;
	obj->ops = ops;
}

int hcomm_object_reserve(struct hcomm_object *obj)
{
	int ret;

	ret = xa_alloc(&obj->ctx->objects, &obj->id, XA_ZERO_ENTRY, xa_limit_31b,
		       GFP_KERNEL_ACCOUNT);
	/* Two thousand million ids taken is a limit like any other. */
	return ret == -EBUSY ? -ENOMEM : ret;
}

/* The table takes over the caller's reference. */
void hcomm_object_publish(struct hcomm_object *obj)
{
	void *old;

	/* The entry exists since it was reserved: this needs no memory. */
	old = xa_store(&obj->ctx->objects, obj->id, obj, GFP_KERNEL);
	WARN_ON_ONCE(old);
}

/* Gives the id back; the reference stays with the caller. */
void hcomm_object_abort(struct hcomm_object *obj)
{
	xa_erase(&obj->ctx->objects, obj->id);
	obj->id = 0;
}

static struct hcomm_object *object_lookup(struct hcomm_ctx *ctx, u32 id, u32 kind,
					  bool use)
{
	struct hcomm_object *obj;

	xa_lock(&ctx->objects);
	obj = xa_load(&ctx->objects, id);
	if (obj && obj->ops->kind == kind) {
		kref_get(&obj->ref);
		if (use)
			atomic_inc(&obj->users);
	} else {
		obj = NULL;
	}
	xa_unlock(&ctx->objects);
	return obj;
}

struct hcomm_object *hcomm_object_get(struct hcomm_ctx *ctx, u32 id, u32 kind)
{
	return object_lookup(ctx, id, kind, false);
}

struct hcomm_object *hcomm_object_use(struct hcomm_ctx *ctx, u32 id, u32 kind)
{
	return object_lookup(ctx, id, kind, true);
}

void hcomm_object_unuse(struct hcomm_object *obj)
{
	atomic_dec(&obj->users);
	hcomm_object_put(obj);
}

static void object_release(struct kref *ref)
{
	struct hcomm_object *obj = container_of(ref, struct hcomm_object, ref);

	obj->ops->release(obj);
}

void hcomm_object_put(struct hcomm_object *obj)
{
	kref_put(&obj->ref, object_release);
}

int hcomm_object_destroy(struct hcomm_ctx *ctx, u32 id)
{
	struct hcomm_object *obj;
	int ret = 0;

	xa_lock(&ctx->objects);
	obj = xa_load(&ctx->objects, id);
	if (!obj)
		ret = -ENOENT;
	else if (atomic_read(&obj->users))
		ret = -EBUSY;
	else
		__xa_erase(&ctx->objects, id);
	xa_unlock(&ctx->objects);
	if (ret)
		return ret;
	if (obj->ops->shutdown)
		obj->ops->shutdown(obj, false);
	hcomm_object_put(obj);
	return 0;
}

/*
 * Did a signal end the process?  Then it is not leaving in good order, whatever
 * its peers were doing.
 */
static bool ended_by_signal(void)
{
	return (current->flags & PF_EXITING) && (current->signal->group_exit_code & 0x7f);
}

/**
 * struct hcomm_ending - the end of all objects of a kind
 * @killed: by a signal
 * @left: communicators that have not ended yet, and one for who waits
 * @done: all have
 */
struct hcomm_ending {
	bool killed;
	atomic_t left;
	struct completion done;
};

static void object_end(struct hcomm_object *obj, bool killed)
{
	if (obj->ops->shutdown)
		obj->ops->shutdown(obj, killed);
	hcomm_object_put(obj);
}

static void object_end_work(struct work_struct *work)
{
	struct hcomm_object *obj = container_of(work, struct hcomm_object, end_work);
	struct hcomm_ending *ending = obj->ending;

	object_end(obj, ending->killed);
	if (atomic_dec_and_test(&ending->left))
		complete(&ending->done);
}

/*
 * Communicators end all at a time: each may wait some seconds for peers that do not
 * answer, and the process, killed or not, waits for us.
 */
static void objects_end(struct hcomm_ctx *ctx, u32 kind, bool killed)
{
	struct hcomm_ending ending = {
		.killed = killed,
		.left = ATOMIC_INIT(1),
	};
	struct hcomm_object *obj;
	unsigned long id;

	init_completion(&ending.done);
	xa_for_each(&ctx->objects, id, obj) {
		if (obj->ops->kind != kind)
			continue;
		xa_erase(&ctx->objects, id);
		if (kind == HCOMM_OBJ_COMM) {
			obj->ending = &ending;
			INIT_WORK(&obj->end_work, object_end_work);
			atomic_inc(&ending.left);
			queue_work(hcomm_close_wq, &obj->end_work);
		} else {
			object_end(obj, killed);
		}
		cond_resched();
	}
	if (!atomic_dec_and_test(&ending.left))
		wait_for_completion(&ending.done);
}

/* Called from release: no ioctl is running, none will. */
void hcomm_objects_destroy_all(struct hcomm_ctx *ctx)
{
	bool killed = ended_by_signal();

	objects_end(ctx, HCOMM_OBJ_PROG, killed);
	objects_end(ctx, HCOMM_OBJ_COMM, killed);
	objects_end(ctx, HCOMM_OBJ_MEM, killed);
}

int hcomm_ioctl_destroy(struct hcomm_cmd *cmd)
{
	struct hcomm_destroy *arg = cmd->data;

	return hcomm_object_destroy(cmd->ctx, arg->id);
}
