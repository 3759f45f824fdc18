// SPDX-License-Identifier: GPL-2.0-only
#include <stdarg.h>

#include "job.h"
#include "util.h"

int run_job(int argc, char **argv, uint64_t local, int (*run)(void *arg), void *arg)
{
	int status;

	need_device();
	if (!has_launcher())
		return run_local_ranks(argv, (unsigned int)local);
	must(hcommInit(&argc, &argv), "hcommInit");
	status = run(arg);
	must(hcommFinalize(), "hcommFinalize");
	return status;
}

void world(unsigned int *rank, unsigned int *size)
{
	int n;

	must(hcommCommRank(COMM_WORLD, &n), "CommRank");
	*rank = (unsigned int)n;
	must(hcommCommSize(COMM_WORLD, &n), "CommSize");
	*size = (unsigned int)n;
}

FILE *results_open(const char *path)
{
	FILE *file = fopen(path, "w");

	if (!file)
		fatal("%s: %m", path);
	return file;
}

void results_close(FILE *file, const char *path)
{
	if (ferror(file) | fclose(file))
		fatal("%s: %m", path);
}

void write_results(const char *path, const char *fmt, ...)
{
	FILE *file;
	va_list ap;

	if (!path)
		return;
	file = results_open(path);
	va_start(ap, fmt);
	vfprintf(file, fmt, ap);
	va_end(ap);
	results_close(file, path);
}
