// SPDX-License-Identifier: LGPL-2.1-or-later
/* V forms: blocks of unequal length. */
#include "collective.h"

static struct hcomm_coll_args all_gather(const void *send, void *recv, const size_t *counts,
					 const size_t *displs, hcommDataType_t dtype)
{
	return (struct hcomm_coll_args){
		.coll = HCOMM_COLL_ALLGATHER, .vector = true, .send = send, .recv = recv,
		.received = { counts, displs }, .dtype = dtype,
	};
}

hcommResult_t hcommAllGatherV(const void *send, void *recv, const size_t *counts,
			      const size_t *displs, hcommDataType_t dtype,
			      hcommComm_t comm)
{
	return hcomm_coll_run(all_gather(send, recv, counts, displs, dtype), comm);
}

hcommResult_t hcommAllGatherVAsync(const void *send, void *recv, const size_t *counts,
				   const size_t *displs, hcommDataType_t dtype,
				   hcommComm_t comm, hcommRequest_t *req)
{
	return hcomm_coll_start(all_gather(send, recv, counts, displs, dtype), comm, req);
}

hcommResult_t hcommAllGatherVInit(const void *send, void *recv, const size_t *counts,
				  const size_t *displs, hcommDataType_t dtype,
				  hcommComm_t comm, hcommRequest_t *req)
{
	return hcomm_coll_init(all_gather(send, recv, counts, displs, dtype), comm, req);
}

static struct hcomm_coll_args reduce_scatter(const void *send, void *recv,
					     const size_t *counts, hcommDataType_t dtype,
					     hcommRedOp_t op)
{
	return (struct hcomm_coll_args){
		.coll = HCOMM_COLL_REDUCE_SCATTER, .vector = true, .send = send,
		.recv = recv, .sent = { counts, NULL }, .dtype = dtype, .op = op,
	};
}

hcommResult_t hcommReduceScatterV(const void *send, void *recv, const size_t *counts,
				  hcommDataType_t dtype, hcommRedOp_t op,
				  hcommComm_t comm)
{
	return hcomm_coll_run(reduce_scatter(send, recv, counts, dtype, op), comm);
}

hcommResult_t hcommReduceScatterVAsync(const void *send, void *recv,
				       const size_t *counts, hcommDataType_t dtype,
				       hcommRedOp_t op, hcommComm_t comm,
				       hcommRequest_t *req)
{
	return hcomm_coll_start(reduce_scatter(send, recv, counts, dtype, op), comm, req);
}

hcommResult_t hcommReduceScatterVInit(const void *send, void *recv,
				      const size_t *counts, hcommDataType_t dtype,
				      hcommRedOp_t op, hcommComm_t comm,
				      hcommRequest_t *req)
{
	return hcomm_coll_init(reduce_scatter(send, recv, counts, dtype, op), comm, req);
}

static struct hcomm_coll_args gather(const void *send, size_t count, void *recv,
				     const size_t *counts, const size_t *displs,
				     hcommDataType_t dtype, int root)
{
	return (struct hcomm_coll_args){
		.coll = HCOMM_COLL_GATHER, .vector = true, .send = send, .count = count,
		.recv = recv, .received = { counts, displs }, .dtype = dtype, .root = root,
	};
}

hcommResult_t hcommGatherV(const void *send, size_t count, void *recv,
			   const size_t *counts, const size_t *displs,
			   hcommDataType_t dtype, int root, hcommComm_t comm)
{
	return hcomm_coll_run(gather(send, count, recv, counts, displs, dtype, root), comm);
}

hcommResult_t hcommGatherVAsync(const void *send, size_t count, void *recv,
				const size_t *counts, const size_t *displs,
				hcommDataType_t dtype, int root, hcommComm_t comm,
				hcommRequest_t *req)
{
	return hcomm_coll_start(gather(send, count, recv, counts, displs, dtype, root),
				comm, req);
}

hcommResult_t hcommGatherVInit(const void *send, size_t count, void *recv,
			       const size_t *counts, const size_t *displs,
			       hcommDataType_t dtype, int root, hcommComm_t comm,
			       hcommRequest_t *req)
{
	return hcomm_coll_init(gather(send, count, recv, counts, displs, dtype, root),
			       comm, req);
}

static struct hcomm_coll_args scatter(const void *send, const size_t *counts,
				      const size_t *displs, void *recv, size_t count,
				      hcommDataType_t dtype, int root)
{
	return (struct hcomm_coll_args){
		.coll = HCOMM_COLL_SCATTER, .vector = true, .send = send,
		.sent = { counts, displs }, .recv = recv, .count = count,
		.dtype = dtype, .root = root,
	};
}

hcommResult_t hcommScatterV(const void *send, const size_t *counts,
			    const size_t *displs, void *recv, size_t count,
			    hcommDataType_t dtype, int root, hcommComm_t comm)
{
	return hcomm_coll_run(scatter(send, counts, displs, recv, count, dtype, root), comm);
}

hcommResult_t hcommScatterVAsync(const void *send, const size_t *counts,
				 const size_t *displs, void *recv, size_t count,
				 hcommDataType_t dtype, int root, hcommComm_t comm,
				 hcommRequest_t *req)
{
	return hcomm_coll_start(scatter(send, counts, displs, recv, count, dtype, root),
				comm, req);
}

hcommResult_t hcommScatterVInit(const void *send, const size_t *counts,
				const size_t *displs, void *recv, size_t count,
				hcommDataType_t dtype, int root, hcommComm_t comm,
				hcommRequest_t *req)
{
	return hcomm_coll_init(scatter(send, counts, displs, recv, count, dtype, root),
			       comm, req);
}

static struct hcomm_coll_args all_to_all(const void *send, const size_t *send_counts,
					 const size_t *send_displs, void *recv,
					 const size_t *recv_counts,
					 const size_t *recv_displs, hcommDataType_t dtype)
{
	return (struct hcomm_coll_args){
		.coll = HCOMM_COLL_ALLTOALL, .vector = true, .send = send, .recv = recv,
		.sent = { send_counts, send_displs },
		.received = { recv_counts, recv_displs }, .dtype = dtype,
	};
}

hcommResult_t hcommAlltoAllV(const void *send, const size_t *sendCounts,
			     const size_t *sendDispls, void *recv,
			     const size_t *recvCounts, const size_t *recvDispls,
			     hcommDataType_t dtype, hcommComm_t comm)
{
	return hcomm_coll_run(all_to_all(send, sendCounts, sendDispls, recv,
					 recvCounts, recvDispls, dtype),
			      comm);
}

hcommResult_t hcommAlltoAllVAsync(const void *send, const size_t *sendCounts,
				  const size_t *sendDispls, void *recv,
				  const size_t *recvCounts, const size_t *recvDispls,
				  hcommDataType_t dtype, hcommComm_t comm,
				  hcommRequest_t *req)
{
	return hcomm_coll_start(all_to_all(send, sendCounts, sendDispls, recv,
					   recvCounts, recvDispls, dtype),
				comm, req);
}

hcommResult_t hcommAlltoAllVInit(const void *send, const size_t *sendCounts,
				 const size_t *sendDispls, void *recv,
				 const size_t *recvCounts, const size_t *recvDispls,
				 hcommDataType_t dtype, hcommComm_t comm,
				 hcommRequest_t *req)
{
	return hcomm_coll_init(all_to_all(send, sendCounts, sendDispls, recv,
					  recvCounts, recvDispls, dtype),
			       comm, req);
}
