// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * What all calls have in common: arguments are checked here, in words of the API,
 * and a call that is complete is given to what launches it.
 */
#include "api.h"

hcommResult_t hcomm_api_launch(struct hcomm_comm *comm,
			       const struct hcomm_call_args *call,
			       enum hcomm_form form, hcommRequest_t *req)
{
	if (hcomm_api_grouped(form))
		return hcomm_api_collect(comm, call);
	if (form == HCOMM_FORM_BLOCKING)
		return hcomm_op_run(comm, call);
	if (!req)
		return hcomm_fail(HCOMM_ERR_INVALID_ARGUMENT, "%s: req is NULL",
				  call->name);
	return form == HCOMM_FORM_INIT ? hcomm_op_init(comm, call, req) :
					 hcomm_op_start(comm, call, req);
}

hcommResult_t hcomm_api_bad(const char *name, const char *what, long long value,
			    const char *range)
{
	return hcomm_fail(HCOMM_ERR_INVALID_ARGUMENT, "%s: %s is %lld, must be %s",
			  name, what, value, range);
}

hcommResult_t hcomm_api_type(const char *name, hcommDataType_t dtype)
{
	if ((unsigned int)dtype >= HCOMM_DT_COUNT)
		return hcomm_api_bad(name, "dtype", (int)dtype, "a hcommDataType_t");
	return HCOMM_SUCCESS;
}

hcommResult_t hcomm_api_root(const struct hcomm_comm *comm, const char *name, int root)
{
	if (root < 0 || (uint32_t)root >= comm->nranks)
		return hcomm_api_bad(name, "root", root, "a rank");
	return HCOMM_SUCCESS;
}

hcommResult_t hcomm_api_bytes(const char *name, size_t count, uint32_t dtype,
			      uint32_t blocks, uint64_t *bytes)
{
	uint64_t n;

	if (__builtin_mul_overflow((uint64_t)count, hcomm_dtype_bytes(dtype), &n) ||
	    __builtin_mul_overflow(n, blocks, &n) || n > INT64_MAX)
		return hcomm_fail(HCOMM_ERR_INVALID_ARGUMENT,
				  "%s: %zu elements of %s are more than memory can hold",
				  name, count, hcomm_dtype_text(dtype));
	*bytes = n;
	return HCOMM_SUCCESS;
}

hcommResult_t hcomm_api_buffer(const char *name, const char *which, const void *buf,
			       uint64_t bytes)
{
	if (bytes && !buf)
		return hcomm_fail(HCOMM_ERR_INVALID_ARGUMENT,
				  "%s: the %s buffer is NULL, but must hold %llu bytes",
				  name, which, (unsigned long long)bytes);
	if ((uintptr_t)buf + bytes < (uintptr_t)buf)
		return hcomm_fail(HCOMM_ERR_INVALID_ARGUMENT,
				  "%s: the %s buffer of %llu bytes at %p goes past the end of memory",
				  name, which, (unsigned long long)bytes, buf);
	return HCOMM_SUCCESS;
}

hcommResult_t hcomm_api_buffers(const struct hcomm_call_args *call,
				uint64_t send_bytes, uint64_t recv_bytes)
{
	uintptr_t s = (uintptr_t)call->send, r = (uintptr_t)call->recv;
	hcommResult_t ret;

	ret = hcomm_api_buffer(call->name, "send", call->send, send_bytes);
	if (!ret)
		ret = hcomm_api_buffer(call->name, "receive", call->recv, recv_bytes);
	if (ret || call->in_place || !send_bytes || !recv_bytes)
		return ret;
	if (s < r + recv_bytes && r < s + send_bytes)
		return hcomm_fail(HCOMM_ERR_INVALID_ARGUMENT,
				  "%s: the buffers overlap (%llu bytes at %p are sent, %llu bytes at %p received), and this is not how the call is made in place",
				  call->name, (unsigned long long)send_bytes,
				  call->send, (unsigned long long)recv_bytes,
				  call->recv);
	return HCOMM_SUCCESS;
}
