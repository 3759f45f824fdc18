// SPDX-License-Identifier: LGPL-2.1-or-later
/* The table of regions: sorted by address, searched by halving. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "../base/base.h"
#include "../dev/dev_priv.h"
#include "mem.h"

/* protects the table */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct hcomm_region *regions;
static size_t count, room;

/* index of the first region that begins after @addr */
static size_t after(uintptr_t addr)
{
	size_t lo = 0, hi = count;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (regions[mid].addr <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static bool overlaps(size_t at, uintptr_t addr, uint64_t len,
		     const struct hcomm_region **with)
{
	if (at && addr - regions[at - 1].addr < regions[at - 1].len)
		*with = &regions[at - 1];
	else if (at < count && regions[at].addr - addr < len)
		*with = &regions[at];
	else
		return false;
	return true;
}

static bool grow(void)
{
	size_t want = room ? room * 2 : 64;
	struct hcomm_region *more;

	if (count < room)
		return true;
	more = realloc(regions, want * sizeof(*more));
	if (!more)
		return false;
	regions = more;
	room = want;
	return true;
}

hcommResult_t hcomm_region_add(uintptr_t addr, uint64_t len)
{
	const struct hcomm_region *with;
	hcommResult_t ret = HCOMM_SUCCESS;
	size_t at;

	pthread_mutex_lock(&lock);
	at = after(addr);
	if (overlaps(at, addr, len, &with)) {
		ret = hcomm_fail(HCOMM_ERR_INVALID_ARGUMENT,
				 "the %llu bytes at %#llx overlap the %llu bytes at %#llx, which are registered or from hcommMalloc()",
				 (unsigned long long)len, (unsigned long long)addr,
				 (unsigned long long)with->len,
				 (unsigned long long)with->addr);
	} else if (!grow()) {
		ret = hcomm_fail_nomem("the table of registered memory");
	} else {
		memmove(&regions[at + 1], &regions[at],
			(count - at) * sizeof(*regions));
		regions[at] = (struct hcomm_region){ .addr = addr, .len = len };
		count++;
	}
	pthread_mutex_unlock(&lock);
	return ret;
}

void hcomm_region_del(uintptr_t addr)
{
	uint32_t id = 0;
	size_t at;

	pthread_mutex_lock(&lock);
	at = after(addr);
	if (at && regions[at - 1].addr == addr) {
		id = regions[at - 1].id;
		memmove(&regions[at - 1], &regions[at],
			(count - at) * sizeof(*regions));
		count--;
	}
	pthread_mutex_unlock(&lock);
	hcomm_dev_destroy(id);
}

hcommResult_t hcomm_mem_find(const void *ptr, uint64_t len, uint32_t *id,
			     uint64_t *off)
{
	uintptr_t addr = (uintptr_t)ptr;
	hcommResult_t ret = HCOMM_SUCCESS;
	struct hcomm_region *r;
	size_t at;

	*id = 0;
	pthread_mutex_lock(&lock);
	at = after(addr);
	r = at ? &regions[at - 1] : NULL;
	if (r && len <= r->len && addr - r->addr <= r->len - len) {
		if (!r->id)
			ret = hcomm_dev_register((void *)r->addr, r->len, false,
						 &r->id);
		*id = r->id;
		*off = addr - r->addr;
	}
	pthread_mutex_unlock(&lock);
	return ret;
}

/* the context ends, and all MEM objects with it */
void hcomm_dev_closing(void)
{
	size_t i;

	pthread_mutex_lock(&lock);
	for (i = 0; i < count; i++)
		regions[i].id = 0;
	pthread_mutex_unlock(&lock);
}
