// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Linear Scan and Exscan: each rank adds its own input to the prefix that the one
 * below hands over, and hands the result on (the linear pipeline of P. Sanders,
 * J. L. Traeff: Parallel prefix (scan) algorithms for MPI, EuroPVM/MPI 2006).
 *
 * The data goes in slices, one behind the other, so that n - 1 hops cost little
 * where there is much of it: every rank sends and receives each byte once.
 *
 * EXSCAN: the output is the prefix as it came.  The sum is made in scratch
 * memory, where the input is put beforehand.
 */
#include "builders.h"
#include "tree.h"

#define BUFFERS	8	/* slices of scratch memory */

static void scan_slice(struct hcomm_plan *plan, const struct hcomm_sched_args *args,
		       uint64_t off, uint64_t len)
{
	struct hcomm_loc in = hcomm_input(args, off), out = hcomm_output(off);
	uint32_t n = args->nranks, r = args->rank, made = HCOMM_NO_STEP;

	if (r)
		made = hcomm_plan_recv_reduce(plan, r - 1, out, in, len);
	if (r + 1 < n) {
		hcomm_plan_send(plan, r + 1, r ? out : in, len);
		hcomm_plan_stream(plan, made);
	}
	if (!r && !args->in_place)
		hcomm_plan_copy(plan, out, in, len);
}

/* returns the SEND that reads @sum */
static uint32_t exscan_slice(struct hcomm_plan *plan,
			     const struct hcomm_sched_args *args, uint64_t off,
			     uint64_t len, struct hcomm_loc sum, uint32_t reader)
{
	struct hcomm_loc in = hcomm_input(args, off), out = hcomm_output(off);
	uint32_t n = args->nranks, r = args->rank, copied = HCOMM_NO_STEP, made;

	if (!r)
		return hcomm_plan_send(plan, 1, in, len);
	if (r + 1 < n) {
		copied = hcomm_plan_copy(plan, sum, in, len);
		hcomm_plan_stream(plan, reader);
	}
	made = hcomm_plan_recv(plan, r - 1, out, len);
	if (args->in_place)
		hcomm_plan_stream(plan, copied);
	if (r + 1 == n)
		return HCOMM_NO_STEP;
	reader = made;
	made = hcomm_plan_reduce(plan, sum, out, len);
	hcomm_plan_stream(plan, copied);
	hcomm_plan_stream(plan, reader);
	reader = hcomm_plan_send(plan, r + 1, sum, len);
	hcomm_plan_stream(plan, made);
	return reader;
}

void hcomm_build_linear(struct hcomm_plan *plan,
			const struct hcomm_sched_args *args)
{
	uint32_t size = hcomm_dtype_bytes(args->dtype), nslices, t, i;
	uint32_t reader[BUFFERS];
	struct hcomm_loc sum[BUFFERS];
	uint64_t first, len;

	nslices = hcomm_tree_slices(args, args->count);
	len = hcomm_split(args->count, nslices, 0, &first) * size;
	for (i = 0; i < BUFFERS; i++) {
		reader[i] = HCOMM_NO_STEP;
		if (args->coll == HCOMM_COLL_EXSCAN && i < nslices && args->rank &&
		    args->rank + 1 < args->nranks)
			sum[i] = hcomm_loc(HCOMM_SLOT_SCRATCH,
					   hcomm_plan_scratch(plan, len));
		else
			sum[i] = hcomm_output(0);
	}
	for (t = 0; t < nslices && !plan->err; t++) {
		len = hcomm_split(args->count, nslices, t, &first) * size;
		i = t % BUFFERS;
		if (len && args->coll == HCOMM_COLL_SCAN)
			scan_slice(plan, args, first * size, len);
		else if (len)
			reader[i] = exscan_slice(plan, args, first * size, len,
						 sum[i], reader[i]);
	}
}
