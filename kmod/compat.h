/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The only place that asks which kernel this is.  Supported: 6.1 and later.
 */
#ifndef HCOMM_COMPAT_H
#define HCOMM_COMPAT_H

#include <linux/backing-dev.h>
#include <linux/eventfd.h>
#include <linux/hugetlb.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/version.h>

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 4, 0)
#include <crypto/utils.h>
#else
#include <crypto/algapi.h>
#endif

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 8, 0)
static inline void hcomm_eventfd_signal(struct eventfd_ctx *ctx)
{
	eventfd_signal(ctx);
}
#else
static inline void hcomm_eventfd_signal(struct eventfd_ctx *ctx)
{
	eventfd_signal(ctx, 1);
}
#endif

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
static inline void hcomm_vm_flags_mod(struct vm_area_struct *vma, vm_flags_t set,
				      vm_flags_t clear)
{
	vm_flags_mod(vma, set, clear);
}
#else
static inline void hcomm_vm_flags_mod(struct vm_area_struct *vma, vm_flags_t set,
				      vm_flags_t clear)
{
	vma->vm_flags = (vma->vm_flags | set) & ~clear;
}
#endif

/*
 * Pins for reading.  Before 6.2 such a pin of private memory could keep a page
 * that the process no longer sees after its next write; breaking the sharing
 * first, as for writing, avoids that.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 2, 0)
#define HCOMM_FOLL_READ		0

static inline bool hcomm_fault_in(unsigned long addr, bool read_only)
{
	return false;
}
#else
#define HCOMM_FOLL_READ		(FOLL_WRITE | FOLL_FORCE)

/* Nor did a pin for long wait for a fault that user space resolves. */
static inline bool hcomm_fault_in(unsigned long addr, bool read_only)
{
	return !fault_in_safe_writeable((char __user *)addr, 1) ||
	       (read_only && !fault_in_readable((char __user *)addr, 1));
}
#endif

/*
 * Shared mappings that can't be written can't be pinned that way, and need not.
 * One page: what follows may be another mapping.
 */
static inline int hcomm_pin_shared_page(unsigned long addr, struct page **page)
{
	int ret = -EFAULT;

	if (HCOMM_FOLL_READ) {
		ret = pin_user_pages_fast(addr, 1, FOLL_LONGTERM, page);
		if (ret > 0 && (PageAnon(*page) || PageHuge(*page))) {
			unpin_user_page(*page);
			ret = -EFAULT;
		}
	}
	return ret;
}

/*
 * What a disk stands behind must be told of each write.  Before 6.5 such pages
 * could be pinned for writing all the same.  The page's lock keeps its file.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 5, 0)
static inline int hcomm_check_pin_for_write(struct page *page)
{
	return 0;
}
#else
static inline int hcomm_check_pin_for_write(struct page *page)
{
	struct address_space *mapping;
	int ret = 0;

	page = compound_head(page);
	if (PageAnon(page))
		return 0;
	if (lock_page_killable(page))
		return -EINTR;
	mapping = page_mapping(page);
	if (mapping && mapping->host && mapping_can_writeback(mapping))
		ret = -EFAULT;
	unlock_page(page);
	return ret;
}
#endif

#endif /* HCOMM_COMPAT_H */
