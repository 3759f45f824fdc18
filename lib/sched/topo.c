// SPDX-License-Identifier: LGPL-2.1-or-later
/* Sorting ranks into nodes and nodes into groups, once for all plans. */
#include <errno.h>
#include <stdlib.h>

#include "topo.h"

struct labelled {
	uint32_t label;
	uint32_t thing;
};

static int by_label(const void *pa, const void *pb)
{
	const struct labelled *a = pa, *b = pb;

	if (a->label != b->label)
		return a->label < b->label ? -1 : 1;
	return a->thing < b->thing ? -1 : a->thing > b->thing;
}

static int by_thing(const void *pa, const void *pb)
{
	const struct labelled *a = pa, *b = pb;

	return a->thing < b->thing ? -1 : a->thing > b->thing;
}

static void split_exit(struct hcomm_topo_split *s)
{
	free(s->bin);
	free(s->index);
	free(s->first);
	free(s->things);
}

/* bins are numbered by their first things */
static void fill(struct hcomm_topo_split *s, struct labelled *l, uint32_t n)
{
	uint32_t i, first = 0, size;

	qsort(l, n, sizeof(*l), by_label);
	/* label := first thing with that label */
	for (i = 0; i < n; i++) {
		if (!i || l[i].label != s->bin[first]) {
			first = i;
			s->bin[i] = l[i].label;
		}
		s->index[i] = l[first].thing;
	}
	for (i = 0; i < n; i++)
		l[i].label = s->index[i];
	qsort(l, n, sizeof(*l), by_thing);
	for (i = 0; i < n; i++) {
		if (l[i].label == i)
			s->bin[i] = s->nbins++;
		else
			s->bin[i] = s->bin[l[i].label];
		s->index[i] = s->first[s->bin[i] + 1]++;
	}
	for (i = 0; i < s->nbins; i++) {
		size = s->first[i + 1];
		if (size > s->largest)
			s->largest = size;
		s->first[i + 1] += s->first[i];
	}
	for (i = 0; i < n; i++)
		s->things[s->first[s->bin[i]] + s->index[i]] = i;
}

static int split_init(struct hcomm_topo_split *s, uint32_t n, const uint32_t *label)
{
	struct labelled *l = malloc(n * sizeof(*l));
	uint32_t i;

	s->bin = malloc(n * sizeof(*s->bin));
	s->index = malloc(n * sizeof(*s->index));
	s->first = calloc(n + 1, sizeof(*s->first));
	s->things = malloc(n * sizeof(*s->things));
	if (!l || !s->bin || !s->index || !s->first || !s->things) {
		free(l);
		return -ENOMEM;
	}
	for (i = 0; i < n; i++)
		l[i] = (struct labelled){ label ? label[i] : 0, i };
	fill(s, l, n);
	free(l);
	return 0;
}

int hcomm_sched_topo_create(uint32_t nranks, const uint32_t *node,
			    const uint32_t *group, struct hcomm_sched_topo **out)
{
	struct hcomm_sched_topo *t;
	uint32_t *label = NULL, i, k;
	int err;

	if (!nranks || nranks > HCOMM_MAX_RANKS || !node)
		return -EINVAL;
	t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	t->nranks = nranks;
	err = split_init(&t->nodes, nranks, node);
	if (err)
		goto fail;
	if (group) {
		label = malloc(t->nodes.nbins * sizeof(*label));
		err = label ? 0 : -ENOMEM;
		for (i = 0; i < t->nodes.nbins && !err; i++) {
			label[i] = group[hcomm_bin_at(&t->nodes, i, 0)];
			for (k = 1; k < hcomm_bin_size(&t->nodes, i); k++) {
				if (group[hcomm_bin_at(&t->nodes, i, k)] != label[i])
					err = -EINVAL;
			}
		}
	}
	if (!err)
		err = split_init(&t->groups, t->nodes.nbins, label);
	free(label);
	if (err)
		goto fail;
	*out = t;
	return 0;
fail:
	hcomm_sched_topo_free(t);
	return err;
}

void hcomm_sched_topo_free(struct hcomm_sched_topo *topo)
{
	if (!topo)
		return;
	split_exit(&topo->nodes);
	split_exit(&topo->groups);
	free(topo);
}

uint32_t hcomm_sched_topo_nodes(const struct hcomm_sched_topo *topo)
{
	return topo->nodes.nbins;
}

uint32_t hcomm_sched_topo_groups(const struct hcomm_sched_topo *topo)
{
	return topo->groups.nbins;
}
