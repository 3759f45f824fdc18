// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Dissemination Barrier (D. Hensgen, R. Finkel, U. Manber: Two algorithms for
 * barrier synchronization, IJPP 17, 1988).
 *
 * In round k every rank tells rank + 2^k that it and all it has heard of are
 * here, and hears from rank - 2^k.  Messages have no bytes.
 */
#include "builders.h"

void hcomm_build_dissemination(struct hcomm_plan *plan,
			       const struct hcomm_sched_args *args)
{
	uint32_t n = args->nranks, r = args->rank, dist, k = 0, i;
	uint32_t heard[32];

	for (dist = 1; dist < n; dist *= 2) {
		hcomm_plan_send(plan, (r + dist) % n, hcomm_input(args, 0), 0);
		for (i = 0; i < k; i++)
			hcomm_plan_after(plan, heard[i]);
		heard[k++] = hcomm_plan_recv(plan, hcomm_ring_sub(r, dist, n),
					     hcomm_output(0), 0);
	}
}
