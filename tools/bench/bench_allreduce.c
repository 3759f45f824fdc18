// SPDX-License-Identifier: GPL-2.0-only
/*
 * AllReduce of hcomm and of Open MPI, in the same processes, on the same buffers,
 * in turns: whatever disturbs the machine disturbs both.  Start it with mpirun;
 * hcomm joins through Open MPI's variables.
 */
#include <inttypes.h>
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../common/job.h"
#include "../common/util.h"

#define MAX_SAMPLES	100000
#define MAX_BYTES	(1u << 30)
/* calls of one turn, for small messages, whose time a clock hardly sees */
#define TURN_BYTES	(256u << 10)
#define MAX_TURN	16
/*
 * Buffers of all ranks begin at different pages of a huge page.  An emulator finds
 * translations by the low bits of the page number: with equal ones both sides
 * would measure little but its misses.
 */
#define PLACES		16
#define PLACE_STEP	(5u << 12)

enum { HCOMM, OPENMPI, SIDES };

static const char *const side_names[SIDES] = { "hcomm", "Open MPI" };

struct options {
	uint64_t min;
	uint64_t max;
	uint64_t turns;
	const char *json;
};

/**
 * struct bench - a rank's run
 * @rank: this rank
 * @size: number of ranks
 * @in: input, never changed after it is filled
 * @out: output
 * @samples: microseconds of a call, per side and turn
 * @wrong: elements that were wrong on all ranks
 */
struct bench {
	int rank;
	int size;
	float *in;
	float *out;
	double *samples[SIDES];
	uint64_t wrong;
};

const char *argp_program_version = "bench_allreduce (hcomm) 0.1";

static const struct argp_option option_table[] = {
	{ "minbytes", 'b', "SIZE", 0, "First size (default: 1K)", 0 },
	{ "maxbytes", 'e', "SIZE", 0, "Last size (default: 16M)", 0 },
	{ "turns", 'n', "N", 0, "Turns of each side per size (default: 21)", 0 },
	{ "json", 'J', "FILE", 0, "Write the results there, too", 0 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *opt = state->input;

	switch (key) {
	case 'b':
		size_arg(state, "--minbytes", arg, 4, MAX_BYTES, &opt->min);
		return 0;
	case 'e':
		size_arg(state, "--maxbytes", arg, 4, MAX_BYTES, &opt->max);
		return 0;
	case 'n':
		number_arg(state, "--turns", arg, 1, MAX_SAMPLES, &opt->turns);
		return 0;
	case 'J':
		opt->json = arg;
		return 0;
	case ARGP_KEY_END:
		if (opt->min > opt->max)
			argp_error(state, "--minbytes is above --maxbytes");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = option_table,
	.parser = parse_option,
	.doc = "AllReduce (fp32, sum, out of place): hcomm and Open MPI in turns, medians, and how many times faster hcomm is.\v"
	       "Start it with mpirun.  Exit status: 1 if a result was wrong.",
};

static void all_reduce(struct bench *b, int side, size_t count)
{
	if (side == HCOMM)
		must(hcommAllReduce(b->in, b->out, count, hcommFloat32,
				    hcommSum, COMM_WORLD), "hcommAllReduce");
	else if (MPI_Allreduce(b->in, b->out, (int)count, MPI_FLOAT, MPI_SUM,
			       MPI_COMM_WORLD) != MPI_SUCCESS)
		fatal("MPI_Allreduce failed");
}

/*
 * -1 to 1, with all bits of the fraction: processors, and emulators even more, are
 * faster with numbers that need no rounding.
 */
static float input_of(int rank, size_t i)
{
	uint32_t x = (uint32_t)i * 0x9e3779b1u + (uint32_t)rank * 0x85ebca6bu;

	x = (x ^ (x >> 15)) * 0x2c1b3c6du;
	x ^= x >> 13;
	return (float)(int32_t)x / 2147483648.0f;
}

/* Orders of the operands may differ: the error of each rounding is allowed. */
static bool is_near(const struct bench *b, size_t i)
{
	double sum = 0, size = 0;
	int rank;

	for (rank = 0; rank < b->size; rank++) {
		sum += (double)input_of(rank, i);
		size += fabs((double)input_of(rank, i));
	}
	return fabs((double)b->out[i] - sum) <= b->size * 0x1p-24 * size;
}

static void check(struct bench *b, int side, size_t count)
{
	size_t i, wrong = 0;

	memset(b->out, 0xa5, count * sizeof(float));
	all_reduce(b, side, count);
	for (i = 0; i < count; i++)
		wrong += !is_near(b, i);
	if (wrong)
		complain("rank %d: %s: %zu of %zu elements are wrong", b->rank,
			 side_names[side], wrong, count);
	b->wrong += wrong;
}

/* one turn of one side; a sample is the time of a call, the slowest rank's */
static double turn(struct bench *b, int side, size_t count, unsigned int calls)
{
	unsigned int i;
	double us, worst;
	uint64_t begin;

	MPI_Barrier(MPI_COMM_WORLD);
	/* the first call after the other side's pays for its caches */
	all_reduce(b, side, count);
	begin = now_ns();
	for (i = 0; i < calls; i++)
		all_reduce(b, side, count);
	us = (double)(now_ns() - begin) / 1000 / calls;
	MPI_Allreduce(&us, &worst, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
	return worst;
}

static void measure(struct bench *b, const struct options *opt, uint64_t bytes,
		    double *medians)
{
	unsigned int calls = (unsigned int)(TURN_BYTES / bytes) + 1;
	size_t count = bytes / sizeof(float);
	uint64_t i;
	int side;

	calls = calls < MAX_TURN ? calls : MAX_TURN;
	for (side = 0; side < SIDES; side++)
		check(b, side, count);
	for (i = 0; i < opt->turns; i++) {
		for (side = 0; side < SIDES; side++)
			b->samples[side][i] = turn(b, side, count, calls);
	}
	for (side = 0; side < SIDES; side++)
		medians[side] = median_of(b->samples[side], opt->turns);
}

static double bus_gb(const struct bench *b, uint64_t bytes, double us)
{
	return us > 0 ? 2.0 * (b->size - 1) / b->size * (double)bytes / us / 1000 : 0;
}

static FILE *json_begin(const struct bench *b, const struct options *opt)
{
	char library[MPI_MAX_LIBRARY_VERSION_STRING];
	FILE *json;
	int len;

	if (b->rank || !opt->json)
		return NULL;
	json = results_open(opt->json);
	MPI_Get_library_version(library, &len);
	library[strcspn(library, ",\"\n")] = 0;
	fprintf(json, "{\n \"tool\": \"bench_allreduce\",\n \"ranks\": %d,\n \"mpi\": \"%s\",\n \"turns\": %" PRIu64 ",\n \"results\": [",
		b->size, library, opt->turns);
	return json;
}

static void run_sizes(struct bench *b, const struct options *opt)
{
	FILE *json = json_begin(b, opt);
	double medians[SIDES];
	uint64_t bytes;
	char size[24];

	if (!b->rank)
		printf("%10s  %12s %12s  %12s %12s  %8s\n", "size", "hcomm us",
		       "Open MPI us", "hcomm GB/s", "Open MPI GB/s", "ratio");
	for (bytes = opt->min; bytes <= opt->max; bytes *= 2) {
		measure(b, opt, bytes, medians);
		if (b->rank)
			continue;
		printf("%10s  %12.1f %12.1f  %12.3f %12.3f  %8.2f\n",
		       format_size(bytes, size), medians[HCOMM],
		       medians[OPENMPI], bus_gb(b, bytes, medians[HCOMM]),
		       bus_gb(b, bytes, medians[OPENMPI]),
		       medians[OPENMPI] / medians[HCOMM]);
		fflush(stdout);
		if (json)
			fprintf(json, "%s\n  {\"size\": %" PRIu64 ", \"hcomm_us\": %.3f, \"mpi_us\": %.3f, \"hcomm_busbw\": %.6f, \"mpi_busbw\": %.6f, \"ratio\": %.4f}",
				bytes == opt->min ? "" : ",", bytes,
				medians[HCOMM], medians[OPENMPI],
				bus_gb(b, bytes, medians[HCOMM]),
				bus_gb(b, bytes, medians[OPENMPI]),
				medians[OPENMPI] / medians[HCOMM]);
	}
	if (json) {
		fprintf(json, "\n ]\n}\n");
		results_close(json, opt->json);
	}
}

int main(int argc, char **argv)
{
	struct options opt = { .min = 1024, .max = 16 << 20, .turns = 21 };
	struct bench b = { .wrong = 0 };
	uint64_t wrong;
	char *base;
	size_t i;
	int n;

	argp_parse(&argp, argc, argv, 0, NULL, &opt);
	need_device();
	MPI_Init(&argc, &argv);
	must(hcommInit(&argc, &argv), "hcommInit");
	MPI_Comm_rank(MPI_COMM_WORLD, &b.rank);
	MPI_Comm_size(MPI_COMM_WORLD, &b.size);
	must(hcommCommRank(COMM_WORLD, &n), "CommRank");
	if (n != b.rank)
		fatal("rank %d of MPI is rank %d of hcomm", b.rank, n);
	base = must_hcomm_malloc(2 * opt.max + 2 * PLACES * PLACE_STEP);
	b.in = (float *)(base + 2 * b.rank % PLACES * PLACE_STEP);
	b.out = (float *)(base + opt.max + PLACES * PLACE_STEP +
			  (2 * b.rank + 1) % PLACES * PLACE_STEP);
	for (i = 0; i < opt.max / sizeof(float); i++)
		b.in[i] = input_of(b.rank, i);
	for (n = 0; n < SIDES; n++)
		b.samples[n] = must_malloc(opt.turns * sizeof(double));

	run_sizes(&b, &opt);

	MPI_Allreduce(&b.wrong, &wrong, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
	hcommFree(base);
	for (n = 0; n < SIDES; n++)
		free(b.samples[n]);
	must(hcommFinalize(), "hcommFinalize");
	MPI_Finalize();
	return wrong ? STATUS_FAILED : STATUS_OK;
}
