// SPDX-License-Identifier: GPL-2.0-only
/* hcomm_sim: command line of the simulator. */
#include <getopt.h>
#include <stdio.h>
#include "sim.h"
#include "reduce.h"

bool sim_trace_all;
int main(int argc, char **argv)
{
	hcomm_reduce_init(true);
	sim_trace_all = getenv("TR");
	printf("%llu\n", (unsigned long long)mode_random(strtoull(argv[1], 0, 0), strtoull(argv[2], 0, 0), 60, argc > 3));
	return 0;
}
