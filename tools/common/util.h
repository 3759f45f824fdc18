/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the tools share: time, sizes on the command line, errors of the library,
 * and starting themselves as several ranks of this node.
 */
#ifndef HCOMM_TOOLS_UTIL_H
#define HCOMM_TOOLS_UTIL_H

#include <hcomm/hcomm.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

/* exit statuses of all tools */
#define STATUS_OK	0
#define STATUS_FAILED	1	/* a result was wrong */
#define STATUS_ERROR	2	/* the job could not be done */

uint64_t now_ns(void);

/* "4096", "64K", "4M", "1G" */
bool parse_size(const char *text, uint64_t *out);
bool parse_number(const char *text, uint64_t max, uint64_t *out);
/* shortest form with a unit, e.g. "64K"; @out has room for 24 bytes */
const char *format_size(uint64_t bytes, char *out);

/* "name: message" on stderr */
void complain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void fatal(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));

/* Ends the process with what the library says, unless @result is success. */
void must(hcommResult_t result, const char *what);

/* Allocate or end the process; hcommFree() and free() are for the caller. */
void *must_hcomm_malloc(size_t size);
void *must_malloc(size_t size);

/* Is the process started by something that tells it a rank? */
bool has_launcher(void);

/* Ends the process with advice when the module is not there. */
void need_device(void);

/**
 * run_local_ranks - run this program again, once per rank, on this node
 * @argv: arguments of each
 * @nranks: how many
 *
 * Call it before anything of the library.  When a rank fails, the others get
 * some seconds to notice and are then ended.
 *
 * Return: exit status: that of the first rank that failed.
 */
int run_local_ranks(char **argv, unsigned int nranks);

/* order of doubles, for qsort() */
int compare_doubles(const void *a, const void *b);
/* sorts @values */
double median_of(double *values, size_t count);

#endif /* HCOMM_TOOLS_UTIL_H */
