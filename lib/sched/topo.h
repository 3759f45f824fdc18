/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Where ranks are: nodes of ranks, groups of nodes.  Nodes and groups are
 * numbered in the order of their lowest ranks.
 */
#ifndef HCOMM_SCHED_TOPO_H
#define HCOMM_SCHED_TOPO_H

#include <hcomm/sched.h>

/**
 * struct hcomm_topo_split - things in bins: ranks in nodes, nodes in groups
 * @nbins: number of bins
 * @largest: size of the largest bin
 * @bin: by thing: its bin
 * @index: by thing: its place in the bin
 * @first: by bin: where its things begin in @things; one more at the end
 * @things: sorted by bin, then by number
 */
struct hcomm_topo_split {
	uint32_t nbins;
	uint32_t largest;
	uint32_t *bin;
	uint32_t *index;
	uint32_t *first;
	uint32_t *things;
};

struct hcomm_sched_topo {
	uint32_t nranks;
	struct hcomm_topo_split nodes;
	struct hcomm_topo_split groups;
};

static inline uint32_t hcomm_bin_size(const struct hcomm_topo_split *s, uint32_t bin)
{
	return s->first[bin + 1] - s->first[bin];
}

static inline uint32_t hcomm_bin_at(const struct hcomm_topo_split *s, uint32_t bin,
				    uint32_t index)
{
	return s->things[s->first[bin] + index];
}

#endif /* HCOMM_SCHED_TOPO_H */
