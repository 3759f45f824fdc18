// SPDX-License-Identifier: LGPL-2.1-or-later
/* Collectives that reduce. */
#include "collective.h"

static struct hcomm_coll_args reduction(enum hcomm_coll coll, const void *send, void *recv,
					size_t count, hcommDataType_t dtype,
					hcommRedOp_t op, int root)
{
	return (struct hcomm_coll_args){
		.coll = coll, .send = send, .recv = recv, .count = count,
		.dtype = dtype, .op = op, .root = root,
	};
}

hcommResult_t hcommAllReduce(const void *send, void *recv, size_t count,
			     hcommDataType_t dtype, hcommRedOp_t op,
			     hcommComm_t comm)
{
	return hcomm_coll_run(reduction(HCOMM_COLL_ALLREDUCE, send, recv, count, dtype, op, 0),
			      comm);
}

hcommResult_t hcommAllReduceAsync(const void *send, void *recv, size_t count,
				  hcommDataType_t dtype, hcommRedOp_t op,
				  hcommComm_t comm, hcommRequest_t *req)
{
	return hcomm_coll_start(reduction(HCOMM_COLL_ALLREDUCE, send, recv, count, dtype, op, 0),
				comm, req);
}

hcommResult_t hcommAllReduceInit(const void *send, void *recv, size_t count,
				 hcommDataType_t dtype, hcommRedOp_t op,
				 hcommComm_t comm, hcommRequest_t *req)
{
	return hcomm_coll_init(reduction(HCOMM_COLL_ALLREDUCE, send, recv, count, dtype, op, 0),
			       comm, req);
}

hcommResult_t hcommReduce(const void *send, void *recv, size_t count,
			  hcommDataType_t dtype, hcommRedOp_t op, int root,
			  hcommComm_t comm)
{
	return hcomm_coll_run(reduction(HCOMM_COLL_REDUCE, send, recv, count, dtype, op, root),
			      comm);
}

hcommResult_t hcommReduceAsync(const void *send, void *recv, size_t count,
			       hcommDataType_t dtype, hcommRedOp_t op, int root,
			       hcommComm_t comm, hcommRequest_t *req)
{
	return hcomm_coll_start(reduction(HCOMM_COLL_REDUCE, send, recv, count, dtype, op, root),
				comm, req);
}

hcommResult_t hcommReduceInit(const void *send, void *recv, size_t count,
			      hcommDataType_t dtype, hcommRedOp_t op, int root,
			      hcommComm_t comm, hcommRequest_t *req)
{
	return hcomm_coll_init(reduction(HCOMM_COLL_REDUCE, send, recv, count, dtype, op, root),
			       comm, req);
}

hcommResult_t hcommReduceScatter(const void *send, void *recv, size_t count,
				 hcommDataType_t dtype, hcommRedOp_t op,
				 hcommComm_t comm)
{
	return hcomm_coll_run(reduction(HCOMM_COLL_REDUCE_SCATTER, send, recv, count, dtype, op, 0),
			      comm);
}

hcommResult_t hcommReduceScatterAsync(const void *send, void *recv,
				      size_t count, hcommDataType_t dtype,
				      hcommRedOp_t op, hcommComm_t comm,
				      hcommRequest_t *req)
{
	return hcomm_coll_start(reduction(HCOMM_COLL_REDUCE_SCATTER, send, recv, count, dtype, op, 0),
				comm, req);
}

hcommResult_t hcommReduceScatterInit(const void *send, void *recv, size_t count,
				     hcommDataType_t dtype, hcommRedOp_t op,
				     hcommComm_t comm, hcommRequest_t *req)
{
	return hcomm_coll_init(reduction(HCOMM_COLL_REDUCE_SCATTER, send, recv, count, dtype, op, 0),
			       comm, req);
}

hcommResult_t hcommScan(const void *send, void *recv, size_t count,
			hcommDataType_t dtype, hcommRedOp_t op, hcommComm_t comm)
{
	return hcomm_coll_run(reduction(HCOMM_COLL_SCAN, send, recv, count, dtype, op, 0),
			      comm);
}

hcommResult_t hcommScanAsync(const void *send, void *recv, size_t count,
			     hcommDataType_t dtype, hcommRedOp_t op,
			     hcommComm_t comm, hcommRequest_t *req)
{
	return hcomm_coll_start(reduction(HCOMM_COLL_SCAN, send, recv, count, dtype, op, 0),
				comm, req);
}

hcommResult_t hcommScanInit(const void *send, void *recv, size_t count,
			    hcommDataType_t dtype, hcommRedOp_t op, hcommComm_t comm,
			    hcommRequest_t *req)
{
	return hcomm_coll_init(reduction(HCOMM_COLL_SCAN, send, recv, count, dtype, op, 0),
			       comm, req);
}

hcommResult_t hcommExscan(const void *send, void *recv, size_t count,
			  hcommDataType_t dtype, hcommRedOp_t op, hcommComm_t comm)
{
	return hcomm_coll_run(reduction(HCOMM_COLL_EXSCAN, send, recv, count, dtype, op, 0),
			      comm);
}

hcommResult_t hcommExscanAsync(const void *send, void *recv, size_t count,
			       hcommDataType_t dtype, hcommRedOp_t op,
			       hcommComm_t comm, hcommRequest_t *req)
{
	return hcomm_coll_start(reduction(HCOMM_COLL_EXSCAN, send, recv, count, dtype, op, 0),
				comm, req);
}

hcommResult_t hcommExscanInit(const void *send, void *recv, size_t count,
			      hcommDataType_t dtype, hcommRedOp_t op,
			      hcommComm_t comm, hcommRequest_t *req)
{
	return hcomm_coll_init(reduction(HCOMM_COLL_EXSCAN, send, recv, count, dtype, op, 0),
			       comm, req);
}
