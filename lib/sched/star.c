// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Star: the root sends to, or receives from, each of the others, all at once (the
 * "linear" algorithms of J. Pjesivac-Grbovic, T. Angskun, G. Bosilca, G. E. Fagg,
 * E. Gabriel, J. J. Dongarra: Performance analysis of MPI collective operations,
 * Cluster Computing 10, 2007).
 *
 * One message of latency and no data is sent twice, so for few ranks, and for the
 * V forms of GATHER and SCATTER, where nobody else knows the lengths.  The root
 * reduces in the order of ranks.
 */
#include "builders.h"
#include "fold.h"

static void broadcast(struct hcomm_plan *plan, const struct hcomm_sched_args *args)
{
	uint64_t len = args->count * hcomm_dtype_bytes(args->dtype);
	uint32_t n = args->nranks, i, last = HCOMM_NO_STEP;

	if (!len)
		return;
	if (args->rank != args->root) {
		hcomm_plan_recv(plan, args->root, hcomm_output(0), len);
		return;
	}
	for (i = 1; i < n; i++)
		last = hcomm_plan_send(plan, (args->root + i) % n,
				       hcomm_input(args, 0), len);
	if (!args->in_place) {
		hcomm_plan_copy(plan, hcomm_output(0), hcomm_input(args, 0), len);
		hcomm_plan_stream(plan, last);
	}
}

static void reduce(struct hcomm_plan *plan, const struct hcomm_sched_args *args)
{
	struct hcomm_fold f = {
		.n = args->nranks, .me = args->rank, .in = hcomm_input(args, 0),
		.out = hcomm_output(0),
		.len = args->count * hcomm_dtype_bytes(args->dtype),
		.same = args->in_place,
	};

	if (f.len && args->rank == args->root)
		hcomm_fold_emit(plan, &f);
	else if (f.len)
		hcomm_plan_send(plan, args->root, f.in, f.len);
}

static void gather(struct hcomm_plan *plan, const struct hcomm_sched_args *args)
{
	uint32_t n = args->nranks, root = args->root, i, q;
	uint64_t off, len = hcomm_block(args, args->rank, &off);

	if (args->rank != root) {
		if (len)
			hcomm_plan_send(plan, root, hcomm_input(args, 0), len);
		return;
	}
	if (len && !args->in_place)
		hcomm_plan_copy(plan, hcomm_output(off), hcomm_input(args, 0), len);
	for (i = 1; i < n; i++) {
		q = (root + i) % n;
		len = hcomm_block(args, q, &off);
		if (len)
			hcomm_plan_recv(plan, q, hcomm_output(off), len);
	}
}

static void scatter(struct hcomm_plan *plan, const struct hcomm_sched_args *args)
{
	uint32_t n = args->nranks, root = args->root, i, q, last = HCOMM_NO_STEP;
	uint64_t off, len = hcomm_block(args, args->rank, &off);

	if (args->rank != root) {
		if (len)
			hcomm_plan_recv(plan, root, hcomm_output(0), len);
		return;
	}
	for (i = 1; i < n; i++) {
		q = (root + i) % n;
		len = hcomm_block(args, q, &off);
		if (len)
			last = hcomm_plan_send(plan, q, hcomm_input(args, off), len);
	}
	len = hcomm_block(args, root, &off);
	if (len && !args->in_place) {
		hcomm_plan_copy(plan, hcomm_output(0), hcomm_input(args, off), len);
		hcomm_plan_stream(plan, last);
	}
}

void hcomm_build_star(struct hcomm_plan *plan, const struct hcomm_sched_args *args)
{
	switch (args->coll) {
	case HCOMM_COLL_BROADCAST:
		broadcast(plan, args);
		break;
	case HCOMM_COLL_REDUCE:
		reduce(plan, args);
		break;
	case HCOMM_COLL_GATHER:
		gather(plan, args);
		break;
	default:
		scatter(plan, args);
		break;
	}
}
