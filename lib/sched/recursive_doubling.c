// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Recursive doubling: AllReduce here, AllGather and Scan in other files
 * (R. Thakur, R. Rabenseifner, W. Gropp: Optimization of collective communication
 * operations in MPICH, IJHPCA 19, 2005).
 *
 * Of n ranks, the first 2 * (n - 2^k) fold in pairs: the odd one gives its input
 * to the even one and gets the result at the end.  The others exchange their
 * sums with partners at distance 1, 2, 4, ...  Both partners compute the same
 * sum up to the order of the two operands, which does not matter to the bit, so
 * all ranks get the same bits.
 *
 * A partner's sum is reduced into another buffer than the one being sent: if
 * both ends waited for their SENDs before they accept, neither would go on.
 * The buffers are chosen backwards from the last round, which ends in the
 * output.
 */
#include "builders.h"

/* the rank that takes part as number v */
static uint32_t member(uint32_t v, uint32_t folded)
{
	return v < folded ? 2 * v : v + folded;
}

static bool same_loc(struct hcomm_loc a, struct hcomm_loc b)
{
	return a.slot == b.slot && a.off == b.off;
}

/* where the sum is before round k, and after the last one */
static void choose_buffers(struct hcomm_plan *plan,
			   const struct hcomm_sched_args *args, uint32_t rounds,
			   bool folds, uint64_t len, struct hcomm_loc *sum)
{
	bool fresh = !folds && !args->in_place;	/* round 0 reads slot 0 */
	uint64_t off = 0;
	uint32_t k;

	if (rounds > 1 || !fresh)
		off = hcomm_plan_scratch(plan, len);
	for (k = 0; k <= rounds; k++)
		sum[k] = (rounds - k) % 2 ? hcomm_loc(HCOMM_SLOT_SCRATCH, off) :
					    hcomm_output(0);
	if (fresh)
		sum[0] = hcomm_input(args, 0);
	if (folds || fresh || rounds % 2 == 0 || rounds == 1)
		return;
	/* an odd number of rounds from the output back to it: a third buffer */
	sum[0] = hcomm_output(0);
	sum[1] = hcomm_loc(HCOMM_SLOT_SCRATCH, hcomm_plan_scratch(plan, len));
}

static void allreduce(struct hcomm_plan *plan, const struct hcomm_sched_args *args)
{
	uint32_t n = args->nranks, r = args->rank;
	uint32_t pow2, rounds = 0, folded, me, k, j, partner;
	uint64_t len = args->count * hcomm_dtype_bytes(args->dtype);
	uint32_t made = HCOMM_NO_STEP, sent[32], prev;
	struct hcomm_loc in = hcomm_input(args, 0), out = hcomm_output(0);
	struct hcomm_loc sum[33];
	bool folds;

	if (!len)
		return;
	for (pow2 = 1; pow2 * 2 <= n; pow2 *= 2)
		rounds++;
	folded = n - pow2;
	folds = r < 2 * folded;

	if (folds && r % 2) {
		made = hcomm_plan_send(plan, r - 1, in, len);
		hcomm_plan_recv(plan, r - 1, out, len);
		if (args->in_place)
			hcomm_plan_stream(plan, made);
		return;
	}

	me = folds ? r / 2 : r - folded;
	choose_buffers(plan, args, rounds, folds, len, sum);
	if (folds)
		made = hcomm_plan_recv_reduce(plan, r + 1, sum[0], in, len);
	else if (!same_loc(sum[0], in))
		made = hcomm_plan_copy(plan, sum[0], in, len);

	for (k = 0; k < rounds; k++) {
		partner = member(me ^ (1u << k), folded);
		sent[k] = hcomm_plan_send(plan, partner, sum[k], len);
		hcomm_plan_stream(plan, made);
		prev = made;
		made = hcomm_plan_recv_reduce(plan, partner, sum[k + 1], sum[k],
					      len);
		hcomm_plan_stream(plan, prev);
		/* the last SEND from where this goes to; earlier ones are over */
		for (j = k; j-- > 0;) {
			if (same_loc(sum[j], sum[k + 1])) {
				hcomm_plan_stream(plan, sent[j]);
				break;
			}
		}
	}
	if (folds) {
		hcomm_plan_send(plan, r + 1, out, len);
		hcomm_plan_stream(plan, made);
	}
}

void hcomm_build_recursive_doubling(struct hcomm_plan *plan,
				    const struct hcomm_sched_args *args)
{
	if (args->coll == HCOMM_COLL_ALLREDUCE)
		allreduce(plan, args);
	else if (args->coll == HCOMM_COLL_ALLGATHER)
		hcomm_build_halving_doubling(plan, args);	/* its second half */
	else
		hcomm_build_recursive_doubling_scan(plan, args);
}
