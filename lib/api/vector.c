// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * V forms: blocks of unequal length.
 *
 * Which counts a rank knows differs.  In AllGatherV and ReduceScatterV all know
 * all; in GatherV and ScatterV only the root does; in AlltoAllV each rank knows
 * its own row and column.  Nothing that a rank alone knows may end up in a choice
 * that all must make alike: such calls have no count.
 */
#include "api.h"

/* arrays are handed on as they are */
_Static_assert(sizeof(size_t) == sizeof(uint64_t), "sizes have 64 bits");

/**
 * struct blocks - one buffer of a V form
 * @what: its counts, for messages
 * @counts: elements of each block
 * @displs: where each begins; NULL: packed
 * @bytes: out: up to the end of the last block
 * @own: out: where the block of this rank begins, in bytes
 * @gaps: out: there may be bytes between blocks
 */
struct blocks {
	const char *what;
	const size_t *counts;
	const size_t *displs;
	uint64_t bytes;
	uint64_t own;
	bool gaps;
};

/* walk over the blocks; name, dtype and comm are sound */
static hcommResult_t measure(const struct hcomm_comm *comm,
			     const struct hcomm_call_args *call, struct blocks *b)
{
	uint64_t size = hcomm_dtype_bytes(call->dtype), limit = INT64_MAX / size;
	uint64_t at = 0, end = 0, sum = 0;
	uint32_t i;

	if (!b->counts)
		return hcomm_fail(HCOMM_ERR_INVALID_ARGUMENT, "%s: %s is NULL",
				  call->name, b->what);
	for (i = 0; i < comm->nranks; i++) {
		if (b->displs)
			at = b->displs[i];
		if (i == comm->rank)
			b->own = at;
		if (b->counts[i] > limit || at > limit - b->counts[i])
			return hcomm_fail(HCOMM_ERR_INVALID_ARGUMENT,
					  "%s: %s: block %u of %zu elements of %s, %llu elements from the start, ends beyond what memory can hold",
					  call->name, b->what, i, b->counts[i],
					  hcomm_dtype_text(call->dtype),
					  (unsigned long long)at);
		at += b->counts[i];
		sum += b->counts[i];
		if (b->counts[i] && at > end)
			end = at;
	}
	b->own *= size;
	b->bytes = end * size;
	b->gaps = sum != end;
	return HCOMM_SUCCESS;
}

static hcommResult_t begin(hcommComm_t handle, const struct hcomm_call_args *call,
			   struct hcomm_comm **comm)
{
	hcommResult_t ret = hcomm_api_sound(handle, comm);

	return ret ? ret : hcomm_api_type(call->name, (hcommDataType_t)call->dtype);
}

/* is @block where this rank's block of @all is? */
static bool is_own(const void *block, const void *all, const struct blocks *b)
{
	return block && all && (uintptr_t)block == (uintptr_t)all + b->own;
}

static const uint64_t *array(const size_t *a)
{
	return (const uint64_t *)a;
}

/* ------------------------------------------------------- all know all counts */

static hcommResult_t all_gather(const void *send, void *recv, const size_t *counts,
				const size_t *displs, hcommDataType_t dtype,
				hcommComm_t handle, enum hcomm_form form,
				hcommRequest_t *req)
{
	struct hcomm_call_args call = {
		.name = "AllGatherV", .coll = HCOMM_COLL_ALLGATHER, .dtype = dtype,
		.vector = true, .send = send, .recv = recv,
		.arrays = { .counts = array(counts), .displs = array(displs) },
	};
	struct blocks out = { .what = "counts", .counts = counts, .displs = displs };
	struct hcomm_comm *comm;
	hcommResult_t ret;

	ret = begin(handle, &call, &comm);
	if (!ret)
		ret = measure(comm, &call, &out);
	if (ret)
		return ret;
	call.in_place = is_own(send, recv, &out);
	call.gaps = out.gaps;
	ret = hcomm_api_buffers(&call, counts[comm->rank] * hcomm_dtype_bytes(call.dtype),
				out.bytes);
	return ret ? ret : hcomm_api_launch(comm, &call, form, req);
}

hcommResult_t hcommAllGatherV(const void *send, void *recv, const size_t *counts,
			      const size_t *displs, hcommDataType_t dtype,
			      hcommComm_t comm)
{
	return all_gather(send, recv, counts, displs, dtype, comm, HCOMM_FORM_BLOCKING,
			  NULL);
}

hcommResult_t hcommAllGatherVAsync(const void *send, void *recv, const size_t *counts,
				   const size_t *displs, hcommDataType_t dtype,
				   hcommComm_t comm, hcommRequest_t *req)
{
	return all_gather(send, recv, counts, displs, dtype, comm, HCOMM_FORM_ASYNC, req);
}

hcommResult_t hcommAllGatherVInit(const void *send, void *recv, const size_t *counts,
				  const size_t *displs, hcommDataType_t dtype,
				  hcommComm_t comm, hcommRequest_t *req)
{
	return all_gather(send, recv, counts, displs, dtype, comm, HCOMM_FORM_INIT, req);
}

static hcommResult_t reduce_scatter(const void *send, void *recv, const size_t *counts,
				    hcommDataType_t dtype, hcommRedOp_t op,
				    hcommComm_t handle, enum hcomm_form form,
				    hcommRequest_t *req)
{
	struct hcomm_call_args call = {
		.name = "ReduceScatterV", .coll = HCOMM_COLL_REDUCE_SCATTER,
		.dtype = dtype, .vector = true, .send = send, .recv = recv,
		.arrays = { .counts = array(counts) },
	};
	struct blocks in = { .what = "counts", .counts = counts };
	struct hcomm_comm *comm;
	hcommResult_t ret;

	ret = begin(handle, &call, &comm);
	if (!ret)
		ret = hcomm_api_redop(comm, op, &call);
	if (!ret)
		ret = measure(comm, &call, &in);
	if (ret)
		return ret;
	call.in_place = is_own(recv, send, &in);
	ret = hcomm_api_buffers(&call, in.bytes,
				counts[comm->rank] * hcomm_dtype_bytes(call.dtype));
	/* in place the plan works on the whole input */
	if (call.in_place)
		call.recv = (void *)send;
	return ret ? ret : hcomm_api_launch(comm, &call, form, req);
}

hcommResult_t hcommReduceScatterV(const void *send, void *recv, const size_t *counts,
				  hcommDataType_t dtype, hcommRedOp_t op,
				  hcommComm_t comm)
{
	return reduce_scatter(send, recv, counts, dtype, op, comm, HCOMM_FORM_BLOCKING,
			      NULL);
}

hcommResult_t hcommReduceScatterVAsync(const void *send, void *recv,
				       const size_t *counts, hcommDataType_t dtype,
				       hcommRedOp_t op, hcommComm_t comm,
				       hcommRequest_t *req)
{
	return reduce_scatter(send, recv, counts, dtype, op, comm, HCOMM_FORM_ASYNC, req);
}

hcommResult_t hcommReduceScatterVInit(const void *send, void *recv,
				      const size_t *counts, hcommDataType_t dtype,
				      hcommRedOp_t op, hcommComm_t comm,
				      hcommRequest_t *req)
{
	return reduce_scatter(send, recv, counts, dtype, op, comm, HCOMM_FORM_INIT, req);
}

/* --------------------------------------------------- the root knows all counts */

/*
 * @count: of this rank's own block, @own_bytes of it.  At the root, @all is
 * measured and becomes the call's, elsewhere the count does.
 */
static hcommResult_t rooted(struct hcomm_call_args *call, size_t count, int root,
			    hcommComm_t handle, struct hcomm_comm **comm,
			    struct blocks *all, uint64_t *own_bytes)
{
	hcommResult_t ret;

	ret = begin(handle, call, comm);
	if (!ret)
		ret = hcomm_api_root(*comm, call->name, root);
	if (!ret)
		ret = hcomm_api_bytes(call->name, count, call->dtype, 1, own_bytes);
	if (ret)
		return ret;
	call->root = (uint32_t)root;
	if (call->root != (*comm)->rank) {
		call->count = count;
		return HCOMM_SUCCESS;
	}
	ret = measure(*comm, call, all);
	if (!ret && all->counts[root] != count)
		return hcomm_fail(HCOMM_ERR_INVALID_ARGUMENT,
				  "%s: the root's own block has %zu elements, but counts[%d] is %zu",
				  call->name, count, root, all->counts[root]);
	call->arrays.counts = array(all->counts);
	call->arrays.displs = array(all->displs);
	return ret;
}

static hcommResult_t gather(const void *send, size_t count, void *recv,
			    const size_t *counts, const size_t *displs,
			    hcommDataType_t dtype, int root, hcommComm_t handle,
			    enum hcomm_form form, hcommRequest_t *req)
{
	struct hcomm_call_args call = {
		.name = "GatherV", .coll = HCOMM_COLL_GATHER, .dtype = dtype,
		.vector = true, .send = send,
	};
	struct blocks all = { .what = "counts", .counts = counts, .displs = displs };
	struct hcomm_comm *comm;
	uint64_t own = 0;
	hcommResult_t ret;

	ret = rooted(&call, count, root, handle, &comm, &all, &own);
	if (ret)
		return ret;
	if (call.root == comm->rank) {
		call.recv = recv;
		call.in_place = is_own(send, recv, &all);
		call.gaps = all.gaps;
	}
	ret = hcomm_api_buffers(&call, own, all.bytes);
	return ret ? ret : hcomm_api_launch(comm, &call, form, req);
}

hcommResult_t hcommGatherV(const void *send, size_t count, void *recv,
			   const size_t *counts, const size_t *displs,
			   hcommDataType_t dtype, int root, hcommComm_t comm)
{
	return gather(send, count, recv, counts, displs, dtype, root, comm,
		      HCOMM_FORM_BLOCKING, NULL);
}

hcommResult_t hcommGatherVAsync(const void *send, size_t count, void *recv,
				const size_t *counts, const size_t *displs,
				hcommDataType_t dtype, int root, hcommComm_t comm,
				hcommRequest_t *req)
{
	return gather(send, count, recv, counts, displs, dtype, root, comm,
		      HCOMM_FORM_ASYNC, req);
}

hcommResult_t hcommGatherVInit(const void *send, size_t count, void *recv,
			       const size_t *counts, const size_t *displs,
			       hcommDataType_t dtype, int root, hcommComm_t comm,
			       hcommRequest_t *req)
{
	return gather(send, count, recv, counts, displs, dtype, root, comm,
		      HCOMM_FORM_INIT, req);
}

static hcommResult_t scatter(const void *send, const size_t *counts,
			     const size_t *displs, void *recv, size_t count,
			     hcommDataType_t dtype, int root, hcommComm_t handle,
			     enum hcomm_form form, hcommRequest_t *req)
{
	struct hcomm_call_args call = {
		.name = "ScatterV", .coll = HCOMM_COLL_SCATTER, .dtype = dtype,
		.vector = true, .recv = recv,
	};
	struct blocks all = { .what = "counts", .counts = counts, .displs = displs };
	struct hcomm_comm *comm;
	uint64_t own = 0;
	hcommResult_t ret;

	ret = rooted(&call, count, root, handle, &comm, &all, &own);
	if (ret)
		return ret;
	if (call.root == comm->rank) {
		call.send = send;
		call.in_place = is_own(recv, send, &all);
	}
	ret = hcomm_api_buffers(&call, all.bytes, own);
	/* in place the plan works on the whole input */
	if (call.in_place)
		call.recv = (void *)send;
	return ret ? ret : hcomm_api_launch(comm, &call, form, req);
}

hcommResult_t hcommScatterV(const void *send, const size_t *counts,
			    const size_t *displs, void *recv, size_t count,
			    hcommDataType_t dtype, int root, hcommComm_t comm)
{
	return scatter(send, counts, displs, recv, count, dtype, root, comm,
		       HCOMM_FORM_BLOCKING, NULL);
}

hcommResult_t hcommScatterVAsync(const void *send, const size_t *counts,
				 const size_t *displs, void *recv, size_t count,
				 hcommDataType_t dtype, int root, hcommComm_t comm,
				 hcommRequest_t *req)
{
	return scatter(send, counts, displs, recv, count, dtype, root, comm,
		       HCOMM_FORM_ASYNC, req);
}

hcommResult_t hcommScatterVInit(const void *send, const size_t *counts,
				const size_t *displs, void *recv, size_t count,
				hcommDataType_t dtype, int root, hcommComm_t comm,
				hcommRequest_t *req)
{
	return scatter(send, counts, displs, recv, count, dtype, root, comm,
		       HCOMM_FORM_INIT, req);
}

/* ------------------------------------------------------ each knows its own ones */

/**
 * struct exchange - the arguments of an AlltoAllV
 */
struct exchange {
	const void *send;
	const size_t *send_counts;
	const size_t *send_displs;
	void *recv;
	const size_t *recv_counts;
	const size_t *recv_displs;
	hcommDataType_t dtype;
};

static hcommResult_t all_to_all(const struct exchange *x, hcommComm_t handle,
				enum hcomm_form form, hcommRequest_t *req)
{
	struct hcomm_call_args call = {
		.name = "AlltoAllV", .coll = HCOMM_COLL_ALLTOALL, .dtype = x->dtype,
		.vector = true, .send = x->send, .recv = x->recv,
		.in_place = x->send == x->recv,
	};
	struct blocks in = {
		.what = "sendCounts", .counts = x->send_counts, .displs = x->send_displs,
	};
	struct blocks out = {
		.what = "recvCounts", .counts = x->recv_counts, .displs = x->recv_displs,
	};
	struct hcomm_comm *comm;
	hcommResult_t ret;

	ret = begin(handle, &call, &comm);
	if (!ret)
		ret = measure(comm, &call, &out);
	/* two buffers of no bytes may both be NULL, and yet not be in place */
	if (call.in_place && !x->send)
		call.in_place = false;
	if (call.in_place)
		in = out;
	if (!ret)
		ret = measure(comm, &call, &in);
	if (ret)
		return ret;
	if (in.counts[comm->rank] != out.counts[comm->rank])
		return hcomm_fail(HCOMM_ERR_INVALID_ARGUMENT,
				  "%s: rank %u sends itself %zu elements but receives %zu",
				  call.name, comm->rank, in.counts[comm->rank],
				  out.counts[comm->rank]);
	call.gaps = out.gaps;
	call.arrays = (struct hcomm_arrays){
		.counts = array(in.counts), .displs = array(in.displs),
		.rcounts = array(out.counts), .rdispls = array(out.displs),
	};
	ret = hcomm_api_buffers(&call, in.bytes, out.bytes);
	return ret ? ret : hcomm_api_launch(comm, &call, form, req);
}

hcommResult_t hcommAlltoAllV(const void *send, const size_t *sendCounts,
			     const size_t *sendDispls, void *recv,
			     const size_t *recvCounts, const size_t *recvDispls,
			     hcommDataType_t dtype, hcommComm_t comm)
{
	struct exchange x = {
		send, sendCounts, sendDispls, recv, recvCounts, recvDispls, dtype,
	};

	return all_to_all(&x, comm, HCOMM_FORM_BLOCKING, NULL);
}

hcommResult_t hcommAlltoAllVAsync(const void *send, const size_t *sendCounts,
				  const size_t *sendDispls, void *recv,
				  const size_t *recvCounts, const size_t *recvDispls,
				  hcommDataType_t dtype, hcommComm_t comm,
				  hcommRequest_t *req)
{
	struct exchange x = {
		send, sendCounts, sendDispls, recv, recvCounts, recvDispls, dtype,
	};

	return all_to_all(&x, comm, HCOMM_FORM_ASYNC, req);
}

hcommResult_t hcommAlltoAllVInit(const void *send, const size_t *sendCounts,
				 const size_t *sendDispls, void *recv,
				 const size_t *recvCounts, const size_t *recvDispls,
				 hcommDataType_t dtype, hcommComm_t comm,
				 hcommRequest_t *req)
{
	struct exchange x = {
		send, sendCounts, sendDispls, recv, recvCounts, recvDispls, dtype,
	};

	return all_to_all(&x, comm, HCOMM_FORM_INIT, req);
}
