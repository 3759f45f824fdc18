// SPDX-License-Identifier: LGPL-2.1-or-later
/* Collectives that only move data, and the barrier. */
#include "collective.h"

static struct hcomm_coll_args movement(enum hcomm_coll coll, const void *send, void *recv,
				       size_t count, hcommDataType_t dtype, int root)
{
	return (struct hcomm_coll_args){
		.coll = coll, .send = send, .recv = recv, .count = count,
		.dtype = dtype, .root = root,
	};
}

hcommResult_t hcommBroadcast(const void *send, void *recv, size_t count,
			     hcommDataType_t dtype, int root, hcommComm_t comm)
{
	return hcomm_coll_run(movement(HCOMM_COLL_BROADCAST, send, recv, count, dtype, root),
			      comm);
}

hcommResult_t hcommBroadcastAsync(const void *send, void *recv, size_t count,
				  hcommDataType_t dtype, int root,
				  hcommComm_t comm, hcommRequest_t *req)
{
	return hcomm_coll_start(movement(HCOMM_COLL_BROADCAST, send, recv, count, dtype, root),
				comm, req);
}

hcommResult_t hcommBroadcastInit(const void *send, void *recv, size_t count,
				 hcommDataType_t dtype, int root, hcommComm_t comm,
				 hcommRequest_t *req)
{
	return hcomm_coll_init(movement(HCOMM_COLL_BROADCAST, send, recv, count, dtype, root),
			       comm, req);
}

hcommResult_t hcommBcast(void *buf, size_t count, hcommDataType_t dtype,
			 int root, hcommComm_t comm)
{
	return hcomm_coll_run(movement(HCOMM_COLL_BROADCAST, buf, buf, count, dtype, root),
			      comm);
}

hcommResult_t hcommBcastAsync(void *buf, size_t count, hcommDataType_t dtype,
			      int root, hcommComm_t comm, hcommRequest_t *req)
{
	return hcomm_coll_start(movement(HCOMM_COLL_BROADCAST, buf, buf, count, dtype, root),
				comm, req);
}

hcommResult_t hcommBcastInit(void *buf, size_t count, hcommDataType_t dtype, int root,
			     hcommComm_t comm, hcommRequest_t *req)
{
	return hcomm_coll_init(movement(HCOMM_COLL_BROADCAST, buf, buf, count, dtype, root),
			       comm, req);
}

hcommResult_t hcommAllGather(const void *send, void *recv, size_t count,
			     hcommDataType_t dtype, hcommComm_t comm)
{
	return hcomm_coll_run(movement(HCOMM_COLL_ALLGATHER, send, recv, count, dtype, 0),
			      comm);
}

hcommResult_t hcommAllGatherAsync(const void *send, void *recv, size_t count,
				  hcommDataType_t dtype, hcommComm_t comm,
				  hcommRequest_t *req)
{
	return hcomm_coll_start(movement(HCOMM_COLL_ALLGATHER, send, recv, count, dtype, 0),
				comm, req);
}

hcommResult_t hcommAllGatherInit(const void *send, void *recv, size_t count,
				 hcommDataType_t dtype, hcommComm_t comm,
				 hcommRequest_t *req)
{
	return hcomm_coll_init(movement(HCOMM_COLL_ALLGATHER, send, recv, count, dtype, 0),
			       comm, req);
}

hcommResult_t hcommGather(const void *send, void *recv, size_t count,
			  hcommDataType_t dtype, int root, hcommComm_t comm)
{
	return hcomm_coll_run(movement(HCOMM_COLL_GATHER, send, recv, count, dtype, root),
			      comm);
}

hcommResult_t hcommGatherAsync(const void *send, void *recv, size_t count,
			       hcommDataType_t dtype, int root, hcommComm_t comm,
			       hcommRequest_t *req)
{
	return hcomm_coll_start(movement(HCOMM_COLL_GATHER, send, recv, count, dtype, root),
				comm, req);
}

hcommResult_t hcommGatherInit(const void *send, void *recv, size_t count,
			      hcommDataType_t dtype, int root, hcommComm_t comm,
			      hcommRequest_t *req)
{
	return hcomm_coll_init(movement(HCOMM_COLL_GATHER, send, recv, count, dtype, root),
			       comm, req);
}

hcommResult_t hcommScatter(const void *send, void *recv, size_t count,
			   hcommDataType_t dtype, int root, hcommComm_t comm)
{
	return hcomm_coll_run(movement(HCOMM_COLL_SCATTER, send, recv, count, dtype, root),
			      comm);
}

hcommResult_t hcommScatterAsync(const void *send, void *recv, size_t count,
				hcommDataType_t dtype, int root, hcommComm_t comm,
				hcommRequest_t *req)
{
	return hcomm_coll_start(movement(HCOMM_COLL_SCATTER, send, recv, count, dtype, root),
				comm, req);
}

hcommResult_t hcommScatterInit(const void *send, void *recv, size_t count,
			       hcommDataType_t dtype, int root, hcommComm_t comm,
			       hcommRequest_t *req)
{
	return hcomm_coll_init(movement(HCOMM_COLL_SCATTER, send, recv, count, dtype, root),
			       comm, req);
}

hcommResult_t hcommAlltoAll(const void *send, void *recv, size_t count,
			    hcommDataType_t dtype, hcommComm_t comm)
{
	return hcomm_coll_run(movement(HCOMM_COLL_ALLTOALL, send, recv, count, dtype, 0),
			      comm);
}

hcommResult_t hcommAlltoAllAsync(const void *send, void *recv, size_t count,
				 hcommDataType_t dtype, hcommComm_t comm,
				 hcommRequest_t *req)
{
	return hcomm_coll_start(movement(HCOMM_COLL_ALLTOALL, send, recv, count, dtype, 0),
				comm, req);
}

hcommResult_t hcommAlltoAllInit(const void *send, void *recv, size_t count,
				hcommDataType_t dtype, hcommComm_t comm,
				hcommRequest_t *req)
{
	return hcomm_coll_init(movement(HCOMM_COLL_ALLTOALL, send, recv, count, dtype, 0),
			       comm, req);
}

static struct hcomm_coll_args meeting(void)
{
	return (struct hcomm_coll_args){ .coll = HCOMM_COLL_BARRIER };
}

hcommResult_t hcommBarrier(hcommComm_t comm)
{
	return hcomm_coll_run(meeting(), comm);
}

hcommResult_t hcommBarrierAsync(hcommComm_t comm, hcommRequest_t *req)
{
	return hcomm_coll_start(meeting(), comm, req);
}

hcommResult_t hcommBarrierInit(hcommComm_t comm, hcommRequest_t *req)
{
	return hcomm_coll_init(meeting(), comm, req);
}
