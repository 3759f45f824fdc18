/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The device: one context of /dev/hcomm for the process, its completion ring,
 * and waiting for runs.
 *
 * Completions.  Every launch has a struct hcomm_run; its address is the
 * completion's user data.  Who drains the ring marks the runs done.  While one
 * thread waits in the kernel, only that thread drains, so that its wait sees
 * every completion; the others sleep on a condition variable.
 *
 * fork().  A child closes its copy of the descriptor at once (a parent that dies
 * must not seem alive because of its children), has no ring (MADV_DONTFORK), and
 * gets HCOMM_ERR_FORKED.
 */
#ifndef HCOMM_DEV_H
#define HCOMM_DEV_H

#include <hcomm/hcomm.h>
#include <linux/hcomm.h>
#include <stdbool.h>

/**
 * struct hcomm_run - a launch, until its completion was seen
 * @done: complete; written under the device's lock, read with acquire
 * @counters: set by the launcher: atomic counts that are one less when it is
 *	done; NULL: none
 * @status: 0 or negative errno
 * @fault_rank: of the completion
 * @fault_step: of the completion
 * @duration_ns: of the completion
 */
struct hcomm_run {
	bool done;
	uint32_t *counters[2];
	int status;
	uint32_t fault_rank;
	uint32_t fault_step;
	uint64_t duration_ns;
};

/**
 * hcomm_dev_get - open the device, once per process
 *
 * Counted; every success needs a hcomm_dev_put().  Errors: HCOMM_ERR_NO_DEVICE,
 * HCOMM_ERR_VERSION, HCOMM_ERR_FORKED, HCOMM_ERR_SYSTEM.
 */
hcommResult_t hcomm_dev_get(void);
void hcomm_dev_put(void);

/* open now? (memory is registered only then) */
bool hcomm_dev_is_open(void);

/* another number each time it was opened: objects end when it is closed */
uint32_t hcomm_dev_epoch(void);

/* HCOMM_ERR_FORKED in a child; cheap, no system call */
hcommResult_t hcomm_dev_check_fork(void);

/* facts of the module; the device is open */
const struct hcomm_info *hcomm_dev_info(void);

/*
 * One ioctl; the size member is set by the caller.  Return: 0 or a positive
 * errno; EINTR is tried again except by LAUNCH, which tries EAGAIN again (a signal came
 * before the launch), and LAUNCH_BATCH.
 */
int hcomm_dev_ioctl(unsigned long cmd, void *arg);

/* give an object up; an error is logged, never returned */
void hcomm_dev_destroy(uint32_t id);

/**
 * hcomm_dev_register - pin memory
 * @addr: start
 * @len: bytes
 * @read_only: for slots that are not written
 * @id: out: MEM object
 */
hcommResult_t hcomm_dev_register(const void *addr, uint64_t len, bool read_only,
				 uint32_t *id);

/**
 * hcomm_dev_launch - launch, and wait if the flag says so
 * @arg: complete but for size and user_data
 * @run: its completion; must live until it is done
 *
 * Return: 0 (launched; with HCOMM_LAUNCH_WAIT also done) or a positive errno
 * (not launched).
 */
int hcomm_dev_launch(struct hcomm_launch *arg, struct hcomm_run *run);

/**
 * hcomm_dev_launch_many - launch, by one call for each HCOMM_MAX_BATCH launches
 * @args: complete but for size; user_data is the address of a struct hcomm_run
 *	that is cleared but for its counters
 * @count: how many
 * @wait: wait for them, most often
 * @done: out: how many were launched
 *
 * Return: 0, or the positive errno of launch @done.
 */
int hcomm_dev_launch_many(struct hcomm_launch *args, uint32_t count, bool wait,
			  uint32_t *done);

/* is it done? drains the ring if nobody else does */
bool hcomm_dev_poll(struct hcomm_run *run);

/* mark what is complete, without waiting */
void hcomm_dev_drain(void);

/* wait until @run is done; 0 or a positive errno if waiting itself failed */
int hcomm_dev_wait(struct hcomm_run *run);

/**
 * hcomm_dev_seen - number of completions that were seen
 *
 * To be read before one looks whether one has to wait.
 */
uint64_t hcomm_dev_seen(void);

/**
 * hcomm_dev_wait_any - wait until a completion more was seen, whosever it is
 * @seen: from hcomm_dev_seen(): no completion since is missed, whoever saw it
 *
 * Return: 0; EDEADLK: nothing is in flight; another errno: waiting itself failed.
 */
int hcomm_dev_wait_any(uint64_t seen);

/* ------------------------------------------------------------------ texts */

/* name of a verifier's reason; never NULL */
const char *hcomm_prog_error_name(uint32_t reason);

/* code for a fault's reason, e.g. HCOMM_ERR_PEER_DIED */
hcommResult_t hcomm_fault_result(const struct hcomm_fault *fault);

/**
 * hcomm_fault_text - a fault in words
 * @fault: fault, its error is not 0
 * @text: out
 * @room: size of @text
 */
void hcomm_fault_text(const struct hcomm_fault *fault, char *text, size_t room);

/* name of a call, or of its V form, as in the API, without "hcomm"; never NULL */
const char *hcomm_call_name(uint32_t coll, bool vector);

/* in struct hcomm_call.hash, of the library's calls: it is a V form */
#define HCOMM_CALL_VECTOR	(1u << 31)

/* "AllReduce of 100 fp32, sum, ring" */
void hcomm_call_text(const struct hcomm_call *call, char *text, size_t room);

const char *hcomm_dtype_text(uint32_t dtype);
const char *hcomm_redop_text(uint32_t op);

#endif /* HCOMM_DEV_H */
