/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How far the CPUs of this thread are from a NUMA node. */
#ifndef HCOMM_NUMA_H
#define HCOMM_NUMA_H

#include <stdint.h>

#define HCOMM_NUMA_UNKNOWN	UINT32_MAX

/**
 * hcomm_numa_distance - from a node to the nearest CPU that this thread may run on
 * @sysfs: "/sys"
 * @node: number of the node
 *
 * Return: as the firmware counts (10: on that node), HCOMM_NUMA_UNKNOWN: there is no
 * such node, or none with a CPU for this thread.
 */
uint32_t hcomm_numa_distance(const char *sysfs, unsigned int node);

#endif /* HCOMM_NUMA_H */
