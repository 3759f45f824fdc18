/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Objects of a context.  An object has two counts: references keep its memory,
 * users keep it from being destroyed by id (EBUSY).  The context's table holds
 * one reference; closing the file ends all objects, programs first, then
 * communicators, then memory.
 */
#ifndef HCOMM_OBJECT_H
#define HCOMM_OBJECT_H

#include <linux/kref.h>
#include <linux/refcount.h>
#include <linux/types.h>
#include <linux/workqueue.h>
#include <linux/hcomm.h>

struct hcomm_ctx;
struct hcomm_ending;
struct hcomm_object;

/**
 * struct hcomm_object_ops - one kind of object
 * @kind: enum hcomm_obj_kind
 * @shutdown: the id is gone: stop what the object does; may sleep; optional
 * @release: last reference dropped: free it; may sleep
 */
struct hcomm_object_ops {
	u32 kind;
	void (*shutdown)(struct hcomm_object *obj, bool killed);
	void (*release)(struct hcomm_object *obj);
};

/**
 * struct hcomm_object - base of every object
 * @ref: references
 * @users: objects made from it and runs that use it; destroy needs 0
 * @id: id in the context, 0 before it is visible
 * @ctx: context; valid while the id is
 * @ops: kind
 * @end_work: shuts it down when the context ends
 * @ending: the end that this is part of
 */
struct hcomm_object {
	struct kref ref;
	atomic_t users;
	u32 id;
	struct hcomm_ctx *ctx;
	const struct hcomm_object_ops *ops;
	struct work_struct end_work;
	struct hcomm_ending *ending;
};

void hcomm_object_init(struct hcomm_object *obj, struct hcomm_ctx *ctx,
		       const struct hcomm_object_ops *ops);
int hcomm_object_reserve(struct hcomm_object *obj);
void hcomm_object_publish(struct hcomm_object *obj);
void hcomm_object_abort(struct hcomm_object *obj);
struct hcomm_object *hcomm_object_get(struct hcomm_ctx *ctx, u32 id, u32 kind);
void hcomm_object_put(struct hcomm_object *obj);

/*
 * hcomm_object_get() that also counts a user: -ENOENT (as NULL) once a destroy
 * has begun, and no destroy begins before hcomm_object_unuse().
 */
struct hcomm_object *hcomm_object_use(struct hcomm_ctx *ctx, u32 id, u32 kind);
void hcomm_object_unuse(struct hcomm_object *obj);
int hcomm_object_destroy(struct hcomm_ctx *ctx, u32 id);
void hcomm_objects_destroy_all(struct hcomm_ctx *ctx);

#endif /* HCOMM_OBJECT_H */
