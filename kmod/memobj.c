// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pinned memory: user pages (ioctl MEM_REG) and kernel memory for staging.
 *
 * The pages are reached through the direct map, so pages that follow each other
 * physically become one span; a huge page is one span.  What is pinned is
 * charged before it is pinned: to the user's count against RLIMIT_MEMLOCK, and
 * to the process's pinned_vm for display.  The bookkeeping (page and span
 * arrays) is charged to the memory cgroup.
 */
#include <linux/capability.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/user.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "compat.h"
#include "ctx.h"
#include "memobj.h"

#if !defined(CONFIG_64BIT) || defined(CONFIG_HIGHMEM)
#error "hcomm reaches user pages through the direct map: 64 bit without highmem only"
#endif

/* Pages that are pinned between two looks for a fatal signal. */
#define PIN_BATCH	1024UL

/* ---------------------------------------------------------------- accounting */

static int memobj_charge(struct hcomm_memobj *mo, struct hcomm_mem_reg *arg)
{
	unsigned long limit = rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT;
	struct user_struct *user = current_user();
	unsigned long cur, new;

	if (!capable(CAP_IPC_LOCK)) {
		cur = atomic_long_read(&user->locked_vm);
		do {
			new = cur + mo->npages;
			if (new > limit || new < cur) {
				arg->out_limit = (u64)limit << PAGE_SHIFT;
				arg->out_used = (u64)cur << PAGE_SHIFT;
				return -ENOMEM;
			}
		} while (!atomic_long_try_cmpxchg(&user->locked_vm, &cur, new));
		mo->charged_user = get_uid(user);
	}
	mo->charged = mo->npages;
	mo->charged_mm = current->mm;
	mmgrab(mo->charged_mm);
	atomic64_add(mo->charged, &mo->charged_mm->pinned_vm);
	return 0;
}

static void memobj_uncharge(struct hcomm_memobj *mo)
{
	if (!mo->charged)
		return;
	atomic64_sub(mo->charged, &mo->charged_mm->pinned_vm);
	mmdrop(mo->charged_mm);
	if (mo->charged_user) {
		atomic_long_sub(mo->charged, &mo->charged_user->locked_vm);
		free_uid(mo->charged_user);
	}
	mo->charged = 0;
}

/* ------------------------------------------------------------------- pinning */

static void memobj_unpin(struct hcomm_memobj *mo, unsigned long n)
{
	unsigned long i, len;

	for (i = 0; i < n; i += len) {
		len = min(n - i, PIN_BATCH);
		unpin_user_pages_dirty_lock(mo->pages + i, len, !mo->read_only);
		cond_resched();
	}
}

/* Pins some of n pages at least, or tells why none. */
static int pin_some(unsigned long addr, unsigned long n, bool read_only,
		    struct page **pages)
{
	unsigned int flags = FOLL_LONGTERM;
	int i, ret;

	flags |= read_only ? HCOMM_FOLL_READ : FOLL_WRITE;
	ret = pin_user_pages_fast(addr, n, flags, pages);
	if (ret == -EFAULT && hcomm_fault_in(addr, read_only))
		ret = pin_user_pages_fast(addr, n, flags, pages);
	if (read_only && ret == -EFAULT)
		ret = hcomm_pin_shared_page(addr, pages);
	if (!ret)
		return -EFAULT;
	for (i = 0; i < ret && !read_only; i++) {
		int err = hcomm_check_pin_for_write(pages[i]);

		if (err) {
			unpin_user_pages(pages, ret);
			return err;
		}
	}
	return ret;
}

static int memobj_pin(struct hcomm_memobj *mo, unsigned long addr)
{
	unsigned long n = 0;
	int ret;

	addr &= PAGE_MASK;
	while (n < mo->npages) {
		if (fatal_signal_pending(current)) {
			ret = -EINTR;
			goto err_unpin;
		}
		ret = pin_some(addr + (n << PAGE_SHIFT), min(mo->npages - n, PIN_BATCH),
			       mo->read_only, mo->pages + n);
		if (ret < 0)
			goto err_unpin;
		n += ret;
		cond_resched();
	}
	return 0;

err_unpin:
	memobj_unpin(mo, n);
	return ret;
}

/* Does page i lie behind page i - 1? */
static bool page_follows(struct page **pages, unsigned long i)
{
	return page_to_pfn(pages[i]) == page_to_pfn(pages[i - 1]) + 1;
}

static int memobj_make_spans(struct hcomm_memobj *mo)
{
	unsigned long i, n = 1;

	for (i = 1; i < mo->npages; i++)
		n += !page_follows(mo->pages, i);
	mo->mem.spans = kvcalloc(n, sizeof(*mo->mem.spans), GFP_KERNEL_ACCOUNT);
	if (!mo->mem.spans)
		return -ENOMEM;
	mo->mem.nspans = n;
	mo->mem.spans[0].off = 0;
	mo->mem.spans[0].va = (u8 *)page_address(mo->pages[0]) + mo->first_offset;
	for (i = 1, n = 1; i < mo->npages; i++) {
		if (page_follows(mo->pages, i))
			continue;
		mo->mem.spans[n].off = ((u64)i << PAGE_SHIFT) - mo->first_offset;
		mo->mem.spans[n].va = page_address(mo->pages[i]);
		n++;
	}
	return 0;
}

/* ----------------------------------------------------------------- lifecycle */

static void memobj_release(struct hcomm_object *obj)
{
	struct hcomm_memobj *mo = container_of(obj, struct hcomm_memobj, obj);
	struct hcomm_mem_attach *att, *next;

	mutex_lock(&mo->attach_lock);
	list_for_each_entry_safe(att, next, &mo->attachments, node)
		att->detach(att);
	mutex_unlock(&mo->attach_lock);

	if (mo->user)
		memobj_unpin(mo, mo->npages);
	memobj_uncharge(mo);
	vfree(mo->vmap);
	kvfree(mo->mem.spans);
	kvfree(mo->pages);
	mutex_destroy(&mo->attach_lock);
	kfree(mo);
}

static void memobj_free_work(struct work_struct *work)
{
	hcomm_memobj_put(container_of(work, struct hcomm_memobj, free_work));
}

static const struct hcomm_object_ops memobj_ops = {
	.kind = HCOMM_OBJ_MEM,
	.release = memobj_release,
};

static struct hcomm_memobj *memobj_alloc(struct hcomm_ctx *ctx, unsigned long npages)
{
	struct hcomm_memobj *mo = kzalloc(sizeof(*mo), GFP_KERNEL_ACCOUNT);

	if (!mo)
		return NULL;
	hcomm_object_init(&mo->obj, ctx, &memobj_ops);
	mutex_init(&mo->attach_lock);
	INIT_LIST_HEAD(&mo->attachments);
	INIT_WORK(&mo->free_work, memobj_free_work);
	mo->npages = npages;
	return mo;
}

static int memobj_alloc_pages(struct hcomm_memobj *mo)
{
	/* More pages than there are, or than an array can list. */
	if (mo->npages > totalram_pages() || mo->npages > INT_MAX / sizeof(*mo->pages))
		return -ENOMEM;
	mo->pages = kvcalloc(mo->npages, sizeof(*mo->pages), GFP_KERNEL_ACCOUNT);
	return mo->pages ? 0 : -ENOMEM;
}

void hcomm_memobj_get(struct hcomm_memobj *mo)
{
	kref_get(&mo->obj.ref);
}

void hcomm_memobj_put(struct hcomm_memobj *mo)
{
	if (mo)
		hcomm_object_put(&mo->obj);
}

/* The work inherits the last reference. */
void hcomm_memobj_put_later(struct hcomm_memobj *mo)
{
	if (!refcount_dec_not_one(&mo->obj.ref.refcount))
		queue_work(hcomm_end_wq, &mo->free_work);
}

struct hcomm_memobj *hcomm_memobj_alloc_kernel(size_t size)
{
	struct hcomm_memobj *mo;
	unsigned long i;

	mo = memobj_alloc(NULL, DIV_ROUND_UP(size, PAGE_SIZE));
	if (!mo)
		return NULL;
	if (memobj_alloc_pages(mo))
		goto err_put;
	mo->vmap = __vmalloc(mo->npages << PAGE_SHIFT, GFP_KERNEL_ACCOUNT | __GFP_ZERO);
	mo->mem.spans = kvcalloc(1, sizeof(*mo->mem.spans), GFP_KERNEL_ACCOUNT);
	if (!mo->vmap || !mo->mem.spans)
		goto err_put;
	for (i = 0; i < mo->npages; i++)
		mo->pages[i] = vmalloc_to_page(mo->vmap + (i << PAGE_SHIFT));
	mo->mem.length = size;
	mo->mem.nspans = 1;
	mo->mem.spans[0].va = mo->vmap;
	return mo;

err_put:
	hcomm_memobj_put(mo);
	return NULL;
}

int hcomm_ioctl_mem_reg(struct hcomm_cmd *cmd)
{
	struct hcomm_mem_reg *arg = cmd->data;
	struct hcomm_memobj *mo;
	u64 end, npages;
	int ret;

	arg->out_limit = 0;
	arg->out_used = 0;
	arg->out_needed = 0;
	if (arg->flags & ~HCOMM_MEM_READ_ONLY)
		return -EOPNOTSUPP;
	if (arg->pad || !arg->length || check_add_overflow(arg->addr, arg->length, &end) ||
	    end > U64_MAX - PAGE_SIZE)
		return -EINVAL;
	if (!access_ok(u64_to_user_ptr(arg->addr), arg->length))
		return -EFAULT;

	npages = DIV_ROUND_UP_ULL(end, PAGE_SIZE) - (arg->addr >> PAGE_SHIFT);
	arg->out_needed = npages << PAGE_SHIFT;
	mo = memobj_alloc(cmd->ctx, npages);
	if (!mo) {
		ret = -ENOMEM;
		goto out_tell;
	}
	mo->first_offset = offset_in_page(arg->addr);
	mo->read_only = arg->flags & HCOMM_MEM_READ_ONLY;
	mo->mem.length = arg->length;
	ret = memobj_charge(mo, arg);
	if (ret)
		goto err_put;
	ret = memobj_alloc_pages(mo);
	if (ret)
		goto err_put;
	ret = memobj_pin(mo, arg->addr);
	if (ret)
		goto err_put;
	mo->user = true;
	ret = memobj_make_spans(mo);
	if (ret)
		goto err_put;
	ret = hcomm_object_reserve(&mo->obj);
	if (ret)
		goto err_put;
	arg->out_mem_id = mo->obj.id;
	ret = hcomm_cmd_respond(cmd);
	if (ret)
		goto err_abort;
	hcomm_object_publish(&mo->obj);
	return 0;

err_abort:
	hcomm_object_abort(&mo->obj);
err_put:
	hcomm_memobj_put(mo);
out_tell:
	/* The limit is part of the error; the error comes first. */
	if (ret == -ENOMEM && hcomm_cmd_respond(cmd))
		ret = -EFAULT;
	return ret;
}
