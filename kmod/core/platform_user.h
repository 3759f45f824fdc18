/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The names of platform.h for user space builds of kmod/core.  Allocation goes
 * through a hook so that a test can make the n-th one fail.
 */
#ifndef HCOMM_CORE_PLATFORM_USER_H
#define HCOMM_CORE_PLATFORM_USER_H

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <linux/types.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef int64_t s64;

#define U32_MAX UINT32_MAX
#define U64_MAX UINT64_MAX

#define BIT(n) (1U << (n))
#ifndef BIT_ULL
#define BIT_ULL(n) (1ULL << (n))
#endif
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define DIV_ROUND_UP(n, d) (((n) + (d) - 1) / (d))
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#define min(a, b) ({ __typeof__(a) a_ = (a); __typeof__(b) b_ = (b); a_ < b_ ? a_ : b_; })
#define max(a, b) ({ __typeof__(a) a_ = (a); __typeof__(b) b_ = (b); a_ > b_ ? a_ : b_; })
#define min_t(t, a, b) ({ t a_ = (a); t b_ = (b); a_ < b_ ? a_ : b_; })
#define max_t(t, a, b) ({ t a_ = (a); t b_ = (b); a_ > b_ ? a_ : b_; })
#define container_of(p, t, m) ((t *)((char *)(p) - offsetof(t, m)))
#define static_assert _Static_assert
#define fallthrough __attribute__((__fallthrough__))
#define __packed __attribute__((__packed__))
#define READ_ONCE(x) (*(const volatile __typeof__(x) *)&(x))
#define WRITE_ONCE(x, v) (*(volatile __typeof__(x) *)&(x) = (v))
#define check_add_overflow(a, b, d) __builtin_add_overflow(a, b, d)
#define check_mul_overflow(a, b, d) __builtin_mul_overflow(a, b, d)

/* A broken promise inside core ends a user space run at once. */
#define WARN_ON_ONCE(c) ({ bool c_ = !!(c); if (c_) abort(); c_; })

static inline u64 div_u64(u64 n, u32 d)
{
	return n / d;
}

static inline unsigned long __ffs64(u64 v)
{
	return (unsigned long)__builtin_ctzll(v);
}

/* Allocations that still succeed; negative: no limit. */
extern long hcomm_user_alloc_budget;

static inline void *hcomm_zalloc_array(size_t n, size_t size)
{
	if (hcomm_user_alloc_budget >= 0 && hcomm_user_alloc_budget-- == 0) {
		hcomm_user_alloc_budget = 0;
		return NULL;
	}
	return calloc(n ? n : 1, size);
}

static inline void hcomm_free(void *p)
{
	free(p);
}

static inline u64 hcomm_clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (u64)t.tv_sec * 1000000000 + (u64)t.tv_nsec;
}

struct list_head {
	struct list_head *next, *prev;
};

static inline void INIT_LIST_HEAD(struct list_head *h)
{
	h->next = h;
	h->prev = h;
}

static inline bool list_empty(const struct list_head *h)
{
	return h->next == h;
}

static inline void hcomm_list_insert(struct list_head *n, struct list_head *prev,
				     struct list_head *next)
{
	n->prev = prev;
	n->next = next;
	prev->next = n;
	next->prev = n;
}

static inline void list_add(struct list_head *n, struct list_head *h)
{
	hcomm_list_insert(n, h, h->next);
}

static inline void list_add_tail(struct list_head *n, struct list_head *h)
{
	hcomm_list_insert(n, h->prev, h);
}

static inline void list_del_init(struct list_head *n)
{
	n->prev->next = n->next;
	n->next->prev = n->prev;
	INIT_LIST_HEAD(n);
}

static inline void list_move_tail(struct list_head *n, struct list_head *h)
{
	list_del_init(n);
	list_add_tail(n, h);
}

#define list_entry(p, t, m) container_of(p, t, m)
#define list_first_entry(h, t, m) list_entry((h)->next, t, m)
#define list_first_entry_or_null(h, t, m) \
	(list_empty(h) ? NULL : list_first_entry(h, t, m))
#define list_for_each_entry(p, h, m) \
	for (p = list_entry((h)->next, __typeof__(*p), m); &p->m != (h); \
	     p = list_entry(p->m.next, __typeof__(*p), m))
#define list_for_each_entry_safe(p, n, h, m) \
	for (p = list_entry((h)->next, __typeof__(*p), m), \
	     n = list_entry(p->m.next, __typeof__(*p), m); &p->m != (h); \
	     p = n, n = list_entry(n->m.next, __typeof__(*n), m))

#endif /* HCOMM_CORE_PLATFORM_USER_H */
