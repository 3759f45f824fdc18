// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The buffers of a call: memory that the device has pinned already, else memory of
 * the pool that stands in for it, else pinned for this call.
 */
#include <string.h>

#include "../base/base.h"
#include "../mem/mem.h"
#include "request.h"

void hcomm_buffers_unbind(struct hcomm_request *r, bool copy)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(r->bound); i++) {
		struct hcomm_binding *b = &r->bound[i];

		if (!b->bounce && !b->temp_id)
			continue;
		if (b->bounce && b->copy_out && copy)
			memcpy(b->user, b->bounce, b->len);
		hcomm_mem_free(b->bounce);
		hcomm_dev_destroy(b->temp_id);
		memset(b, 0, sizeof(*b));
	}
}

/* memory of the pool in place of the caller's; @user NULL: scratch */
static hcommResult_t bind_pool(struct hcomm_request *r, uint32_t slot, void *user,
			       uint64_t len)
{
	struct hcomm_binding *b = &r->bound[slot];
	struct hcomm_slot *s = &r->slots[slot];
	hcommResult_t ret;
	uint64_t off = 0;

	ret = hcomm_mem_alloc(len, &b->bounce);
	if (!ret)
		ret = hcomm_mem_find(b->bounce, len, &s->mem_id, &off);
	if (ret)
		return ret;
	s->offset = off;
	b->user = user;
	b->len = len;
	/* also what is only written: a plan need not write every byte */
	if (user)
		memcpy(b->bounce, user, len);
	return HCOMM_SUCCESS;
}

static hcommResult_t bind_slot(struct hcomm_request *r, uint32_t slot, void *user,
			       bool copy)
{
	struct hcomm_comm *comm = r->comm;
	uint64_t len = r->entry->extent[slot], off = 0;
	bool written = r->entry->written[slot];
	struct hcomm_slot *s = &r->slots[slot];
	hcommResult_t ret;

	if (!len)
		return HCOMM_SUCCESS;
	s->length = len;
	if (slot == HCOMM_SLOT_SCRATCH)
		return bind_pool(r, slot, NULL, len);
	ret = hcomm_mem_find(user, len, &s->mem_id, &off);
	s->offset = off;
	if (ret || s->mem_id)
		return ret;
	if (copy && len <= comm->opts.bounce_size) {
		__atomic_add_fetch(&comm->stats.bounced, 1, __ATOMIC_RELAXED);
		r->bound[slot].copy_out = written;
		return bind_pool(r, slot, user, len);
	}
	__atomic_add_fetch(&comm->stats.pinned, 1, __ATOMIC_RELAXED);
	ret = hcomm_dev_register(user, len, !written, &r->bound[slot].temp_id);
	s->mem_id = r->bound[slot].temp_id;
	return ret;
}

hcommResult_t hcomm_buffers_bind(struct hcomm_request *r,
				 const struct hcomm_call_args *call)
{
	void *user[3] = { (void *)call->send, call->recv, NULL };
	hcommResult_t ret = HCOMM_SUCCESS;
	uint32_t i;

	for (i = 0; i < r->entry->nslots && !ret; i++)
		ret = bind_slot(r, i, user[i], !r->again &&
				!(call->gaps && i == HCOMM_SLOT_RECV));
	if (ret) {
		hcomm_buffers_unbind(r, false);
		hcomm_error_prefix("%s: ", call->name);
	}
	return ret;
}
