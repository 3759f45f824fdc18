// SPDX-License-Identifier: LGPL-2.1-or-later
/* Collectives that move blocks: gathers, scatter, all to all. */
#include "api.h"

static hcommResult_t all_gather(const void *send, void *recv, size_t count,
				hcommDataType_t dtype, hcommComm_t handle,
				enum hcomm_form form, hcommRequest_t *req)
{
	struct hcomm_call_args call = {
		.name = "AllGather", .coll = HCOMM_COLL_ALLGATHER,
		.dtype = dtype, .count = count, .send = send, .recv = recv,
	};
	uint64_t all = 0, block = 0;
	struct hcomm_comm *comm;
	hcommResult_t ret;

	ret = hcomm_api_sound(handle, &comm);
	if (!ret)
		ret = hcomm_api_type(call.name, dtype);
	if (!ret)
		ret = hcomm_api_bytes(call.name, count, dtype, 1, &block);
	if (!ret)
		ret = hcomm_api_bytes(call.name, count, dtype, comm->nranks, &all);
	if (ret)
		return ret;
	call.in_place = hcomm_api_is_block(send, recv, comm->rank, block);
	ret = hcomm_api_buffers(&call, block, all);
	return ret ? ret : hcomm_api_launch(comm, &call, form, req);
}

hcommResult_t hcommAllGather(const void *send, void *recv, size_t count,
			     hcommDataType_t dtype, hcommComm_t comm)
{
	return all_gather(send, recv, count, dtype, comm, HCOMM_FORM_BLOCKING, NULL);
}

hcommResult_t hcommAllGatherAsync(const void *send, void *recv, size_t count,
				  hcommDataType_t dtype, hcommComm_t comm,
				  hcommRequest_t *req)
{
	return all_gather(send, recv, count, dtype, comm, HCOMM_FORM_ASYNC, req);
}

hcommResult_t hcommAllGatherInit(const void *send, void *recv, size_t count,
				 hcommDataType_t dtype, hcommComm_t comm,
				 hcommRequest_t *req)
{
	return all_gather(send, recv, count, dtype, comm, HCOMM_FORM_INIT, req);
}

/* ------------------------------------------------------------ gather, scatter */

/* the root's buffers: one block, and all of them; @all_bytes is 0 elsewhere */
static hcommResult_t check_rooted(const char *name, size_t count,
				  hcommDataType_t dtype, int root, hcommComm_t handle,
				  struct hcomm_comm **comm, uint64_t *block,
				  uint64_t *all_bytes)
{
	hcommResult_t ret;

	ret = hcomm_api_sound(handle, comm);
	if (!ret)
		ret = hcomm_api_type(name, dtype);
	if (!ret)
		ret = hcomm_api_root(*comm, name, root);
	if (!ret)
		ret = hcomm_api_bytes(name, count, dtype, 1, block);
	if (!ret)
		ret = hcomm_api_bytes(name, count, dtype, (*comm)->nranks, all_bytes);
	return ret;
}

static hcommResult_t gather(const void *send, void *recv, size_t count,
			    hcommDataType_t dtype, int root, hcommComm_t handle,
			    enum hcomm_form form, hcommRequest_t *req)
{
	struct hcomm_call_args call = {
		.name = "Gather", .coll = HCOMM_COLL_GATHER, .dtype = dtype,
		.count = count, .root = (uint32_t)root, .send = send,
	};
	uint64_t all = 0, block = 0;
	struct hcomm_comm *comm;
	hcommResult_t ret;

	ret = check_rooted(call.name, count, dtype, root, handle, &comm, &block, &all);
	if (ret)
		return ret;
	if (call.root == comm->rank) {
		call.recv = recv;
		call.in_place = hcomm_api_is_block(send, recv, call.root, block);
	} else {
		all = 0;
	}
	ret = hcomm_api_buffers(&call, block, all);
	return ret ? ret : hcomm_api_launch(comm, &call, form, req);
}

hcommResult_t hcommGather(const void *send, void *recv, size_t count,
			  hcommDataType_t dtype, int root, hcommComm_t comm)
{
	return gather(send, recv, count, dtype, root, comm, HCOMM_FORM_BLOCKING, NULL);
}

hcommResult_t hcommGatherAsync(const void *send, void *recv, size_t count,
			       hcommDataType_t dtype, int root, hcommComm_t comm,
			       hcommRequest_t *req)
{
	return gather(send, recv, count, dtype, root, comm, HCOMM_FORM_ASYNC, req);
}

hcommResult_t hcommGatherInit(const void *send, void *recv, size_t count,
			      hcommDataType_t dtype, int root, hcommComm_t comm,
			      hcommRequest_t *req)
{
	return gather(send, recv, count, dtype, root, comm, HCOMM_FORM_INIT, req);
}

static hcommResult_t scatter(const void *send, void *recv, size_t count,
			     hcommDataType_t dtype, int root, hcommComm_t handle,
			     enum hcomm_form form, hcommRequest_t *req)
{
	struct hcomm_call_args call = {
		.name = "Scatter", .coll = HCOMM_COLL_SCATTER, .dtype = dtype,
		.count = count, .root = (uint32_t)root, .recv = recv,
	};
	uint64_t all = 0, block = 0;
	struct hcomm_comm *comm;
	hcommResult_t ret;

	ret = check_rooted(call.name, count, dtype, root, handle, &comm, &block, &all);
	if (ret)
		return ret;
	if (call.root == comm->rank) {
		call.send = send;
		call.in_place = hcomm_api_is_block(recv, send, call.root, block);
	} else {
		all = 0;
	}
	ret = hcomm_api_buffers(&call, all, block);
	/* in place the plan works on the whole input */
	if (call.in_place)
		call.recv = (void *)send;
	return ret ? ret : hcomm_api_launch(comm, &call, form, req);
}

hcommResult_t hcommScatter(const void *send, void *recv, size_t count,
			   hcommDataType_t dtype, int root, hcommComm_t comm)
{
	return scatter(send, recv, count, dtype, root, comm, HCOMM_FORM_BLOCKING, NULL);
}

hcommResult_t hcommScatterAsync(const void *send, void *recv, size_t count,
				hcommDataType_t dtype, int root, hcommComm_t comm,
				hcommRequest_t *req)
{
	return scatter(send, recv, count, dtype, root, comm, HCOMM_FORM_ASYNC, req);
}

hcommResult_t hcommScatterInit(const void *send, void *recv, size_t count,
			       hcommDataType_t dtype, int root, hcommComm_t comm,
			       hcommRequest_t *req)
{
	return scatter(send, recv, count, dtype, root, comm, HCOMM_FORM_INIT, req);
}

/* ----------------------------------------------------------------- all to all */

static hcommResult_t all_to_all(const void *send, void *recv, size_t count,
				hcommDataType_t dtype, hcommComm_t handle,
				enum hcomm_form form, hcommRequest_t *req)
{
	struct hcomm_call_args call = {
		.name = "AlltoAll", .coll = HCOMM_COLL_ALLTOALL, .dtype = dtype,
		.count = count, .in_place = send == recv, .send = send, .recv = recv,
	};
	struct hcomm_comm *comm;
	uint64_t all = 0;
	hcommResult_t ret;

	ret = hcomm_api_sound(handle, &comm);
	if (!ret)
		ret = hcomm_api_type(call.name, dtype);
	if (!ret)
		ret = hcomm_api_bytes(call.name, count, dtype, comm->nranks, &all);
	if (!ret)
		ret = hcomm_api_buffers(&call, all, all);
	return ret ? ret : hcomm_api_launch(comm, &call, form, req);
}

hcommResult_t hcommAlltoAll(const void *send, void *recv, size_t count,
			    hcommDataType_t dtype, hcommComm_t comm)
{
	return all_to_all(send, recv, count, dtype, comm, HCOMM_FORM_BLOCKING, NULL);
}

hcommResult_t hcommAlltoAllAsync(const void *send, void *recv, size_t count,
				 hcommDataType_t dtype, hcommComm_t comm,
				 hcommRequest_t *req)
{
	return all_to_all(send, recv, count, dtype, comm, HCOMM_FORM_ASYNC, req);
}

hcommResult_t hcommAlltoAllInit(const void *send, void *recv, size_t count,
				hcommDataType_t dtype, hcommComm_t comm,
				hcommRequest_t *req)
{
	return all_to_all(send, recv, count, dtype, comm, HCOMM_FORM_INIT, req);
}
