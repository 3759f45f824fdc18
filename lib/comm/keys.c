// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Numbers of messages.  Both ranks count the messages of a tag in each direction,
 * and so name the same message with the same run key, without talking:
 *
 *	bit 63		1: point to point; 0: the rest counts collectives
 *	bits 0..62	sender, receiver, tag and number of the message, mixed
 *
 * A rank may have runs of many pairs in flight, so keys tell pairs apart, too.
 * All that has 95 bits.  With at most HCOMM_MAX_COMM_RUNS runs in flight, two of
 * the mixed keys are equal once in 10^15 times, and then the second launch fails
 * (EEXIST); a message is never taken for another.
 */
#include <stdlib.h>

#include "comm.h"

#define FLOW_USED	(1ull << 63)
#define MAX_FLOWS	(1u << 20)

/* a bijection that spreads every bit over all others */
static uint64_t mix(uint64_t z)
{
	z += 0x9e3779b97f4a7c15ull;
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

uint64_t hcomm_seq_next(struct hcomm_comm *comm)
{
	uint32_t i, at = 0;
	uint64_t seq;

	if (!comm->ngiven_back)
		return comm->seq++;
	for (i = 1; i < comm->ngiven_back; i++) {
		if (comm->given_back[i] < comm->given_back[at])
			at = i;
	}
	seq = comm->given_back[at];
	comm->given_back[at] = comm->given_back[--comm->ngiven_back];
	return seq;
}

void hcomm_seq_undo(struct hcomm_comm *comm, uint64_t seq)
{
	if (comm->seq == seq + 1)
		comm->seq = seq;
	else if (comm->ngiven_back < HCOMM_MAX_COMM_RUNS)
		comm->given_back[comm->ngiven_back++] = seq;
}

uint64_t hcomm_p2p_key(uint32_t sender, uint32_t receiver, uint32_t tag,
		       uint32_t seq)
{
	uint64_t pair = mix((uint64_t)sender << 32 | receiver);

	return 1ull << 63 | mix(pair + ((uint64_t)tag << 32 | seq)) >> 1;
}

static uint64_t flow_id(uint32_t peer, bool send, uint32_t tag)
{
	/* ranks have 16 bits, tags 30, and one more if they are of the library */
	return FLOW_USED | (uint64_t)peer << 32 | (uint64_t)send << 31 | tag;
}

static struct hcomm_flow *find(struct hcomm_flow *flows, size_t room, uint64_t id)
{
	size_t i = (id * 0x9e3779b97f4a7c15ull >> 20) & (room - 1);

	while (flows[i].id && flows[i].id != id)
		i = (i + 1) & (room - 1);
	return &flows[i];
}

static bool grow(struct hcomm_comm *comm)
{
	size_t room = comm->flow_room ? comm->flow_room * 2 : 64, i;
	struct hcomm_flow *flows = calloc(room, sizeof(*flows));

	if (!flows)
		return false;
	for (i = 0; i < comm->flow_room; i++) {
		if (comm->flows[i].id)
			*find(flows, room, comm->flows[i].id) = comm->flows[i];
	}
	free(comm->flows);
	comm->flows = flows;
	comm->flow_room = room;
	return true;
}

bool hcomm_flow_next(struct hcomm_comm *comm, uint32_t peer, bool send,
		     uint32_t tag, uint32_t *seq)
{
	uint64_t id = flow_id(peer, send, tag);
	struct hcomm_flow *flow = NULL;

	if (comm->flow_room)
		flow = find(comm->flows, comm->flow_room, id);
	if (!flow || !flow->id) {
		if (comm->nflows == MAX_FLOWS)
			return false;
		if (2 * (comm->nflows + 1) > comm->flow_room && !grow(comm))
			return false;
		flow = find(comm->flows, comm->flow_room, id);
		flow->id = id;
		comm->nflows++;
	}
	*seq = flow->seq++;
	return true;
}

void hcomm_flow_undo(struct hcomm_comm *comm, uint32_t peer, bool send,
		     uint32_t tag, uint32_t seq)
{
	struct hcomm_flow *flow = find(comm->flows, comm->flow_room,
				       flow_id(peer, send, tag));

	if (flow->id && flow->seq == seq + 1)
		flow->seq = seq;
}
