// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Persistent requests: the plan and the buffers of a call are found once, then each
 * start is a launch.
 *
 * A request owns a copy of the call's arguments, keeps its plan from being evicted,
 * and has its buffers pinned; none of them is copied, so that nothing has to be
 * done between launch and completion.
 */
#include <stdlib.h>

#include "../base/base.h"
#include "request.h"

hcommResult_t hcomm_op_init(struct hcomm_comm *comm,
			    const struct hcomm_call_args *call, hcommRequest_t *req)
{
	struct hcomm_request *r = calloc(1, sizeof(*r));
	hcommResult_t ret;

	if (!r)
		return hcomm_fail_nomem("a request");
	r->comm = comm;
	r->name = call->name;
	r->again = malloc(sizeof(*r->again));
	if (!r->again) {
		ret = hcomm_fail_nomem("a request");
		goto fail;
	}
	*r->again = *call;
	/* it stays with its plan, whatever is measured */
	r->again->internal = true;
	ret = hcomm_request_bind(r);
	if (ret)
		goto fail;
	/* the caller's arrays are not looked at any more */
	r->again->arrays = (struct hcomm_arrays){ 0 };
	hcomm_comm_get(comm);
	*req = r;
	return HCOMM_SUCCESS;
fail:
	free(r->again);
	free(r);
	return ret;
}

bool hcomm_op_persistent(hcommRequest_t r)
{
	return r->again;
}

hcommResult_t hcomm_op_again(hcommRequest_t r, bool wait)
{
	hcommResult_t ret;

	if (!r->again)
		return hcomm_fail(HCOMM_ERR_INVALID_ARGUMENT,
				  "%s: this request is of a call that is made once",
				  r->name);
	if (r->active)
		return hcomm_fail(HCOMM_ERR_INVALID_USAGE,
				  "%s: the request was started and not waited for since",
				  r->name);
	if (__atomic_load_n(&r->comm->failed, __ATOMIC_ACQUIRE))
		return hcomm_comm_failed(r->comm, "%s: the communicator has failed", r->name);
	hcomm_dev_drain();
	ret = hcomm_request_relaunch(r, wait);
	r->active = !ret;
	return ret;
}

hcommResult_t hcomm_op_free(hcommRequest_t r)
{
	struct hcomm_comm *comm = r->comm;

	if (!r->again)
		return hcomm_fail(HCOMM_ERR_INVALID_ARGUMENT,
				  "%s: a request of a call that is made once ends by waiting for it",
				  r->name);
	if (r->active)
		return hcomm_fail(HCOMM_ERR_INVALID_USAGE,
				  "%s: the request is in flight: wait for it first", r->name);
	hcomm_request_release(r);
	free(r->again);
	free(r);
	hcomm_comm_put(comm);
	return HCOMM_SUCCESS;
}
