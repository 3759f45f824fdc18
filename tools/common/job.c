// SPDX-License-Identifier: GPL-2.0-only
#include "job.h"
#include "util.h"

void number_arg(struct argp_state *state, const char *name, const char *arg,
		uint64_t min, uint64_t max, uint64_t *out)
{
	if (!parse_number(arg, max, out) || *out < min)
		argp_error(state, "%s %s: use a number from %llu to %llu", name,
			   arg, (unsigned long long)min,
			   (unsigned long long)max);
}

void size_arg(struct argp_state *state, const char *name, const char *arg,
	      uint64_t min, uint64_t max, uint64_t *out)
{
	char least[24], most[24];

	if (!parse_size(arg, out) || *out < min || *out > max)
		argp_error(state, "%s %s: use a size like 4096, 64K, 4M or 1G, from %s to %s",
			   name, arg, format_size(min, least),
			   format_size(max, most));
}

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
	if (fclose(file))
		fatal("%s: %m", path);
}
