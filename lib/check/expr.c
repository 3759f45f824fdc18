// SPDX-License-Identifier: LGPL-2.1-or-later
/* Hash-consed expressions. */
#include <errno.h>
#include <stdlib.h>

#include "expr.h"

int chk_expr_init(struct expr_pool *p, uint32_t nranks)
{
	uint32_t i;

	p->room = nranks + 1 + 1024;
	p->nbuckets = 4096;
	p->e = calloc(p->room, sizeof(*p->e));
	p->bucket = calloc(p->nbuckets, sizeof(*p->bucket));
	if (!p->e || !p->bucket)
		return -ENOMEM;
	for (i = 0; i < nranks; i++)
		p->e[i + 1] = (struct expr){ .leaf = true, .rank = i, .leaves = 1 };
	p->n = nranks + 1;
	return 0;
}

void chk_expr_exit(struct expr_pool *p)
{
	free(p->e);
	free(p->bucket);
}

static uint32_t hash(const struct expr_pool *p, const struct expr *e)
{
	uint64_t h = e->left * 0x9e3779b97f4a7c15ull;

	h = (h ^ (h >> 29) ^ e->right) * 0xbf58476d1ce4e5b9ull;
	h = (h ^ (h >> 31) ^ (uint64_t)e->shift) * 0x94d049bb133111ebull;
	h ^= (uint64_t)e->dtype << 8 | e->redop;
	h ^= e->operand * 0x9e3779b97f4a7c15ull + e->scaled;
	return (h ^ (h >> 32)) & (p->nbuckets - 1);
}

static bool grow(struct expr_pool *p)
{
	struct expr *e = realloc(p->e, 2 * (size_t)p->room * sizeof(*e));
	uint32_t *bucket, i, h;

	if (!e)
		return false;
	p->e = e;
	bucket = calloc(4 * (size_t)p->nbuckets, sizeof(*bucket));
	if (!bucket)
		return false;
	p->room *= 2;
	free(p->bucket);
	p->bucket = bucket;
	p->nbuckets *= 4;
	for (i = 1; i < p->n; i++) {
		if (p->e[i].leaf)
			continue;
		h = hash(p, &p->e[i]);
		p->e[i].next = p->bucket[h];
		p->bucket[h] = i;
	}
	return true;
}

/* the number of a node, made unless there is one; 0: no memory */
static uint32_t find(struct expr_pool *p, struct expr *n)
{
	uint32_t h = hash(p, n), i;

	for (i = p->bucket[h]; i; i = p->e[i].next) {
		const struct expr *e = &p->e[i];

		if (e->left == n->left && e->right == n->right &&
		    e->shift == n->shift && e->dtype == n->dtype &&
		    e->redop == n->redop && e->scaled == n->scaled &&
		    e->operand == n->operand)
			return i;
	}
	if (p->n == p->room) {
		if (!grow(p))
			return 0;
		h = hash(p, n);
	}
	n->next = p->bucket[h];
	p->e[p->n] = *n;
	p->bucket[h] = p->n;
	return p->n++;
}

bool chk_expr_op(struct expr_pool *p, uint32_t dtype, uint32_t redop,
		 const struct value *a, const struct value *b, struct value *out)
{
	struct expr n = { .dtype = dtype, .redop = redop };
	const struct value *t;
	uint64_t leaves;

	if (a->expr > b->expr || (a->expr == b->expr && a->pos > b->pos)) {
		t = a;
		a = b;
		b = t;
	}
	n.left = a->expr;
	n.right = b->expr;
	n.shift = b->pos - a->pos;
	leaves = (uint64_t)p->e[n.left].leaves + p->e[n.right].leaves;
	n.leaves = leaves > UINT32_MAX ? UINT32_MAX : leaves;
	out->pos = a->pos;
	out->expr = find(p, &n);
	return out->expr;
}

bool chk_expr_scale(struct expr_pool *p, uint32_t dtype, uint32_t scale,
		    uint64_t operand, const struct value *a, struct value *out)
{
	struct expr n = {
		.scaled = true, .dtype = dtype, .redop = scale, .left = a->expr,
		.leaves = p->e[a->expr].leaves, .operand = operand,
	};

	out->pos = a->pos;
	out->expr = find(p, &n);
	return out->expr;
}
