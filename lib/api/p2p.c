// SPDX-License-Identifier: LGPL-2.1-or-later
/* Messages between two ranks. */
#include "api.h"

static hcommResult_t p2p(struct hcomm_call_args *call, size_t n, int peer, int tag,
			 bool sends, hcommComm_t handle, enum hcomm_form form,
			 hcommRequest_t *req)
{
	const char *which = sends ? "dst" : "src";
	struct hcomm_comm *comm;
	hcommResult_t ret;

	ret = hcomm_api_sound(handle, &comm);
	if (ret)
		return ret;
	if (peer < 0 || (uint32_t)peer >= comm->nranks)
		return hcomm_api_bad(call->name, which, peer, "a rank");
	/* in a group there is the other end, too */
	if ((uint32_t)peer == comm->rank && !hcomm_api_grouped(form))
		return hcomm_api_bad(call->name, which, peer, "a rank other than this one");
	if (tag < 0 || tag > HCOMM_MAX_TAG)
		return hcomm_api_bad(call->name, "tag", tag, "0 to HCOMM_MAX_TAG");
	if (n > HCOMM_MAX_STEP_LEN)
		return hcomm_fail(HCOMM_ERR_INVALID_ARGUMENT, "%s: n is %zu, must be at most 1 TiB",
				  call->name, n);
	ret = hcomm_api_buffer(call->name, sends ? "send" : "receive",
			       sends ? call->send : call->recv, n);
	if (ret)
		return ret;
	call->coll = HCOMM_COLL_P2P;
	call->dtype = HCOMM_DT_UINT8;
	call->root = sends ? comm->rank : (uint32_t)peer;
	call->peer = sends ? (uint32_t)peer : comm->rank;
	call->tag = (uint32_t)tag;
	call->sends = sends;
	call->count = n;
	return hcomm_api_launch(comm, call, form, req);
}

static hcommResult_t send_to(const void *buf, size_t n, int dst, int tag,
			     hcommComm_t comm, enum hcomm_form form, hcommRequest_t *req)
{
	struct hcomm_call_args call = { .name = "Send", .send = buf };

	return p2p(&call, n, dst, tag, true, comm, form, req);
}

static hcommResult_t recv_from(void *buf, size_t n, int src, int tag,
			       hcommComm_t comm, enum hcomm_form form, hcommRequest_t *req)
{
	struct hcomm_call_args call = { .name = "Recv", .recv = buf };

	return p2p(&call, n, src, tag, false, comm, form, req);
}

hcommResult_t hcommSend(const void *buf, size_t n, int dst, int tag,
			hcommComm_t comm)
{
	return send_to(buf, n, dst, tag, comm, HCOMM_FORM_BLOCKING, NULL);
}

hcommResult_t hcommSendAsync(const void *buf, size_t n, int dst, int tag,
			     hcommComm_t comm, hcommRequest_t *req)
{
	return send_to(buf, n, dst, tag, comm, HCOMM_FORM_ASYNC, req);
}

hcommResult_t hcommSendInit(const void *buf, size_t n, int dst, int tag,
			    hcommComm_t comm, hcommRequest_t *req)
{
	return send_to(buf, n, dst, tag, comm, HCOMM_FORM_INIT, req);
}

hcommResult_t hcommRecv(void *buf, size_t n, int src, int tag, hcommComm_t comm)
{
	return recv_from(buf, n, src, tag, comm, HCOMM_FORM_BLOCKING, NULL);
}

hcommResult_t hcommRecvAsync(void *buf, size_t n, int src, int tag,
			     hcommComm_t comm, hcommRequest_t *req)
{
	return recv_from(buf, n, src, tag, comm, HCOMM_FORM_ASYNC, req);
}

hcommResult_t hcommRecvInit(void *buf, size_t n, int src, int tag, hcommComm_t comm,
			    hcommRequest_t *req)
{
	return recv_from(buf, n, src, tag, comm, HCOMM_FORM_INIT, req);
}
