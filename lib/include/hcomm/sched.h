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
 * In place is a property of the plan, not of the launch, and equal on all ranks:
 * with @in_place the input is in slot 1 too, and slot 0 is not used at all.  A
 * plan without it must not be launched with the two slots bound to overlapping
 * memory.  Where the input is, in place:
 *  - ALLREDUCE, REDUCE, SCAN, EXSCAN: slot 1 is the input, and where there is
 *    one, the output (the ranks of a REDUCE other than the root only read it;
 *    rank 0 of an EXSCAN has no output and its slot 1 keeps its values)
 *  - BROADCAST, P2P: slot 1 of the root
 *  - ALLGATHER: slot 1 is the whole output; the input is block @rank of it
 *  - REDUCE_SCATTER: slot 1 is the whole input; the output is block @rank of it;
 *    the other blocks keep their values
 *  - GATHER: slot 1 of the root is the whole output, and the root's input is
 *    block @root of it; slot 1 of the others is their input, and only read
 *  - SCATTER: slot 1 of the root is the whole input, where its own block stays;
 *    slot 1 of the others is their output
 *  - ALLTOALL: slot 1 is input and output; block q is what is sent to rank q and
 *    then what comes from it, so both have one length and place (MPI says the
 *    same)
 *
 * Blocks of unequal length (V forms) may lie apart, in any order; what is between
 * them in an output is not touched.  Blocks must not overlap.
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
 * @HCOMM_ALGO_RING: round a ring of all ranks: least data per link
 * @HCOMM_ALGO_BINOMIAL: a binomial tree: few messages
 * @HCOMM_ALGO_DOUBLE_TREE: two binary trees: few hops and all of the bandwidth
 * @HCOMM_ALGO_RECURSIVE_DOUBLING: partners at distance 1, 2, 4, ...: fewest rounds
 * @HCOMM_ALGO_DIRECT: a mesh: everybody to everybody, one round
 * @HCOMM_ALGO_DISSEMINATION: the barrier of log2 n rounds
 * @HCOMM_ALGO_P2P: one message from @root to @peer
 * @HCOMM_ALGO_BIDIRECTIONAL_RING: half of the data round the ring each way
 * @HCOMM_ALGO_KNOMIAL: a tree of @radix: between binomial and star
 * @HCOMM_ALGO_HALVING_DOUBLING: recursive halving, recursive doubling: log2 n
 *	rounds and least data
 * @HCOMM_ALGO_BRUCK: log2 n rounds for any number of ranks
 * @HCOMM_ALGO_PAIRWISE: n - 1 rounds, in each one partner to send to and one to
 *	receive from
 * @HCOMM_ALGO_STAR: everybody with the root, one round
 * @HCOMM_ALGO_PIPELINE: a chain of all ranks
 * @HCOMM_ALGO_SCATTER_ALLGATHER: a broadcast by scattering and gathering
 * @HCOMM_ALGO_NONUNIFORM_RING: non-uniform hierarchical ring: rings of growing
 *	stride, log2 n rounds and least data for any number of ranks
 * @HCOMM_ALGO_NONUNIFORM_BRUCK: Bruck's rounds with evenly halved distances and
 *	blocks of any lengths
 * @HCOMM_ALGO_HIERARCHICAL: inside nodes, between nodes, between groups of nodes,
 *	of any sizes; see struct hcomm_sched_topo
 * @HCOMM_ALGO_LINEAR: a prefix handed from rank to rank
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
	HCOMM_ALGO_BIDIRECTIONAL_RING = 8,
	HCOMM_ALGO_KNOMIAL = 9,
	HCOMM_ALGO_HALVING_DOUBLING = 10,
	HCOMM_ALGO_BRUCK = 11,
	HCOMM_ALGO_PAIRWISE = 12,
	HCOMM_ALGO_STAR = 13,
	HCOMM_ALGO_PIPELINE = 14,
	HCOMM_ALGO_SCATTER_ALLGATHER = 15,
	HCOMM_ALGO_NONUNIFORM_RING = 16,
	HCOMM_ALGO_NONUNIFORM_BRUCK = 17,
	HCOMM_ALGO_HIERARCHICAL = 18,
	HCOMM_ALGO_LINEAR = 19,
	HCOMM_ALGO_COUNT,
};

#define HCOMM_SCHED_MAX_CHANNELS	64u

#define HCOMM_SCHED_MAX_RADIX		64u

struct hcomm_sched_topo;

/**
 * hcomm_sched_topo_create - say which node and group each rank is in
 * @nranks: ranks
 * @node: by rank: a number that the ranks of a node have in common
 * @group: by rank: a number that the ranks of a group of nodes have in common;
 *	NULL: all nodes are one group
 * @out: out: to be given to hcomm_sched_topo_free()
 *
 * Numbers are any, nodes and groups of any sizes, and their ranks need not be
 * consecutive.  It is made once, as it takes time in proportion to @nranks, and
 * then serves the plans of all ranks.
 *
 * Return: 0; -EINVAL (@nranks is out of range, or a node is in two groups);
 * -ENOMEM.
 */
int hcomm_sched_topo_create(uint32_t nranks, const uint32_t *node,
			    const uint32_t *group, struct hcomm_sched_topo **out);

/**
 * hcomm_sched_topo_free - end a topology
 * @topo: topology or NULL; no arguments refer to it any more
 */
void hcomm_sched_topo_free(struct hcomm_sched_topo *topo);

/**
 * hcomm_sched_topo_nodes - how many nodes
 * @topo: topology
 *
 * Return: the number.
 */
uint32_t hcomm_sched_topo_nodes(const struct hcomm_sched_topo *topo);

/**
 * hcomm_sched_topo_groups - how many groups of nodes
 * @topo: topology
 *
 * Return: the number.
 */
uint32_t hcomm_sched_topo_groups(const struct hcomm_sched_topo *topo);

/**
 * struct hcomm_sched_args - what to plan; equal on all ranks except where said
 * @coll: enum hcomm_coll
 * @algo: enum hcomm_algo
 * @rank: this rank
 * @nranks: ranks, 1 to HCOMM_MAX_RANKS
 * @root: root of BROADCAST, REDUCE, GATHER and SCATTER, sender of P2P; else 0
 * @peer: receiver of P2P; else 0
 * @count: elements: of the whole vector (ALLREDUCE, BROADCAST, REDUCE, SCAN,
 *	EXSCAN, P2P), of one rank's block (ALLGATHER, GATHER: what a rank gives;
 *	REDUCE_SCATTER, SCATTER: what a rank gets; ALLTOALL: what a rank sends to
 *	each); not used by BARRIER and where @counts is
 * @dtype: enum hcomm_dtype
 * @redop: enum hcomm_redop, where something is reduced; AVG, not of a SCAN or
 *	EXSCAN, and PREMUL_SUM too
 * @operand: of PREMUL_SUM: what the input of this rank is multiplied by, the bits
 *	of an element; each rank has its own
 * @in_place: see above
 * @chunk_size: bytes, of the communicator: the grain of pipelining
 * @channels: cut what goes to a peer at once into so many messages, to overlap
 *	more when there is less than a few chunks of it; 0: 1
 * @radix: of KNOMIAL, and of a HIERARCHICAL GATHER or SCATTER on each level: 2 to
 *	HCOMM_SCHED_MAX_RADIX; 0: 4.  Of a HIERARCHICAL ALLREDUCE: the last level is a NONUNIFORM_BRUCK (2), RECURSIVE_DOUBLING (3), RING (5),
 *	HALVING_DOUBLING (6) or DIRECT (7) one, else as the other levels are
 * @fixed_order: reduce in one order, whatever the algorithm, the chunk size and
 *	the channels: every element is ((x0 op x1) op x2) op ..., in the order of
 *	ranks.  Algorithms that can't do so answer -EOPNOTSUPP.
 * @vector: V form: blocks are of unequal length; @counts implies it
 * @counts: V form, @nranks entries, in elements.  ALLGATHER: what each rank
 *	gives; REDUCE_SCATTER: what each rank gets; equal on all ranks.  GATHER,
 *	SCATTER: what each rank gives or gets, at the root; the others may leave
 *	it NULL, set @vector and say in @count what they give or get themselves.
 *	ALLTOALL: what this rank sends to each; each rank has its own.
 * @displs: V form, first element of each block in the buffer that has them all;
 *	each rank may have its own; NULL: packed.  Not for REDUCE_SCATTER, whose
 *	input is always packed.
 * @rcounts: ALLTOALL with @vector: what this rank receives from each
 * @rdispls: ALLTOALL: as @displs, for the output.  In place only @rcounts and
 *	@rdispls are looked at.
 * @topo: the nodes, for HIERARCHICAL; NULL: all ranks on one node
 *
 * Arrays are looked at only during a call.
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
	uint64_t operand;
	bool in_place;
	bool fixed_order;
	bool vector;
	uint32_t chunk_size;
	uint32_t channels;
	uint32_t radix;
	const uint64_t *counts;
	const uint64_t *displs;
	const uint64_t *rcounts;
	const uint64_t *rdispls;
	const struct hcomm_sched_topo *topo;
};

/**
 * hcomm_sched_check - can this be planned?
 * @args: what to plan
 *
 * Takes no memory, and no time beyond a look at the counts of a V form.
 *
 * Return: 0, or -EINVAL, -EOPNOTSUPP or -EOVERFLOW as hcomm_sched_build() would;
 * the answer is equal on all ranks where the arguments are valid on all.
 */
int hcomm_sched_check(const struct hcomm_sched_args *args);

struct hcomm_plan;

/**
 * hcomm_sched_build - build one rank's plan
 * @args: what to plan
 * @out: out: the plan, to be given to hcomm_plan_free()
 *
 * Return: 0; -EINVAL (an argument is out of range); -EOPNOTSUPP (@algo does not
 * do @coll, or not its V form, or not in fixed order); -EOVERFLOW (the buffers
 * exceed what can be addressed); -E2BIG (the plan would exceed a limit of
 * programs); -ENOMEM.
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
