/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Scaling around a sum: what AVG and PREMUL_SUM are made of.  Any builder of
 * sums serves both; it does not know.
 */
#ifndef HCOMM_SCHED_SCALE_H
#define HCOMM_SCHED_SCALE_H

#include "plan.h"

/* the reduction that steps do for the one of a call */
static inline uint32_t hcomm_redop_of_steps(uint32_t redop)
{
	return redop == HCOMM_OP_AVG || redop == HCOMM_OP_PREMUL_SUM ? HCOMM_OP_SUM : redop;
}

/**
 * hcomm_scale_before - scale the input of this rank
 * @plan: empty plan
 * @args: completed arguments with PREMUL_SUM
 * @inner: out: what to build behind it: a sum
 *
 * Where the output is as large as the input and all this rank's own, the scaled
 * input is put there, and the sum is one in place; else it goes to scratch.
 */
void hcomm_scale_before(struct hcomm_plan *plan, const struct hcomm_sched_args *args,
			struct hcomm_sched_args *inner);

/**
 * hcomm_scale_join - let the sum work on the scaled input
 * @plan: plan with the sum behind hcomm_scale_before()
 * @args: as there
 */
void hcomm_scale_join(struct hcomm_plan *plan, const struct hcomm_sched_args *args);

/**
 * hcomm_scale_after - divide the output of this rank by the number of ranks
 * @plan: plan of the sum
 * @args: completed arguments with AVG
 */
void hcomm_scale_after(struct hcomm_plan *plan, const struct hcomm_sched_args *args);

#endif /* HCOMM_SCHED_SCALE_H */
