// SPDX-License-Identifier: LGPL-2.1-or-later
/* Error codes and the last error of each thread. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base.h"

static const char *const error_strings[] = {
	[HCOMM_SUCCESS] = "success",
	[HCOMM_ERR_INVALID_ARGUMENT] = "invalid argument",
	[HCOMM_ERR_INVALID_USAGE] = "invalid usage",
	[HCOMM_ERR_SYSTEM] = "system call failed",
	[HCOMM_ERR_NO_MEMORY] = "out of memory",
	[HCOMM_ERR_MEMLOCK] = "locked memory limit reached",
	[HCOMM_ERR_NO_DEVICE] = "no device",
	[HCOMM_ERR_VERSION] = "versions do not match",
	[HCOMM_ERR_ENVIRONMENT] = "bad environment variable",
	[HCOMM_ERR_TIMEOUT] = "timeout",
	[HCOMM_ERR_AUTH] = "authentication failed",
	[HCOMM_ERR_BOOTSTRAP] = "the ranks could not meet",
	[HCOMM_ERR_OPTIONS] = "options of the ranks differ",
	[HCOMM_ERR_MISMATCH] = "calls of the ranks differ",
	[HCOMM_ERR_PEER_DIED] = "a rank died",
	[HCOMM_ERR_PEER_LEFT] = "a rank left",
	[HCOMM_ERR_LINK] = "link failed",
	[HCOMM_ERR_ABORTED] = "aborted",
	[HCOMM_ERR_BUSY] = "too many calls in flight",
	[HCOMM_ERR_FORKED] = "not usable after fork",
	[HCOMM_ERR_UNSUPPORTED] = "not supported",
	[HCOMM_ERR_INTERNAL] = "internal error",
};

static __thread char last_error[HCOMM_ERROR_TEXT];
static __thread struct hcomm_first_error *watcher;

const char *hcommGetErrorString(hcommResult_t result)
{
	if ((unsigned int)result >= ARRAY_SIZE(error_strings))
		return "unknown error code";
	return error_strings[result];
}

char *hcomm_error_text(void)
{
	return last_error;
}

const char *hcomm_strerror(int err)
{
	static __thread char buf[128];

	/* the GNU variant: may return a constant instead of buf */
	return strerror_r(err, buf, sizeof(buf));
}

void hcomm_error_keep(struct hcomm_first_error *first, hcommResult_t ret)
{
	if (!ret || first->result)
		return;
	first->result = ret;
	memcpy(first->text, last_error, sizeof(first->text));
}

hcommResult_t hcomm_error_restore(const struct hcomm_first_error *first)
{
	if (first->result)
		memcpy(last_error, first->text, sizeof(last_error));
	return first->result;
}

hcommResult_t hcomm_fail(hcommResult_t result, const char *fmt, ...)
{
	char text[HCOMM_ERROR_TEXT];
	va_list ap;

	/* the arguments may point into the old text */
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	memcpy(last_error, text, sizeof(text));
	if (watcher)
		hcomm_error_keep(watcher, result);
	hcomm_log(HCOMM_LOG_ERROR, "error: %s: %s", hcommGetErrorString(result),
		  last_error);
	return result;
}

struct hcomm_first_error *hcomm_error_watch(struct hcomm_first_error *first)
{
	struct hcomm_first_error *before = watcher;

	watcher = first;
	return before;
}

hcommResult_t hcomm_fail_errno(int err, const char *fmt, ...)
{
	char text[HCOMM_ERROR_TEXT / 2];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return hcomm_fail(err == ENOMEM ? HCOMM_ERR_NO_MEMORY : HCOMM_ERR_SYSTEM,
			  "%s: %s", text, hcomm_strerror(err));
}

hcommResult_t hcomm_fail_nomem(const char *what)
{
	return hcomm_fail(HCOMM_ERR_NO_MEMORY, "no memory for %s", what);
}

void hcomm_error_prefix(const char *fmt, ...)
{
	char prefix[HCOMM_ERROR_TEXT], text[HCOMM_ERROR_TEXT];
	size_t len;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(prefix, sizeof(prefix), fmt, ap);
	va_end(ap);
	memcpy(text, last_error, sizeof(text));
	len = strnlen(prefix, sizeof(prefix) - 1);
	memcpy(last_error, prefix, len);
	snprintf(last_error + len, sizeof(last_error) - len, "%s", text);
}
