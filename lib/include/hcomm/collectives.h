/* SPDX-License-Identifier: MIT */
/*
 * hcomm: collectives, in their blocking form.  The other forms are in requests.h; what
 * holds for all calls is said in hcomm.h.
 */
#ifndef HCOMM_COLLECTIVES_H
#define HCOMM_COLLECTIVES_H

#include <hcomm/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * hcommRedOpCreatePreMulSum - make a sum of scaled inputs
 * @op: out: operation, to be given to hcommRedOpDestroy()
 * @scalar: a number of type @dtype, read now: what this rank's input is multiplied
 *	by before it is added; each rank may have its own
 * @dtype: type that @op is for
 * @comm: communicator that @op is for, and ends with
 *
 * Only this rank: nothing is communicated.  Ranks must use operations made so in
 * the same calls.  Errors: HCOMM_ERR_INVALID_ARGUMENT, HCOMM_ERR_NO_MEMORY.
 */
hcommResult_t hcommRedOpCreatePreMulSum(hcommRedOp_t *op, const void *scalar,
					hcommDataType_t dtype, hcommComm_t comm);

/**
 * hcommRedOpDestroy - end an operation that was made
 * @op: operation; calls that were started with it go on
 * @comm: its communicator
 *
 * Errors: HCOMM_ERR_INVALID_ARGUMENT (@comm has no such operation).
 */
hcommResult_t hcommRedOpDestroy(hcommRedOp_t op, hcommComm_t comm);

/**
 * hcommAllReduce - reduce over all ranks, result on all
 * @send: @count elements
 * @recv: @count elements; in place: @send == @recv
 * @count: elements
 * @dtype: their type
 * @op: reduction
 * @comm: communicator
 */
hcommResult_t hcommAllReduce(const void *send, void *recv, size_t count,
			     hcommDataType_t dtype, hcommRedOp_t op,
			     hcommComm_t comm);

/**
 * hcommBroadcast - one rank's data to all
 * @send: @count elements, on @root only
 * @recv: @count elements; in place on the root: @send == @recv
 * @count: elements
 * @dtype: their type
 * @root: the rank that has the data
 * @comm: communicator
 */
hcommResult_t hcommBroadcast(const void *send, void *recv, size_t count,
			     hcommDataType_t dtype, int root, hcommComm_t comm);

/**
 * hcommBcast - broadcast in place
 * @buf: @count elements
 * @count: elements
 * @dtype: their type
 * @root: the rank that has the data
 * @comm: communicator
 */
hcommResult_t hcommBcast(void *buf, size_t count, hcommDataType_t dtype,
			 int root, hcommComm_t comm);

/**
 * hcommReduce - reduce over all ranks, result on one
 * @send: @count elements
 * @recv: @count elements, on @root only; in place: @send == @recv
 * @count: elements
 * @dtype: their type
 * @op: reduction
 * @root: the rank that gets the result
 * @comm: communicator
 */
hcommResult_t hcommReduce(const void *send, void *recv, size_t count,
			  hcommDataType_t dtype, hcommRedOp_t op, int root,
			  hcommComm_t comm);

/**
 * hcommReduceScatter - reduce over all ranks, a block of the result on each
 * @send: size * @count elements
 * @recv: @count elements: block @rank of the result; in place:
 *	@recv == @send + @rank * @count elements
 * @count: elements of a block
 * @dtype: their type
 * @op: reduction
 * @comm: communicator
 */
hcommResult_t hcommReduceScatter(const void *send, void *recv, size_t count,
				 hcommDataType_t dtype, hcommRedOp_t op,
				 hcommComm_t comm);

/**
 * hcommAllGather - every rank's block to all
 * @send: @count elements
 * @recv: size * @count elements, blocks in the order of ranks; in place:
 *	@send == @recv + @rank * @count elements
 * @count: elements of a block
 * @dtype: their type
 * @comm: communicator
 */
hcommResult_t hcommAllGather(const void *send, void *recv, size_t count,
			     hcommDataType_t dtype, hcommComm_t comm);

/**
 * hcommGather - every rank's block to one
 * @send: @count elements
 * @recv: size * @count elements, blocks in the order of ranks, on @root only; in
 *	place on the root: @send == @recv + @root * @count elements
 * @count: elements of a block
 * @dtype: their type
 * @root: the rank that gets them
 * @comm: communicator
 */
hcommResult_t hcommGather(const void *send, void *recv, size_t count,
			  hcommDataType_t dtype, int root, hcommComm_t comm);

/**
 * hcommScatter - a block of one rank's data to each
 * @send: size * @count elements, blocks in the order of ranks, on @root only
 * @recv: @count elements; in place on the root:
 *	@recv == @send + @root * @count elements
 * @count: elements of a block
 * @dtype: their type
 * @root: the rank that has the data
 * @comm: communicator
 */
hcommResult_t hcommScatter(const void *send, void *recv, size_t count,
			   hcommDataType_t dtype, int root, hcommComm_t comm);

/**
 * hcommAlltoAll - a block of every rank to every other
 * @send: size * @count elements: block r goes to rank r
 * @recv: size * @count elements: block r comes from rank r; in place, on all ranks
 *	or none: @send == @recv
 * @count: elements of a block
 * @dtype: their type
 * @comm: communicator
 */
hcommResult_t hcommAlltoAll(const void *send, void *recv, size_t count,
			    hcommDataType_t dtype, hcommComm_t comm);

/**
 * hcommScan - reduce over the ranks up to this one
 * @send: @count elements
 * @recv: @count elements: the reduction of ranks 0 to this one; in place:
 *	@send == @recv
 * @count: elements
 * @dtype: their type
 * @op: reduction, not hcommAvg
 * @comm: communicator
 */
hcommResult_t hcommScan(const void *send, void *recv, size_t count,
			hcommDataType_t dtype, hcommRedOp_t op, hcommComm_t comm);

/**
 * hcommExscan - reduce over the ranks below this one
 * @send: @count elements
 * @recv: @count elements: the reduction of the ranks below this one; not used, and
 *	not changed, on rank 0; in place: @send == @recv
 * @count: elements
 * @dtype: their type
 * @op: reduction, not hcommAvg
 * @comm: communicator
 */
hcommResult_t hcommExscan(const void *send, void *recv, size_t count,
			  hcommDataType_t dtype, hcommRedOp_t op, hcommComm_t comm);

/*
 * Blocks of unequal length.  Counts and displacements are arrays with an entry per
 * rank, in elements; they are looked at only during the call.  Displacements say
 * where in the buffer each block begins; NULL: one behind the other, in the order
 * of ranks.  Blocks may lie in any order and apart; what is between them is not
 * touched.  A block may be empty.  They must not overlap where they are received:
 * that is not looked for, and what overlaps has the bytes of any of them.
 *
 * What a rank sends to another is what that one expects: different counts are
 * HCOMM_ERR_MISMATCH.  If one of them is 0 it takes up to a second to find that out,
 * and it may be a later call that says so.
 */

/**
 * hcommAllGatherV - every rank's block to all
 * @send: @counts[rank] elements
 * @recv: all blocks; in place: @send is where this rank's block of @recv is
 * @counts: elements of each block, the same on all ranks
 * @displs: of the blocks in @recv, may differ between ranks
 * @dtype: type of the elements
 * @comm: communicator
 */
hcommResult_t hcommAllGatherV(const void *send, void *recv, const size_t *counts,
			      const size_t *displs, hcommDataType_t dtype,
			      hcommComm_t comm);

/**
 * hcommReduceScatterV - reduce over all ranks, a block of the result on each
 * @send: all blocks, one behind the other
 * @recv: @counts[rank] elements: block @rank of the result; in place: it is where
 *	that block of @send is
 * @counts: elements of each block, the same on all ranks
 * @dtype: type of the elements
 * @op: reduction
 * @comm: communicator
 */
hcommResult_t hcommReduceScatterV(const void *send, void *recv, const size_t *counts,
				  hcommDataType_t dtype, hcommRedOp_t op,
				  hcommComm_t comm);

/**
 * hcommGatherV - every rank's block to one
 * @send: @count elements
 * @count: elements of this rank's block
 * @recv: all blocks, on @root only; in place on the root: @send is where its own
 *	block of @recv is
 * @counts: elements of each block, on @root only
 * @displs: of the blocks in @recv, on @root only
 * @dtype: type of the elements
 * @root: the rank that gets them
 * @comm: communicator
 */
hcommResult_t hcommGatherV(const void *send, size_t count, void *recv,
			   const size_t *counts, const size_t *displs,
			   hcommDataType_t dtype, int root, hcommComm_t comm);

/**
 * hcommScatterV - a block of one rank's data to each
 * @send: all blocks, on @root only
 * @counts: elements of each block, on @root only
 * @displs: of the blocks in @send, on @root only
 * @recv: @count elements; in place on the root: it is where its own block of
 *	@send is
 * @count: elements of this rank's block
 * @dtype: type of the elements
 * @root: the rank that has the data
 * @comm: communicator
 */
hcommResult_t hcommScatterV(const void *send, const size_t *counts,
			    const size_t *displs, void *recv, size_t count,
			    hcommDataType_t dtype, int root, hcommComm_t comm);

/**
 * hcommAlltoAllV - a block of every rank to every other
 * @send: blocks to each rank
 * @sendCounts: elements of them
 * @sendDispls: of them in @send
 * @recv: blocks from each rank; in place, on all ranks or none: @send == @recv, and
 *	what is sent to a rank has the count and place of what comes from it:
 *	@sendCounts and @sendDispls are not looked at.  A rank without data
 *	may have NULL for @send, @sendCounts and @recv
 * @recvCounts: elements of them
 * @recvDispls: of them in @recv
 * @dtype: type of the elements
 * @comm: communicator
 */
hcommResult_t hcommAlltoAllV(const void *send, const size_t *sendCounts,
			     const size_t *sendDispls, void *recv,
			     const size_t *recvCounts, const size_t *recvDispls,
			     hcommDataType_t dtype, hcommComm_t comm);

/**
 * hcommBarrier - wait until all ranks are here
 * @comm: communicator
 */
hcommResult_t hcommBarrier(hcommComm_t comm);

#ifdef __cplusplus
}
#endif

#endif /* HCOMM_COLLECTIVES_H */
