/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Calls that are collected first and launched together. */
#ifndef HCOMM_GROUP_H
#define HCOMM_GROUP_H

#include "comm.h"

/**
 * struct hcomm_member - a call that was collected
 * @comm: its communicator, a reference
 * @call: it
 * @arrays: copy of what its arrays point to, owned
 * @paired: a message of this rank to itself, whose other end was found
 */
struct hcomm_member {
	struct hcomm_comm *comm;
	struct hcomm_call_args call;
	uint64_t *arrays;
	struct hcomm_member *paired;
};

/**
 * struct hcomm_group - collected calls
 * @members: in the order of calls
 * @count: how many
 * @room: entries of @members
 */
struct hcomm_group {
	struct hcomm_member *members;
	uint32_t count;
	uint32_t room;
};

/* a call more */
hcommResult_t hcomm_group_add(struct hcomm_group *group, struct hcomm_comm *comm,
			      const struct hcomm_call_args *call);

/* forget all calls and free what they took */
void hcomm_group_clear(struct hcomm_group *group);

/**
 * hcomm_group_launch - launch all, in any order that the kernel likes
 * @group: calls; messages of this rank to itself are copied
 * @req: out: one request for all of them; NULL: wait for all
 *
 * HCOMM_ERR_BUSY: they do not fit into what may be in flight; like after all
 * errors but those of the launch itself, none is launched.
 */
hcommResult_t hcomm_group_launch(struct hcomm_group *group, hcommRequest_t *req);

#endif /* HCOMM_GROUP_H */
