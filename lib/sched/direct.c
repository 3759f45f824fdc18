// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Direct, or mesh: every rank sends to each of the others what that one needs, all
 * at once (the "linear" algorithms of J. Pjesivac-Grbovic, T. Angskun,
 * G. Bosilca, G. E. Fagg, E. Gabriel, J. J. Dongarra: Performance analysis of MPI
 * collective operations, Cluster Computing 10, 2007).
 *
 * One message of latency, for small data and few ranks.  Reductions are made in the
 * order of ranks where all must get the same bits; a ReduceScatter without fixed order
 * begins at each rank with its own block.
 */
#include "blocks.h"
#include "builders.h"
#include "fold.h"

/* the one above first, so that not all begin with rank 0 */
static void send_all(struct hcomm_plan *plan, const struct hcomm_sched_args *args,
		     struct hcomm_loc src, uint64_t len)
{
	uint32_t n = args->nranks, r = args->rank, i;

	for (i = 1; i < n; i++)
		hcomm_plan_send(plan, (r + i) % n, src, len);
}

static void allreduce(struct hcomm_plan *plan, const struct hcomm_sched_args *args)
{
	struct hcomm_fold f = {
		.n = args->nranks, .me = args->rank, .in = hcomm_input(args, 0),
		.out = hcomm_output(0),
		.len = args->count * hcomm_dtype_bytes(args->dtype),
		.same = args->in_place, .first_send = plan->nsteps,
	};

	if (!f.len)
		return;
	send_all(plan, args, f.in, f.len);
	f.nsends = args->in_place ? f.n - 1 : 0;
	hcomm_fold_emit(plan, &f);
}

static void reduce_scatter(struct hcomm_plan *plan,
			   const struct hcomm_sched_args *args)
{
	uint32_t n = args->nranks, r = args->rank, i, q;
	struct hcomm_fold f = { .n = n, .me = r, .same = args->in_place };
	struct hcomm_blk own;
	uint64_t off, len;

	for (i = 1; i < n; i++) {
		q = (r + i) % n;
		len = hcomm_block(args, q, &off);
		if (len)
			hcomm_plan_send(plan, q, hcomm_input(args, off), len);
	}
	f.len = hcomm_block(args, r, &off);
	f.in = hcomm_input(args, off);
	f.out = hcomm_output(args->in_place ? off : 0);
	if (f.len && args->fixed_order) {
		hcomm_fold_emit(plan, &f);
		return;
	}
	/* one below first, so that not all wait for rank 0, then for rank 1, ... */
	own = hcomm_blk(f.len, f.in, f.out);
	for (i = 1; i < n; i++)
		hcomm_blk_reduce(plan, &own, hcomm_ring_sub(r, i, n));
}

static void allgather(struct hcomm_plan *plan, const struct hcomm_sched_args *args)
{
	uint32_t n = args->nranks, r = args->rank, i, q, last;
	uint64_t off, len = hcomm_block(args, r, &off);
	struct hcomm_loc own = hcomm_input(args, args->in_place ? off : 0);

	if (len) {
		send_all(plan, args, own, len);
		last = plan->nsteps - 1;
		if (!args->in_place) {
			hcomm_plan_copy(plan, hcomm_output(off), own, len);
			hcomm_plan_stream(plan, last);
		}
	}
	for (i = 1; i < n; i++) {
		q = hcomm_ring_sub(r, i, n);
		len = hcomm_block(args, q, &off);
		if (len)
			hcomm_plan_recv(plan, q, hcomm_output(off), len);
	}
}

/*
 * In place, a block is overwritten by what comes for it.  Of two ranks the lower
 * one sends a copy, so that it can accept at once; then the other one can wait
 * until its own block is accepted.
 */
static void alltoall(struct hcomm_plan *plan, const struct hcomm_sched_args *args)
{
	uint32_t n = args->nranks, r = args->rank, i, q, sent, first = plan->nsteps;
	uint64_t off, len, to;
	struct hcomm_loc src;

	for (i = 1; i < n; i++) {
		q = (r + i) % n;
		len = hcomm_block(args, q, &off);
		src = hcomm_input(args, off);
		sent = HCOMM_NO_STEP;
		if (len && args->in_place && r < q) {
			src = hcomm_loc(HCOMM_SLOT_SCRATCH, hcomm_plan_scratch(plan, len));
			sent = hcomm_plan_copy(plan, src, hcomm_input(args, off), len);
		}
		if (len) {
			hcomm_plan_send(plan, q, src, len);
			hcomm_plan_stream(plan, sent);
		}
	}
	/* in place, SEND (or COPY and SEND) of what is overwritten come in this order */
	for (i = 1; i < n; i++) {
		q = (r + i) % n;
		len = hcomm_block_out(args, q, &to);
		if (!len)
			continue;
		hcomm_plan_recv(plan, q, hcomm_output(to), len);
		if (!args->in_place)
			continue;
		hcomm_plan_stream(plan, first);
		first += r < q ? 2 : 1;
	}
	len = hcomm_block(args, r, &off);
	hcomm_block_out(args, r, &to);
	if (len && !args->in_place)
		hcomm_plan_copy(plan, hcomm_output(to), hcomm_input(args, off), len);
}

static void scan(struct hcomm_plan *plan, const struct hcomm_sched_args *args)
{
	bool inclusive = args->coll == HCOMM_COLL_SCAN;
	uint32_t n = args->nranks, r = args->rank, q;
	struct hcomm_fold f = {
		.n = inclusive ? r + 1 : r, .me = inclusive ? r : HCOMM_NO_RANK,
		.in = hcomm_input(args, 0), .out = hcomm_output(0),
		.len = args->count * hcomm_dtype_bytes(args->dtype),
		.same = args->in_place, .first_send = plan->nsteps,
	};

	if (!f.len)
		return;
	for (q = r + 1; q < n; q++)
		hcomm_plan_send(plan, q, f.in, f.len);
	f.nsends = args->in_place ? n - 1 - r : 0;
	if (r)
		hcomm_fold_emit(plan, &f);
	else if (inclusive && !args->in_place)
		hcomm_plan_copy(plan, f.out, f.in, f.len);
}

void hcomm_build_direct(struct hcomm_plan *plan,
			const struct hcomm_sched_args *args)
{
	switch (args->coll) {
	case HCOMM_COLL_ALLREDUCE:
		allreduce(plan, args);
		break;
	case HCOMM_COLL_REDUCE_SCATTER:
		reduce_scatter(plan, args);
		break;
	case HCOMM_COLL_ALLGATHER:
		allgather(plan, args);
		break;
	case HCOMM_COLL_ALLTOALL:
		alltoall(plan, args);
		break;
	default:
		scan(plan, args);
		break;
	}
}
