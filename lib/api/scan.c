// SPDX-License-Identifier: LGPL-2.1-or-later
/* Prefixes over the ranks: Scan with, Exscan without the rank's own input. */
#include "api.h"

static hcommResult_t scan(struct hcomm_call_args *call, hcommRedOp_t op,
			  hcommComm_t handle, enum hcomm_form form,
			  hcommRequest_t *req)
{
	struct hcomm_comm *comm;
	uint64_t bytes = 0, out;
	hcommResult_t ret;

	ret = hcomm_api_sound(handle, &comm);
	if (!ret)
		ret = hcomm_api_type(call->name, (hcommDataType_t)call->dtype);
	if (!ret)
		ret = hcomm_api_redop(comm, op, call);
	if (!ret)
		ret = hcomm_api_bytes(call->name, call->count, call->dtype, 1, &bytes);
	if (ret)
		return ret;
	/* nothing comes before rank 0 */
	out = call->coll == HCOMM_COLL_EXSCAN && !comm->rank ? 0 : bytes;
	call->in_place = call->send == call->recv;
	ret = hcomm_api_buffers(call, bytes, out);
	return ret ? ret : hcomm_api_launch(comm, call, form, req);
}

static hcommResult_t inclusive(const void *send, void *recv, size_t count,
			       hcommDataType_t dtype, hcommRedOp_t op,
			       hcommComm_t comm, enum hcomm_form form,
			       hcommRequest_t *req)
{
	struct hcomm_call_args call = {
		.name = "Scan", .coll = HCOMM_COLL_SCAN, .dtype = dtype,
		.count = count, .send = send, .recv = recv,
	};

	return scan(&call, op, comm, form, req);
}

static hcommResult_t exclusive(const void *send, void *recv, size_t count,
			       hcommDataType_t dtype, hcommRedOp_t op,
			       hcommComm_t comm, enum hcomm_form form,
			       hcommRequest_t *req)
{
	struct hcomm_call_args call = {
		.name = "Exscan", .coll = HCOMM_COLL_EXSCAN, .dtype = dtype,
		.count = count, .send = send, .recv = recv,
	};

	return scan(&call, op, comm, form, req);
}

hcommResult_t hcommScan(const void *send, void *recv, size_t count,
			hcommDataType_t dtype, hcommRedOp_t op, hcommComm_t comm)
{
	return inclusive(send, recv, count, dtype, op, comm, HCOMM_FORM_BLOCKING, NULL);
}

hcommResult_t hcommScanAsync(const void *send, void *recv, size_t count,
			     hcommDataType_t dtype, hcommRedOp_t op,
			     hcommComm_t comm, hcommRequest_t *req)
{
	return inclusive(send, recv, count, dtype, op, comm, HCOMM_FORM_ASYNC, req);
}

hcommResult_t hcommScanInit(const void *send, void *recv, size_t count,
			    hcommDataType_t dtype, hcommRedOp_t op, hcommComm_t comm,
			    hcommRequest_t *req)
{
	return inclusive(send, recv, count, dtype, op, comm, HCOMM_FORM_INIT, req);
}

hcommResult_t hcommExscan(const void *send, void *recv, size_t count,
			  hcommDataType_t dtype, hcommRedOp_t op, hcommComm_t comm)
{
	return exclusive(send, recv, count, dtype, op, comm, HCOMM_FORM_BLOCKING, NULL);
}

hcommResult_t hcommExscanAsync(const void *send, void *recv, size_t count,
			     hcommDataType_t dtype, hcommRedOp_t op,
			     hcommComm_t comm, hcommRequest_t *req)
{
	return exclusive(send, recv, count, dtype, op, comm, HCOMM_FORM_ASYNC, req);
}

hcommResult_t hcommExscanInit(const void *send, void *recv, size_t count,
			      hcommDataType_t dtype, hcommRedOp_t op,
			      hcommComm_t comm, hcommRequest_t *req)
{
	return exclusive(send, recv, count, dtype, op, comm, HCOMM_FORM_INIT, req);
}
