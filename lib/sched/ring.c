// SPDX-License-Identifier: LGPL-2.1-or-later
/* The ring's collectives, each in a file of its own. */
#include "builders.h"

void hcomm_build_ring(struct hcomm_plan *plan, const struct hcomm_sched_args *args)
{
	if (args->coll == HCOMM_COLL_ALLREDUCE)
		hcomm_build_ring_allreduce(plan, args);
	else if (args->coll == HCOMM_COLL_REDUCE_SCATTER)
		hcomm_build_ring_reduce_scatter(plan, args);
	else
		hcomm_build_ring_allgather(plan, args);
}
