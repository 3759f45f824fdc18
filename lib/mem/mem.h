/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Memory: the pool behind hcommMalloc(), and the table of regions that the
 * device has pinned or may pin.
 *
 * A region is a range of addresses with one MEM object, made when a collective
 * first uses the region.  Regions do not overlap.  Only memory whose life the
 * library knows has one: its own, and what hcommMemRegister() promises to keep.
 * Pinned pages of anything else would go stale unnoticed when the program unmaps
 * and maps again.
 */
#ifndef HCOMM_MEM_H
#define HCOMM_MEM_H

#include <hcomm/hcomm.h>
#include <stdbool.h>
#include <stdint.h>

/**
 * hcomm_mem_alloc - memory of the pool
 * @size: bytes, may be 0
 * @out: out: memory, 64-byte aligned, to be given to hcomm_mem_free()
 */
hcommResult_t hcomm_mem_alloc(size_t size, void **out);

/* give back; NULL is ignored; false: it is not from the pool */
bool hcomm_mem_free(void *ptr);

/**
 * hcomm_mem_find - the MEM object of a range
 * @addr: start
 * @len: bytes, at least 1
 * @id: out: MEM object, 0: no region contains the range
 * @off: out: offset of @addr in it
 */
hcommResult_t hcomm_mem_find(const void *addr, uint64_t len, uint32_t *id,
			     uint64_t *off);

/* bytes of the pool that are mapped, in use or not; for tests */
uint64_t hcomm_mem_mapped(void);

/* ------------------------------------------------------------------- region.c */

/**
 * struct hcomm_region - a range of addresses, embedded in what its owner knows of it
 * @addr: start
 * @len: bytes
 * @pooled: it is of the pool
 * @id: MEM object, 0: not pinned; protected by the lock of the table
 * @epoch: of the device that @id is of
 */
struct hcomm_region {
	uintptr_t addr;
	uint64_t len;
	bool pooled;
	uint32_t id;
	uint32_t epoch;
};

/* put a region into the table; all but its id is set and stays */
hcommResult_t hcomm_region_add(struct hcomm_region *region);
/* it ends, its MEM object too */
void hcomm_region_del(struct hcomm_region *region);
/* the region of the pool that @addr lies in, NULL: none */
struct hcomm_region *hcomm_region_pooled(uintptr_t addr);

#endif /* HCOMM_MEM_H */
