/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Symbolic memory: the bytes of a slot as a sorted list of segments, each with
 * the value it holds, the chunk that wrote it last, and those that have read it
 * since.
 */
#ifndef HCOMM_CHECK_MEMORY_H
#define HCOMM_CHECK_MEMORY_H

#include "expr.h"

#define NO_NODE		UINT32_MAX

/**
 * struct segment - bytes with one value and one history
 * @start: first byte
 * @val: value; val.len is the segment's
 * @writer: chunk that wrote it, NO_NODE: it is as it was at the start
 * @readers: list of chunks that have read it since, 0: none
 */
struct segment {
	uint64_t start;
	struct value val;
	uint32_t writer;
	uint32_t readers;
};

/**
 * struct memory - a slot
 * @seg: segments, without gaps
 * @n: how many
 * @room: allocated
 * @size: bytes
 */
struct memory {
	struct segment *seg;
	uint32_t n;
	uint32_t room;
	uint64_t size;
};

/**
 * struct readers - lists of readers, in one array
 * @cell: node and index of the next cell; cell 0 is not used
 */
struct readers {
	struct reader_cell {
		uint32_t node;
		uint32_t next;
	} *cell;
	uint32_t n;
	uint32_t room;
};

/* values of adjacent bytes */
struct values {
	struct value *v;
	uint32_t n;
	uint32_t room;
};

int chk_memory_init(struct memory *m, uint64_t size);
void chk_memory_exit(struct memory *m);

/* give bytes a value at the start */
int chk_memory_set(struct memory *m, uint64_t start, uint64_t len, uint32_t expr,
		   int64_t pos);

/*
 * Make [start, start + len) whole segments, which are those from *first to
 * before *end.
 */
int chk_memory_range(struct memory *m, uint64_t start, uint64_t len,
		     uint32_t *first, uint32_t *end);

/* replace segments [first, end) by values written by a chunk */
int chk_memory_replace(struct memory *m, uint32_t first, uint32_t end,
		       const struct values *vals, uint32_t writer);

/* put a node before a list; 0 without memory */
uint32_t chk_readers_add(struct readers *r, uint32_t list, uint32_t node);

/* append; adjacent parts of one expression become one */
int chk_values_add(struct values *vals, struct value v);

#endif /* HCOMM_CHECK_MEMORY_H */
