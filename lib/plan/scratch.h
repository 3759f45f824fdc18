/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Scratch memory that plans need, as far as it grows with the data. */
#ifndef HCOMM_PLAN_SCRATCH_H
#define HCOMM_PLAN_SCRATCH_H

#include <stdbool.h>

#include "predict.h"

/* what a plan may need before the planner prefers others: it is pinned */
#define HCOMM_SCRATCH_LIMIT	(256ull << 20)

/**
 * hcomm_scratch_growth - scratch memory of a plan
 * @algo: enum hcomm_algo
 * @call: what is to be done
 * @nranks: ranks
 * @fixed: in fixed order
 *
 * On the rank that needs most, whether or not input and output are one buffer, as not
 * all ranks need agree on that.  Without the bounded part: slices and sections.
 *
 * Return: bytes.
 */
double hcomm_scratch_growth(uint32_t algo, const struct hcomm_call_shape *call,
			    uint32_t nranks, bool fixed);

#endif /* HCOMM_PLAN_SCRATCH_H */
