// SPDX-License-Identifier: LGPL-2.1-or-later
/* Requests: waiting for calls in flight, starting persistent ones. */
#include "api.h"

/* a call that has a request, in the process that made it */
static hcommResult_t need_req(const char *name, const hcommRequest_t *req)
{
	hcommResult_t ret = hcomm_dev_check_fork();

	if (!ret && !req)
		ret = hcomm_fail(HCOMM_ERR_INVALID_ARGUMENT, "%s: req is NULL", name);
	return ret;
}

/* the same of many */
static hcommResult_t need_reqs(const char *name, int count, const hcommRequest_t *reqs)
{
	hcommResult_t ret = hcomm_dev_check_fork();

	if (!ret && (count < 0 || (count && !reqs)))
		ret = hcomm_fail(HCOMM_ERR_INVALID_ARGUMENT, "%s: count is %d, reqs is %p",
				 name, count, (const void *)reqs);
	return ret;
}

hcommResult_t hcommWait(hcommRequest_t *req)
{
	hcommResult_t ret = need_req("Wait", req);
	hcommRequest_t r;

	if (ret || !*req)
		return ret;
	r = *req;
	if (!hcomm_op_persistent(r))
		*req = NULL;
	return hcomm_op_wait(r);
}

hcommResult_t hcommTest(hcommRequest_t *req, int *done)
{
	hcommResult_t ret = need_req("Test", req);

	if (!ret && !done)
		ret = hcomm_fail(HCOMM_ERR_INVALID_ARGUMENT, "Test: done is NULL");
	if (ret)
		return ret;
	*done = !*req || hcomm_op_test(*req);
	return *done ? hcommWait(req) : HCOMM_SUCCESS;
}

hcommResult_t hcommWaitAll(int count, hcommRequest_t *reqs)
{
	hcommResult_t ret = need_reqs("WaitAll", count, reqs);
	struct hcomm_first_error first;
	int i;

	if (ret)
		return ret;
	first.result = HCOMM_SUCCESS;
	for (i = 0; i < count; i++)
		hcomm_error_keep(&first, hcommWait(&reqs[i]));
	return hcomm_error_restore(&first);
}

hcommResult_t hcommStart(hcommRequest_t req)
{
	hcommResult_t ret = need_req("Start", req ? &req : NULL);

	return ret ? ret : hcomm_op_again(req, false);
}

hcommResult_t hcommStartAll(int count, const hcommRequest_t *reqs)
{
	hcommResult_t ret = need_reqs("StartAll", count, reqs);
	int i;

	for (i = 0; i < count && !ret; i++)
		ret = hcommStart(reqs[i]);
	return ret;
}

hcommResult_t hcommRequestFree(hcommRequest_t *req)
{
	hcommResult_t ret = need_req("RequestFree", req);

	if (ret || !*req)
		return ret;
	ret = hcomm_op_free(*req);
	if (!ret)
		*req = NULL;
	return ret;
}
