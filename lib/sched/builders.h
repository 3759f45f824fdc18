/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The builders, one per algorithm.  Each appends the steps of rank args->rank to
 * an empty plan; errors stick in the plan.  Arguments are checked, and there
 * are at least two ranks.
 *
 * Rules that builders keep, beyond those of the ABI:
 *  - the order of messages between two ranks follows from the arguments alone,
 *    so that both ends agree on it without talking;
 *  - a RECV that overwrites what a SEND reads waits for that SEND, but never
 *    where the SEND of the other end could wait in the same way for this RECV:
 *    a large SEND is complete only after the peer has accepted it;
 *  - messages of no bytes are left out, at both ends.
 */
#ifndef HCOMM_SCHED_BUILDERS_H
#define HCOMM_SCHED_BUILDERS_H

#include "plan.h"

/* one function for each algorithm: see enum hcomm_algo */
void hcomm_build_ring(struct hcomm_plan *plan, const struct hcomm_sched_args *args);
void hcomm_build_binomial(struct hcomm_plan *plan,
			  const struct hcomm_sched_args *args);
void hcomm_build_double_tree(struct hcomm_plan *plan,
			     const struct hcomm_sched_args *args);
void hcomm_build_recursive_doubling(struct hcomm_plan *plan,
				    const struct hcomm_sched_args *args);
void hcomm_build_direct(struct hcomm_plan *plan,
			const struct hcomm_sched_args *args);
void hcomm_build_dissemination(struct hcomm_plan *plan,
			       const struct hcomm_sched_args *args);
void hcomm_build_p2p(struct hcomm_plan *plan,
		     const struct hcomm_sched_args *args);

void hcomm_build_pairwise(struct hcomm_plan *plan,
			  const struct hcomm_sched_args *args);
void hcomm_build_star(struct hcomm_plan *plan, const struct hcomm_sched_args *args);
void hcomm_build_linear(struct hcomm_plan *plan,
			const struct hcomm_sched_args *args);
void hcomm_build_halving_doubling(struct hcomm_plan *plan,
				  const struct hcomm_sched_args *args);
void hcomm_build_nonuniform_ring(struct hcomm_plan *plan,
				 const struct hcomm_sched_args *args);
void hcomm_build_bidirectional_ring(struct hcomm_plan *plan,
				    const struct hcomm_sched_args *args);
void hcomm_build_nonuniform_bruck(struct hcomm_plan *plan,
				  const struct hcomm_sched_args *args);
void hcomm_build_bruck(struct hcomm_plan *plan, const struct hcomm_sched_args *args);
void hcomm_build_knomial(struct hcomm_plan *plan, const struct hcomm_sched_args *args);
void hcomm_build_pipeline(struct hcomm_plan *plan, const struct hcomm_sched_args *args);
void hcomm_build_scatter_allgather(struct hcomm_plan *plan,
				   const struct hcomm_sched_args *args);
void hcomm_build_hierarchical(struct hcomm_plan *plan,
			      const struct hcomm_sched_args *args);

/* parts of the above */
void hcomm_build_recursive_doubling_scan(struct hcomm_plan *plan,
					 const struct hcomm_sched_args *args);
void hcomm_build_ring_allreduce(struct hcomm_plan *plan,
				const struct hcomm_sched_args *args);
void hcomm_build_ring_reduce_scatter(struct hcomm_plan *plan,
				     const struct hcomm_sched_args *args);
void hcomm_build_ring_allgather(struct hcomm_plan *plan,
				const struct hcomm_sched_args *args);

/* elements of the longest block; sections that all blocks of a REDUCE_SCATTER are cut into */
uint64_t hcomm_longest_block(const struct hcomm_sched_args *args);
uint32_t hcomm_sections(const struct hcomm_sched_args *args);

/* where the input of a collective is */
static inline struct hcomm_loc hcomm_input(const struct hcomm_sched_args *args,
					   uint64_t off)
{
	return hcomm_loc(args->in_place ? HCOMM_SLOT_RECV : HCOMM_SLOT_SEND, off);
}

static inline struct hcomm_loc hcomm_output(uint64_t off)
{
	return hcomm_loc(HCOMM_SLOT_RECV, off);
}

/* bytes of a rank's block, and where it is in the buffer that has all of them */
static inline uint64_t hcomm_block(const struct hcomm_sched_args *args, uint32_t i,
				   uint64_t *off)
{
	uint64_t size = hcomm_dtype_bytes(args->dtype);

	if (args->counts) {
		*off = args->displs[i] * size;
		return args->counts[i] * size;
	}
	*off = args->vector ? 0 : args->count * size * i;
	return args->count * size;
}

/* the same for what ALLTOALL receives */
static inline uint64_t hcomm_block_out(const struct hcomm_sched_args *args,
				       uint32_t i, uint64_t *off)
{
	uint64_t size = hcomm_dtype_bytes(args->dtype);

	if (!args->vector)
		return hcomm_block(args, i, off);
	*off = args->rdispls[i] * size;
	return args->rcounts[i] * size;
}

/* (a - b) mod n, for a, b <= n */
static inline uint32_t hcomm_ring_sub(uint32_t a, uint32_t b, uint32_t n)
{
	return (uint32_t)(((uint64_t)a + n - b) % n);
}

#endif /* HCOMM_SCHED_BUILDERS_H */
