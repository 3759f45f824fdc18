/* SPDX-License-Identifier: GPL-2.0-only */
/* A trace of kernel events for this process alone to read, gone when it ends. */
#ifndef HCOMM_BENCH_TRACING_H
#define HCOMM_BENCH_TRACING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Makes the trace, switched off, with the events ("kmem/kmalloc"). */
void tracing_start(const char *const *events, size_t count);
/*
 * Record only events for which the expression is true; "0" is no filter.  (The
 * file set_event_pid would hook into every context switch, and hot code that is
 * patched is more than software emulation of several CPUs stands.)
 */
void tracing_filter(const char *const *events, size_t count,
		    const char *expression);
/* a file of the trace: tracing_on, trace */
int tracing_open(const char *name, int flags);
void tracing_write(const char *name, const char *text);
/* Reads what was recorded: events, one per line; false at the end. */
FILE *tracing_read(void);
bool tracing_line(FILE *trace, char *line, size_t room);

#endif /* HCOMM_BENCH_TRACING_H */
