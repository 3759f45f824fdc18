// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Blocks of unequal length.
 *
 * Which counts a rank knows differs.  In AllGatherV and ReduceScatterV all know
 * all; in GatherV and ScatterV only the root does; in AlltoAllV each rank knows
 * its own row and column.  Nothing that a rank alone knows may end up in a choice
 * that all must make alike: such calls have no count.
 */
#include "collective.h"

/* arrays are handed on as they are */
_Static_assert(sizeof(size_t) == sizeof(uint64_t), "sizes have 64 bits");

/**
 * struct extent - what a buffer of blocks spans
 * @bytes: up to the end of the last block
 * @own: where the block of this rank begins, in bytes
 * @gaps: there may be bytes between blocks
 */
struct extent {
	uint64_t bytes;
	uint64_t own;
	bool gaps;
};

/* @what: the counts, for messages */
static hcommResult_t span(const struct hcomm_coll_blocks *b, const char *what,
			  const struct hcomm_comm *comm,
			  const struct hcomm_call_args *call, struct extent *e)
{
	uint64_t size = hcomm_dtype_bytes(call->dtype), limit = INT64_MAX / size;
	uint64_t at = 0, end = 0, sum = 0;
	uint32_t i;

	if (!b->counts)
		return hcomm_fail(HCOMM_ERR_INVALID_ARGUMENT, "%s: %s is NULL",
				  call->name, what);
	for (i = 0; i < comm->nranks; i++) {
		if (b->displs)
			at = b->displs[i];
		if (i == comm->rank)
			e->own = at;
		if (b->counts[i] > limit || at > limit - b->counts[i])
			return hcomm_fail(HCOMM_ERR_INVALID_ARGUMENT,
					  "%s: %s: block %u of %zu elements of %s, %llu elements from the start, ends beyond what memory can hold",
					  call->name, what, i, b->counts[i],
					  hcomm_dtype_text(call->dtype),
					  (unsigned long long)at);
		at += b->counts[i];
		sum += b->counts[i];
		if (b->counts[i] && at > end)
			end = at;
	}
	e->own *= size;
	e->bytes = end * size;
	e->gaps = sum != end;
	return HCOMM_SUCCESS;
}

static const uint64_t *array(const size_t *a)
{
	return (const uint64_t *)a;
}

hcommResult_t hcomm_coll_measure(const struct hcomm_coll_args *a, bool rooted,
				 bool sends_all, const struct hcomm_comm *comm,
				 struct hcomm_call_args *call,
				 struct hcomm_coll_sizes *sizes)
{
	const struct hcomm_coll_blocks *b = sends_all ? &a->sent : &a->received;
	bool has_counts = !rooted || call->root == comm->rank;
	hcommResult_t ret = HCOMM_SUCCESS;
	struct extent all = { 0 };
	uint64_t one = 0;

	if (rooted)
		ret = hcomm_api_bytes(call->name, a->count, call->dtype, 1, &one);
	if (!ret && has_counts)
		ret = span(b, "counts", comm, call, &all);
	if (ret)
		return ret;
	if (!has_counts) {
		call->count = a->count;
	} else if (rooted && b->counts[comm->rank] != a->count) {
		return hcomm_fail(HCOMM_ERR_INVALID_ARGUMENT,
				  "%s: the root's own block has %zu elements, but counts[%u] is %zu",
				  call->name, a->count, comm->rank, b->counts[comm->rank]);
	} else {
		one = b->counts[comm->rank] * hcomm_dtype_bytes(call->dtype);
		call->arrays.counts = array(b->counts);
		call->arrays.displs = array(b->displs);
		call->gaps = !sends_all && all.gaps;
	}
	*sizes = (struct hcomm_coll_sizes){
		.send = sends_all ? all.bytes : one,
		.recv = sends_all ? one : all.bytes,
		.own = all.own,
	};
	return HCOMM_SUCCESS;
}

hcommResult_t hcomm_coll_measure_both(const struct hcomm_coll_args *a,
				      const struct hcomm_comm *comm,
				      struct hcomm_call_args *call,
				      struct hcomm_coll_sizes *sizes)
{
	/*
	 * In place, what is sent lies where what comes will.  A rank without data may
	 * have no buffer for that.
	 */
	bool in_place = a->send == a->recv && (a->send || !a->sent.counts);
	const struct hcomm_coll_blocks *sent = in_place ? &a->received : &a->sent;
	const struct hcomm_coll_blocks *received = &a->received;
	struct extent in = { 0 }, out = { 0 };
	hcommResult_t ret;

	ret = span(received, "recvCounts", comm, call, &out);
	if (!ret)
		ret = span(sent, "sendCounts", comm, call, &in);
	if (ret)
		return ret;
	if (sent->counts[comm->rank] != received->counts[comm->rank])
		return hcomm_fail(HCOMM_ERR_INVALID_ARGUMENT,
				  "%s: rank %u sends itself %zu elements but receives %zu",
				  call->name, comm->rank, sent->counts[comm->rank],
				  received->counts[comm->rank]);
	call->gaps = out.gaps;
	call->arrays = (struct hcomm_arrays){
		.counts = array(sent->counts), .displs = array(sent->displs),
		.rcounts = array(received->counts), .rdispls = array(received->displs),
	};
	*sizes = (struct hcomm_coll_sizes){ .send = in.bytes, .recv = out.bytes };
	return HCOMM_SUCCESS;
}
