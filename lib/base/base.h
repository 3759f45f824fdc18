/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What every layer of the library uses: error texts, log, time, random numbers, and
 * small files.
 *
 * Functions of the library return hcommResult_t.  Who finds an error calls
 * hcomm_fail() once, with the whole story; callers only pass the code on.
 */
#ifndef HCOMM_BASE_H
#define HCOMM_BASE_H

#include <hcomm/hcomm.h>
#include <stdbool.h>
#include <stdint.h>
#include <stddef.h>

#define HCOMM_ERROR_TEXT	1024

#define ARRAY_SIZE(a)		(sizeof(a) / sizeof((a)[0]))

/**
 * hcomm_fail - set this thread's last error
 * @result: code
 * @fmt: text: what, where, what to do
 *
 * Return: @result.
 */
hcommResult_t hcomm_fail(hcommResult_t result, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/**
 * hcomm_fail_errno - the same for a failed system call
 * @err: positive errno
 * @fmt: what was tried
 *
 * Return: HCOMM_ERR_NO_MEMORY for ENOMEM, else HCOMM_ERR_SYSTEM.
 */
hcommResult_t hcomm_fail_errno(int err, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

hcommResult_t hcomm_fail_nomem(const char *what);

/* this thread's last error; HCOMM_ERROR_TEXT bytes that may be written */
char *hcomm_error_text(void);

/* put something before the text of the last error */
void hcomm_error_prefix(const char *fmt, ...)
	__attribute__((format(printf, 1, 2)));

/**
 * struct hcomm_first_error - the first error of several calls
 * @result: code, HCOMM_SUCCESS: none so far; the text then has no meaning
 * @text: it in words
 */
struct hcomm_first_error {
	hcommResult_t result;
	char text[HCOMM_ERROR_TEXT];
};

/* a call returned @ret: keep it with this thread's text if it is the first error */
void hcomm_error_keep(struct hcomm_first_error *first, hcommResult_t ret);

/* make what was kept this thread's last error again.  Return: its code */
hcommResult_t hcomm_error_restore(const struct hcomm_first_error *first);

/* write this thread's next error down, too; NULL: no more.  Return: who watched */
struct hcomm_first_error *hcomm_error_watch(struct hcomm_first_error *first);

/* errno as text, thread safe */
const char *hcomm_strerror(int err);

enum hcomm_log_level {
	HCOMM_LOG_NONE = 0,
	HCOMM_LOG_ERROR = 1,
	HCOMM_LOG_WARN = 2,
	HCOMM_LOG_INFO = 3,
	HCOMM_LOG_DEBUG = 4,
};

/* set by hcomm_log_setup() */
extern int hcomm_log_level;
extern bool hcomm_log_decisions;

/**
 * hcomm_log_setup - read HCOMM_LOG_LEVEL and HCOMM_DEBUG
 *
 * Reads them each time it is called; cheap.
 */
hcommResult_t hcomm_log_setup(void);

void hcomm_log_write(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* one line to stderr if the level asks for it */
#define hcomm_log(level, ...)						\
	do {								\
		if ((int)(level) <= hcomm_log_level)			\
			hcomm_log_write(__VA_ARGS__);			\
	} while (0)

/* one line to stderr with HCOMM_DEBUG=1: topology and decisions */
#define hcomm_decision(...)						\
	do {								\
		if (hcomm_log_decisions)				\
			hcomm_log_write(__VA_ARGS__);			\
	} while (0)

/* monotonic clock, milliseconds and nanoseconds */
int64_t hcomm_now_ms(void);
int64_t hcomm_now_ns(void);

/* first line of a file, without its end; false: there is none, or it is empty */
bool hcomm_read_line(const char *path, char *line, size_t room);

/* random bytes fit for secrets */
hcommResult_t hcomm_random(void *buf, size_t len);

#endif /* HCOMM_BASE_H */
