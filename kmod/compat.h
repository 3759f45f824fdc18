/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The only place that asks which kernel this is.  Supported: 6.1 and later.
 */
#ifndef HCOMM_COMPAT_H
#define HCOMM_COMPAT_H

#include <linux/eventfd.h>
#include <linux/mm.h>
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
#else
#define HCOMM_FOLL_READ		(FOLL_WRITE | FOLL_FORCE)
#endif

#endif /* HCOMM_COMPAT_H */
