// SPDX-License-Identifier: LGPL-2.1-or-later
/* Collectives that reduce. */
#include "api.h"

static hcommResult_t all_reduce(const void *send, void *recv, size_t count,
				hcommDataType_t dtype, hcommRedOp_t op,
				hcommComm_t handle, enum hcomm_form form, hcommRequest_t *req)
{
	struct hcomm_call_args call = {
		.name = "AllReduce", .coll = HCOMM_COLL_ALLREDUCE,
		.dtype = dtype, .count = count,
		.in_place = send == recv, .send = send, .recv = recv,
	};
	struct hcomm_comm *comm;
	uint64_t bytes = 0;
	hcommResult_t ret;

	ret = hcomm_api_sound(handle, &comm);
	if (!ret)
		ret = hcomm_api_type(call.name, dtype);
	if (!ret)
		ret = hcomm_api_redop(comm, op, &call);
	if (!ret)
		ret = hcomm_api_bytes(call.name, count, dtype, 1, &bytes);
	if (!ret)
		ret = hcomm_api_buffers(&call, bytes, bytes);
	return ret ? ret : hcomm_api_launch(comm, &call, form, req);
}

hcommResult_t hcommAllReduce(const void *send, void *recv, size_t count,
			     hcommDataType_t dtype, hcommRedOp_t op,
			     hcommComm_t comm)
{
	return all_reduce(send, recv, count, dtype, op, comm, HCOMM_FORM_BLOCKING, NULL);
}

hcommResult_t hcommAllReduceAsync(const void *send, void *recv, size_t count,
				  hcommDataType_t dtype, hcommRedOp_t op,
				  hcommComm_t comm, hcommRequest_t *req)
{
	return all_reduce(send, recv, count, dtype, op, comm, HCOMM_FORM_ASYNC, req);
}

hcommResult_t hcommAllReduceInit(const void *send, void *recv, size_t count,
				 hcommDataType_t dtype, hcommRedOp_t op,
				 hcommComm_t comm, hcommRequest_t *req)
{
	return all_reduce(send, recv, count, dtype, op, comm, HCOMM_FORM_INIT, req);
}

static hcommResult_t reduce(const void *send, void *recv, size_t count,
			    hcommDataType_t dtype, hcommRedOp_t op, int root,
			    hcommComm_t handle, enum hcomm_form form, hcommRequest_t *req)
{
	struct hcomm_call_args call = {
		.name = "Reduce", .coll = HCOMM_COLL_REDUCE, .dtype = dtype,
		.count = count, .send = send,
	};
	struct hcomm_comm *comm;
	uint64_t bytes = 0;
	hcommResult_t ret;

	ret = hcomm_api_sound(handle, &comm);
	if (!ret)
		ret = hcomm_api_type(call.name, dtype);
	if (!ret)
		ret = hcomm_api_redop(comm, op, &call);
	if (!ret)
		ret = hcomm_api_root(comm, call.name, root);
	if (!ret)
		ret = hcomm_api_bytes(call.name, count, dtype, 1, &bytes);
	if (ret)
		return ret;
	call.root = (uint32_t)root;
	if (call.root == comm->rank) {
		call.recv = recv;
		call.in_place = send == recv;
		ret = hcomm_api_buffers(&call, bytes, bytes);
	} else {
		ret = hcomm_api_buffer(call.name, "send", send, bytes);
	}
	return ret ? ret : hcomm_api_launch(comm, &call, form, req);
}

hcommResult_t hcommReduce(const void *send, void *recv, size_t count,
			  hcommDataType_t dtype, hcommRedOp_t op, int root,
			  hcommComm_t comm)
{
	return reduce(send, recv, count, dtype, op, root, comm, HCOMM_FORM_BLOCKING, NULL);
}

hcommResult_t hcommReduceAsync(const void *send, void *recv, size_t count,
			       hcommDataType_t dtype, hcommRedOp_t op, int root,
			       hcommComm_t comm, hcommRequest_t *req)
{
	return reduce(send, recv, count, dtype, op, root, comm, HCOMM_FORM_ASYNC, req);
}

hcommResult_t hcommReduceInit(const void *send, void *recv, size_t count,
			      hcommDataType_t dtype, hcommRedOp_t op, int root,
			      hcommComm_t comm, hcommRequest_t *req)
{
	return reduce(send, recv, count, dtype, op, root, comm, HCOMM_FORM_INIT, req);
}

static hcommResult_t reduce_scatter(const void *send, void *recv, size_t count,
				    hcommDataType_t dtype, hcommRedOp_t op,
				    hcommComm_t handle, enum hcomm_form form, hcommRequest_t *req)
{
	struct hcomm_call_args call = {
		.name = "ReduceScatter", .coll = HCOMM_COLL_REDUCE_SCATTER,
		.dtype = dtype, .count = count,
		.send = send, .recv = recv,
	};
	uint64_t all = 0, block = 0;
	struct hcomm_comm *comm;
	hcommResult_t ret;

	ret = hcomm_api_sound(handle, &comm);
	if (!ret)
		ret = hcomm_api_type(call.name, dtype);
	if (!ret)
		ret = hcomm_api_redop(comm, op, &call);
	if (!ret)
		ret = hcomm_api_bytes(call.name, count, dtype, 1, &block);
	if (!ret)
		ret = hcomm_api_bytes(call.name, count, dtype, comm->nranks, &all);
	if (ret)
		return ret;
	call.in_place = hcomm_api_is_block(recv, send, comm->rank, block);
	ret = hcomm_api_buffers(&call, all, block);
	/* in place the plan works on the whole input */
	if (call.in_place)
		call.recv = (void *)send;
	return ret ? ret : hcomm_api_launch(comm, &call, form, req);
}

hcommResult_t hcommReduceScatter(const void *send, void *recv, size_t count,
				 hcommDataType_t dtype, hcommRedOp_t op,
				 hcommComm_t comm)
{
	return reduce_scatter(send, recv, count, dtype, op, comm, HCOMM_FORM_BLOCKING, NULL);
}

hcommResult_t hcommReduceScatterAsync(const void *send, void *recv, size_t count,
				      hcommDataType_t dtype, hcommRedOp_t op,
				      hcommComm_t comm, hcommRequest_t *req)
{
	return reduce_scatter(send, recv, count, dtype, op, comm, HCOMM_FORM_ASYNC, req);
}

hcommResult_t hcommReduceScatterInit(const void *send, void *recv, size_t count,
				     hcommDataType_t dtype, hcommRedOp_t op,
				     hcommComm_t comm, hcommRequest_t *req)
{
	return reduce_scatter(send, recv, count, dtype, op, comm, HCOMM_FORM_INIT, req);
}
