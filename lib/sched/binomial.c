// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Binomial tree: the k-nomial tree of radix 2 (R. Thakur, R. Rabenseifner,
 * W. Gropp: Optimization of collective communication operations in MPICH,
 * IJHPCA 19, 2005).
 */
#include "builders.h"

void hcomm_build_binomial(struct hcomm_plan *plan,
			  const struct hcomm_sched_args *args)
{
	struct hcomm_sched_args a = *args;

	a.radix = 2;
	hcomm_build_knomial(plan, &a);
}
