/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A plan: one rank's program while it grows, and after.
 *
 * Builders append steps with the emitters below and say right behind each what
 * it waits for.  The first error sticks in the plan and turns everything that
 * follows into a no-op, so builders need not look at each call; plan_finish()
 * reports it.  Time and memory are linear in the plan's own steps: message
 * numbers come from a hash of the peers in use, never from a table of all ranks.
 */
#ifndef HCOMM_SCHED_PLAN_H
#define HCOMM_SCHED_PLAN_H

#include <hcomm/sched.h>

#define HCOMM_NO_STEP	UINT32_MAX

/**
 * struct hcomm_loc - a place in a buffer
 * @slot: slot
 * @off: byte offset
 */
struct hcomm_loc {
	uint32_t slot;
	uint64_t off;
};

static inline struct hcomm_loc hcomm_loc(uint32_t slot, uint64_t off)
{
	return (struct hcomm_loc){ .slot = slot, .off = off };
}

/**
 * struct hcomm_plan_peer - message counters of a peer
 * @used: the entry of the hash is taken
 * @peer: rank
 * @sends: SENDs so far
 * @recvs: RECVs and RECV_REDUCEs so far
 */
struct hcomm_plan_peer {
	bool used;
	uint32_t peer;
	uint32_t sends;
	uint32_t recvs;
};

/**
 * struct hcomm_plan - steps, dependencies and what a launch must know
 * @steps: steps, owned
 * @deps: dependency list, owned
 * @peers: open-addressed hash of the peers in use, owned
 * @nsteps: number of steps
 * @step_room: allocated steps
 * @ndeps: number of dependencies
 * @dep_room: allocated dependencies
 * @npeers: peers in use
 * @peer_room: size of the hash, a power of two or 0
 * @last_streams: streaming dependencies of the last step
 * @dtype: of all reductions
 * @redop: of all reductions
 * @err: first error, negative errno
 * @scratch_size: bytes of slot 2
 * @extent: bytes touched, by slot
 * @written: some step writes the slot
 */
struct hcomm_plan {
	struct hcomm_step *steps;
	uint32_t *deps;
	struct hcomm_plan_peer *peers;
	uint32_t nsteps;
	uint32_t step_room;
	uint32_t ndeps;
	uint32_t dep_room;
	uint32_t npeers;
	uint32_t peer_room;
	uint32_t last_streams;
	uint32_t dtype;
	uint32_t redop;
	int err;
	uint64_t scratch_size;
	uint64_t extent[HCOMM_MAX_SLOTS];
	bool written[HCOMM_MAX_SLOTS];
};

/**
 * hcomm_plan_new - an empty plan
 * @dtype: type of its reductions
 * @redop: operation of its reductions
 *
 * Return: the plan, or NULL without memory.
 */
struct hcomm_plan *hcomm_plan_new(uint32_t dtype, uint32_t redop);

/**
 * hcomm_plan_finish - close a plan
 * @plan: plan
 *
 * An empty plan gets a NOP: the kernel loads no empty program.
 *
 * Return: 0 or the first error.
 */
int hcomm_plan_finish(struct hcomm_plan *plan);

/**
 * hcomm_plan_fail - record an error
 * @plan: plan
 * @err: negative errno
 */
void hcomm_plan_fail(struct hcomm_plan *plan, int err);

/**
 * hcomm_plan_scratch - reserve scratch memory
 * @plan: plan
 * @size: bytes
 *
 * Return: its offset in slot 2, 64-byte aligned.
 */
uint64_t hcomm_plan_scratch(struct hcomm_plan *plan, uint64_t size);

/*
 * Emitters.  Each appends one step and returns its index, or HCOMM_NO_STEP
 * after an error.  Messages are numbered in the order of the calls.
 */
uint32_t hcomm_plan_send(struct hcomm_plan *plan, uint32_t peer,
			 struct hcomm_loc src, uint64_t len);
uint32_t hcomm_plan_recv(struct hcomm_plan *plan, uint32_t peer,
			 struct hcomm_loc dst, uint64_t len);
/* dst = src (op) message */
uint32_t hcomm_plan_recv_reduce(struct hcomm_plan *plan, uint32_t peer,
				struct hcomm_loc dst, struct hcomm_loc src,
				uint64_t len);
uint32_t hcomm_plan_copy(struct hcomm_plan *plan, struct hcomm_loc dst,
			 struct hcomm_loc src, uint64_t len);
/* dst = dst (op) src */
uint32_t hcomm_plan_reduce(struct hcomm_plan *plan, struct hcomm_loc dst,
			   struct hcomm_loc src, uint64_t len);
/* dst = src times or divided by @operand; @scale is enum hcomm_scale */
uint32_t hcomm_plan_scale(struct hcomm_plan *plan, struct hcomm_loc dst,
			  struct hcomm_loc src, uint64_t len, uint32_t scale,
			  uint64_t operand);
uint32_t hcomm_plan_nop(struct hcomm_plan *plan);

/**
 * hcomm_plan_after - the last step waits until another is complete
 * @plan: plan
 * @step: earlier step; HCOMM_NO_STEP: no dependency
 */
void hcomm_plan_after(struct hcomm_plan *plan, uint32_t step);

/**
 * hcomm_plan_stream - the last step follows another chunk by chunk
 * @plan: plan
 * @step: earlier step; HCOMM_NO_STEP: no dependency
 *
 * Becomes a plain dependency where the ABI has no streaming one: lengths differ,
 * or the last step has HCOMM_MAX_STREAM_DEPS already.
 */
void hcomm_plan_stream(struct hcomm_plan *plan, uint32_t step);

/**
 * hcomm_plan_follow - the last step waits for another, as closely as it may
 * @plan: plan
 * @step: earlier step; HCOMM_NO_STEP: no dependency
 *
 * Chunk by chunk if the two have the same bytes in common, else for all of it: two
 * ranges may be of equal length by chance.
 */
void hcomm_plan_follow(struct hcomm_plan *plan, uint32_t step);

/**
 * hcomm_split - cut a count into nearly equal parts
 * @count: elements
 * @parts: number of parts, at least 1
 * @i: which part
 * @first: out: first element of the part
 *
 * The first count % parts parts have one element more.
 *
 * Return: elements of the part.
 */
static inline uint64_t hcomm_split(uint64_t count, uint32_t parts, uint32_t i,
				   uint64_t *first)
{
	uint64_t base = count / parts, rest = count % parts;

	*first = base * i + (i < rest ? i : rest);
	return base + (i < rest);
}

#endif /* HCOMM_SCHED_PLAN_H */
