/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pinned memory.  A struct hcomm_memobj is either user pages (an object of a
 * context) or kernel memory (staging of a communicator).  Transports attach
 * what they need per device with struct hcomm_mem_attach; attachments are made
 * on first use, cached, and end with the memory or with the device.
 */
#ifndef HCOMM_MEMOBJ_H
#define HCOMM_MEMOBJ_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/workqueue.h>
#include "core/mem.h"
#include "object.h"

struct page;
struct hcomm_memobj;

/**
 * struct hcomm_mem_attach - what a transport keeps per memory and device
 * @node: in memobj->attachments, under memobj->attach_lock
 * @mem: the memory
 * @key: what it is attached to (transport's device object)
 * @detach: ends and frees the attachment; called with attach_lock held, when
 *	the memory ends or by the transport when the device does
 */
struct hcomm_mem_attach {
	struct list_head node;
	struct hcomm_memobj *mem;
	const void *key;
	void (*detach)(struct hcomm_mem_attach *att);
};

/**
 * struct hcomm_memobj - pinned memory
 * @obj: object; its kref also counts runs, messages and grants that use it
 * @mem: spans for the engine
 * @pages: the pages, npages of them
 * @npages: number of pages
 * @first_offset: offset of byte 0 in the first page
 * @read_only: pinned without write access
 * @attach_lock: protects @attachments
 * @attachments: list of &struct hcomm_mem_attach
 */
struct hcomm_memobj {
	struct hcomm_object obj;
	struct hcomm_mem mem;
	struct page **pages;
	unsigned long npages;
	unsigned int first_offset;
	bool read_only;
	struct mutex attach_lock;	/* @attachments */
	struct list_head attachments;
	/* private: to memobj.c */
	bool user;
	void *vmap;			/* kernel memory: its address */
	struct user_struct *charged_user;
	struct mm_struct *charged_mm;
	unsigned long charged;		/* pages */
	struct work_struct free_work;
};

static inline struct hcomm_memobj *hcomm_memobj_of(struct hcomm_mem *mem)
{
	return container_of(mem, struct hcomm_memobj, mem);
}

struct hcomm_memobj *hcomm_memobj_alloc_kernel(size_t size);
void hcomm_memobj_get(struct hcomm_memobj *mo);
void hcomm_memobj_put(struct hcomm_memobj *mo);

/**
 * hcomm_memobj_put_later - drop a reference where the last one must not end
 *	the memory at once: under comm->lock
 * @mo: memory
 */
void hcomm_memobj_put_later(struct hcomm_memobj *mo);

#endif /* HCOMM_MEMOBJ_H */
