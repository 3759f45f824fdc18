// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The calls: arguments are checked here, in words of the API, and become a
 * struct hcomm_call_args.  The blocking and the non-blocking form of a call share
 * everything but the last step: @req is NULL in the blocking form.
 */
#include <string.h>

#include "api.h"

static hcommResult_t start(struct hcomm_comm *comm,
			   const struct hcomm_call_args *call, hcommRequest_t *req)
{
	return req ? hcomm_op_start(comm, call, req) : hcomm_op_run(comm, call);
}

static hcommResult_t need_req(const hcommRequest_t *req)
{
	if (req)
		return HCOMM_SUCCESS;
	return hcomm_fail(HCOMM_ERR_INVALID_ARGUMENT, "req is NULL");
}

static hcommResult_t bad(const char *name, const char *what, long long value,
			 const char *range)
{
	return hcomm_fail(HCOMM_ERR_INVALID_ARGUMENT, "%s: %s is %lld, must be %s",
			  name, what, value, range);
}

static hcommResult_t check_type(const char *name, hcommDataType_t dtype)
{
	if ((unsigned int)dtype >= HCOMM_DT_COUNT)
		return bad(name, "dtype", dtype, "a hcommDataType_t");
	return HCOMM_SUCCESS;
}

static hcommResult_t check_root(const struct hcomm_comm *comm, const char *name,
				int root)
{
	if (root < 0 || (uint32_t)root >= comm->nranks)
		return bad(name, "root", root, "a rank");
	return HCOMM_SUCCESS;
}

/* bytes of @blocks blocks of @count elements */
static hcommResult_t check_bytes(const char *name, size_t count, uint32_t dtype,
				 uint32_t blocks, uint64_t *bytes)
{
	uint64_t n;

	if (__builtin_mul_overflow((uint64_t)count, hcomm_dtype_bytes(dtype), &n) ||
	    __builtin_mul_overflow(n, blocks, &n) || n > INT64_MAX)
		return hcomm_fail(HCOMM_ERR_INVALID_ARGUMENT,
				  "%s: %zu elements of %s are more than memory can hold",
				  name, count, hcomm_dtype_text(dtype));
	*bytes = n;
	return HCOMM_SUCCESS;
}

static hcommResult_t check_buffer(const char *name, const char *which,
				  const void *buf, uint64_t bytes)
{
	if (bytes && !buf)
		return hcomm_fail(HCOMM_ERR_INVALID_ARGUMENT,
				  "%s: the %s buffer is NULL, but must hold %llu bytes",
				  name, which, (unsigned long long)bytes);
	if ((uintptr_t)buf + bytes < (uintptr_t)buf)
		return hcomm_fail(HCOMM_ERR_INVALID_ARGUMENT,
				  "%s: the %s buffer of %llu bytes at %p goes past the end of memory",
				  name, which, (unsigned long long)bytes, buf);
	return HCOMM_SUCCESS;
}

/* both buffers, which must not overlap unless the call is in place */
static hcommResult_t check_buffers(const struct hcomm_call_args *call,
				   uint64_t send_bytes, uint64_t recv_bytes)
{
	uintptr_t s = (uintptr_t)call->send, r = (uintptr_t)call->recv;
	hcommResult_t ret;

	ret = check_buffer(call->name, "send", call->send, send_bytes);
	if (!ret)
		ret = check_buffer(call->name, "receive", call->recv, recv_bytes);
	if (ret || call->in_place || !send_bytes || !recv_bytes)
		return ret;
	if (s < r + recv_bytes && r < s + send_bytes)
		return hcomm_fail(HCOMM_ERR_INVALID_ARGUMENT,
				  "%s: the buffers overlap (%llu bytes at %p are sent, %llu bytes at %p received), and this is not how the call is made in place",
				  call->name, (unsigned long long)send_bytes,
				  call->send, (unsigned long long)recv_bytes,
				  call->recv);
	return HCOMM_SUCCESS;
}

/* ------------------------------------------------------------- point to point */

static hcommResult_t p2p(struct hcomm_call_args *call, size_t n, int peer, int tag,
			 bool sends, hcommComm_t handle, hcommRequest_t *req)
{
	const char *which = sends ? "dst" : "src";
	struct hcomm_comm *comm;
	hcommResult_t ret;

	ret = hcomm_api_sound(handle, &comm);
	if (ret)
		return ret;
	if (peer < 0 || (uint32_t)peer >= comm->nranks ||
	    (uint32_t)peer == comm->rank)
		return bad(call->name, which, peer, "a rank other than this one");
	if (tag < 0 || tag > HCOMM_MAX_TAG)
		return bad(call->name, "tag", tag, "0 to HCOMM_MAX_TAG");
	if (n > HCOMM_MAX_STEP_LEN)
		return bad(call->name, "n", (long long)n, "at most 1 TiB");
	ret = check_buffer(call->name, sends ? "send" : "receive",
			   sends ? call->send : call->recv, n);
	if (ret)
		return ret;
	call->coll = HCOMM_COLL_P2P;
	call->dtype = HCOMM_DT_UINT8;
	call->root = sends ? comm->rank : (uint32_t)peer;
	call->peer = sends ? (uint32_t)peer : comm->rank;
	call->tag = (uint32_t)tag;
	call->count = n;
	return start(comm, call, req);
}

static hcommResult_t send_to(const void *buf, size_t n, int dst, int tag,
			     hcommComm_t comm, hcommRequest_t *req)
{
	struct hcomm_call_args call = { .name = "send", .send = buf };

	return p2p(&call, n, dst, tag, true, comm, req);
}

static hcommResult_t recv_from(void *buf, size_t n, int src, int tag,
			       hcommComm_t comm, hcommRequest_t *req)
{
	struct hcomm_call_args call = { .name = "receive", .recv = buf };

	return p2p(&call, n, src, tag, false, comm, req);
}

hcommResult_t hcommSend(const void *buf, size_t n, int dst, int tag,
			hcommComm_t comm)
{
	return send_to(buf, n, dst, tag, comm, NULL);
}

hcommResult_t hcommSendAsync(const void *buf, size_t n, int dst, int tag,
			     hcommComm_t comm, hcommRequest_t *req)
{
	hcommResult_t ret = need_req(req);

	return ret ? ret : send_to(buf, n, dst, tag, comm, req);
}

hcommResult_t hcommRecv(void *buf, size_t n, int src, int tag, hcommComm_t comm)
{
	return recv_from(buf, n, src, tag, comm, NULL);
}

hcommResult_t hcommRecvAsync(void *buf, size_t n, int src, int tag,
			     hcommComm_t comm, hcommRequest_t *req)
{
	hcommResult_t ret = need_req(req);

	return ret ? ret : recv_from(buf, n, src, tag, comm, req);
}

/* ---------------------------------------------------------------- collectives */

static hcommResult_t all_reduce(const void *send, void *recv, size_t count,
				hcommDataType_t dtype, hcommRedOp_t op,
				hcommComm_t handle, hcommRequest_t *req)
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
		ret = check_type(call.name, dtype);
	if (!ret)
		ret = hcomm_api_redop(comm, op, &call);
	if (!ret)
		ret = check_bytes(call.name, count, dtype, 1, &bytes);
	if (!ret)
		ret = check_buffers(&call, bytes, bytes);
	return ret ? ret : start(comm, &call, req);
}

hcommResult_t hcommAllReduce(const void *send, void *recv, size_t count,
			     hcommDataType_t dtype, hcommRedOp_t op,
			     hcommComm_t comm)
{
	return all_reduce(send, recv, count, dtype, op, comm, NULL);
}

hcommResult_t hcommAllReduceAsync(const void *send, void *recv, size_t count,
				  hcommDataType_t dtype, hcommRedOp_t op,
				  hcommComm_t comm, hcommRequest_t *req)
{
	hcommResult_t ret = need_req(req);

	return ret ? ret : all_reduce(send, recv, count, dtype, op, comm, req);
}

static hcommResult_t broadcast(const void *send, void *recv, size_t count,
			       hcommDataType_t dtype, int root,
			       hcommComm_t handle, hcommRequest_t *req)
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
		ret = check_type(call.name, dtype);
	if (!ret)
		ret = check_root(comm, call.name, root);
	if (!ret)
		ret = check_bytes(call.name, count, dtype, 1, &bytes);
	if (ret)
		return ret;
	call.root = (uint32_t)root;
	if (call.root == comm->rank) {
		call.send = send;
		call.in_place = send == recv;
		ret = check_buffers(&call, bytes, bytes);
	} else {
		ret = check_buffer(call.name, "receive", recv, bytes);
	}
	return ret ? ret : start(comm, &call, req);
}

hcommResult_t hcommBroadcast(const void *send, void *recv, size_t count,
			     hcommDataType_t dtype, int root, hcommComm_t comm)
{
	return broadcast(send, recv, count, dtype, root, comm, NULL);
}

hcommResult_t hcommBroadcastAsync(const void *send, void *recv, size_t count,
				  hcommDataType_t dtype, int root,
				  hcommComm_t comm, hcommRequest_t *req)
{
	hcommResult_t ret = need_req(req);

	return ret ? ret : broadcast(send, recv, count, dtype, root, comm, req);
}

hcommResult_t hcommBcast(void *buf, size_t count, hcommDataType_t dtype, int root,
			 hcommComm_t comm)
{
	return broadcast(buf, buf, count, dtype, root, comm, NULL);
}

hcommResult_t hcommBcastAsync(void *buf, size_t count, hcommDataType_t dtype,
			      int root, hcommComm_t comm, hcommRequest_t *req)
{
	hcommResult_t ret = need_req(req);

	return ret ? ret : broadcast(buf, buf, count, dtype, root, comm, req);
}

static hcommResult_t reduce(const void *send, void *recv, size_t count,
			    hcommDataType_t dtype, hcommRedOp_t op, int root,
			    hcommComm_t handle, hcommRequest_t *req)
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
		ret = check_type(call.name, dtype);
	if (!ret)
		ret = hcomm_api_redop(comm, op, &call);
	if (!ret)
		ret = check_root(comm, call.name, root);
	if (!ret)
		ret = check_bytes(call.name, count, dtype, 1, &bytes);
	if (ret)
		return ret;
	call.root = (uint32_t)root;
	if (call.root == comm->rank) {
		call.recv = recv;
		call.in_place = send == recv;
		ret = check_buffers(&call, bytes, bytes);
	} else {
		ret = check_buffer(call.name, "send", send, bytes);
	}
	return ret ? ret : start(comm, &call, req);
}

hcommResult_t hcommReduce(const void *send, void *recv, size_t count,
			  hcommDataType_t dtype, hcommRedOp_t op, int root,
			  hcommComm_t comm)
{
	return reduce(send, recv, count, dtype, op, root, comm, NULL);
}

hcommResult_t hcommReduceAsync(const void *send, void *recv, size_t count,
			       hcommDataType_t dtype, hcommRedOp_t op, int root,
			       hcommComm_t comm, hcommRequest_t *req)
{
	hcommResult_t ret = need_req(req);

	return ret ? ret : reduce(send, recv, count, dtype, op, root, comm, req);
}

/* block @rank of a buffer of blocks */
static bool is_block(const void *block, const void *all, uint32_t rank,
		     uint64_t bytes)
{
	return block && all && (uintptr_t)block == (uintptr_t)all + rank * bytes;
}

static hcommResult_t reduce_scatter(const void *send, void *recv, size_t count,
				    hcommDataType_t dtype, hcommRedOp_t op,
				    hcommComm_t handle, hcommRequest_t *req)
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
		ret = check_type(call.name, dtype);
	if (!ret)
		ret = hcomm_api_redop(comm, op, &call);
	if (!ret)
		ret = check_bytes(call.name, count, dtype, 1, &block);
	if (!ret)
		ret = check_bytes(call.name, count, dtype, comm->nranks, &all);
	if (ret)
		return ret;
	call.in_place = is_block(recv, send, comm->rank, block);
	ret = check_buffers(&call, all, block);
	/* in place the plan works on the whole input */
	if (call.in_place)
		call.recv = (void *)send;
	return ret ? ret : start(comm, &call, req);
}

hcommResult_t hcommReduceScatter(const void *send, void *recv, size_t count,
				 hcommDataType_t dtype, hcommRedOp_t op,
				 hcommComm_t comm)
{
	return reduce_scatter(send, recv, count, dtype, op, comm, NULL);
}

hcommResult_t hcommReduceScatterAsync(const void *send, void *recv, size_t count,
				      hcommDataType_t dtype, hcommRedOp_t op,
				      hcommComm_t comm, hcommRequest_t *req)
{
	hcommResult_t ret = need_req(req);

	return ret ? ret : reduce_scatter(send, recv, count, dtype, op, comm, req);
}

static hcommResult_t all_gather(const void *send, void *recv, size_t count,
				hcommDataType_t dtype, hcommComm_t handle,
				hcommRequest_t *req)
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
		ret = check_type(call.name, dtype);
	if (!ret)
		ret = check_bytes(call.name, count, dtype, 1, &block);
	if (!ret)
		ret = check_bytes(call.name, count, dtype, comm->nranks, &all);
	if (ret)
		return ret;
	call.in_place = is_block(send, recv, comm->rank, block);
	ret = check_buffers(&call, block, all);
	return ret ? ret : start(comm, &call, req);
}

hcommResult_t hcommAllGather(const void *send, void *recv, size_t count,
			     hcommDataType_t dtype, hcommComm_t comm)
{
	return all_gather(send, recv, count, dtype, comm, NULL);
}

hcommResult_t hcommAllGatherAsync(const void *send, void *recv, size_t count,
				  hcommDataType_t dtype, hcommComm_t comm,
				  hcommRequest_t *req)
{
	hcommResult_t ret = need_req(req);

	return ret ? ret : all_gather(send, recv, count, dtype, comm, req);
}

static hcommResult_t barrier(hcommComm_t handle, hcommRequest_t *req)
{
	struct hcomm_call_args call = {
		.name = "Barrier", .coll = HCOMM_COLL_BARRIER,
	};
	struct hcomm_comm *comm;
	hcommResult_t ret = hcomm_api_sound(handle, &comm);

	return ret ? ret : start(comm, &call, req);
}

hcommResult_t hcommBarrier(hcommComm_t comm)
{
	return barrier(comm, NULL);
}

hcommResult_t hcommBarrierAsync(hcommComm_t comm, hcommRequest_t *req)
{
	hcommResult_t ret = need_req(req);

	return ret ? ret : barrier(comm, req);
}

/* -------------------------------------------------------------------- requests */

hcommResult_t hcommWait(hcommRequest_t *req)
{
	hcommResult_t ret = hcomm_dev_check_fork();
	hcommRequest_t r;

	if (!ret)
		ret = need_req(req);
	if (ret || !*req)
		return ret;
	r = *req;
	*req = NULL;
	return hcomm_op_wait(r);
}

hcommResult_t hcommTest(hcommRequest_t *req, int *done)
{
	hcommResult_t ret = hcomm_dev_check_fork();

	if (!ret)
		ret = need_req(req);
	if (!ret && !done)
		ret = hcomm_fail(HCOMM_ERR_INVALID_ARGUMENT, "done is NULL");
	if (ret)
		return ret;
	*done = !*req || hcomm_op_test(*req);
	return *done ? hcommWait(req) : HCOMM_SUCCESS;
}

hcommResult_t hcommWaitAll(int count, hcommRequest_t *reqs)
{
	hcommResult_t first = HCOMM_SUCCESS, ret;
	char text[HCOMM_ERROR_TEXT];
	int i;

	if (count < 0 || (count && !reqs))
		return hcomm_fail(HCOMM_ERR_INVALID_ARGUMENT,
				  "hcommWaitAll: count is %d, reqs is %p", count,
				  (void *)reqs);
	for (i = 0; i < count; i++) {
		ret = hcommWait(&reqs[i]);
		if (!ret || first)
			continue;
		first = ret;
		memcpy(text, hcomm_error_text(), sizeof(text));
	}
	if (first)
		memcpy(hcomm_error_text(), text, sizeof(text));
	return first;
}
