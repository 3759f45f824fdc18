// SPDX-License-Identifier: LGPL-2.1-or-later
/* Distances of NUMA nodes, as sysfs shows them. */
#include <ctype.h>
#include <dirent.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/base.h"
#include "numa.h"

#define NODES	"devices/system/node"

/* more CPUs than a cpu_set_t has; the kernel refuses sets that are too small */
#define CPU_SETS	8

/* is a CPU of "0-3,8" in the set? */
static bool has_cpu(const char *list, const cpu_set_t *set, size_t size)
{
	unsigned long first, last;
	char *end;

	while (isdigit((unsigned char)*list)) {
		first = strtoul(list, &end, 10);
		last = *end == '-' ? strtoul(end + 1, &end, 10) : first;
		for (; first <= last && first < size * 8; first++) {
			if (CPU_ISSET_S(first, size, set))
				return true;
		}
		list = end + (*end == ',');
	}
	return false;
}

static int is_node(const struct dirent *d)
{
	return !strncmp(d->d_name, "node", 4) && isdigit((unsigned char)d->d_name[4]);
}

uint32_t hcomm_numa_distance(const char *sysfs, unsigned int node)
{
	char path[512], row[4096], cpus[4096], *at = row;
	uint32_t least = HCOMM_NUMA_UNKNOWN, one;
	cpu_set_t set[CPU_SETS];
	struct dirent **nodes;
	int n, i;

	snprintf(path, sizeof(path), "%s/" NODES "/node%u/distance", sysfs, node);
	if (!hcomm_read_line(path, row, sizeof(row)) ||
	    sched_getaffinity(0, sizeof(set), set))
		return HCOMM_NUMA_UNKNOWN;
	snprintf(path, sizeof(path), "%s/" NODES, sysfs);
	n = scandir(path, &nodes, is_node, versionsort);
	/* the row has a number for each node that there is, in their order */
	for (i = 0; i < n; i++) {
		one = (uint32_t)strtoul(at, &at, 10);
		snprintf(path, sizeof(path), "%s/" NODES "/%.64s/cpulist", sysfs,
			 nodes[i]->d_name);
		if (one && one < least && hcomm_read_line(path, cpus, sizeof(cpus)) &&
		    has_cpu(cpus, set, sizeof(set)))
			least = one;
		free(nodes[i]);
	}
	if (n >= 0)
		free(nodes);
	return least;
}
