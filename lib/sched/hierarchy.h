/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A topology as builders ask for it: without one, all ranks are on one node. */
#ifndef HCOMM_SCHED_HIERARCHY_H
#define HCOMM_SCHED_HIERARCHY_H

#include "builders.h"
#include "topo.h"

static inline uint32_t hcomm_node_of(const struct hcomm_sched_args *a, uint32_t rank)
{
	return a->topo ? a->topo->nodes.bin[rank] : 0;
}

static inline uint32_t hcomm_node_index(const struct hcomm_sched_args *a, uint32_t rank)
{
	return a->topo ? a->topo->nodes.index[rank] : rank;
}

static inline uint32_t hcomm_node_size(const struct hcomm_sched_args *a, uint32_t node)
{
	return a->topo ? hcomm_bin_size(&a->topo->nodes, node) : a->nranks;
}

static inline uint32_t hcomm_node_rank(const struct hcomm_sched_args *a, uint32_t node,
				       uint32_t index)
{
	return a->topo ? hcomm_bin_at(&a->topo->nodes, node, index) : index;
}

static inline uint32_t hcomm_largest_node(const struct hcomm_sched_args *a)
{
	return a->topo ? a->topo->nodes.largest : a->nranks;
}

static inline uint32_t hcomm_group_of(const struct hcomm_sched_args *a, uint32_t node)
{
	return a->topo ? a->topo->groups.bin[node] : 0;
}

static inline uint32_t hcomm_group_index(const struct hcomm_sched_args *a, uint32_t node)
{
	return a->topo ? a->topo->groups.index[node] : 0;
}

static inline uint32_t hcomm_group_size(const struct hcomm_sched_args *a, uint32_t group)
{
	return a->topo ? hcomm_bin_size(&a->topo->groups, group) : 1;
}

static inline uint32_t hcomm_group_node(const struct hcomm_sched_args *a, uint32_t group,
					uint32_t index)
{
	return a->topo ? hcomm_bin_at(&a->topo->groups, group, index) : 0;
}

static inline uint32_t hcomm_largest_group(const struct hcomm_sched_args *a)
{
	return a->topo ? a->topo->groups.largest : 1;
}

static inline uint32_t hcomm_groups(const struct hcomm_sched_args *a)
{
	return a->topo ? a->topo->groups.nbins : 1;
}

/* one rank leads each node and one node each group: the root, where it is, else the first */
static inline uint32_t hcomm_leader(const struct hcomm_sched_args *args, uint32_t node)
{
	return node == hcomm_node_of(args, args->root) ? args->root :
							 hcomm_node_rank(args, node, 0);
}

static inline uint32_t hcomm_leading_node(const struct hcomm_sched_args *args, uint32_t group)
{
	uint32_t node = hcomm_node_of(args, args->root);

	return group == hcomm_group_of(args, node) ? node :
						     hcomm_group_node(args, group, 0);
}

/*
 * Who has block @q on a node: first when all are gathered, last when partial results of
 * it are collected.  That follows from the place of its owner, so that the ranks of a
 * node share that work.
 */
static inline uint32_t hcomm_on_node(const struct hcomm_sched_args *args, uint32_t q,
				     uint32_t node)
{
	if (node == hcomm_node_of(args, q))
		return q;
	return hcomm_node_rank(args, node,
			       hcomm_node_index(args, q) % hcomm_node_size(args, node));
}

/* the same in a group */
static inline uint32_t hcomm_in_group(const struct hcomm_sched_args *args, uint32_t q,
				      uint32_t group)
{
	uint32_t node = hcomm_node_of(args, q), i;

	if (group == hcomm_group_of(args, node))
		return q;
	i = hcomm_group_index(args, node) % hcomm_group_size(args, group);
	return hcomm_on_node(args, q, hcomm_group_node(args, group, i));
}

void hcomm_build_hierarchical_allreduce(struct hcomm_plan *plan,
					const struct hcomm_sched_args *args);
void hcomm_build_hierarchical_allgather(struct hcomm_plan *plan,
					const struct hcomm_sched_args *args);
void hcomm_build_hierarchical_reduce_scatter(struct hcomm_plan *plan,
					     const struct hcomm_sched_args *args);
void hcomm_build_hierarchical_gather(struct hcomm_plan *plan,
				     const struct hcomm_sched_args *args);

#endif /* HCOMM_SCHED_HIERARCHY_H */
