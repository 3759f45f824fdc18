// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The pool: small blocks in sizes of powers of two, cut from arenas of a few
 * blocks (an arena is pinned as a whole, and locked memory is scarce); larger
 * ones by mmap(), of which some are kept when they are freed.
 *
 * Every block is preceded by nothing: what a pointer is, is looked up in the table
 * of regions, as each arena and each large block is one, so that blocks keep their
 * alignment and a wrong free is noticed.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../base/base.h"
#include "mem.h"

#define ARENA_MIN	(128ul << 10)
#define ARENA_BLOCKS	8u
#define HUGE_SIZE	(2ul << 20)
#define MIN_SHIFT	6u		/* 64 bytes */
#define MAX_SHIFT	18u		/* 256 KiB; larger: own mapping */
#define CLASSES		(MAX_SHIFT - MIN_SHIFT + 1)
#define KEEP_BYTES	(64ul << 20)	/* of freed large blocks */

/**
 * struct extent - an arena or a large block
 * @region: what is mapped
 * @shift: log2 of the size of its blocks, 0: one large block
 * @freed: it is kept (large blocks)
 * @older: the next of those that are kept
 * @used: one bit per block (arenas)
 */
struct extent {
	struct hcomm_region region;
	unsigned int shift;
	bool freed;
	struct extent *older;
	uint64_t used[];
};

struct free_block {
	struct free_block *next;
};

/* protects all below */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct free_block *free_lists[CLASSES];
static struct extent *kept;		/* freed large blocks, the latest first */
static size_t kept_bytes;
static uint64_t mapped_bytes;

/* the extent that @addr lies in, NULL: none */
static struct extent *extent_of(uintptr_t addr)
{
	/* the region is its first member */
	return (struct extent *)hcomm_region_pooled(addr);
}

/* whole pages, aligned to 2 MiB from that size up */
static void *map_pages(size_t size)
{
	size_t align = size >= HUGE_SIZE ? HUGE_SIZE : 0;
	uintptr_t start, end, want;
	void *p;

	p = mmap(NULL, size + align, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return NULL;
	if (!align)
		return p;
	start = (uintptr_t)p;
	end = start + size + align;
	want = (start + align - 1) & ~(align - 1);
	if (want > start)
		munmap(p, want - start);
	if (end > want + size)
		munmap((void *)(want + size), end - want - size);
	madvise((void *)want, size, MADV_HUGEPAGE);
	return (void *)want;
}

static void unmap_extent(struct extent *e)
{
	hcomm_region_del(&e->region);
	munmap((void *)e->region.addr, e->region.len);
	mapped_bytes -= e->region.len;
	free(e);
}

static struct extent *new_extent(size_t size, unsigned int shift)
{
	size_t words = shift ? (size >> shift) / 64 + 1 : 0;
	struct extent *e = calloc(1, sizeof(*e) + words * sizeof(*e->used));
	void *p;

	if (!e)
		return NULL;
	p = map_pages(size);
	if (!p)
		goto free_extent;
	e->shift = shift;
	e->region = (struct hcomm_region){
		.addr = (uintptr_t)p, .len = size, .pooled = true,
	};
	if (hcomm_region_add(&e->region))
		goto unmap;
	mapped_bytes += size;
	return e;
unmap:
	munmap(p, size);
free_extent:
	free(e);
	return NULL;
}

/* take a kept block, which @p points to, out of the list */
static struct extent *unkeep(struct extent **p)
{
	struct extent *e = *p;

	*p = e->older;
	kept_bytes -= e->region.len;
	e->freed = false;
	return e;
}

/* give freed blocks back, the oldest first, until @limit bytes are kept */
static void trim(size_t limit)
{
	struct extent **p;

	while (kept_bytes > limit) {
		for (p = &kept; (*p)->older; p = &(*p)->older)
			;
		unmap_extent(unkeep(p));
	}
}

/* what is kept is given up before there is no memory */
static struct extent *get_extent(size_t size, unsigned int shift)
{
	struct extent *e = new_extent(size, shift);

	if (e || !kept)
		return e;
	trim(0);
	return new_extent(size, shift);
}

/* ---------------------------------------------------------------- small blocks */

static unsigned int class_shift(size_t size)
{
	unsigned int shift = MIN_SHIFT;

	while (size > 1ul << shift)
		shift++;
	return shift;
}

static void mark(struct extent *e, uintptr_t addr, bool used)
{
	size_t i = (addr - e->region.addr) >> e->shift;

	if (used)
		e->used[i / 64] |= 1ull << (i % 64);
	else
		e->used[i / 64] &= ~(1ull << (i % 64));
}

static bool is_used(const struct extent *e, uintptr_t addr)
{
	size_t i = (addr - e->region.addr) >> e->shift;

	return e->used[i / 64] >> (i % 64) & 1;
}

static bool add_arena(unsigned int shift)
{
	struct free_block **list = &free_lists[shift - MIN_SHIFT];
	size_t size = (size_t)ARENA_BLOCKS << shift;
	struct extent *e;
	uintptr_t p;

	e = get_extent(size < ARENA_MIN ? ARENA_MIN : size, shift);
	if (!e)
		return false;
	/* from the end, so that the first allocation is the lowest */
	for (p = e->region.addr + e->region.len; p > e->region.addr;) {
		p -= 1ul << shift;
		((struct free_block *)p)->next = *list;
		*list = (struct free_block *)p;
	}
	return true;
}

static void *alloc_small(size_t size)
{
	unsigned int shift = class_shift(size);
	struct free_block **list = &free_lists[shift - MIN_SHIFT], *b;

	if (!*list && !add_arena(shift))
		return NULL;
	b = *list;
	*list = b->next;
	mark(extent_of((uintptr_t)b), (uintptr_t)b, true);
	return b;
}

static bool free_small(struct extent *e, uintptr_t addr)
{
	struct free_block **list = &free_lists[e->shift - MIN_SHIFT];
	struct free_block *b = (struct free_block *)addr;

	if (((addr - e->region.addr) & ((1ul << e->shift) - 1)) || !is_used(e, addr))
		return false;
	mark(e, addr, false);
	b->next = *list;
	*list = b;
	return true;
}

/* ---------------------------------------------------------------- large blocks */

static void *alloc_large(size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct extent **p, **best = NULL, *e;

	if (size > SIZE_MAX / 4)
		return NULL;
	size = size >= HUGE_SIZE ? (size + HUGE_SIZE - 1) & ~(HUGE_SIZE - 1) :
				   (size + page - 1) & ~(page - 1);
	for (p = &kept; *p; p = &(*p)->older) {
		/* a kept block may waste a quarter */
		if ((*p)->region.len < size || (*p)->region.len - size > size / 4)
			continue;
		if (!best || (*p)->region.len < (*best)->region.len)
			best = p;
	}
	e = best ? unkeep(best) : get_extent(size, 0);
	return e ? (void *)e->region.addr : NULL;
}

static bool free_large(struct extent *e, uintptr_t addr)
{
	if (e->freed || addr != e->region.addr)
		return false;
	e->freed = true;
	e->older = kept;
	kept = e;
	kept_bytes += e->region.len;
	trim(KEEP_BYTES);
	return true;
}

/* --------------------------------------------------------------------- both */

hcommResult_t hcomm_mem_alloc(size_t size, void **out)
{
	pthread_mutex_lock(&lock);
	*out = size <= 1ul << MAX_SHIFT ? alloc_small(size) : alloc_large(size);
	pthread_mutex_unlock(&lock);
	if (*out)
		return HCOMM_SUCCESS;
	return hcomm_fail(HCOMM_ERR_NO_MEMORY, "no memory for %zu bytes", size);
}

bool hcomm_mem_free(void *ptr)
{
	uintptr_t addr = (uintptr_t)ptr;
	struct extent *e;
	bool ok;

	if (!ptr)
		return true;
	pthread_mutex_lock(&lock);
	e = extent_of(addr);
	if (!e)
		ok = false;
	else if (e->shift)
		ok = free_small(e, addr);
	else
		ok = free_large(e, addr);
	pthread_mutex_unlock(&lock);
	return ok;
}

uint64_t hcomm_mem_mapped(void)
{
	uint64_t bytes;

	pthread_mutex_lock(&lock);
	bytes = mapped_bytes;
	pthread_mutex_unlock(&lock);
	return bytes;
}
