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
	bool all;		/* a reduction over all ranks */
	uint32_t from;		/* else: the input of this rank */
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

/*
 * Each rank once?  The tree has as many leaves as there are ranks (or few, when
 * it is wrong and this only finds out how).
 */
static int check_leaves(struct checker *c, const struct want *w, uint64_t byte,
			uint32_t root)
{
	struct expr_pool *p = &c->expr;
	uint32_t limit = 4 * c->n + 64, depth = 0, i;
	uint32_t *stack, *seen;
	char what[128];
	int err = 0;

	if (p->e[root].good)
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

		if (e->leaf) {
			seen[e->rank]++;
			continue;
		}
		if (e->dtype != c->args.dtype || e->redop != c->args.redop)
			err = wrong(c, w, byte, "was reduced by another type or operation");
		else if (e->shift)
			err = wrong(c, w, byte,
				    "joins contributions from different places: check offsets");
		stack[depth++] = e->left;
		stack[depth++] = e->right;
	}
	for (i = 0; i < c->n && !err; i++) {
		if (seen[i] == 1)
			continue;
		snprintf(what, sizeof(what), "has the contribution of rank %u %u times",
			 i, seen[i]);
		err = wrong(c, w, byte, what);
	}
	p->e[root].good = !err;
out:
	free(stack);
	free(seen);
	return err;
}

static int check_want(struct checker *c, const struct want *w)
{
	struct memory *m = slot_memory(c, w->rank, HCOMM_SLOT_RECV);
	uint32_t i, end;
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
		if (!w->all && v->expr != chk_expr_leaf(w->from))
			return wrong(c, w, s->start, "is not what the right rank gave");
		if (w->all) {
			err = check_leaves(c, w, s->start, v->expr);
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

static int check_rank(struct checker *c, uint32_t rank)
{
	uint64_t one = c->args.count * c->size, own = rank * one;
	bool root = rank == c->args.root;
	struct want w = {
		.rank = rank, .len = one, .from = c->args.root,
		.kind = HCOMM_CHECK_VALUE,
	};
	/* what an in-place plan must leave as it is */
	struct want keep = {
		.rank = rank, .len = one, .from = rank,
		.kind = HCOMM_CHECK_INPUT,
	};
	uint32_t q;
	int err = 0;

	switch (c->args.coll) {
	case HCOMM_COLL_BROADCAST:
		return check_want(c, &w);
	case HCOMM_COLL_P2P:
		if (rank == c->args.peer)
			return check_want(c, &w);
		return c->args.in_place && root ? check_want(c, &keep) : 0;
	case HCOMM_COLL_REDUCE:
		w.all = true;
		if (root)
			return check_want(c, &w);
		return c->args.in_place ? check_want(c, &keep) : 0;
	case HCOMM_COLL_ALLREDUCE:
		w.all = true;
		return check_want(c, &w);
	case HCOMM_COLL_ALLGATHER:
		for (q = 0; q < c->n && !err; q++) {
			w.off = q * one;
			w.from = q;
			err = check_want(c, &w);
		}
		return err;
	case HCOMM_COLL_REDUCE_SCATTER:
		w.all = true;
		w.off = c->args.in_place ? own : 0;
		w.pos = own;
		err = check_want(c, &w);
		if (err || !c->args.in_place)
			return err;
		keep.len = own;
		err = check_want(c, &keep);
		keep.off = own + one;
		keep.pos = keep.off;
		keep.len = c->n * one - keep.off;
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
	for (rank = 0; rank < c->n && !err; rank++)
		err = check_rank(c, rank);
	if (!err && c->args.coll == HCOMM_COLL_ALLREDUCE)
		err = check_equal(c, c->args.count * c->size);
	return err;
}
