// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the collectives are called and how their bandwidth is counted.
 *
 * Algorithm bandwidth is size over time.  Bus bandwidth is what every link of a
 * rank has to carry for it, in one direction, whatever the algorithm; so it can
 * be compared with the speed of the hardware, for any number n of ranks:
 *
 *	allreduce			2 (n - 1) / n
 *	reduce_scatter, allgather,
 *	gather, scatter, alltoall	(n - 1) / n	of the size of all blocks
 *	broadcast, reduce, scan, exscan	1
 *	sendrecv, oneway		1
 */
#include <string.h>

#include "../../lib/plan/names.h"
#include "perf.h"

const char *const perf_coll_names[PERF_COLLS] = {
	"allreduce", "reduce", "broadcast", "reduce_scatter", "allgather",
	"gather", "scatter", "alltoall", "scan", "exscan",
	"sendrecv", "oneway", "barrier",
};

bool perf_coll_by_name(const char *name, enum perf_coll *coll)
{
	unsigned int i;

	for (i = 0; i < PERF_COLLS; i++) {
		if (hcomm_is_word(perf_coll_names[i], name, strlen(name))) {
			*coll = (enum perf_coll)i;
			return true;
		}
	}
	return false;
}

bool perf_has_op(enum perf_coll coll)
{
	return coll == PERF_ALLREDUCE || coll == PERF_REDUCE ||
	       coll == PERF_REDUCE_SCATTER || perf_is_scan(coll);
}

bool perf_is_scan(enum perf_coll coll)
{
	return coll == PERF_SCAN || coll == PERF_EXSCAN;
}

bool perf_has_blocks(enum perf_coll coll)
{
	return coll >= PERF_REDUCE_SCATTER && coll <= PERF_ALLTOALL;
}

bool perf_has_root(enum perf_coll coll)
{
	return coll == PERF_REDUCE || coll == PERF_BROADCAST || coll == PERF_GATHER ||
	       coll == PERF_SCATTER;
}

bool perf_has_in_place(enum perf_coll coll)
{
	return coll <= PERF_EXSCAN;
}

bool perf_moves_data(enum perf_coll coll)
{
	return coll != PERF_BARRIER;
}

double perf_bus_factor(enum perf_coll coll, unsigned int nranks)
{
	double n = nranks;

	if (coll == PERF_ALLREDUCE)
		return 2 * (n - 1) / n;
	return perf_has_blocks(coll) ? (n - 1) / n : 1;
}

uint64_t perf_count(enum perf_coll coll, unsigned int nranks, size_t elem,
		    uint64_t bytes, uint64_t *really)
{
	uint64_t blocks = 1, count;

	if (perf_has_blocks(coll))
		blocks = nranks;
	count = bytes / elem / blocks;
	if (bytes && !count)
		count = 1;
	*really = count * blocks * elem;
	return count;
}
