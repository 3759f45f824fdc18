// SPDX-License-Identifier: LGPL-2.1-or-later
/* Arguments are checked and completed here, once for all builders. */
#include <errno.h>
#include <stdlib.h>

#include "args.h"
#include "topo.h"

#define DEFAULT_RADIX	4

uint32_t hcomm_dtype_bytes(uint32_t dtype)
{
	static const uint8_t bytes[HCOMM_DT_COUNT] = {
		[HCOMM_DT_INT8] = 1, [HCOMM_DT_UINT8] = 1,
		[HCOMM_DT_INT16] = 2, [HCOMM_DT_UINT16] = 2,
		[HCOMM_DT_INT32] = 4, [HCOMM_DT_UINT32] = 4,
		[HCOMM_DT_INT64] = 8, [HCOMM_DT_UINT64] = 8,
		[HCOMM_DT_FP16] = 2, [HCOMM_DT_BF16] = 2,
		[HCOMM_DT_FP32] = 4, [HCOMM_DT_FP64] = 8,
		[HCOMM_DT_FP8_E4M3] = 1, [HCOMM_DT_FP8_E5M2] = 1,
	};

	return dtype < HCOMM_DT_COUNT ? bytes[dtype] : 0;
}

/* elements up to the end of the last block; -1: beyond @limit */
static int64_t extent(uint32_t n, const uint64_t *counts, const uint64_t *displs,
		      uint64_t limit)
{
	uint64_t end = 0, at = 0;
	uint32_t i;

	for (i = 0; i < n; i++) {
		if (displs)
			at = displs[i];
		if (counts[i] > limit || at > limit - counts[i])
			return -1;
		at += counts[i];
		if (at > end && counts[i])
			end = at;
	}
	return end;
}

/* what a block of this rank alone has; blocks of ALLTOALL have no such length */
static uint64_t own_count(const struct hcomm_sched_args *a)
{
	return a->counts ? a->counts[a->rank] : a->count;
}

static int check_vector(const struct hcomm_sched_args *a, uint64_t limit)
{
	bool in = true, out = false, gathers = false;

	switch (a->coll) {
	case HCOMM_COLL_REDUCE_SCATTER:
		if (a->displs)
			return -EINVAL;
		break;
	case HCOMM_COLL_ALLGATHER:
		break;
	case HCOMM_COLL_GATHER:
	case HCOMM_COLL_SCATTER:
		gathers = true;
		in = hcomm_args_at_root(a);
		break;
	case HCOMM_COLL_ALLTOALL:
		in = !a->in_place;
		out = true;
		break;
	default:
		return -EINVAL;
	}
	if ((in && !a->counts) || (out && !a->rcounts))
		return -EINVAL;
	if ((in && extent(a->nranks, a->counts, a->displs, limit) < 0) ||
	    (out && extent(a->nranks, a->rcounts, a->rdispls, limit) < 0) ||
	    (gathers && !in && own_count(a) > limit))
		return -EOVERFLOW;
	return 0;
}

static bool redop_valid(const struct hcomm_sched_args *a, uint32_t size)
{
	switch (a->redop) {
	case HCOMM_OP_AVG:
		return a->coll != HCOMM_COLL_SCAN && a->coll != HCOMM_COLL_EXSCAN;
	case HCOMM_OP_PREMUL_SUM:
		return size == sizeof(a->operand) || !(a->operand >> (8 * size));
	default:
		return a->redop < HCOMM_OP_COUNT && HCOMM_OP_FITS(a->redop, a->dtype);
	}
}

int hcomm_args_check(const struct hcomm_sched_args *a)
{
	uint32_t size = hcomm_dtype_bytes(a->dtype);

	if (!a->nranks || a->nranks > HCOMM_MAX_RANKS || a->rank >= a->nranks ||
	    a->root >= a->nranks || a->peer >= a->nranks || !size ||
	    !redop_valid(a, size) || !a->chunk_size ||
	    a->channels > HCOMM_SCHED_MAX_CHANNELS || a->radix == 1 ||
	    a->radix > HCOMM_SCHED_MAX_RADIX ||
	    (a->topo && a->topo->nranks != a->nranks))
		return -EINVAL;
	if (hcomm_args_vector(a))
		return check_vector(a, HCOMM_SCHED_MAX_BYTES / size);
	if (a->count > HCOMM_SCHED_MAX_BYTES / size / a->nranks)
		return -EOVERFLOW;
	return 0;
}

static uint64_t *pack(uint64_t *displs, const uint64_t *counts, uint32_t n)
{
	uint64_t at = 0;
	uint32_t i;

	for (i = 0; i < n; i++) {
		displs[i] = at;
		at += counts[i];
	}
	return displs;
}

int hcomm_args_complete(struct hcomm_sched_args *a, uint64_t **memory)
{
	bool at_root = hcomm_args_at_root(a);
	bool out = a->coll == HCOMM_COLL_ALLTOALL;

	*memory = NULL;
	a->channels += !a->channels;
	if (!a->radix)
		a->radix = DEFAULT_RADIX;
	a->vector = hcomm_args_vector(a);
	if (!a->vector)
		return 0;
	if ((a->coll == HCOMM_COLL_GATHER || a->coll == HCOMM_COLL_SCATTER) && !at_root) {
		a->count = own_count(a);
		a->counts = NULL;
		return 0;
	}
	if (out && a->in_place) {
		a->counts = a->rcounts;
		a->displs = a->rdispls;
	}
	if (a->displs && (!out || a->rdispls))
		return 0;
	*memory = malloc(2 * (size_t)a->nranks * sizeof(**memory));
	if (!*memory)
		return -ENOMEM;
	if (!a->displs)
		a->displs = pack(*memory, a->counts, a->nranks);
	if (out && !a->rdispls)
		a->rdispls = pack(*memory + a->nranks, a->rcounts, a->nranks);
	return 0;
}

/* bytes of the buffer that has all blocks */
static uint64_t all_blocks(const struct hcomm_sched_args *a, bool received)
{
	const uint64_t *counts = received ? a->rcounts : a->counts;
	const uint64_t *displs = received ? a->rdispls : a->displs;
	uint32_t size = hcomm_dtype_bytes(a->dtype);

	if (!hcomm_args_vector(a))
		return a->count * size * a->nranks;
	return extent(a->nranks, counts, displs, HCOMM_SCHED_MAX_BYTES / size) * size;
}

uint64_t hcomm_sched_buffer_size(const struct hcomm_sched_args *a, uint32_t slot)
{
	uint64_t one = own_count(a) * hcomm_dtype_bytes(a->dtype);
	bool send = slot == HCOMM_SLOT_SEND, root = hcomm_args_at_root(a);

	if (slot != HCOMM_SLOT_SEND && slot != HCOMM_SLOT_RECV)
		return 0;
	if (a->in_place && send)
		return 0;
	switch (a->coll) {
	case HCOMM_COLL_ALLREDUCE:
	case HCOMM_COLL_SCAN:
	case HCOMM_COLL_EXSCAN:
		return one;
	case HCOMM_COLL_BROADCAST:
		return !send || root ? one : 0;
	case HCOMM_COLL_REDUCE:
		return send || a->in_place || root ? one : 0;
	case HCOMM_COLL_ALLGATHER:
		return send ? one : all_blocks(a, false);
	case HCOMM_COLL_REDUCE_SCATTER:
		return send || a->in_place ? all_blocks(a, false) : one;
	case HCOMM_COLL_GATHER:
		if (send || (a->in_place && !root))
			return one;
		return root ? all_blocks(a, false) : 0;
	case HCOMM_COLL_SCATTER:
		if (send || (a->in_place && root))
			return root ? all_blocks(a, false) : 0;
		return one;
	case HCOMM_COLL_ALLTOALL:
		return all_blocks(a, !send);
	case HCOMM_COLL_P2P:
		if (send)
			return root ? one : 0;
		return a->rank == a->peer || (a->in_place && root) ? one : 0;
	default:
		return 0;
	}
}
