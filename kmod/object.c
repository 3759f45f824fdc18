// SPDX-License-Identifier: GPL-2.0-only
/*
 * Objects of a context: the table of ids, and how objects end.
 *
 * An id is reserved first, published when the object is complete and user space
 * has its number, and aborted otherwise: nobody can see a half-made object.
 * The lock of the table orders "use" against "destroy".
 */
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

/* Called from release: no ioctl is running, none will. */
void hcomm_objects_destroy_all(struct hcomm_ctx *ctx)
{
	static const u32 order[] = { HCOMM_OBJ_PROG, HCOMM_OBJ_COMM, HCOMM_OBJ_MEM };
	bool killed = ended_by_signal();
	struct hcomm_object *obj;
	unsigned long id;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(order); i++) {
		xa_for_each(&ctx->objects, id, obj) {
			if (obj->ops->kind != order[i])
				continue;
			xa_erase(&ctx->objects, id);
			if (obj->ops->shutdown)
				obj->ops->shutdown(obj, killed);
			hcomm_object_put(obj);
			cond_resched();
		}
	}
}

int hcomm_ioctl_destroy(struct hcomm_cmd *cmd)
{
	struct hcomm_destroy *arg = cmd->data;

	return hcomm_object_destroy(cmd->ctx, arg->id);
}
