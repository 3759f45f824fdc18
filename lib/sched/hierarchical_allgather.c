// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Asymmetric hierarchical AllGather: each block goes once into every other group,
 * there once into every other node, and there to all ranks (J. L. Traeff,
 * A. Rougier: MPI collectives and datatypes for hierarchical all-to-all
 * communication, EuroMPI 2014, motivates it; nodes and groups may be of any sizes).
 *
 * Which rank of a node takes a block from outside follows from the place of its
 * owner, so that the ranks of a node share that work, also where nodes differ in
 * size.  Between two ranks there is but one level, and its messages are in the order
 * of blocks at both ends.
 */
#include <errno.h>
#include <stdlib.h>

#include "hierarchy.h"

struct spread {
	struct hcomm_plan *plan;
	const struct hcomm_sched_args *args;
	uint32_t node;
	uint32_t group;
	uint32_t *made;		/* by block: the RECV it came by */
	uint32_t last;		/* SEND of the own block */
};

static void send(struct spread *s, uint32_t q, uint32_t peer)
{
	const struct hcomm_sched_args *args = s->args;
	uint64_t off, len = hcomm_block(args, q, &off);

	if (!len)
		return;
	if (q != args->rank) {
		hcomm_plan_send(s->plan, peer, hcomm_output(off), len);
		hcomm_plan_stream(s->plan, s->made[q]);
		return;
	}
	s->last = hcomm_plan_send(s->plan, peer,
				  hcomm_input(args, args->in_place ? off : 0), len);
}

static void recv(struct spread *s, uint32_t q, uint32_t peer)
{
	uint64_t off, len = hcomm_block(s->args, q, &off);

	if (len)
		s->made[q] = hcomm_plan_recv(s->plan, peer, hcomm_output(off), len);
}

static void across_groups(struct spread *s)
{
	const struct hcomm_sched_args *args = s->args;
	uint32_t r = args->rank, q, g;

	for (q = 0; q < args->nranks; q++) {
		for (g = 0; q == r && g < hcomm_groups(args); g++) {
			if (g != s->group)
				send(s, q, hcomm_in_group(args, q, g));
		}
		if (q != r && hcomm_in_group(args, q, s->group) == r)
			recv(s, q, q);
	}
}

static void across_nodes(struct spread *s)
{
	const struct hcomm_sched_args *args = s->args;
	uint32_t r = args->rank, q, i, node, first;

	for (q = 0; q < args->nranks; q++) {
		first = hcomm_in_group(args, q, s->group);
		for (i = 0; first == r && i < hcomm_group_size(args, s->group); i++) {
			node = hcomm_group_node(args, s->group, i);
			if (node != s->node)
				send(s, q, hcomm_on_node(args, q, node));
		}
		if (hcomm_node_of(args, first) != s->node && hcomm_on_node(args, q, s->node) == r)
			recv(s, q, first);
	}
}

static void inside(struct spread *s)
{
	const struct hcomm_sched_args *args = s->args;
	uint32_t r = args->rank, q, i, m = hcomm_node_size(args, s->node);
	uint32_t me = hcomm_node_index(args, r), first;

	for (q = 0; q < args->nranks; q++) {
		first = hcomm_on_node(args, q, s->node);
		/* the one above first, so that not all begin with the same one */
		for (i = 1; first == r && i < m; i++)
			send(s, q, hcomm_node_rank(args, s->node, (me + i) % m));
		if (first != r)
			recv(s, q, first);
	}
}

void hcomm_build_hierarchical_allgather(struct hcomm_plan *plan,
					const struct hcomm_sched_args *args)
{
	struct spread s = {
		.plan = plan, .args = args, .last = HCOMM_NO_STEP,
		.node = hcomm_node_of(args, args->rank),
		.made = malloc(args->nranks * sizeof(*s.made)),
	};
	uint64_t off, len = hcomm_block(args, args->rank, &off);

	s.group = hcomm_group_of(args, s.node);
	if (!s.made) {
		hcomm_plan_fail(plan, -ENOMEM);
		return;
	}
	across_groups(&s);
	across_nodes(&s);
	inside(&s);
	if (len && !args->in_place) {
		hcomm_plan_copy(plan, hcomm_output(off), hcomm_input(args, 0), len);
		hcomm_plan_stream(plan, s.last);
	}
	free(s.made);
}
