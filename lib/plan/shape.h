/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The shape of a communicator: what the formulas need to know about who is on
 * which node, in a few numbers.  Made once, the same on all ranks.
 */
#ifndef HCOMM_PLAN_SHAPE_H
#define HCOMM_PLAN_SHAPE_H

#include <stdint.h>

#include "model.h"

#define HCOMM_SHAPE_LEVELS	17	/* distances 2^0 ... 2^16 */

/**
 * struct hcomm_hop - what a message between ranks of some distance crosses
 * @cls: the farthest enum hcomm_link_class among all such pairs
 * @flows: the most of them that leave one node at once
 */
struct hcomm_hop {
	uint32_t cls;
	uint32_t flows;
};

/**
 * struct hcomm_shape - where the ranks are
 * @nranks: ranks
 * @nnodes: nodes
 * @ngroups: groups of nodes
 * @max_local: ranks of the node with the most
 * @min_local: ranks of the node with the fewest
 * @levels: the smallest k with 2^k >= nranks
 * @in_order: the ranks of every node have consecutive numbers
 * @cpus: processors that the ranks of one node share; 0: each has its own, or there
 *	are several nodes
 * @next: hops from each rank to the next one
 * @next_cross: how many of these leave a node
 * @next_group: how many of these leave a group
 * @shift: by k: hops from each rank to the one 2^k further, round the ring
 * @flip: by k: hops between ranks whose numbers differ in bit k alone
 * @all: hops of everybody to everybody
 * @leader: hops between one rank of each node and all others
 */
struct hcomm_shape {
	uint32_t nranks;
	uint32_t nnodes;
	uint32_t ngroups;
	uint32_t max_local;
	uint32_t min_local;
	uint32_t levels;
	uint32_t in_order;
	uint32_t cpus;
	struct hcomm_hop next;
	uint32_t next_cross;
	uint32_t next_group;
	struct hcomm_hop shift[HCOMM_SHAPE_LEVELS];
	struct hcomm_hop flip[HCOMM_SHAPE_LEVELS];
	struct hcomm_hop all;
	struct hcomm_hop leader;
};

/**
 * hcomm_shape_make - look at a communicator
 * @shape: out
 * @nranks: ranks, 1 to HCOMM_MAX_RANKS
 * @node: by rank, the number of its node, from 0 without gaps; NULL: one node
 * @group: by node, the number of its group; NULL: one group
 *
 * Return: 0, -EINVAL (a number of a node that is not below @nranks) or -ENOMEM.
 */
int hcomm_shape_make(struct hcomm_shape *shape, uint32_t nranks,
		     const uint32_t *node, const uint32_t *group);

/* ranks of a node, nodes of a group or groups: the most, where all groups are alike */
static inline uint32_t hcomm_shape_widest(const struct hcomm_shape *s)
{
	uint32_t nodes = (s->nnodes + s->ngroups - 1) / s->ngroups;
	uint32_t most = s->max_local > nodes ? s->max_local : nodes;

	return most > s->ngroups ? most : s->ngroups;
}

uint64_t hcomm_shape_hash(const struct hcomm_shape *shape);

#endif /* HCOMM_PLAN_SHAPE_H */
