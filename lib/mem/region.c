// SPDX-License-Identifier: LGPL-2.1-or-later
/* The table of regions: sorted by address, searched by halving. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "../base/base.h"
#include "../dev/dev.h"
#include "mem.h"

/* protects the table */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct hcomm_region **regions;
static size_t count, room;

static bool is_pinned(const struct hcomm_region *r)
{
	return r->id && r->epoch == hcomm_dev_epoch();
}

static hcommResult_t pin(struct hcomm_region *r)
{
	r->id = 0;
	r->epoch = hcomm_dev_epoch();
	return hcomm_dev_register((void *)r->addr, r->len, false, &r->id);
}

/* index of the first region that begins after @addr */
static size_t after(uintptr_t addr)
{
	size_t lo = 0, hi = count;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (regions[mid]->addr <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* the region that @addr lies in, NULL: none */
static struct hcomm_region *holder(uintptr_t addr)
{
	size_t at = after(addr);
	struct hcomm_region *r = at ? regions[at - 1] : NULL;

	return r && addr - r->addr < r->len ? r : NULL;
}

/* a region that has bytes of @r, which would be put at @at; NULL: none */
static const struct hcomm_region *overlap(const struct hcomm_region *r, size_t at)
{
	if (at < count && regions[at]->addr - r->addr < r->len)
		return regions[at];
	return holder(r->addr);
}

static bool grow(void)
{
	size_t want = room ? room * 2 : 64;
	struct hcomm_region **more;

	if (count < room)
		return true;
	more = realloc(regions, want * sizeof(*more));
	if (!more)
		return false;
	regions = more;
	room = want;
	return true;
}

hcommResult_t hcomm_region_add(struct hcomm_region *r)
{
	const struct hcomm_region *with;
	hcommResult_t ret = HCOMM_SUCCESS;
	size_t at;

	pthread_mutex_lock(&lock);
	at = after(r->addr);
	with = overlap(r, at);
	if (with) {
		ret = hcomm_fail(HCOMM_ERR_INVALID_ARGUMENT,
				 "the %llu bytes at %#llx overlap the %llu bytes at %#llx, which are registered or from hcommMalloc()",
				 (unsigned long long)r->len, (unsigned long long)r->addr,
				 (unsigned long long)with->len,
				 (unsigned long long)with->addr);
	} else if (!grow()) {
		ret = hcomm_fail_nomem("the table of registered memory");
	} else {
		memmove(&regions[at + 1], &regions[at],
			(count - at) * sizeof(*regions));
		regions[at] = r;
		r->id = 0;
		count++;
	}
	pthread_mutex_unlock(&lock);
	return ret;
}

void hcomm_region_del(struct hcomm_region *r)
{
	size_t at;

	pthread_mutex_lock(&lock);
	at = after(r->addr);
	memmove(&regions[at - 1], &regions[at], (count - at) * sizeof(*regions));
	count--;
	pthread_mutex_unlock(&lock);
	if (is_pinned(r))
		hcomm_dev_destroy(r->id);
}

struct hcomm_region *hcomm_region_pooled(uintptr_t addr)
{
	struct hcomm_region *r;

	pthread_mutex_lock(&lock);
	r = holder(addr);
	if (r && !r->pooled)
		r = NULL;
	pthread_mutex_unlock(&lock);
	return r;
}

hcommResult_t hcomm_mem_find(const void *ptr, uint64_t len, uint32_t *id,
			     uint64_t *off)
{
	uintptr_t addr = (uintptr_t)ptr;
	hcommResult_t ret = HCOMM_SUCCESS;
	struct hcomm_region *r;

	*id = 0;
	pthread_mutex_lock(&lock);
	r = holder(addr);
	if (r && len <= r->len - (addr - r->addr)) {
		if (!is_pinned(r))
			ret = pin(r);
		*id = r->id;
		*off = addr - r->addr;
	}
	pthread_mutex_unlock(&lock);
	return ret;
}
