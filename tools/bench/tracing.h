/* SPDX-License-Identifier: GPL-2.0-only */
/* A trace of kernel events for this process alone to read, gone when it ends. */
#ifndef HCOMM_BENCH_TRACING_H
#define HCOMM_BENCH_TRACING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Makes the trace, switched off, with the events ("kmem/kmalloc"). */
void tracing_start(const char *const *events, size_t count);
/* a file of the trace: tracing_on, trace, set_event_pid */
int tracing_open(const char *name, int flags);
void tracing_write(const char *name, const char *text);
/* Reads what was recorded: events, one per line; false at the end. */
FILE *tracing_read(void);
bool tracing_line(FILE *trace, char *line, size_t room);

#endif /* HCOMM_BENCH_TRACING_H */
