// SPDX-License-Identifier: GPL-2.0-only
/*
 * Completion ring of a context.
 *
 * The kernel writes entries and the tail, the process the head.  The head is
 * only a hint of how much has been read: whatever it says, the kernel writes
 * inside the ring, and a process that lies overwrites its own entries or gets
 * EBUSY.  Room is reserved at launch, so that completing never fails.
 */
#include <linux/eventfd.h>
#include <linux/file.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "compat.h"
#include "ctx.h"
#include "memobj.h"

struct hcomm_cring *hcomm_ctx_ring(struct hcomm_ctx *ctx)
{
	/* Set once, complete, and never cleared while the file is open. */
	return smp_load_acquire(&ctx->ring);
}

void hcomm_ring_free(struct hcomm_cring *ring)
{
	if (!ring)
		return;
	if (ring->eventfd)
		eventfd_ctx_put(ring->eventfd);
	hcomm_memobj_put(ring->mem);
	kfree(ring);
}

/* Unread entries as the process tells; more than there can be counts as full. */
static u32 ring_unread(const struct hcomm_cring *ring)
{
	u32 n = ring->tail - READ_ONCE(ring->shm->head);

	return min(n, ring->mask + 1);
}

u32 hcomm_ring_unread(struct hcomm_cring *ring, u32 *inflight)
{
	u32 n;

	spin_lock(&ring->lock);
	n = ring_unread(ring);
	*inflight = ring->reserved;
	spin_unlock(&ring->lock);
	return n;
}

int hcomm_ring_reserve(struct hcomm_cring *ring)
{
	int ret = -EBUSY;

	spin_lock(&ring->lock);
	if ((u64)ring_unread(ring) + ring->reserved <= ring->mask) {
		ring->reserved++;
		ret = 0;
	}
	spin_unlock(&ring->lock);
	return ret;
}

void hcomm_ring_unreserve(struct hcomm_cring *ring)
{
	spin_lock(&ring->lock);
	ring->reserved--;
	spin_unlock(&ring->lock);
}

void hcomm_ring_post_locked(struct hcomm_cring *ring, const struct hcomm_cqe *cqe)
{
	lockdep_assert_held(&ring->lock);
	ring->shm->cqe[ring->tail & ring->mask] = *cqe;
	ring->tail++;
	ring->reserved--;
	/* The entry before its number: the process reads the tail with acquire. */
	smp_store_release(&ring->shm->tail, ring->tail);
}

void hcomm_ring_signal(struct hcomm_ctx *ctx)
{
	struct hcomm_cring *ring = ctx->ring;

	if (ring->eventfd)
		hcomm_eventfd_signal(ring->eventfd);
	if (wq_has_sleeper(&ctx->poll_wq))
		wake_up_interruptible_poll(&ctx->poll_wq, EPOLLIN | EPOLLRDNORM);
	if (wq_has_sleeper(&ctx->waiter_wq))
		wake_up_all(&ctx->waiter_wq);
}

int hcomm_ring_mmap(struct hcomm_ctx *ctx, struct vm_area_struct *vma)
{
	struct hcomm_cring *ring = hcomm_ctx_ring(ctx);

	if (!ring)
		return -ENXIO;
	if (vma->vm_pgoff != HCOMM_RING_MMAP_OFFSET >> PAGE_SHIFT)
		return -EINVAL;
	if (vma_pages(vma) > ring->mem->npages)
		return -EINVAL;
	/* In a private copy the head would be nobody's. */
	if (!(vma->vm_flags & VM_MAYSHARE))
		return -EINVAL;
	if (vma->vm_flags & VM_EXEC)
		return -EPERM;
	/* Nor later, by mprotect(). */
	hcomm_vm_flags_mod(vma, VM_DONTEXPAND | VM_DONTDUMP, VM_MAYEXEC);
	return vm_map_pages(vma, ring->mem->pages, ring->mem->npages);
}

int hcomm_ioctl_ring_setup(struct hcomm_cmd *cmd)
{
	struct hcomm_ring_setup *arg = cmd->data;
	struct hcomm_ctx *ctx = cmd->ctx;
	struct hcomm_cring *ring;
	size_t size;
	int ret;

	if (arg->flags)
		return -EOPNOTSUPP;
	if (!arg->entries || arg->entries > HCOMM_MAX_RING_ENTRIES ||
	    !is_power_of_2(arg->entries) || arg->eventfd < -1)
		return -EINVAL;

	/* Who holds it may be kept from writing its answer by what it mapped there. */
	if (mutex_lock_killable(&ctx->setup_lock))
		return -EINTR;
	ret = -EBUSY;
	if (ctx->ring)
		goto out_unlock;
	ret = -ENOMEM;
	ring = kzalloc(sizeof(*ring), GFP_KERNEL_ACCOUNT);
	if (!ring)
		goto out_unlock;
	size = PAGE_ALIGN(struct_size(ring->shm, cqe, arg->entries));
	ring->mem = hcomm_memobj_alloc_kernel(size);
	if (!ring->mem)
		goto err_free;
	ring->shm = (void *)ring->mem->mem.spans[0].va;
	spin_lock_init(&ring->lock);
	ring->mask = arg->entries - 1;
	ring->shm->mask = ring->mask;
	ring->shm->entries = arg->entries;
	if (arg->eventfd >= 0) {
		ring->eventfd = eventfd_ctx_fdget(arg->eventfd);
		if (IS_ERR(ring->eventfd)) {
			ret = PTR_ERR(ring->eventfd);
			ring->eventfd = NULL;
			goto err_free;
		}
	}
	arg->out_mmap_size = size;
	ret = hcomm_cmd_respond(cmd);
	if (ret)
		goto err_free;
	/* Complete before it is seen: hcomm_ctx_ring(). */
	smp_store_release(&ctx->ring, ring);
	goto out_unlock;

err_free:
	hcomm_ring_free(ring);
out_unlock:
	mutex_unlock(&ctx->setup_lock);
	return ret;
}
