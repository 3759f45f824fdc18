// SPDX-License-Identifier: LGPL-2.1-or-later
/* Launching, draining the completion ring, and waiting. */
#include <errno.h>
#include <poll.h>
#include <stddef.h>

#include "../base/base.h"
#include "dev_priv.h"

/* how long a wait looks at the ring before it enters the kernel */
#define SPIN_NS		2000
/* when somebody else runs the engine for us */
#define BESIDE_MS	10

static bool is_done(const struct hcomm_run *run)
{
	return __atomic_load_n(&run->done, __ATOMIC_ACQUIRE);
}

static bool ring_empty(void)
{
	const struct hcomm_ring *ring = hcomm_dev.ring;

	return __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE) ==
	       __atomic_load_n(&ring->head, __ATOMIC_RELAXED);
}

static void count_down(uint32_t *counter)
{
	if (counter)
		__atomic_sub_fetch(counter, 1, __ATOMIC_RELEASE);
}

/* mark what is complete; lock held, and nobody else waits in the kernel */
static void drain(void)
{
	struct hcomm_ring *ring = hcomm_dev.ring;
	uint32_t head = ring->head;
	uint32_t tail = __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE);
	uint64_t seen = hcomm_dev.seen + (tail - head);

	if (head == tail)
		return;
	for (; head != tail; head++) {
		const struct hcomm_cqe *cqe = &ring->cqe[head & ring->mask];
		struct hcomm_run *run = (struct hcomm_run *)(uintptr_t)cqe->user_data;

		run->status = cqe->status;
		run->fault_rank = cqe->fault_rank;
		run->fault_step = cqe->fault_step;
		run->duration_ns = cqe->duration_ns;
		count_down(run->counters[0]);
		count_down(run->counters[1]);
		/* the last access: its owner may free it now */
		__atomic_store_n(&run->done, true, __ATOMIC_RELEASE);
	}
	__atomic_store_n(&ring->head, head, __ATOMIC_RELEASE);
	/* last: who has read the old number may have missed all of the above */
	__atomic_store_n(&hcomm_dev.seen, seen, __ATOMIC_RELEASE);
	pthread_cond_broadcast(&hcomm_dev.cond);
}

/*
 * Wait in the kernel for one completion more; lock held, given up meanwhile.
 * Return: 0 or a positive errno.
 */
static int enter_kernel(void)
{
	struct hcomm_wait arg = {
		.size = sizeof(arg),
		.count = 1,
		.timeout_ns = -1,
	};
	struct pollfd p = { .fd = hcomm_dev.fd, .events = POLLIN };
	int err;

	hcomm_dev.waiting = true;
	pthread_mutex_unlock(&hcomm_dev.lock);
	err = hcomm_dev_ioctl(HCOMM_WAIT, &arg);
	if (err == EBUSY) {
		/* a launch that waits runs the engines of us all */
		poll(&p, 1, BESIDE_MS);
		err = 0;
	}
	pthread_mutex_lock(&hcomm_dev.lock);
	hcomm_dev.waiting = false;
	drain();
	/* if nothing was drained, another must take over */
	pthread_cond_broadcast(&hcomm_dev.cond);
	return err;
}

int hcomm_dev_wait(struct hcomm_run *run)
{
	int64_t end = 0;
	int err = 0;

	for (;;) {
		if (is_done(run))
			return 0;
		if (!ring_empty())
			break;
		if (!end)
			end = hcomm_now_ns() + SPIN_NS;
		else if (hcomm_now_ns() >= end)
			break;
	}
	pthread_mutex_lock(&hcomm_dev.lock);
	while (!is_done(run) && !err) {
		if (hcomm_dev.waiting) {
			pthread_cond_wait(&hcomm_dev.cond, &hcomm_dev.lock);
			continue;
		}
		drain();
		if (!is_done(run))
			err = enter_kernel();
	}
	if (is_done(run))
		err = 0;
	pthread_mutex_unlock(&hcomm_dev.lock);
	return err;
}

void hcomm_dev_drain(void)
{
	if (ring_empty())
		return;
	pthread_mutex_lock(&hcomm_dev.lock);
	if (!hcomm_dev.waiting)
		drain();
	pthread_mutex_unlock(&hcomm_dev.lock);
}

bool hcomm_dev_poll(struct hcomm_run *run)
{
	if (!is_done(run))
		hcomm_dev_drain();
	return is_done(run);
}

uint64_t hcomm_dev_seen(void)
{
	return __atomic_load_n(&hcomm_dev.seen, __ATOMIC_ACQUIRE);
}

int hcomm_dev_wait_any(uint64_t seen)
{
	int err = 0;

	pthread_mutex_lock(&hcomm_dev.lock);
	while (hcomm_dev.seen == seen && !err) {
		if (hcomm_dev.waiting) {
			pthread_cond_wait(&hcomm_dev.cond, &hcomm_dev.lock);
			continue;
		}
		drain();
		if (hcomm_dev.seen == seen)
			err = enter_kernel();
	}
	pthread_mutex_unlock(&hcomm_dev.lock);
	return err;
}

int hcomm_dev_launch(struct hcomm_launch *arg, struct hcomm_run *run)
{
	int err;

	arg->size = sizeof(*arg);
	arg->user_data = (uintptr_t)run;
	run->done = false;
	err = hcomm_dev_ioctl(HCOMM_LAUNCH, arg);
	if (!(arg->flags & HCOMM_LAUNCH_WAIT))
		return err;
	/* interrupted by a signal after the launch: it runs on */
	if (err == EINTR)
		err = 0;
	return err ? err : hcomm_dev_wait(run);
}

int hcomm_dev_launch_many(struct hcomm_launch *args, uint32_t count, bool wait,
			  uint32_t *done)
{
	struct hcomm_launch_batch arg;
	uint64_t seen;
	uint32_t i, n;
	int err;

	for (i = 0; i < count; i++)
		args[i].size = sizeof(args[i]);
	*done = 0;
	while (*done < count) {
		n = count - *done < HCOMM_MAX_BATCH ? count - *done : HCOMM_MAX_BATCH;
		arg = (struct hcomm_launch_batch){
			.size = sizeof(arg),
			.flags = wait && *done + n == count ? HCOMM_LAUNCH_WAIT : 0,
			.count = n,
			.launch_size = sizeof(*args),
			.launches = (uintptr_t)(args + *done),
		};
		seen = hcomm_dev_seen();
		err = hcomm_dev_ioctl(HCOMM_LAUNCH_BATCH, &arg);
		*done += arg.out_done;
		/* the ring is full: make room */
		if (err == EBUSY && !hcomm_dev_wait_any(seen))
			continue;
		/* a signal, before a launch or during the wait */
		if (err && err != EAGAIN && err != EINTR)
			return err;
	}
	return 0;
}
