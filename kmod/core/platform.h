/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What kmod/core may use of its surroundings: fixed-width types, lists,
 * string functions, memory for objects, and vector-unit sections.  The kernel
 * has it all; platform_user.h gives the same names to user space builds
 * (simulator, fuzzers).  No other header of an OS is included by core.
 */
#ifndef HCOMM_CORE_PLATFORM_H
#define HCOMM_CORE_PLATFORM_H

#ifdef __KERNEL__

#include <linux/bitops.h>
#include <linux/build_bug.h>
#include <linux/bug.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/types.h>

static inline void *hcomm_zalloc_array(size_t n, size_t size)
{
	return kvcalloc(n, size, GFP_KERNEL_ACCOUNT);
}

static inline void hcomm_free(void *p)
{
	kvfree(p);
}

static inline u64 hcomm_clock_ns(void)
{
	return ktime_get_ns();
}

#else
#include "platform_user.h"
#endif

#include <linux/hcomm.h>

#endif /* HCOMM_CORE_PLATFORM_H */
