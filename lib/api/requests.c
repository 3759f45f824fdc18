// SPDX-License-Identifier: LGPL-2.1-or-later
/* Requests: waiting for calls in flight, starting persistent ones. */
#include "api.h"

static hcommResult_t need_req(const hcommRequest_t *req)
{
	if (req)
		return HCOMM_SUCCESS;
	return hcomm_fail(HCOMM_ERR_INVALID_ARGUMENT, "req is NULL");
}

hcommResult_t hcommWait(hcommRequest_t *req)
{
	hcommResult_t ret = hcomm_dev_check_fork();
	hcommRequest_t r;

	if (!ret)
		ret = need_req(req);
	if (ret || !*req)
		return ret;
	r = *req;
	if (!hcomm_op_persistent(r))
		*req = NULL;
	return hcomm_op_wait(r);
}

hcommResult_t hcommTest(hcommRequest_t *req, int *done)
{
	hcommResult_t ret = hcomm_dev_check_fork();

	if (!ret)
		ret = need_req(req);
	if (!ret && !done)
		ret = hcomm_fail(HCOMM_ERR_INVALID_ARGUMENT, "done is NULL");
	if (ret)
		return ret;
	*done = !*req || hcomm_op_test(*req);
	return *done ? hcommWait(req) : HCOMM_SUCCESS;
}

hcommResult_t hcommWaitAll(int count, hcommRequest_t *reqs)
{
	struct hcomm_first_error first;
	int i;

	if (count < 0 || (count && !reqs))
		return hcomm_fail(HCOMM_ERR_INVALID_ARGUMENT,
				  "hcommWaitAll: count is %d, reqs is %p", count,
				  (void *)reqs);
	first.result = HCOMM_SUCCESS;
	for (i = 0; i < count; i++)
		hcomm_error_keep(&first, hcommWait(&reqs[i]));
	return hcomm_error_restore(&first);
}

hcommResult_t hcommStart(hcommRequest_t req)
{
	hcommResult_t ret = hcomm_dev_check_fork();

	if (!ret)
		ret = need_req(req ? &req : NULL);
	return ret ? ret : hcomm_op_again(req);
}

hcommResult_t hcommStartAll(int count, const hcommRequest_t *reqs)
{
	hcommResult_t ret = HCOMM_SUCCESS;
	int i;

	if (count < 0 || (count && !reqs))
		return hcomm_fail(HCOMM_ERR_INVALID_ARGUMENT,
				  "hcommStartAll: count is %d, reqs is %p", count,
				  (const void *)reqs);
	for (i = 0; i < count && !ret; i++)
		ret = hcommStart(reqs[i]);
	return ret;
}

hcommResult_t hcommRequestFree(hcommRequest_t *req)
{
	hcommResult_t ret = hcomm_dev_check_fork();

	if (!ret)
		ret = need_req(req);
	if (ret || !*req)
		return ret;
	ret = hcomm_op_free(*req);
	if (!ret)
		*req = NULL;
	return ret;
}
