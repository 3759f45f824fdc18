/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Measuring the links of a new communicator. */
#ifndef HCOMM_PROBE_H
#define HCOMM_PROBE_H

#include "comm.h"

struct hcomm_exchange;

/**
 * hcomm_probe_links - measure, and fit the model
 * @comm: communicator whose links are ready
 * @ex: how the ranks talk, still
 *
 * One pair of ranks per class of links plays ping-pong with some sizes; the others
 * wait for what they found, and each measures its own memory.  All fit the same
 * points, and take rank 0's result.  Takes some milliseconds, with HCOMM_PROBE=1
 * only: a choice that depends on a measurement may be another one in the next run.
 */
hcommResult_t hcomm_probe_links(struct hcomm_comm *comm, struct hcomm_exchange *ex);

/**
 * hcomm_probe_memory - rates of this rank; no other takes part
 * @comm: communicator
 * @copy: out: bytes per second copied; 0: too fast to tell
 * @reduce: out: bytes per second of fp32 summed; 0: too fast to tell
 */
hcommResult_t hcomm_probe_memory(struct hcomm_comm *comm, double *copy, double *reduce);

/**
 * hcomm_probe_pair - who measures a class of links
 * @node: by rank: its node
 * @group: by rank: its group of nodes
 * @nranks: ranks
 * @cls: enum hcomm_link_class
 * @a: out: the rank that takes the time
 * @b: out: the other one
 *
 * Return: false: there is no such pair.
 */
bool hcomm_probe_pair(const uint32_t *node, const uint32_t *group, uint32_t nranks,
		      uint32_t cls, uint32_t *a, uint32_t *b);

#endif /* HCOMM_PROBE_H */
