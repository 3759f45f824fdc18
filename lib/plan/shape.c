// SPDX-License-Identifier: LGPL-2.1-or-later
/* Counting who crosses what. */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "shape.h"

struct view {
	uint32_t n;
	const uint32_t *node;	/* NULL: all on one */
	const uint32_t *group;	/* NULL: all in one */
	uint32_t *out;		/* per node: hops that leave it */
};

static uint32_t node_of(const struct view *v, uint32_t rank)
{
	return v->node ? v->node[rank] : 0;
}

static uint32_t class_of(const struct view *v, uint32_t a, uint32_t b)
{
	a = node_of(v, a);
	b = node_of(v, b);
	if (a == b)
		return HCOMM_LINK_LOCAL;
	return v->group && v->group[a] != v->group[b] ? HCOMM_LINK_GROUP :
							HCOMM_LINK_NODE;
}

/* all hops over one distance: round the ring, or to the rank with that bit flipped */
static void look(const struct view *v, uint32_t dist, bool flip,
		 struct hcomm_hop *hop, uint32_t *cross, uint32_t *cross_group)
{
	uint32_t i, to, c;

	*hop = (struct hcomm_hop){ HCOMM_LINK_LOCAL, 1 };
	if (!v->node)
		return;
	memset(v->out, 0, v->n * sizeof(*v->out));
	for (i = 0; i < v->n; i++) {
		to = flip ? i ^ dist : (i + dist) % v->n;
		if (to >= v->n)
			continue;
		c = class_of(v, i, to);
		if (c > hop->cls)
			hop->cls = c;
		if (c == HCOMM_LINK_LOCAL)
			continue;
		v->out[v->node[i]]++;
		if (v->out[v->node[i]] > hop->flows)
			hop->flows = v->out[v->node[i]];
		if (cross)
			++*cross;
		if (cross_group && c == HCOMM_LINK_GROUP)
			++*cross_group;
	}
}

static void count_nodes(const struct view *v, struct hcomm_shape *s)
{
	uint32_t i, g;

	memset(v->out, 0, v->n * sizeof(*v->out));
	s->in_order = 1;
	for (i = 0; i < v->n; i++) {
		/* seen before, but not just before */
		if (i && v->node[i] != v->node[i - 1] && v->out[v->node[i]])
			s->in_order = 0;
		v->out[v->node[i]]++;
		if (v->node[i] >= s->nnodes)
			s->nnodes = v->node[i] + 1;
	}
	s->min_local = v->n;
	for (i = 0; i < s->nnodes; i++) {
		if (v->out[i] > s->max_local)
			s->max_local = v->out[i];
		if (v->out[i] < s->min_local)
			s->min_local = v->out[i];
		g = v->group ? v->group[i] : 0;
		if (g >= s->ngroups)
			s->ngroups = g + 1;
	}
}

int hcomm_shape_make(struct hcomm_shape *s, uint32_t nranks,
		     const uint32_t *node, const uint32_t *group)
{
	struct view v = { nranks, node, group, NULL };
	uint32_t i, far;

	memset(s, 0, sizeof(*s));
	for (i = 0; node && i < nranks; i++) {
		if (node[i] >= nranks)
			return -EINVAL;
	}
	v.out = calloc(nranks, sizeof(*v.out));
	if (!v.out)
		return -ENOMEM;
	s->nranks = nranks;
	s->nnodes = 1;
	s->ngroups = 1;
	while (s->levels + 1 < HCOMM_SHAPE_LEVELS && (1u << s->levels) < nranks)
		s->levels++;
	if (node) {
		count_nodes(&v, s);
	} else {
		s->max_local = nranks;
		s->min_local = nranks;
		s->in_order = 1;
	}
	look(&v, 1, false, &s->next, &s->next_cross, &s->next_group);
	for (i = 0; i < s->levels; i++) {
		look(&v, 1u << i, false, &s->shift[i], NULL, NULL);
		look(&v, 1u << i, true, &s->flip[i], NULL, NULL);
	}
	far = s->ngroups > 1 ? HCOMM_LINK_GROUP :
	      s->nnodes > 1 ? HCOMM_LINK_NODE : HCOMM_LINK_LOCAL;
	s->all = (struct hcomm_hop){ far, far ? s->max_local : 1 };
	s->leader = (struct hcomm_hop){ far, 1 };
	free(v.out);
	return 0;
}

uint64_t hcomm_shape_hash(const struct hcomm_shape *shape)
{
	/* all members are uint32_t: no padding */
	const unsigned char *p = (const unsigned char *)shape;
	uint64_t hash = 14695981039346656037ull;
	size_t i;

	for (i = 0; i < sizeof(*shape); i++)
		hash = (hash ^ p[i]) * 1099511628211ull;
	return hash;
}
