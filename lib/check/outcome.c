// SPDX-License-Identifier: LGPL-2.1-or-later
/* What must be in memory at the end of a collective, and what must not change. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* bytes of slot 1 and what they must hold */
struct want {
	uint32_t rank;
	uint64_t off;
	uint64_t len;
	int64_t pos;		/* position at @off */
	uint32_t below;		/* a reduction over the ranks below this; 0: */
	uint32_t from;		/* the input of this rank */
	enum hcomm_check_kind kind;
};

static int wrong(struct checker *c, const struct want *w, uint64_t byte,
		 const char *what)
{
	c->res->slot = HCOMM_SLOT_RECV;
	c->res->byte = byte;
	return chk_fail(c, w->kind, w->rank, HCOMM_CHECK_NO_STEP,
		    "byte %llu of slot 1 %s", (unsigned long long)byte, what);
}

/* the operation of the tree */
static uint32_t steps_redop(const struct checker *c)
{
	return c->args.redop == HCOMM_OP_AVG || c->args.redop == HCOMM_OP_PREMUL_SUM ?
	       HCOMM_OP_SUM : c->args.redop;
}

/* the input of a rank as it must be for PREMUL_SUM */
static bool scaled_leaf(const struct checker *c, const struct expr *e)
{
	const struct expr *leaf = &c->expr.e[e->left];

	return c->args.redop == HCOMM_OP_PREMUL_SUM && e->scaled && leaf->leaf &&
	       e->dtype == c->args.dtype && e->redop == HCOMM_SCALE_MUL &&
	       e->operand == c->ranks[leaf->rank].operand;
}

/* what is divided for AVG; EXPR_NONE: it is not */
static uint32_t divided(const struct checker *c, uint32_t expr)
{
	const struct expr *e = &c->expr.e[expr];

	if (c->args.redop != HCOMM_OP_AVG || c->n == 1)
		return expr;
	return e->scaled && e->dtype == c->args.dtype && e->redop == HCOMM_SCALE_DIV &&
	       e->operand == c->n ? e->left : EXPR_NONE;
}

/*
 * Each rank that takes part once?  The tree has as many leaves as they are (or
 * few, when it is wrong and this only finds out how).
 */
static int check_leaves(struct checker *c, const struct want *w, uint64_t byte,
			uint32_t root)
{
	struct expr_pool *p = &c->expr;
	uint32_t limit = 4 * w->below + 64, depth = 0, i;
	uint32_t *stack, *seen;
	char what[128];
	int err = 0;

	if (p->e[root].good == w->below)
		return 0;
	if (p->e[root].leaves > limit)
		return wrong(c, w, byte, "has contributions many times over");
	stack = malloc((limit + 1) * sizeof(*stack));
	seen = calloc(c->n, sizeof(*seen));
	if (!stack || !seen) {
		err = -ENOMEM;
		goto out;
	}
	stack[depth++] = root;
	while (depth && !err) {
		const struct expr *e = &p->e[stack[--depth]];

		if (scaled_leaf(c, e))
			e = &p->e[e->left];
		else if (e->leaf && c->args.redop == HCOMM_OP_PREMUL_SUM)
			err = wrong(c, w, byte,
				    "has an input that is not multiplied by its rank's scalar");
		if (e->leaf) {
			seen[e->rank]++;
			continue;
		}
		if (e->scaled || e->dtype != c->args.dtype || e->redop != steps_redop(c))
			err = wrong(c, w, byte, "was reduced by another type or operation");
		else if (e->shift)
			err = wrong(c, w, byte,
				    "joins contributions from different places: check offsets");
		stack[depth++] = e->left;
		stack[depth++] = e->right;
	}
	for (i = 0; i < c->n && !err; i++) {
		if (seen[i] == (i < w->below))
			continue;
		snprintf(what, sizeof(what), "has the contribution of rank %u %u times",
			 i, seen[i]);
		err = wrong(c, w, byte, what);
	}
	p->e[root].good = err ? 0 : w->below;
out:
	free(stack);
	free(seen);
	return err;
}

/* the expression of the fixed order, made once and then only found again */
static int check_fixed(struct checker *c, const struct want *w, uint64_t byte,
		       uint32_t expr)
{
	bool scaled = c->args.redop == HCOMM_OP_PREMUL_SUM;
	struct value left = { 0 }, right = { 0 };
	uint32_t rank;

	if (w->below == c->fixed_below && expr == c->fixed)
		return 0;
	for (rank = 0; rank < w->below; rank++) {
		right.expr = chk_expr_leaf(rank);
		if (scaled && !chk_expr_scale(&c->expr, c->args.dtype, HCOMM_SCALE_MUL,
					      c->ranks[rank].operand, &right, &right))
			return -ENOMEM;
		if (rank && !chk_expr_op(&c->expr, c->args.dtype, steps_redop(c), &left,
					 &right, &right))
			return -ENOMEM;
		left.expr = right.expr;
	}
	c->fixed = left.expr;
	c->fixed_below = w->below;
	if (expr == left.expr)
		return 0;
	c->res->slot = HCOMM_SLOT_RECV;
	c->res->byte = byte;
	return chk_fail(c, HCOMM_CHECK_ORDER, w->rank, HCOMM_CHECK_NO_STEP,
		    "byte %llu of slot 1 is not reduced in the order of ranks",
		    (unsigned long long)byte);
}

static int check_want(struct checker *c, const struct want *w)
{
	struct memory *m = slot_memory(c, w->rank, HCOMM_SLOT_RECV);
	uint32_t i, end, tree;
	int err;

	if (!w->len)
		return 0;
	if (chk_memory_range(m, w->off, w->len, &i, &end))
		return -ENOMEM;
	for (; i < end; i++) {
		const struct segment *s = &m->seg[i];
		const struct value *v = &s->val;

		if (v->expr == EXPR_NONE)
			return wrong(c, w, s->start, "was never written");
		if (!w->below && v->expr != chk_expr_leaf(w->from))
			return wrong(c, w, s->start, "is not what the right rank gave");
		if (w->below) {
			tree = divided(c, v->expr);
			if (tree == EXPR_NONE)
				return wrong(c, w, s->start,
					     "is not divided by the number of ranks");
			err = check_leaves(c, w, s->start, tree);
			if (!err && c->args.fixed_order)
				err = check_fixed(c, w, s->start, tree);
			if (err)
				return err;
		}
		if (v->pos != w->pos + (int64_t)(s->start - w->off))
			return wrong(c, w, s->start, "is from another place: check offsets");
	}
	return 0;
}

/* all outputs of an ALLREDUCE by one expression */
static int check_equal(struct checker *c, uint64_t len)
{
	const struct memory *a = slot_memory(c, 0, HCOMM_SLOT_RECV), *b;
	uint32_t rank, i, j;
	uint64_t at;

	for (rank = 1; rank < c->n && len; rank++) {
		b = slot_memory(c, rank, HCOMM_SLOT_RECV);
		for (i = 0, j = 0, at = 0; at < len;) {
			const struct segment *s = &a->seg[i], *t = &b->seg[j];

			if (s->val.expr != t->val.expr) {
				c->res->slot = HCOMM_SLOT_RECV;
				c->res->byte = at;
				return chk_fail(c, HCOMM_CHECK_ORDER, rank,
					    HCOMM_CHECK_NO_STEP,
					    "byte %llu of slot 1 is reduced in another order than on rank 0: reduce in one tree",
					    (unsigned long long)at);
			}
			at = s->start + s->val.len;
			if (t->start + t->val.len < at)
				at = t->start + t->val.len;
			i += s->start + s->val.len == at;
			j += t->start + t->val.len == at;
		}
	}
	return 0;
}

static int check_sync(struct checker *c)
{
	uint64_t *all = calloc(c->words, sizeof(*all));
	uint32_t rank, gs, q, w;
	int err = all ? 0 : -ENOMEM;

	for (rank = 0; rank < c->n && !err; rank++) {
		memset(all, 0, c->words * sizeof(*all));
		for (gs = c->first[rank]; gs < c->first[rank + 1]; gs++) {
			for (w = 0; w < c->words; w++)
				all[w] |= c->knows[(size_t)gs * c->words + w];
		}
		for (q = 0; q < c->n && !err; q++) {
			if (!(all[q / 64] & 1ull << q % 64))
				err = chk_fail(c, HCOMM_CHECK_SYNC, rank,
					       HCOMM_CHECK_NO_STEP,
					   "may leave before rank %u has entered", q);
		}
	}
	free(all);
	return err;
}

/* no step has written there */
static int check_untouched(struct checker *c, uint32_t rank, uint64_t off,
			   uint64_t len)
{
	struct memory *m = slot_memory(c, rank, HCOMM_SLOT_RECV);
	struct want w = { .rank = rank, .kind = HCOMM_CHECK_INPUT };
	uint32_t i, end;

	if (!len)
		return 0;
	if (chk_memory_range(m, off, len, &i, &end))
		return -ENOMEM;
	for (; i < end; i++) {
		if (m->seg[i].writer != NO_NODE)
			return wrong(c, &w, m->seg[i].start, "is written, but is no output");
	}
	return 0;
}

static int compare_blocks(const void *pa, const void *pb)
{
	const struct block *a = pa, *b = pb;

	return a->off < b->off ? -1 : a->off > b->off;
}

/* between the blocks of an output; sorts them */
static int check_gaps(struct checker *c, uint32_t rank, struct block *blocks)
{
	uint64_t at = 0, size = slot_size(c, rank, HCOMM_SLOT_RECV);
	uint32_t q;
	int err = 0;

	qsort(blocks, c->n, sizeof(*blocks), compare_blocks);
	for (q = 0; q < c->n && !err; q++) {
		if (blocks[q].len && blocks[q].off > at)
			err = check_untouched(c, rank, at, blocks[q].off - at);
		if (blocks[q].len && blocks[q].off + blocks[q].len > at)
			at = blocks[q].off + blocks[q].len;
	}
	return err || size <= at ? err : check_untouched(c, rank, at, size - at);
}

/* an output of all ranks' inputs, each a block */
static int check_gathered(struct checker *c, uint32_t rank)
{
	struct want w = { .rank = rank, .kind = HCOMM_CHECK_VALUE };
	struct block *blocks = malloc(c->n * sizeof(*blocks));
	int err = blocks ? 0 : -ENOMEM;

	if (!err)
		chk_blocks(c, rank, false, blocks);
	for (w.from = 0; w.from < c->n && !err; w.from++) {
		w.off = blocks[w.from].off;
		w.len = blocks[w.from].len;
		err = check_want(c, &w);
	}
	if (!err)
		err = check_gaps(c, rank, blocks);
	free(blocks);
	return err;
}

/* each block of ALLTOALL, sender by sender */
static int check_exchanged(struct checker *c)
{
	struct block *sent = malloc(c->n * sizeof(*sent));
	struct block *got = malloc((size_t)c->n * c->n * sizeof(*got));
	struct want w = { .kind = HCOMM_CHECK_VALUE };
	int err = sent && got ? 0 : -ENOMEM;
	struct block *b;

	for (w.rank = 0; w.rank < c->n && !err; w.rank++)
		chk_blocks(c, w.rank, true, got + (size_t)w.rank * c->n);
	for (w.from = 0; w.from < c->n && !err; w.from++) {
		chk_blocks(c, w.from, false, sent);
		for (w.rank = 0; w.rank < c->n && !err; w.rank++) {
			b = &got[(size_t)w.rank * c->n + w.from];
			w.off = b->off;
			w.len = b->len;
			w.pos = sent[w.rank].off;
			err = check_want(c, &w);
		}
	}
	for (w.rank = 0; w.rank < c->n && !err; w.rank++)
		err = check_gaps(c, w.rank, got + (size_t)w.rank * c->n);
	free(sent);
	free(got);
	return err;
}

/* what a SCATTER gives each rank */
static int check_scattered(struct checker *c)
{
	struct block *sent = malloc(c->n * sizeof(*sent));
	uint32_t root = c->args.root;
	struct want w = { .from = root, .kind = HCOMM_CHECK_VALUE };
	int err = sent ? 0 : -ENOMEM;

	if (!err)
		chk_blocks(c, root, false, sent);
	for (w.rank = 0; w.rank < c->n && !err; w.rank++) {
		w.off = 0;
		w.len = sent[w.rank].len;
		w.pos = sent[w.rank].off;
		w.kind = HCOMM_CHECK_VALUE;
		if (c->args.in_place && w.rank == root) {
			/* all of it stays */
			w.len = slot_size(c, root, HCOMM_SLOT_RECV);
			w.pos = 0;
			w.kind = HCOMM_CHECK_INPUT;
		}
		err = check_want(c, &w);
	}
	free(sent);
	return err;
}

static int check_rank(struct checker *c, uint32_t rank)
{
	struct want w = {
		.rank = rank, .len = slot_size(c, rank, HCOMM_SLOT_RECV),
		.kind = HCOMM_CHECK_VALUE,
	};
	/* what an in-place plan must leave as it is */
	struct want keep = {
		.rank = rank, .len = w.len, .from = rank, .kind = HCOMM_CHECK_INPUT,
	};
	bool root = rank == c->args.root, in_place = c->args.in_place;
	struct block own;
	int err;

	switch (c->args.coll) {
	case HCOMM_COLL_BROADCAST:
		w.from = c->args.root;
		return check_want(c, &w);
	case HCOMM_COLL_P2P:
		w.from = c->args.root;
		if (rank == c->args.peer)
			return check_want(c, &w);
		return in_place && root ? check_want(c, &keep) : 0;
	case HCOMM_COLL_REDUCE:
		w.below = c->n;
		if (root)
			return check_want(c, &w);
		return in_place ? check_want(c, &keep) : 0;
	case HCOMM_COLL_ALLREDUCE:
		w.below = c->n;
		return check_want(c, &w);
	case HCOMM_COLL_SCAN:
		w.below = rank + 1;
		return check_want(c, &w);
	case HCOMM_COLL_EXSCAN:
		w.below = rank;
		return rank ? check_want(c, &w) : check_untouched(c, 0, 0, w.len);
	case HCOMM_COLL_ALLGATHER:
		return check_gathered(c, rank);
	case HCOMM_COLL_GATHER:
		if (root)
			return check_gathered(c, rank);
		return in_place ? check_want(c, &keep) : 0;
	case HCOMM_COLL_REDUCE_SCATTER:
		own = chk_own_block(c, rank);
		w.below = c->n;
		w.off = in_place ? own.off : 0;
		w.pos = own.off;
		w.len = own.len;
		err = check_want(c, &w);
		if (err || !in_place)
			return err;
		keep.len = own.off;
		err = check_want(c, &keep);
		keep.off = own.off + own.len;
		keep.pos = keep.off;
		keep.len = slot_size(c, rank, HCOMM_SLOT_RECV) - keep.off;
		return err ? err : check_want(c, &keep);
	}
	return 0;
}

int chk_outcome(struct checker *c)
{
	uint32_t rank;
	int err = 0;

	if (c->args.coll == HCOMM_COLL_BARRIER)
		return check_sync(c);
	if (c->args.coll == HCOMM_COLL_ALLTOALL)
		return check_exchanged(c);
	if (c->args.coll == HCOMM_COLL_SCATTER)
		return check_scattered(c);
	for (rank = 0; rank < c->n && !err; rank++)
		err = check_rank(c, rank);
	if (!err && c->args.coll == HCOMM_COLL_ALLREDUCE)
		err = check_equal(c, c->args.count * c->size);
	return err;
}
