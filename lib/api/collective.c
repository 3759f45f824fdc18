// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Collectives, from what their caller says to a call that can be launched.  They
 * differ in few respects, which are a table here.
 */
#include "collective.h"

/**
 * struct kind - a collective
 * @reduces: it has an operation
 * @rooted: it has a root
 * @sends_all: who sends has a block for each rank, else one
 * @receives_all: who receives gets a block of each rank, else one
 * @root_sends: nobody else does
 * @root_receives: nobody else does
 */
struct kind {
	bool reduces;
	bool rooted;
	bool sends_all;
	bool receives_all;
	bool root_sends;
	bool root_receives;
};

static const struct kind kinds[] = {
	[HCOMM_COLL_BROADCAST] = {
		.rooted = true, .root_sends = true,
	},
	[HCOMM_COLL_REDUCE] = {
		.reduces = true, .rooted = true, .root_receives = true,
	},
	[HCOMM_COLL_ALLREDUCE] = { .reduces = true },
	[HCOMM_COLL_REDUCE_SCATTER] = {
		.reduces = true, .sends_all = true,
	},
	[HCOMM_COLL_ALLGATHER] = { .receives_all = true },
	[HCOMM_COLL_GATHER] = {
		.rooted = true, .receives_all = true, .root_receives = true,
	},
	[HCOMM_COLL_SCATTER] = {
		.rooted = true, .sends_all = true, .root_sends = true,
	},
	[HCOMM_COLL_ALLTOALL] = {
		.sends_all = true, .receives_all = true,
	},
	[HCOMM_COLL_SCAN] = { .reduces = true },
	[HCOMM_COLL_EXSCAN] = { .reduces = true },
};

/* blocks of equal length */
static hcommResult_t equal_blocks(const struct kind *k, const struct hcomm_coll_args *a,
				  const struct hcomm_comm *comm,
				  struct hcomm_call_args *call,
				  struct hcomm_coll_sizes *sizes)
{
	uint64_t block = 0, all = 0;
	hcommResult_t ret;

	call->count = a->count;
	ret = hcomm_api_bytes(call->name, a->count, call->dtype, 1, &block);
	if (!ret && (k->sends_all || k->receives_all))
		ret = hcomm_api_bytes(call->name, a->count, call->dtype, comm->nranks, &all);
	if (ret)
		return ret;
	sizes->send = k->sends_all ? all : block;
	sizes->recv = k->receives_all ? all : block;
	sizes->own = comm->rank * block;
	return HCOMM_SUCCESS;
}

static hcommResult_t unequal_blocks(const struct kind *k, const struct hcomm_coll_args *a,
				    const struct hcomm_comm *comm,
				    struct hcomm_call_args *call,
				    struct hcomm_coll_sizes *sizes)
{
	if (k->sends_all && k->receives_all)
		return hcomm_coll_measure_both(a, comm, call, sizes);
	return hcomm_coll_measure(a, k->rooted, k->sends_all, comm, call, sizes);
}

/* is the input where the output goes? */
static bool is_in_place(const struct kind *k, const struct hcomm_call_args *call,
			uint64_t own)
{
	uintptr_t send = (uintptr_t)call->send, recv = (uintptr_t)call->recv;

	if (!send || !recv)
		return false;
	if (k->sends_all == k->receives_all)
		return send == recv;
	return k->sends_all ? recv == send + own : send == recv + own;
}

/* the buffers, as far as this rank has them */
static hcommResult_t set_buffers(const struct kind *k, const struct hcomm_coll_args *a,
				 const struct hcomm_comm *comm,
				 struct hcomm_call_args *call,
				 struct hcomm_coll_sizes sizes)
{
	bool is_root = call->root == comm->rank;
	hcommResult_t ret;

	if (!k->root_sends || is_root)
		call->send = a->send;
	else
		sizes.send = 0;
	if (!k->root_receives || is_root)
		call->recv = a->recv;
	else
		sizes.recv = 0;
	/* nothing comes before rank 0 */
	if (call->coll == HCOMM_COLL_EXSCAN && !comm->rank)
		sizes.recv = 0;
	call->in_place = is_in_place(k, call, sizes.own);
	ret = hcomm_api_buffers(call, sizes.send, sizes.recv);
	/* in place the plan works on the whole input */
	if (call->in_place && k->sends_all)
		call->recv = (void *)call->send;
	return ret;
}

static hcommResult_t make(const struct hcomm_coll_args *a, hcommComm_t handle,
			  enum hcomm_form form, hcommRequest_t *req)
{
	const struct kind *k = &kinds[a->coll];
	struct hcomm_call_args call = {
		.name = hcomm_call_name(a->coll, a->vector),
		.coll = a->coll, .dtype = (uint32_t)a->dtype, .vector = a->vector,
	};
	struct hcomm_coll_sizes sizes = { 0 };
	struct hcomm_comm *comm;
	hcommResult_t ret;

	ret = hcomm_api_sound(handle, &comm);
	if (!ret)
		ret = hcomm_api_type(call.name, a->dtype);
	if (!ret && k->reduces)
		ret = hcomm_api_redop(comm, a->op, &call);
	if (!ret && k->rooted)
		ret = hcomm_api_root(comm, call.name, a->root);
	if (ret)
		return ret;
	call.root = (uint32_t)a->root;
	if (a->vector)
		ret = unequal_blocks(k, a, comm, &call, &sizes);
	else
		ret = equal_blocks(k, a, comm, &call, &sizes);
	if (!ret)
		ret = set_buffers(k, a, comm, &call, sizes);
	return ret ? ret : hcomm_api_launch(comm, &call, form, req);
}

hcommResult_t hcomm_coll_run(struct hcomm_coll_args args, hcommComm_t comm)
{
	return make(&args, comm, HCOMM_FORM_BLOCKING, NULL);
}

hcommResult_t hcomm_coll_start(struct hcomm_coll_args args, hcommComm_t comm,
			       hcommRequest_t *req)
{
	return make(&args, comm, HCOMM_FORM_ASYNC, req);
}

hcommResult_t hcomm_coll_init(struct hcomm_coll_args args, hcommComm_t comm,
			      hcommRequest_t *req)
{
	return make(&args, comm, HCOMM_FORM_INIT, req);
}
