/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Memory as the engine sees it: a byte range that is a list of spans, each
 * contiguous in the address space of the code that runs core (the kernel's
 * direct map; ordinary memory in user space).  Whoever made the hcomm_mem owns
 * it and keeps it alive for as long as any run, message or grant names it.
 */
#ifndef HCOMM_CORE_MEM_H
#define HCOMM_CORE_MEM_H

#include "platform.h"

/**
 * struct hcomm_span - a contiguous piece
 * @off: byte offset of the piece in its &struct hcomm_mem
 * @va: address of its first byte
 */
struct hcomm_span {
	u64 off;
	u8 *va;
};

/**
 * struct hcomm_mem - a byte range
 * @length: bytes
 * @nspans: number of spans, at least 1
 * @spans: by ascending offset, the first at 0, without gaps
 */
struct hcomm_mem {
	u64 length;
	u32 nspans;
	struct hcomm_span *spans;
};

/**
 * struct hcomm_buf - a place in memory
 * @mem: the memory
 * @off: byte offset in it
 */
struct hcomm_buf {
	struct hcomm_mem *mem;
	u64 off;
};

/**
 * hcomm_mem_ptr - address of one byte
 * @mem: memory
 * @off: offset, below mem->length
 * @contig: out: how many bytes from there are contiguous
 *
 * Return: the address.
 */
u8 *hcomm_mem_ptr(const struct hcomm_mem *mem, u64 off, u64 *contig);

/**
 * hcomm_mem_copy - dst[len] = src[len]
 * @dst: destination
 * @src: source; does not overlap, or is the same place
 * @len: bytes; both ranges lie inside their memory
 */
void hcomm_mem_copy(struct hcomm_buf dst, struct hcomm_buf src, u64 len);

/**
 * hcomm_mem_write - dst[len] = bytes at src
 * @dst: destination
 * @src: contiguous source
 * @len: bytes
 */
void hcomm_mem_write(struct hcomm_buf dst, const void *src, u64 len);

/**
 * hcomm_mem_read - bytes at dst = src[len]
 * @dst: contiguous destination
 * @src: source
 * @len: bytes
 */
void hcomm_mem_read(void *dst, struct hcomm_buf src, u64 len);

/**
 * hcomm_mem_reduce - dst = a (op) b, elements may straddle spans
 * @dtype: enum hcomm_dtype
 * @redop: enum hcomm_redop
 * @dst: destination; the same place as @a or @b, or overlaps neither
 * @a: left operand
 * @b: right operand
 * @len: bytes, a multiple of the element size
 *
 * Only element-aligned from the start of each place: addresses may be odd.
 */
void hcomm_mem_reduce(u32 dtype, u32 redop, struct hcomm_buf dst,
		      struct hcomm_buf a, struct hcomm_buf b, u64 len);

/**
 * hcomm_mem_reduce_flat - dst = a (op) contiguous b
 * @dtype: enum hcomm_dtype
 * @redop: enum hcomm_redop
 * @dst: destination
 * @a: left operand
 * @b: right operand, contiguous
 * @len: bytes, a multiple of the element size
 */
void hcomm_mem_reduce_flat(u32 dtype, u32 redop, struct hcomm_buf dst,
			   struct hcomm_buf a, const void *b, u64 len);

/**
 * hcomm_mem_scale - dst = src times or divided by a number
 * @dtype: enum hcomm_dtype
 * @scale: enum hcomm_scale
 * @operand: the number
 * @dst: destination; the same place as @src, or does not overlap
 * @src: source
 * @len: bytes, a multiple of the element size
 */
void hcomm_mem_scale(u32 dtype, u32 scale, u64 operand, struct hcomm_buf dst,
		     struct hcomm_buf src, u64 len);

/**
 * struct hcomm_transfer - bytes to be brought in, whose parts may be done in any order
 * @dst: destination
 * @acc: left operand of a reduction
 * @src: source, or right operand
 * @len: bytes
 * @dtype: enum hcomm_dtype of a reduction
 * @redop: enum hcomm_redop of a reduction
 * @reduce: dst = acc (op) src, else dst = src
 */
struct hcomm_transfer {
	struct hcomm_buf dst;
	struct hcomm_buf acc;
	struct hcomm_buf src;
	u64 len;
	u32 dtype;
	u32 redop;
	bool reduce;
};

/**
 * hcomm_mem_transfer - do a part of a transfer
 * @t: transfer
 * @off: where the part begins, a multiple of the element size
 * @len: bytes of it, a multiple of the element size too
 */
void hcomm_mem_transfer(const struct hcomm_transfer *t, u64 off, u64 len);

#endif /* HCOMM_CORE_MEM_H */
