// SPDX-License-Identifier: LGPL-2.1-or-later
/* A communicator's state and its end. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/base.h"
#include "comm.h"

/* the first query that finds a fault writes it down; taken under any other lock */
static pthread_mutex_t fault_lock = PTHREAD_MUTEX_INITIALIZER;

static __thread struct hcomm_first_error *fault_watcher;

void hcomm_comm_get(struct hcomm_comm *comm)
{
	__atomic_add_fetch(&comm->refs, 1, __ATOMIC_RELAXED);
}

void hcomm_comm_put(struct hcomm_comm *comm)
{
	if (__atomic_sub_fetch(&comm->refs, 1, __ATOMIC_ACQ_REL))
		return;
	pthread_mutex_destroy(&comm->lock);
	hcomm_tune_exit(comm);
	hcomm_choose_exit(comm);
	free(comm->premuls);
	free(comm->flows);
	free(comm->tuner_path);
	explicit_bzero(comm->split_secret, sizeof(comm->split_secret));
	if (comm->ended)
		hcomm_dev_put();
	free(comm);
}

hcommResult_t hcomm_comm_query(struct hcomm_comm *comm)
{
	struct hcomm_comm_query arg = {
		.size = sizeof(arg),
		.comm_id = comm->id,
	};
	hcommResult_t failed = __atomic_load_n(&comm->failed, __ATOMIC_ACQUIRE);

	if (failed || !comm->id)
		return failed;
	if (hcomm_dev_ioctl(HCOMM_COMM_QUERY, &arg) || !arg.fault.error)
		return HCOMM_SUCCESS;
	pthread_mutex_lock(&fault_lock);
	failed = comm->failed;
	if (!failed) {
		failed = hcomm_fault_result(&arg.fault);
		hcomm_fault_text(&arg.fault, comm->fault_text,
				 sizeof(comm->fault_text));
		__atomic_store_n(&comm->failed, failed, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&fault_lock);
	return failed;
}

struct hcomm_first_error *hcomm_fault_watch(struct hcomm_first_error *first)
{
	struct hcomm_first_error *before = fault_watcher;

	fault_watcher = first;
	return before;
}

hcommResult_t hcomm_comm_failed(const struct hcomm_comm *comm, const char *fmt, ...)
{
	struct hcomm_first_error *watcher = hcomm_error_watch(NULL);
	hcommResult_t ret = __atomic_load_n(&comm->failed, __ATOMIC_ACQUIRE);
	char what[HCOMM_ERROR_TEXT / 2];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	hcomm_fail(ret, "%s: %s", what, comm->fault_text);
	hcomm_error_watch(watcher);
	if (fault_watcher)
		hcomm_error_keep(fault_watcher, ret);
	return ret;
}

hcommResult_t hcomm_comm_error(struct hcomm_comm *comm, int err, const char *what)
{
	hcommResult_t failed = hcomm_comm_query(comm);

	if (failed)
		return hcomm_comm_failed(comm, "%s on rank %u", what, comm->rank);
	if (err == EOPNOTSUPP)
		return hcomm_fail(HCOMM_ERR_UNSUPPORTED,
				  "%s on rank %u: not supported by the module",
				  what, comm->rank);
	return hcomm_fail_errno(err, "%s on rank %u", what, comm->rank);
}

hcommResult_t hcomm_comm_destroy(struct hcomm_comm *comm)
{
	uint64_t seen;

	pthread_mutex_lock(&comm->lock);
	comm->ended = true;
	pthread_mutex_unlock(&comm->lock);
	do {
		seen = hcomm_dev_seen();
	} while (__atomic_load_n(&comm->inflight, __ATOMIC_ACQUIRE) &&
		 !hcomm_dev_wait_any(seen));
	hcomm_tune_stop(comm);
	/* requests that are waited for later find the fault here */
	hcomm_comm_query(comm);
	comm->magic = 0;
	hcomm_cache_clear(comm);
	hcomm_dev_destroy(comm->id);
	comm->id = 0;
	hcomm_comm_put(comm);
	return HCOMM_SUCCESS;
}
