/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the files of this layer share. */
#ifndef HCOMM_DEV_PRIV_H
#define HCOMM_DEV_PRIV_H

#include <pthread.h>

#include "dev.h"

/**
 * struct hcomm_dev - the process's context
 * @fd: descriptor, -1: closed
 * @ring: completion ring
 * @ring_size: bytes mapped
 * @info: facts of the module
 * @epoch: times that it was opened
 * @lock: protects @waiting, @seen, the ring's head and the runs' results
 * @cond: signalled when runs were marked done or the waiter leaves
 * @waiting: a thread waits in the kernel; only it drains
 * @seen: completions drained so far; atomic, as it is read without the lock
 */
struct hcomm_dev {
	int fd;
	struct hcomm_ring *ring;
	size_t ring_size;
	struct hcomm_info info;
	uint32_t epoch;
	pthread_mutex_t lock;
	pthread_cond_t cond;
	bool waiting;
	uint64_t seen;
};

extern struct hcomm_dev hcomm_dev;

#endif /* HCOMM_DEV_PRIV_H */
