// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The pool: small blocks in sizes of powers of two, cut from arenas of a few
 * blocks (an arena is pinned as a whole, and locked memory is scarce); larger
 * ones by mmap(), of which some are kept when they are freed.
 *
 * Every block is preceded by nothing: what a pointer is, is looked up in a table
 * of arenas and large blocks, sorted by address, so that blocks keep their
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
 * @addr: start
 * @size: bytes mapped
 * @shift: log2 of the size of its blocks, 0: one large block
 * @freed: when it was freed, 0: in use (large blocks)
 * @used: one bit per block (arenas)
 */
struct extent {
	uintptr_t addr;
	size_t size;
	unsigned int shift;
	uint64_t freed;
	uint64_t *used;
};

struct free_block {
	struct free_block *next;
};

/* protects all below */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct extent *extents;
static size_t count, room;
static struct free_block *free_lists[CLASSES];
static size_t kept_bytes;
static uint64_t mapped_bytes;
static uint64_t clock_now;

/* index of the first extent after @addr */
static size_t after(uintptr_t addr)
{
	size_t lo = 0, hi = count;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (extents[mid].addr <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* whole pages, aligned to 2 MiB from that size up */
static void *map_pages(size_t size)
{
	size_t align = size >= HUGE_SIZE ? HUGE_SIZE : 0;
	uintptr_t start, end, want;
	void *p;

	if (size > SIZE_MAX / 2)
		return NULL;
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

static void unmap_extent(size_t at)
{
	struct extent e = extents[at];

	memmove(&extents[at], &extents[at + 1], (count - at - 1) * sizeof(e));
	count--;
	hcomm_region_del(e.addr);
	munmap((void *)e.addr, e.size);
	mapped_bytes -= e.size;
}

static struct extent *new_extent(size_t size, unsigned int shift)
{
	struct extent *more, e = { .size = size, .shift = shift };
	size_t at;
	void *p;

	if (count == room) {
		more = realloc(extents, (room ? room * 2 : 32) * sizeof(e));
		if (!more)
			return NULL;
		extents = more;
		room = room ? room * 2 : 32;
	}
	if (shift) {
		e.used = calloc((size >> shift) / 64 + 1, sizeof(*e.used));
		if (!e.used)
			return NULL;
	}
	p = map_pages(size);
	if (!p)
		goto free_used;
	e.addr = (uintptr_t)p;
	if (hcomm_region_add(e.addr, size))
		goto unmap;
	at = after(e.addr);
	memmove(&extents[at + 1], &extents[at], (count - at) * sizeof(e));
	extents[at] = e;
	count++;
	mapped_bytes += size;
	return &extents[at];
unmap:
	munmap(p, size);
free_used:
	free(e.used);
	return NULL;
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
	size_t i = (addr - e->addr) >> e->shift;

	if (used)
		e->used[i / 64] |= 1ull << (i % 64);
	else
		e->used[i / 64] &= ~(1ull << (i % 64));
}

static bool is_used(const struct extent *e, uintptr_t addr)
{
	size_t i = (addr - e->addr) >> e->shift;

	return e->used[i / 64] >> (i % 64) & 1;
}

static bool add_arena(unsigned int shift)
{
	struct free_block **list = &free_lists[shift - MIN_SHIFT];
	size_t size = (size_t)ARENA_BLOCKS << shift;
	struct extent *e;
	uintptr_t p;

	e = new_extent(size < ARENA_MIN ? ARENA_MIN : size, shift);
	if (!e)
		return false;
	/* from the end, so that the first allocation is the lowest */
	for (p = e->addr + e->size; p > e->addr;) {
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
	mark(&extents[after((uintptr_t)b) - 1], (uintptr_t)b, true);
	return b;
}

/* ---------------------------------------------------------------- large blocks */

/* give freed blocks back, the oldest first, until @limit bytes are kept */
static void trim(size_t limit)
{
	size_t i, oldest;

	while (kept_bytes > limit) {
		oldest = count;
		for (i = 0; i < count; i++) {
			if (!extents[i].shift && extents[i].freed &&
			    (oldest == count ||
			     extents[i].freed < extents[oldest].freed))
				oldest = i;
		}
		kept_bytes -= extents[oldest].size;
		unmap_extent(oldest);
	}
}

static void *alloc_large(size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), i, best = count;
	struct extent *e;

	if (size > SIZE_MAX / 4)
		return NULL;
	size = size >= HUGE_SIZE ? (size + HUGE_SIZE - 1) & ~(HUGE_SIZE - 1) :
				   (size + page - 1) & ~(page - 1);
	for (i = 0; i < count; i++) {
		/* a kept block may waste a quarter */
		if (extents[i].shift || !extents[i].freed ||
		    extents[i].size < size || extents[i].size - size > size / 4)
			continue;
		if (best == count || extents[i].size < extents[best].size)
			best = i;
	}
	if (best < count) {
		kept_bytes -= extents[best].size;
		extents[best].freed = 0;
		return (void *)extents[best].addr;
	}
	e = new_extent(size, 0);
	if (!e && kept_bytes) {
		trim(0);
		e = new_extent(size, 0);
	}
	return e ? (void *)e->addr : NULL;
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
	struct free_block *b = ptr;
	struct extent *e;
	bool ok = false;
	size_t at;

	if (!ptr)
		return true;
	pthread_mutex_lock(&lock);
	at = after(addr);
	if (!at || addr - extents[at - 1].addr >= extents[at - 1].size)
		goto out;
	e = &extents[at - 1];
	if (!e->shift && addr == e->addr && !e->freed) {
		e->freed = ++clock_now;
		kept_bytes += e->size;
		trim(KEEP_BYTES);
		ok = true;
	} else if (e->shift && !((addr - e->addr) & ((1ul << e->shift) - 1)) &&
		   is_used(e, addr)) {
		mark(e, addr, false);
		b->next = free_lists[e->shift - MIN_SHIFT];
		free_lists[e->shift - MIN_SHIFT] = b;
		ok = true;
	}
out:
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
