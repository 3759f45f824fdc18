// SPDX-License-Identifier: LGPL-2.1-or-later
/* Broadcast, and the barrier. */
#include "api.h"

static hcommResult_t broadcast(const void *send, void *recv, size_t count,
			       hcommDataType_t dtype, int root,
			       hcommComm_t handle, enum hcomm_form form, hcommRequest_t *req)
{
	struct hcomm_call_args call = {
		.name = "Broadcast", .coll = HCOMM_COLL_BROADCAST,
		.dtype = dtype, .count = count, .recv = recv,
	};
	struct hcomm_comm *comm;
	uint64_t bytes = 0;
	hcommResult_t ret;

	ret = hcomm_api_sound(handle, &comm);
	if (!ret)
		ret = hcomm_api_type(call.name, dtype);
	if (!ret)
		ret = hcomm_api_root(comm, call.name, root);
	if (!ret)
		ret = hcomm_api_bytes(call.name, count, dtype, 1, &bytes);
	if (ret)
		return ret;
	call.root = (uint32_t)root;
	if (call.root == comm->rank) {
		call.send = send;
		call.in_place = send == recv;
		ret = hcomm_api_buffers(&call, bytes, bytes);
	} else {
		ret = hcomm_api_buffer(call.name, "receive", recv, bytes);
	}
	return ret ? ret : hcomm_api_launch(comm, &call, form, req);
}

hcommResult_t hcommBroadcast(const void *send, void *recv, size_t count,
			     hcommDataType_t dtype, int root, hcommComm_t comm)
{
	return broadcast(send, recv, count, dtype, root, comm, HCOMM_FORM_BLOCKING, NULL);
}

hcommResult_t hcommBroadcastAsync(const void *send, void *recv, size_t count,
				  hcommDataType_t dtype, int root,
				  hcommComm_t comm, hcommRequest_t *req)
{
	return broadcast(send, recv, count, dtype, root, comm, HCOMM_FORM_ASYNC, req);
}

hcommResult_t hcommBroadcastInit(const void *send, void *recv, size_t count,
				 hcommDataType_t dtype, int root, hcommComm_t comm,
				 hcommRequest_t *req)
{
	return broadcast(send, recv, count, dtype, root, comm, HCOMM_FORM_INIT, req);
}

hcommResult_t hcommBcast(void *buf, size_t count, hcommDataType_t dtype, int root,
			 hcommComm_t comm)
{
	return broadcast(buf, buf, count, dtype, root, comm, HCOMM_FORM_BLOCKING, NULL);
}

hcommResult_t hcommBcastAsync(void *buf, size_t count, hcommDataType_t dtype,
			      int root, hcommComm_t comm, hcommRequest_t *req)
{
	return broadcast(buf, buf, count, dtype, root, comm, HCOMM_FORM_ASYNC, req);
}

hcommResult_t hcommBcastInit(void *buf, size_t count, hcommDataType_t dtype, int root,
			     hcommComm_t comm, hcommRequest_t *req)
{
	return broadcast(buf, buf, count, dtype, root, comm, HCOMM_FORM_INIT, req);
}

static hcommResult_t barrier(hcommComm_t handle, enum hcomm_form form, hcommRequest_t *req)
{
	struct hcomm_call_args call = {
		.name = "Barrier", .coll = HCOMM_COLL_BARRIER,
	};
	struct hcomm_comm *comm;
	hcommResult_t ret = hcomm_api_sound(handle, &comm);

	return ret ? ret : hcomm_api_launch(comm, &call, form, req);
}

hcommResult_t hcommBarrier(hcommComm_t comm)
{
	return barrier(comm, HCOMM_FORM_BLOCKING, NULL);
}

hcommResult_t hcommBarrierAsync(hcommComm_t comm, hcommRequest_t *req)
{
	return barrier(comm, HCOMM_FORM_ASYNC, req);
}

hcommResult_t hcommBarrierInit(hcommComm_t comm, hcommRequest_t *req)
{
	return barrier(comm, HCOMM_FORM_INIT, req);
}
