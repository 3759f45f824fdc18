/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Symbolic values.  An expression stands for a whole array: element by element,
 * position by position.  A leaf is the input of a rank; position p of it is byte
 * p of that input.  An operation joins position p of its left operand with
 * position p + shift of its right one; scaling keeps positions.  Equal
 * expressions have equal numbers.
 */
#ifndef HCOMM_CHECK_EXPR_H
#define HCOMM_CHECK_EXPR_H

#include <stdbool.h>
#include <stdint.h>

#define EXPR_NONE	0u	/* memory that was never written */

/**
 * struct expr - a node
 * @leaf: it is the input of @rank
 * @scaled: it is @left, scaled
 * @dtype: type of the operation
 * @redop: the operation; enum hcomm_scale if scaled
 * @rank: of a leaf
 * @left: left operand, the one with the lower number
 * @right: right operand
 * @leaves: number of leaves in the tree, saturated
 * @good: it was found to have one aligned leaf of each of the ranks below this
 * @next: in its hash bucket
 * @shift: see above
 * @operand: if scaled
 */
struct expr {
	bool leaf;
	bool scaled;
	uint8_t dtype;
	uint8_t redop;
	uint32_t rank;
	uint32_t left;
	uint32_t right;
	uint32_t leaves;
	uint32_t good;
	uint32_t next;
	int64_t shift;
	uint64_t operand;
};

/**
 * struct value - what some bytes hold
 * @len: how many bytes
 * @expr: expression
 * @pos: its position at the first byte
 */
struct value {
	uint64_t len;
	uint32_t expr;
	int64_t pos;
};

struct expr_pool {
	struct expr *e;
	uint32_t *bucket;
	uint32_t n;
	uint32_t room;
	uint32_t nbuckets;
};

int chk_expr_init(struct expr_pool *p, uint32_t nranks);
void chk_expr_exit(struct expr_pool *p);

/* the input of a rank */
static inline uint32_t chk_expr_leaf(uint32_t rank)
{
	return rank + 1;
}

/* a (op) b; the result's length is a's; false without memory */
bool chk_expr_op(struct expr_pool *p, uint32_t dtype, uint32_t redop,
		 const struct value *a, const struct value *b, struct value *out);

/* a, scaled; the result's length is a's; false without memory */
bool chk_expr_scale(struct expr_pool *p, uint32_t dtype, uint32_t scale,
		    uint64_t operand, const struct value *a, struct value *out);

#endif /* HCOMM_CHECK_EXPR_H */
