/* SPDX-License-Identifier: MIT */
/*
 * hcomm: calls that return before they are complete, calls that are prepared once and
 * started many times, and the waiting for both.
 */
#ifndef HCOMM_REQUESTS_H
#define HCOMM_REQUESTS_H

#include <hcomm/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The same calls without waiting: the kernel makes progress on its own, and
 * buffers must not be used until the request is complete.  They return
 * HCOMM_ERR_BUSY, and have done nothing, while as many calls are in flight as the
 * communicator (maxRuns) or the plan of that call allows: wait for one, then call
 * again.  @req is set only on success and must be given to hcommWait(),
 * hcommWaitAll() or hcommTest() once.
 */
hcommResult_t hcommSendAsync(const void *buf, size_t n, int dst, int tag,
			     hcommComm_t comm, hcommRequest_t *req);
hcommResult_t hcommRecvAsync(void *buf, size_t n, int src, int tag,
			     hcommComm_t comm, hcommRequest_t *req);
hcommResult_t hcommSendRecvAsync(const void *sendbuf, size_t n, int dst, int sendtag,
				 void *recvbuf, size_t m, int src, int recvtag,
				 hcommComm_t comm, hcommRequest_t *req);
hcommResult_t hcommBatchSendRecvAsync(const hcommP2p_t *ops, int count,
				      hcommComm_t comm, hcommRequest_t *req);
hcommResult_t hcommAllReduceAsync(const void *send, void *recv, size_t count,
				  hcommDataType_t dtype, hcommRedOp_t op,
				  hcommComm_t comm, hcommRequest_t *req);
hcommResult_t hcommBroadcastAsync(const void *send, void *recv, size_t count,
				  hcommDataType_t dtype, int root,
				  hcommComm_t comm, hcommRequest_t *req);
hcommResult_t hcommBcastAsync(void *buf, size_t count, hcommDataType_t dtype,
			      int root, hcommComm_t comm, hcommRequest_t *req);
hcommResult_t hcommReduceAsync(const void *send, void *recv, size_t count,
			       hcommDataType_t dtype, hcommRedOp_t op, int root,
			       hcommComm_t comm, hcommRequest_t *req);
hcommResult_t hcommReduceScatterAsync(const void *send, void *recv,
				      size_t count, hcommDataType_t dtype,
				      hcommRedOp_t op, hcommComm_t comm,
				      hcommRequest_t *req);
hcommResult_t hcommAllGatherAsync(const void *send, void *recv, size_t count,
				  hcommDataType_t dtype, hcommComm_t comm,
				  hcommRequest_t *req);
hcommResult_t hcommGatherAsync(const void *send, void *recv, size_t count,
			       hcommDataType_t dtype, int root, hcommComm_t comm,
			       hcommRequest_t *req);
hcommResult_t hcommScatterAsync(const void *send, void *recv, size_t count,
				hcommDataType_t dtype, int root, hcommComm_t comm,
				hcommRequest_t *req);
hcommResult_t hcommAlltoAllAsync(const void *send, void *recv, size_t count,
				 hcommDataType_t dtype, hcommComm_t comm,
				 hcommRequest_t *req);
hcommResult_t hcommScanAsync(const void *send, void *recv, size_t count,
			     hcommDataType_t dtype, hcommRedOp_t op,
			     hcommComm_t comm, hcommRequest_t *req);
hcommResult_t hcommExscanAsync(const void *send, void *recv, size_t count,
			       hcommDataType_t dtype, hcommRedOp_t op,
			       hcommComm_t comm, hcommRequest_t *req);
hcommResult_t hcommAllGatherVAsync(const void *send, void *recv, const size_t *counts,
				   const size_t *displs, hcommDataType_t dtype,
				   hcommComm_t comm, hcommRequest_t *req);
hcommResult_t hcommReduceScatterVAsync(const void *send, void *recv,
				       const size_t *counts, hcommDataType_t dtype,
				       hcommRedOp_t op, hcommComm_t comm,
				       hcommRequest_t *req);
hcommResult_t hcommGatherVAsync(const void *send, size_t count, void *recv,
				const size_t *counts, const size_t *displs,
				hcommDataType_t dtype, int root, hcommComm_t comm,
				hcommRequest_t *req);
hcommResult_t hcommScatterVAsync(const void *send, const size_t *counts,
				 const size_t *displs, void *recv, size_t count,
				 hcommDataType_t dtype, int root, hcommComm_t comm,
				 hcommRequest_t *req);
hcommResult_t hcommAlltoAllVAsync(const void *send, const size_t *sendCounts,
				  const size_t *sendDispls, void *recv,
				  const size_t *recvCounts, const size_t *recvDispls,
				  hcommDataType_t dtype, hcommComm_t comm,
				  hcommRequest_t *req);
hcommResult_t hcommBarrierAsync(hcommComm_t comm, hcommRequest_t *req);

/**
 * hcommWait - wait until a call is complete
 * @req: request, freed and set to NULL; a persistent one stays, and can be started
 *	again; pointing to NULL, or not in flight: returns at once
 *
 * Return: the result of the call.
 */
hcommResult_t hcommWait(hcommRequest_t *req);

/**
 * hcommTest - is a call complete?
 * @req: request; freed and set to NULL if it is complete, as by hcommWait()
 * @done: out: 1 if it is complete (or @req points to NULL), else 0
 *
 * Return: the result of the call if it is complete, else HCOMM_SUCCESS.
 */
hcommResult_t hcommTest(hcommRequest_t *req, int *done);

/**
 * hcommWaitAll - wait until calls are complete
 * @count: number of requests, may be 0
 * @reqs: requests, all freed and set to NULL, as by hcommWait()
 *
 * Return: the first error in the order of @reqs, else HCOMM_SUCCESS.
 */
hcommResult_t hcommWaitAll(int count, hcommRequest_t *reqs);

/* ----------------------------------------------------------------- persistent */

/*
 * The same calls to be made many times: all that can be done once is done by
 * hcomm<Name>Init(), and hcommStart() only launches.  All ranks must make these
 * calls in the same order as their collectives; nothing is communicated but where
 * links are made.  Buffers are pinned, whatever their size, and must stay mapped
 * until hcommRequestFree(); arrays of counts are looked at only here.  The planner
 * keeps to what it chose here.  A request may outlive its communicator: hcommStart()
 * then returns HCOMM_ERR_INVALID_USAGE, and it is waited for and freed as before.
 */
hcommResult_t hcommSendInit(const void *buf, size_t n, int dst, int tag,
			    hcommComm_t comm, hcommRequest_t *req);
hcommResult_t hcommRecvInit(void *buf, size_t n, int src, int tag, hcommComm_t comm,
			    hcommRequest_t *req);
hcommResult_t hcommAllReduceInit(const void *send, void *recv, size_t count,
				 hcommDataType_t dtype, hcommRedOp_t op,
				 hcommComm_t comm, hcommRequest_t *req);
hcommResult_t hcommBroadcastInit(const void *send, void *recv, size_t count,
				 hcommDataType_t dtype, int root, hcommComm_t comm,
				 hcommRequest_t *req);
hcommResult_t hcommBcastInit(void *buf, size_t count, hcommDataType_t dtype, int root,
			     hcommComm_t comm, hcommRequest_t *req);
hcommResult_t hcommReduceInit(const void *send, void *recv, size_t count,
			      hcommDataType_t dtype, hcommRedOp_t op, int root,
			      hcommComm_t comm, hcommRequest_t *req);
hcommResult_t hcommReduceScatterInit(const void *send, void *recv, size_t count,
				     hcommDataType_t dtype, hcommRedOp_t op,
				     hcommComm_t comm, hcommRequest_t *req);
hcommResult_t hcommAllGatherInit(const void *send, void *recv, size_t count,
				 hcommDataType_t dtype, hcommComm_t comm,
				 hcommRequest_t *req);
hcommResult_t hcommGatherInit(const void *send, void *recv, size_t count,
			      hcommDataType_t dtype, int root, hcommComm_t comm,
			      hcommRequest_t *req);
hcommResult_t hcommScatterInit(const void *send, void *recv, size_t count,
			       hcommDataType_t dtype, int root, hcommComm_t comm,
			       hcommRequest_t *req);
hcommResult_t hcommAlltoAllInit(const void *send, void *recv, size_t count,
				hcommDataType_t dtype, hcommComm_t comm,
				hcommRequest_t *req);
hcommResult_t hcommScanInit(const void *send, void *recv, size_t count,
			    hcommDataType_t dtype, hcommRedOp_t op, hcommComm_t comm,
			    hcommRequest_t *req);
hcommResult_t hcommExscanInit(const void *send, void *recv, size_t count,
			      hcommDataType_t dtype, hcommRedOp_t op,
			      hcommComm_t comm, hcommRequest_t *req);
hcommResult_t hcommAllGatherVInit(const void *send, void *recv, const size_t *counts,
				  const size_t *displs, hcommDataType_t dtype,
				  hcommComm_t comm, hcommRequest_t *req);
hcommResult_t hcommReduceScatterVInit(const void *send, void *recv,
				      const size_t *counts, hcommDataType_t dtype,
				      hcommRedOp_t op, hcommComm_t comm,
				      hcommRequest_t *req);
hcommResult_t hcommGatherVInit(const void *send, size_t count, void *recv,
			       const size_t *counts, const size_t *displs,
			       hcommDataType_t dtype, int root, hcommComm_t comm,
			       hcommRequest_t *req);
hcommResult_t hcommScatterVInit(const void *send, const size_t *counts,
				const size_t *displs, void *recv, size_t count,
				hcommDataType_t dtype, int root, hcommComm_t comm,
				hcommRequest_t *req);
hcommResult_t hcommAlltoAllVInit(const void *send, const size_t *sendCounts,
				 const size_t *sendDispls, void *recv,
				 const size_t *recvCounts, const size_t *recvDispls,
				 hcommDataType_t dtype, hcommComm_t comm,
				 hcommRequest_t *req);
hcommResult_t hcommBarrierInit(hcommComm_t comm, hcommRequest_t *req);

/**
 * hcommStart - make the call of a persistent request
 * @req: request that is not in flight
 *
 * As an Async call: buffers must not be used until hcommWait() or hcommTest() say
 * that it is complete; then it may be started again.  Requests of collectives are
 * started in the same order on all ranks, also as to other collectives.  Errors:
 * HCOMM_ERR_INVALID_USAGE (it is in flight), HCOMM_ERR_BUSY.
 */
hcommResult_t hcommStart(hcommRequest_t req);

/**
 * hcommStartAll - start persistent requests in their order
 * @count: number of requests, may be 0
 * @reqs: requests
 *
 * Return: as hcommStart(); after an error, those before it are in flight and those
 * behind it are not.
 */
hcommResult_t hcommStartAll(int count, const hcommRequest_t *reqs);

/**
 * hcommRequestFree - end a persistent request
 * @req: request that is not in flight, set to NULL; pointing to NULL: nothing
 */
hcommResult_t hcommRequestFree(hcommRequest_t *req);

#ifdef __cplusplus
}
#endif

#endif /* HCOMM_REQUESTS_H */
