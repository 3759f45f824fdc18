/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A verified program: the steps as user space gave them plus the indexes that
 * the engine needs to run them without a search.  Immutable once made; the
 * maker owns it and frees it after its last run.
 */
#ifndef HCOMM_CORE_PROG_H
#define HCOMM_CORE_PROG_H

#include "platform.h"

/**
 * struct hcomm_prog_params - what a program is verified against
 * @rank: this rank
 * @nranks: ranks of the communicator
 * @chunk_size: bytes of a chunk
 * @eager_size: messages up to this many bytes are eager: one chunk
 */
struct hcomm_prog_params {
	u32 rank;
	u32 nranks;
	u32 chunk_size;
	u32 eager_size;
};

/**
 * struct hcomm_prog_peer - the messages with one peer
 * @peer: rank
 * @send_first: index of the first in prog->sends
 * @send_count: number of SENDs
 * @recv_first: index of the first in prog->recvs
 * @recv_count: number of RECVs and RECV_REDUCEs
 */
struct hcomm_prog_peer {
	u32 peer;
	u32 send_first;
	u32 send_count;
	u32 recv_first;
	u32 recv_count;
};

/**
 * struct hcomm_slot_use - what a launch must bind to a slot
 * @extent: bytes from the start of the slot that steps touch
 * @written: some step writes it
 */
struct hcomm_slot_use {
	u64 extent;
	bool written;
};

/**
 * struct hcomm_step_aux - what the engine wants to know of a step at once
 * @nchunks: chunks, at least 1
 * @peer_idx: index in prog->peers of the peer, U32_MAX without one
 * @succ_first: index of its first successor in prog->succs
 * @succ_count: number of successors
 * @full_deps: number of dependencies that are not streaming
 * @stream_deps: number of streaming dependencies
 * @stage_next: next RECV_REDUCE larger than eager size, U32_MAX: none
 */
struct hcomm_step_aux {
	u32 nchunks;
	u32 peer_idx;
	u32 succ_first;
	u32 succ_count;
	u32 full_deps;
	u32 stream_deps;
	u32 stage_next;
};

/**
 * struct hcomm_prog - a verified program
 * @steps: steps, owned
 * @deps: dependency list, owned
 * @aux: one per step
 * @succs: successor step indexes, with HCOMM_DEP_STREAM where streaming
 * @peers: distinct peers by ascending rank
 * @sends: step indexes of SENDs, grouped by peer, by message number
 * @recvs: step indexes of RECVs and RECV_REDUCEs, grouped by peer
 * @slots: use of each slot
 * @nsteps: number of steps
 * @ndeps: number of dependencies
 * @npeers: number of distinct peers
 * @nslots: number of slots
 * @stage_first: first step that takes staging memory on a link without direct
 *	access, U32_MAX: none
 */
struct hcomm_prog {
	struct hcomm_step *steps;
	u32 *deps;
	struct hcomm_step_aux *aux;
	u32 *succs;
	struct hcomm_prog_peer *peers;
	u32 *sends;
	u32 *recvs;
	struct hcomm_slot_use slots[HCOMM_MAX_SLOTS];
	u32 nsteps;
	u32 ndeps;
	u32 npeers;
	u32 nslots;
	u32 stage_first;
};

/**
 * struct hcomm_prog_reject - why a program was refused
 * @reason: enum hcomm_prog_error
 * @step: the step, or U32_MAX
 */
struct hcomm_prog_reject {
	u32 reason;
	u32 step;
};

/**
 * hcomm_prog_limits - check the sizes before anything is allocated
 * @nsteps: number of steps
 * @ndeps: number of dependencies
 * @nslots: number of slots
 * @why: out: the reason
 *
 * Return: 0 or -EINVAL.
 */
int hcomm_prog_limits(u32 nsteps, u32 ndeps, u32 nslots,
		      struct hcomm_prog_reject *why);

/**
 * hcomm_prog_create - verify a program and index it
 * @out: out: the program; the caller owns it
 * @par: what to verify against
 * @steps: array from hcomm_zalloc_array(); taken over in every case
 * @nsteps: its length
 * @deps: array from hcomm_zalloc_array() or NULL; taken over in every case
 * @ndeps: its length
 * @nslots: number of slots
 * @why: out on -EINVAL: the reason
 *
 * Time is linear in steps + dependencies + ranks.
 *
 * Return: 0, -EINVAL or -ENOMEM.
 */
int hcomm_prog_create(struct hcomm_prog **out, const struct hcomm_prog_params *par,
		      struct hcomm_step *steps, u32 nsteps, u32 *deps, u32 ndeps,
		      u32 nslots, struct hcomm_prog_reject *why);

/**
 * hcomm_prog_find_peer - index of a peer
 * @prog: program
 * @rank: peer
 *
 * Return: index in prog->peers, U32_MAX if the program has nothing with it.
 */
u32 hcomm_prog_find_peer(const struct hcomm_prog *prog, u32 rank);

/**
 * hcomm_prog_free - end a program
 * @prog: program without runs, or NULL
 */
void hcomm_prog_free(struct hcomm_prog *prog);

#endif /* HCOMM_CORE_PROG_H */
