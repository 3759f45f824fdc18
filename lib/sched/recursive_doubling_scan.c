// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Recursive-doubling Scan and Exscan (W. D. Hillis, G. L. Steele: Data parallel
 * algorithms, CACM 29, 1986).
 *
 * In round k rank r sends the sum of the 2^k inputs up to its own to r + 2^k, and
 * adds what comes from r - 2^k: ceil(log2 n) rounds.  EXSCAN is that of the ranks
 * from 1 on, with the input of the rank below for their own.
 *
 * As in the AllReduce, a sum is made in another buffer than the one being sent.
 * They are chosen backwards from the last one, which is the output.
 */
#include "builders.h"

#define MAX_ROUNDS	32

struct scan {
	struct hcomm_plan *plan;
	const struct hcomm_sched_args *args;
	uint64_t len;
	uint32_t first;			/* rank 0 of the scan */
	uint32_t adds;			/* rounds in which something comes */
	struct hcomm_loc sum[MAX_ROUNDS + 1];	/* before each of them, and after */
	uint32_t given;			/* SEND of the input, of EXSCAN */
};

static bool same_loc(struct hcomm_loc a, struct hcomm_loc b)
{
	return a.slot == b.slot && a.off == b.off;
}

static struct hcomm_loc scratch(struct scan *s)
{
	return hcomm_loc(HCOMM_SLOT_SCRATCH, hcomm_plan_scratch(s->plan, s->len));
}

static void choose_buffers(struct scan *s)
{
	bool exclusive = s->args->coll == HCOMM_COLL_EXSCAN;
	struct hcomm_loc other = hcomm_output(0);
	uint32_t k;

	if (s->adds > 1 || (s->adds && exclusive))
		other = scratch(s);
	for (k = 0; k <= s->adds; k++)
		s->sum[k] = (s->adds - k) % 2 ? other : hcomm_output(0);
	if (!exclusive)
		s->sum[0] = hcomm_input(s->args, 0);
	if (!s->args->in_place || !s->adds)
		return;
	/* the output is the input: being sent, it is no place for the first sum */
	if (exclusive && s->adds % 2 == 0)
		s->sum[0] = scratch(s);
	else if (!exclusive && s->adds % 2 && s->adds > 1)
		s->sum[1] = scratch(s);
}

static void rounds(struct scan *s, uint32_t made)
{
	uint32_t m = s->args->nranks - s->first, i = s->args->rank - s->first;
	uint32_t d, k = 0, cur = 0, j, step, sent[MAX_ROUNDS];
	struct hcomm_loc from[MAX_ROUNDS];

	for (d = 1; d < m; d *= 2, k++) {
		sent[k] = HCOMM_NO_STEP;
		from[k] = s->sum[cur];
		if (i + d < m) {
			sent[k] = hcomm_plan_send(s->plan, s->args->rank + d,
						  s->sum[cur], s->len);
			hcomm_plan_stream(s->plan, made);
		}
		if (i < d)
			continue;
		step = hcomm_plan_recv_reduce(s->plan, s->args->rank - d,
					      s->sum[cur + 1], s->sum[cur], s->len);
		hcomm_plan_stream(s->plan, made);
		if (s->args->in_place && same_loc(s->sum[cur + 1], hcomm_output(0)))
			hcomm_plan_stream(s->plan, s->given);
		for (j = k + 1; j-- > 0;) {
			if (same_loc(from[j], s->sum[cur + 1]))
				hcomm_plan_stream(s->plan, sent[j]);
		}
		made = step;
		cur++;
	}
}

void hcomm_build_recursive_doubling_scan(struct hcomm_plan *plan,
					 const struct hcomm_sched_args *args)
{
	struct scan s = {
		.plan = plan, .args = args,
		.len = args->count * hcomm_dtype_bytes(args->dtype),
		.first = args->coll == HCOMM_COLL_EXSCAN, .given = HCOMM_NO_STEP,
	};
	uint32_t r = args->rank, made = HCOMM_NO_STEP, d;

	if (!s.len)
		return;
	if (s.first && r + 1 < args->nranks)
		s.given = hcomm_plan_send(plan, r + 1, hcomm_input(args, 0), s.len);
	if (r < s.first)
		return;
	for (d = 1; d <= r - s.first; d *= 2)
		s.adds++;
	choose_buffers(&s);
	if (s.first) {
		made = hcomm_plan_recv(plan, r - 1, s.sum[0], s.len);
		if (args->in_place && same_loc(s.sum[0], hcomm_output(0)))
			hcomm_plan_stream(plan, s.given);
	}
	rounds(&s, made);
	if (!s.adds && !s.first && !args->in_place)
		hcomm_plan_copy(plan, hcomm_output(0), hcomm_input(args, 0), s.len);
}
