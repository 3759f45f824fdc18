/* SPDX-License-Identifier: MIT */
/*
 * hcomm: schedules of collectives
 *
 * A schedule is one plan per rank: the steps and dependencies that
 * HCOMM_PROG_LOAD takes (see linux/hcomm.h), made from arguments that are equal
 * on all ranks except for the rank itself.  The ranks need not talk to build it.
 *
 * Buffers of a plan:
 *  - slot 0 (HCOMM_SLOT_SEND): the input; only read
 *  - slot 1 (HCOMM_SLOT_RECV): the output
 *  - slot 2 (HCOMM_SLOT_SCRATCH): memory of the library, of
 *    hcomm_plan_scratch_size() bytes; only there if that is not 0
 *
 * In place is a property of the plan, not of the launch: with @in_place the
 * input is in slot 1 too, and slot 0 is not used at all.  A plan without it must
 * not be launched with the two slots bound to overlapping memory.  Where the
 * input is, in place:
 *  - ALLREDUCE, REDUCE: slot 1 is the input, and where there is one, the output
 *    (the ranks of a REDUCE other than the root only read it)
 *  - BROADCAST: slot 1 of the root
 *  - ALLGATHER: slot 1 is the whole output; the input is block @rank of it
 *  - REDUCE_SCATTER: slot 1 is the whole input; the output is block @rank of it;
 *    the other blocks keep their values
 */
#ifndef HCOMM_SCHED_H
#define HCOMM_SCHED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <linux/hcomm.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HCOMM_SLOT_SEND		0u
#define HCOMM_SLOT_RECV		1u
#define HCOMM_SLOT_SCRATCH	2u

/**
 * enum hcomm_algo - ways to do a collective
 * @HCOMM_ALGO_NONE: no algorithm
 * @HCOMM_ALGO_RING: ALLREDUCE, REDUCE_SCATTER, ALLGATHER: least data per link
 * @HCOMM_ALGO_BINOMIAL: BROADCAST, REDUCE, ALLREDUCE: few messages
 * @HCOMM_ALGO_DOUBLE_TREE: BROADCAST, REDUCE, ALLREDUCE: few hops and all of
 *	the bandwidth
 * @HCOMM_ALGO_RECURSIVE_DOUBLING: ALLREDUCE: fewest rounds
 * @HCOMM_ALGO_DIRECT: ALLREDUCE: everybody to everybody, one round
 * @HCOMM_ALGO_DISSEMINATION: BARRIER
 * @HCOMM_ALGO_P2P: P2P: one message from @root to @peer
 */
enum hcomm_algo {
	HCOMM_ALGO_NONE = 0,
	HCOMM_ALGO_RING = 1,
	HCOMM_ALGO_BINOMIAL = 2,
	HCOMM_ALGO_DOUBLE_TREE = 3,
	HCOMM_ALGO_RECURSIVE_DOUBLING = 4,
	HCOMM_ALGO_DIRECT = 5,
	HCOMM_ALGO_DISSEMINATION = 6,
	HCOMM_ALGO_P2P = 7,
	HCOMM_ALGO_COUNT,
};

#define HCOMM_SCHED_MAX_CHANNELS	64u

/**
 * struct hcomm_sched_args - what to plan; equal on all ranks except @rank
 * @coll: enum hcomm_coll
 * @algo: enum hcomm_algo
 * @rank: this rank
 * @nranks: ranks, 1 to HCOMM_MAX_RANKS
 * @root: root of BROADCAST and REDUCE, sender of P2P; else 0
 * @peer: receiver of P2P; else 0
 * @count: elements: of the whole vector (ALLREDUCE, BROADCAST, REDUCE, P2P), of
 *	one rank's block (ALLGATHER: what a rank gives; REDUCE_SCATTER: what a
 *	rank gets); not used by BARRIER
 * @dtype: enum hcomm_dtype
 * @redop: enum hcomm_redop, where something is reduced
 * @in_place: see above
 * @chunk_size: bytes, of the communicator: the grain of pipelining
 * @channels: cut what goes to a peer at once into so many messages, to overlap
 *	more when there is less than a few chunks of it; 0: 1
 */
struct hcomm_sched_args {
	uint32_t coll;
	uint32_t algo;
	uint32_t rank;
	uint32_t nranks;
	uint32_t root;
	uint32_t peer;
	uint64_t count;
	uint32_t dtype;
	uint32_t redop;
	bool in_place;
	uint32_t chunk_size;
	uint32_t channels;
};

struct hcomm_plan;

/**
 * hcomm_sched_build - build one rank's plan
 * @args: what to plan
 * @out: out: the plan, to be given to hcomm_plan_free()
 *
 * Return: 0; -EINVAL (an argument is out of range); -EOPNOTSUPP (@algo does not
 * do @coll); -EOVERFLOW (the buffers exceed what can be addressed); -E2BIG (the
 * plan would exceed a limit of programs); -ENOMEM.
 */
int hcomm_sched_build(const struct hcomm_sched_args *args,
		      struct hcomm_plan **out);

/**
 * hcomm_plan_free - end a plan
 * @plan: plan or NULL
 */
void hcomm_plan_free(struct hcomm_plan *plan);

/**
 * hcomm_plan_steps - the steps
 * @plan: plan
 * @nsteps: out: how many, at least 1
 *
 * Return: the steps, valid until the plan is freed.
 */
const struct hcomm_step *hcomm_plan_steps(const struct hcomm_plan *plan,
					  uint32_t *nsteps);

/**
 * hcomm_plan_deps - the dependencies
 * @plan: plan
 * @ndeps: out: how many
 *
 * Return: the list, valid until the plan is freed; NULL if it is empty.
 */
const uint32_t *hcomm_plan_deps(const struct hcomm_plan *plan, uint32_t *ndeps);

/**
 * hcomm_plan_nslots - number of slots: 2, or 3 with scratch
 * @plan: plan
 *
 * Return: the number.
 */
uint32_t hcomm_plan_nslots(const struct hcomm_plan *plan);

/**
 * hcomm_plan_slot_extent - what a launch must bind to a slot
 * @plan: plan
 * @slot: slot
 * @written: out: some step writes it; may be NULL
 *
 * Return: bytes from the start of the slot that steps touch; 0: it may be left
 * unbound.
 */
uint64_t hcomm_plan_slot_extent(const struct hcomm_plan *plan, uint32_t slot,
				bool *written);

/**
 * hcomm_plan_scratch_size - bytes of slot 2
 * @plan: plan
 *
 * Return: bytes, 0: no scratch.
 */
uint64_t hcomm_plan_scratch_size(const struct hcomm_plan *plan);

/**
 * hcomm_sched_buffer_size - bytes of a buffer as the collective defines it
 * @args: valid arguments
 * @slot: HCOMM_SLOT_SEND or HCOMM_SLOT_RECV
 *
 * Return: bytes that this rank's caller provides in that slot.
 */
uint64_t hcomm_sched_buffer_size(const struct hcomm_sched_args *args,
				 uint32_t slot);

/**
 * hcomm_algo_name - name of an algorithm
 * @algo: enum hcomm_algo
 *
 * Return: the name, NULL for an unknown number.
 */
const char *hcomm_algo_name(uint32_t algo);

/**
 * hcomm_algo_by_name - number of an algorithm
 * @name: as hcomm_algo_name() gives it
 *
 * Return: enum hcomm_algo, -EINVAL for an unknown name.
 */
int hcomm_algo_by_name(const char *name);

/**
 * hcomm_algo_supports - does an algorithm do a collective?
 * @algo: enum hcomm_algo
 * @coll: enum hcomm_coll
 *
 * Return: true if it does.
 */
bool hcomm_algo_supports(uint32_t algo, uint32_t coll);

/**
 * hcomm_coll_name - name of a collective
 * @coll: enum hcomm_coll
 *
 * Return: the name, NULL for an unknown number.
 */
const char *hcomm_coll_name(uint32_t coll);

/**
 * hcomm_dtype_bytes - bytes of an element
 * @dtype: enum hcomm_dtype
 *
 * Return: bytes, 0 for an unknown type.
 */
uint32_t hcomm_dtype_bytes(uint32_t dtype);

#ifdef __cplusplus
}
#endif

#endif /* HCOMM_SCHED_H */
