// SPDX-License-Identifier: GPL-2.0-only
/*
 * Collectives of hcomm and of Open MPI, in the same processes, on the same buffers,
 * in turns: whatever disturbs the machine disturbs both.  Start it with mpirun;
 * hcomm joins through Open MPI's variables.
 *
 * Sizes are those of the whole vector, or of all blocks of a rank's larger buffer.
 */
#include <inttypes.h>
#include <math.h>
#include <mpi.h>
#include <stdbool.h>
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

struct options {
	const char *coll;
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
 * @ref: what Open MPI made of it
 * @samples: microseconds of a call, per side and turn
 * @wrong: elements that were wrong on all ranks
 */
struct bench {
	int rank;
	int size;
	float *in;
	float *out;
	float *ref;
	double *samples[SIDES];
	uint64_t wrong;
};

const char *argp_program_version = "bench_mpi (hcomm) 0.1";

static const struct argp_option option_table[] = {
	{ "coll", 'C', "NAME", 0, "Collective (default: allreduce), or all", 0 },
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
	case 'C':
		opt->coll = arg;
		return 0;
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
	.doc = "Collectives (fp32, sum, root 0, out of place): hcomm and Open MPI in turns, medians, and how many times faster hcomm is.\v"
	       "Start it with mpirun.  Exit status: 1 if a result was wrong.",
};

/* ------------------------------------------------------------------ collectives */

/*
 * @n: elements of the vector, or of a block.  @out: where the output goes.
 */
#define COLL(name, hcomm_call, mpi_call)				\
static void name##_hcomm(struct bench *b, size_t n, float *out)		\
{									\
	(void)b, (void)n, (void)out;					\
	must(hcomm_call, "hcomm: " #name);				\
}									\
									\
static void name##_mpi(struct bench *b, size_t n, float *out)		\
{									\
	(void)b, (void)n, (void)out;					\
	if ((mpi_call) != MPI_SUCCESS)					\
		fatal("Open MPI: " #name " failed");			\
}

#define FP hcommFloat32
#define WORLD MPI_COMM_WORLD

COLL(allreduce, hcommAllReduce(b->in, out, n, FP, hcommSum, COMM_WORLD),
     MPI_Allreduce(b->in, out, (int)n, MPI_FLOAT, MPI_SUM, WORLD))
COLL(reduce, hcommReduce(b->in, out, n, FP, hcommSum, 0, COMM_WORLD),
     MPI_Reduce(b->in, out, (int)n, MPI_FLOAT, MPI_SUM, 0, WORLD))
COLL(broadcast, hcommBcast(b->rank ? out : b->in, n, FP, 0, COMM_WORLD),
     MPI_Bcast(b->rank ? out : b->in, (int)n, MPI_FLOAT, 0, WORLD))
COLL(allgather, hcommAllGather(b->in, out, n, FP, COMM_WORLD),
     MPI_Allgather(b->in, (int)n, MPI_FLOAT, out, (int)n, MPI_FLOAT, WORLD))
COLL(reduce_scatter, hcommReduceScatter(b->in, out, n, FP, hcommSum, COMM_WORLD),
     MPI_Reduce_scatter_block(b->in, out, (int)n, MPI_FLOAT, MPI_SUM, WORLD))
COLL(gather, hcommGather(b->in, out, n, FP, 0, COMM_WORLD),
     MPI_Gather(b->in, (int)n, MPI_FLOAT, out, (int)n, MPI_FLOAT, 0, WORLD))
COLL(scatter, hcommScatter(b->in, out, n, FP, 0, COMM_WORLD),
     MPI_Scatter(b->in, (int)n, MPI_FLOAT, out, (int)n, MPI_FLOAT, 0, WORLD))
COLL(alltoall, hcommAlltoAll(b->in, out, n, FP, COMM_WORLD),
     MPI_Alltoall(b->in, (int)n, MPI_FLOAT, out, (int)n, MPI_FLOAT, WORLD))
COLL(scan, hcommScan(b->in, out, n, FP, hcommSum, COMM_WORLD),
     MPI_Scan(b->in, out, (int)n, MPI_FLOAT, MPI_SUM, WORLD))
COLL(barrier, hcommBarrier(COMM_WORLD), MPI_Barrier(WORLD))

/**
 * struct coll - a collective
 * @name: as the command line has it
 * @call: by side
 * @blocks: the size is that of as many blocks as there are ranks
 * @all_blocks: the output is all of them
 * @root_only: only the root has an output
 * @reduces: sums, of which the order may differ
 * @bus: factor of the bus bandwidth, times (n - 1) / n unless it is @whole
 * @whole: see there
 */
static const struct coll {
	const char *name;
	void (*call[SIDES])(struct bench *b, size_t n, float *out);
	bool blocks, all_blocks, root_only, reduces, whole;
	double bus;
} colls[] = {
#define ROW(name) #name, { name##_hcomm, name##_mpi }
	{ ROW(allreduce), .reduces = true, .bus = 2 },
	{ ROW(reduce), .reduces = true, .root_only = true, .bus = 1, .whole = true },
	{ ROW(broadcast), .bus = 1, .whole = true },
	{ ROW(allgather), .blocks = true, .all_blocks = true, .bus = 1 },
	{ ROW(reduce_scatter), .blocks = true, .reduces = true, .bus = 1 },
	{ ROW(gather), .blocks = true, .all_blocks = true, .root_only = true, .bus = 1 },
	{ ROW(scatter), .blocks = true, .bus = 1 },
	{ ROW(alltoall), .blocks = true, .all_blocks = true, .bus = 1 },
	{ ROW(scan), .reduces = true, .bus = 1, .whole = true },
	{ ROW(barrier), .bus = 0 },
};

#define NCOLLS (sizeof(colls) / sizeof(colls[0]))

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

/* The orders of sums may differ: the error of each rounding is allowed. */
static bool same(const struct bench *b, const struct coll *c, float x, float y)
{
	return c->reduces ? fabsf(x - y) <= b->size * b->size * 0x1p-24f : x == y;
}

/* Both sides must come to the same; what is not written differs on purpose. */
static void check(struct bench *b, const struct coll *c, size_t n)
{
	size_t elems = c->all_blocks ? n * b->size : n, i, wrong = 0;

	if (!c->bus || (c->root_only && b->rank) ||
	    (c->call[HCOMM] == broadcast_hcomm && !b->rank))
		elems = 0;
	memset(b->out, 0xa5, elems * sizeof(float));
	memset(b->ref, 0x5a, elems * sizeof(float));
	c->call[HCOMM](b, n, b->out);
	c->call[OPENMPI](b, n, b->ref);
	for (i = 0; i < elems; i++)
		wrong += !same(b, c, b->out[i], b->ref[i]);
	if (wrong)
		complain("rank %d: %s: %zu of %zu elements differ", b->rank, c->name,
			 wrong, elems);
	b->wrong += wrong;
}

/* one turn of one side; a sample is the time of a call, the slowest rank's */
static double turn(struct bench *b, const struct coll *c, int side, size_t n,
		   unsigned int calls)
{
	unsigned int i;
	double us, worst;
	uint64_t begin;

	MPI_Barrier(MPI_COMM_WORLD);
	/* the first call after the other side's pays for its caches */
	c->call[side](b, n, b->out);
	begin = now_ns();
	for (i = 0; i < calls; i++)
		c->call[side](b, n, b->out);
	us = (double)(now_ns() - begin) / 1000 / calls;
	MPI_Allreduce(&us, &worst, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
	return worst;
}

static void measure(struct bench *b, const struct coll *c, const struct options *opt,
		    uint64_t bytes, double *medians)
{
	unsigned int calls = (unsigned int)(TURN_BYTES / bytes) + 1;
	size_t n = bytes / sizeof(float) / (c->blocks ? b->size : 1);
	uint64_t i;
	int side;

	calls = calls < MAX_TURN ? calls : MAX_TURN;
	check(b, c, n);
	for (i = 0; i < opt->turns; i++) {
		for (side = 0; side < SIDES; side++)
			b->samples[side][i] = turn(b, c, side, n, calls);
	}
	for (side = 0; side < SIDES; side++)
		medians[side] = median_of(b->samples[side], opt->turns);
}

static double bus_gb(const struct bench *b, const struct coll *c, uint64_t bytes,
		     double us)
{
	double share = c->whole ? 1 : (double)(b->size - 1) / b->size;

	return us > 0 ? c->bus * share * (double)bytes / us / 1000 : 0;
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
	fprintf(json, "{\n \"tool\": \"bench_mpi\",\n \"ranks\": %d,\n \"mpi\": \"%s\",\n \"turns\": %" PRIu64 ",\n \"results\": [",
		b->size, library, opt->turns);
	return json;
}

static void run_coll(struct bench *b, const struct coll *c, const struct options *opt,
		     FILE *json, bool *first)
{
	uint64_t max = c->bus ? opt->max : opt->min, bytes;
	double us[SIDES];
	char size[24];

	for (bytes = opt->min; bytes <= max; bytes *= 2) {
		measure(b, c, opt, bytes, us);
		if (b->rank)
			continue;
		printf("%-14s  %10s  %12.1f %12.1f  %12.3f %12.3f  %8.2f\n", c->name,
		       format_size(bytes, size), us[HCOMM], us[OPENMPI],
		       bus_gb(b, c, bytes, us[HCOMM]), bus_gb(b, c, bytes, us[OPENMPI]),
		       us[OPENMPI] / us[HCOMM]);
		fflush(stdout);
		if (json)
			fprintf(json, "%s\n  {\"coll\": \"%s\", \"size\": %" PRIu64 ", \"hcomm_us\": %.3f, \"mpi_us\": %.3f, \"hcomm_busbw\": %.6f, \"mpi_busbw\": %.6f, \"ratio\": %.4f}",
				*first ? "" : ",", c->name, bytes, us[HCOMM],
				us[OPENMPI], bus_gb(b, c, bytes, us[HCOMM]),
				bus_gb(b, c, bytes, us[OPENMPI]),
				us[OPENMPI] / us[HCOMM]);
		*first = false;
	}
}

static void run(struct bench *b, const struct options *opt)
{
	FILE *json = json_begin(b, opt);
	bool first = true, found = false;
	size_t i;

	if (!b->rank)
		printf("%-14s  %10s  %12s %12s  %12s %12s  %8s\n", "collective", "size",
		       "hcomm us", "Open MPI us", "hcomm GB/s", "Open MPI GB/s", "ratio");
	for (i = 0; i < NCOLLS; i++) {
		if (strcmp(opt->coll, "all") && strcmp(opt->coll, colls[i].name))
			continue;
		found = true;
		run_coll(b, &colls[i], opt, json, &first);
	}
	if (json) {
		fprintf(json, "\n ]\n}\n");
		results_close(json, opt->json);
	}
	if (!found)
		fatal("--coll %s: no such collective", opt->coll);
}

int main(int argc, char **argv)
{
	struct options opt = {
		.coll = "allreduce", .min = 1024, .max = 16 << 20, .turns = 21,
	};
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
	base = must_hcomm_malloc(3 * opt.max + 3 * PLACES * PLACE_STEP);
	b.in = (float *)(base + 2 * b.rank % PLACES * PLACE_STEP);
	b.out = (float *)(base + opt.max + PLACES * PLACE_STEP +
			  (2 * b.rank + 1) % PLACES * PLACE_STEP);
	b.ref = (float *)(base + 2 * (opt.max + PLACES * PLACE_STEP));
	for (i = 0; i < opt.max / sizeof(float); i++)
		b.in[i] = input_of(b.rank, i);
	for (n = 0; n < SIDES; n++)
		b.samples[n] = must_malloc(opt.turns * sizeof(double));

	run(&b, &opt);

	MPI_Allreduce(&b.wrong, &wrong, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
	hcommFree(base);
	for (n = 0; n < SIDES; n++)
		free(b.samples[n]);
	must(hcommFinalize(), "hcommFinalize");
	MPI_Finalize();
	return wrong ? STATUS_FAILED : STATUS_OK;
}
