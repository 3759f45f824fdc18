// SPDX-License-Identifier: LGPL-2.1-or-later
/* Log lines, clocks, random numbers. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "base.h"

int hcomm_log_level;
bool hcomm_log_decisions;

hcommResult_t hcomm_log_setup(void)
{
	static const char *const names[] = {
		[HCOMM_LOG_NONE] = "none",	[HCOMM_LOG_ERROR] = "error",
		[HCOMM_LOG_WARN] = "warn",	[HCOMM_LOG_INFO] = "info",
		[HCOMM_LOG_DEBUG] = "debug",
	};
	const char *level = getenv("HCOMM_LOG_LEVEL");
	const char *debug = getenv("HCOMM_DEBUG");
	size_t i = HCOMM_LOG_NONE;

	if (level) {
		for (i = 0; i < ARRAY_SIZE(names); i++) {
			if (!strcmp(level, names[i]))
				break;
		}
		if (i == ARRAY_SIZE(names))
			return hcomm_fail(HCOMM_ERR_ENVIRONMENT,
					  "HCOMM_LOG_LEVEL=%s: use none, error, warn, info or debug",
					  level);
	}
	if (debug && strcmp(debug, "0") && strcmp(debug, "1"))
		return hcomm_fail(HCOMM_ERR_ENVIRONMENT,
				  "HCOMM_DEBUG=%s: use 0 or 1", debug);
	hcomm_log_level = (int)i;
	hcomm_log_decisions = debug && *debug == '1';
	return HCOMM_SUCCESS;
}

void hcomm_log_write(const char *fmt, ...)
{
	char line[2048];
	va_list ap;
	int len, more;

	len = snprintf(line, sizeof(line), "hcomm[%d]: ", (int)getpid());
	va_start(ap, fmt);
	more = vsnprintf(line + len, sizeof(line) - (size_t)len - 1, fmt, ap);
	va_end(ap);
	len += more;
	if (len > (int)sizeof(line) - 2)
		len = (int)sizeof(line) - 2;
	line[len++] = '\n';
	/* one write: lines of several processes stay whole */
	if (write(STDERR_FILENO, line, (size_t)len) < 0)
		return;
}

int64_t hcomm_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

int64_t hcomm_now_ms(void)
{
	return hcomm_now_ns() / 1000000;
}

hcommResult_t hcomm_random(void *buf, size_t len)
{
	ssize_t n;

	/* up to 256 bytes come whole or not at all */
	do {
		n = getrandom(buf, len, 0);
	} while (n < 0 && errno == EINTR);
	return n == (ssize_t)len ? HCOMM_SUCCESS : hcomm_fail_errno(errno, "getrandom");
}
