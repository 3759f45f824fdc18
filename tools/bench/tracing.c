// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../common/util.h"
#include "tracing.h"

#define TRACING		"/sys/kernel/tracing"

static char instance[128];

int tracing_open(const char *name, int flags)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", instance, name);
	fd = open(path, flags | O_CLOEXEC);
	if (fd < 0)
		fatal("%s: %m", path);
	return fd;
}

void tracing_write(const char *name, const char *text)
{
	int fd = tracing_open(name, O_WRONLY | O_TRUNC);

	if (*text && write(fd, text, strlen(text)) < 0)
		fatal("%s/%s: writing '%s': %m", instance, name, text);
	close(fd);
}

static void remove_instance(void)
{
	rmdir(instance);
}

void tracing_start(const char *const *events, size_t count)
{
	char name[64];
	size_t i;

	if (access(TRACING "/instances", F_OK) &&
	    mount("tracefs", TRACING, "tracefs", 0, NULL))
		fatal(TRACING ": %m");
	snprintf(instance, sizeof(instance), TRACING "/instances/%s_%d",
		 program_invocation_short_name, getpid());
	if (mkdir(instance, 0700))
		fatal("%s: %m", instance);
	atexit(remove_instance);
	tracing_write("tracing_on", "0");
	tracing_write("buffer_size_kb", "4096");
	for (i = 0; i < count; i++) {
		snprintf(name, sizeof(name), "events/%s/enable", events[i]);
		tracing_write(name, "1");
	}
}

void tracing_filter(const char *const *events, size_t count,
		    const char *expression)
{
	char name[64];
	size_t i;

	for (i = 0; i < count; i++) {
		snprintf(name, sizeof(name), "events/%s/filter", events[i]);
		tracing_write(name, expression);
	}
}

FILE *tracing_read(void)
{
	FILE *trace = fdopen(tracing_open("trace", O_RDONLY), "r");

	if (!trace)
		fatal("%s/trace: %m", instance);
	return trace;
}

bool tracing_line(FILE *trace, char *line, size_t room)
{
	while (fgets(line, (int)room, trace)) {
		if (*line != '#')
			return true;
		if (strstr(line, "LOST"))
			fatal("the trace buffer was too small");
	}
	return false;
}
