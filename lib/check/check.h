/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The checker: proves that the programs of all ranks do what a collective
 * promises, by running them on symbols instead of numbers.
 *
 * For the given size, chunk size, staging pool and window it proves:
 *  - the kernel's verifier accepts each program, and no step leaves its buffers;
 *  - every message has both its ends, with equal length, in the same order;
 *  - the run ends: a large SEND is complete only when the peer has accepted it,
 *    messages of a pair and staging memory are given out in step order, and all
 *    of that waits for nothing that waits for it.  These rules leave no choice
 *    that could make another schedule stop where this one does not;
 *  - no two chunks that the dependencies and the messages leave unordered touch
 *    the same bytes with a write among them; so every schedule computes what
 *    this one does;
 *  - every byte of every output holds exactly the contributions it must, each
 *    once, each from the right place, by the right operation; where several
 *    ranks get the same result, by the same expression up to the order of the
 *    two operands (operations are commutative to the bit); in fixed order, by
 *    the one expression that it names;
 *  - inputs keep their values, bytes between the blocks of an output are not
 *    touched, and nothing is read before it was written.
 */
#ifndef HCOMM_CHECK_H
#define HCOMM_CHECK_H

#include <hcomm/sched.h>

/**
 * struct hcomm_check_prog - one rank's program
 * @steps: steps
 * @deps: dependency list
 * @nsteps: number of steps
 * @ndeps: number of dependencies
 * @nslots: number of slots
 * @scratch_size: bytes of HCOMM_SLOT_SCRATCH
 */
struct hcomm_check_prog {
	const struct hcomm_step *steps;
	const uint32_t *deps;
	uint32_t nsteps;
	uint32_t ndeps;
	uint32_t nslots;
	uint64_t scratch_size;
};

/**
 * struct hcomm_check_opts - the communicator to prove it for
 * @chunk_size: bytes of a chunk, a multiple of the element size
 * @eager_size: messages up to this size are one chunk and need no staging memory
 * @window: chunks in flight per pair and direction
 * @staging_slots: chunks of staging memory
 */
struct hcomm_check_opts {
	uint32_t chunk_size;
	uint32_t eager_size;
	uint32_t window;
	uint32_t staging_slots;
};

/**
 * enum hcomm_check_kind - what is wrong
 * @HCOMM_CHECK_OK: nothing
 * @HCOMM_CHECK_RULE: a rule of the kernel's verifier, or a buffer's bounds
 * @HCOMM_CHECK_MATCH: a message without its other end, or of another length
 * @HCOMM_CHECK_DEADLOCK: the run does not end
 * @HCOMM_CHECK_RACE: unordered accesses to the same bytes
 * @HCOMM_CHECK_UNINIT: bytes are read that were never written
 * @HCOMM_CHECK_VALUE: an output is not what the collective promises
 * @HCOMM_CHECK_ORDER: ranks get the same result by different expressions, or not
 *	by that of the fixed order
 * @HCOMM_CHECK_INPUT: an input is changed, or what is no output is written
 * @HCOMM_CHECK_SYNC: a rank leaves a barrier before another one entered
 */
enum hcomm_check_kind {
	HCOMM_CHECK_OK = 0,
	HCOMM_CHECK_RULE,
	HCOMM_CHECK_MATCH,
	HCOMM_CHECK_DEADLOCK,
	HCOMM_CHECK_RACE,
	HCOMM_CHECK_UNINIT,
	HCOMM_CHECK_VALUE,
	HCOMM_CHECK_ORDER,
	HCOMM_CHECK_INPUT,
	HCOMM_CHECK_SYNC,
};

#define HCOMM_CHECK_NO_STEP	UINT32_MAX

/**
 * struct hcomm_check_result - the verdict
 * @kind: enum hcomm_check_kind
 * @rank: rank at fault
 * @step: its step, or HCOMM_CHECK_NO_STEP
 * @slot: slot of @byte
 * @byte: first byte at fault, where bytes are at fault
 * @chunks: chunks that were executed
 * @text: what is wrong, where, and what to do about it
 */
struct hcomm_check_result {
	enum hcomm_check_kind kind;
	uint32_t rank;
	uint32_t step;
	uint32_t slot;
	uint64_t byte;
	uint64_t chunks;
	char text[512];
};

/**
 * hcomm_check - prove a set of programs right
 * @progs: args->nranks programs, by rank
 * @args: the collective, with what all ranks have in common; what says how to
 *	plan it is not looked at
 * @opts: the communicator
 * @res: out: the verdict
 *
 * Return: 0 if they are right; -EPROTO if not, and @res says why; -EINVAL
 * (@args or @opts out of range, or a collective that it does not know);
 * -E2BIG (more chunks than it can number); -ENOMEM.
 */
int hcomm_check(const struct hcomm_check_prog *progs,
		const struct hcomm_sched_args *args,
		const struct hcomm_check_opts *opts,
		struct hcomm_check_result *res);

/**
 * hcomm_check_each - the same where ranks have arguments of their own
 * @progs: programs, by rank
 * @args: arguments, by rank: @counts, @displs and the like of V forms may differ
 * @opts: the communicator
 * @res: out: the verdict
 *
 * Return: as hcomm_check().
 */
int hcomm_check_each(const struct hcomm_check_prog *progs,
		     const struct hcomm_sched_args *args,
		     const struct hcomm_check_opts *opts,
		     struct hcomm_check_result *res);

/**
 * hcomm_check_sched - build the plans of all ranks and prove them right
 * @args: what to plan; @rank is not looked at
 * @opts: the communicator
 * @res: out: the verdict
 *
 * Return: as hcomm_check(), or the error of hcomm_sched_build().
 */
int hcomm_check_sched(const struct hcomm_sched_args *args,
		      const struct hcomm_check_opts *opts,
		      struct hcomm_check_result *res);

/**
 * hcomm_check_sched_each - the same where ranks have arguments of their own
 * @args: what to plan, by rank
 * @opts: the communicator
 * @res: out: the verdict
 *
 * Return: as hcomm_check_sched().
 */
int hcomm_check_sched_each(const struct hcomm_sched_args *args,
			   const struct hcomm_check_opts *opts,
			   struct hcomm_check_result *res);

#endif /* HCOMM_CHECK_H */
