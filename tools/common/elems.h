/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Test data and what comes out of a reduction of it.
 *
 * The vector of a rank repeats after PERIOD elements.  PERIOD is prime, so data
 * that lands a chunk, a block or a page away is noticed; and it is short, so a
 * reference for any size costs one period.  Values are such that sums and
 * products are exact in every type, whatever the order of the operands: the
 * reference needs to know nothing about algorithms.
 */
#ifndef HCOMM_TOOLS_ELEMS_H
#define HCOMM_TOOLS_ELEMS_H

#include <hcomm/hcomm.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PERIOD		1009
#define DTYPES		14
#define REDOPS		11

/*
 * A sum of scaled inputs, for the patterns: it is none of redops, a program makes it
 * with hcommRedOpCreatePreMulSum() and the rank's scalar.
 */
#define PREMUL_SUM	hcommRedOpEnd

extern const char *const dtype_names[DTYPES];
extern const hcommRedOp_t redops[REDOPS];
extern const char *const redop_names[REDOPS];

const char *redop_name(hcommRedOp_t op);
/* where it is in redops */
unsigned int redop_index(hcommRedOp_t op);
/* is there such a reduction of that type? */
bool redop_fits(hcommRedOp_t op, hcommDataType_t dtype);

/* why there is none, also in a scan; NULL: there is */
const char *redop_misfit(hcommRedOp_t op, hcommDataType_t dtype, bool scan);

size_t dtype_size(hcommDataType_t dtype);
/* also "half", "float", "double", "bfloat16" */
bool dtype_by_name(const char *name, hcommDataType_t *dtype);
bool redop_by_name(const char *name, hcommRedOp_t *op);

/* value of one element, as a number */
double elem_value(hcommDataType_t dtype, const void *elem);

/* One period of what @rank has; @op tells which values are exact. */
void pattern_of_rank(void *period, hcommDataType_t dtype, hcommRedOp_t op,
		     unsigned int seed, unsigned int rank);

/* what @rank multiplies its input by: not 1 on all ranks, and exact in every type */
void premul_scalar(void *scalar, hcommDataType_t dtype, unsigned int rank);

/* One period of the reduction over @nranks ranks. */
void pattern_reduced(void *period, hcommDataType_t dtype, hcommRedOp_t op,
		     unsigned int seed, unsigned int nranks);

/* @count elements, of the period from element @first on */
void pattern_fill(void *dst, const void *period, size_t elem, size_t first,
		  size_t count);

/* Number of elements that differ; the first of them in @where. */
size_t pattern_wrong(const void *data, const void *period, size_t elem,
		     size_t first, size_t count, size_t *where);

#endif /* HCOMM_TOOLS_ELEMS_H */
