// SPDX-License-Identifier: GPL-2.0-only
/*
 * Collectives of hcomm and of an MPI, in the same processes, on the same buffers, in
 * turns: whatever disturbs the machine disturbs both.  It is built once with each
 * MPI; start it with that one's mpirun, whose variables tell hcomm the ranks, too.
 *
 * Sizes are those of the whole vector, or of all blocks of a rank's larger buffer,
 * where a block has at least one element.
 */
#include <inttypes.h>
#include <math.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../common/args.h"
#include "../common/job.h"
#include "../common/util.h"

#define MAX_SAMPLES	100000
#define MAX_BYTES	(1u << 30)
#define MAX_SIZES	32u
#define DEFAULT_SIZES	"1K,2K,4K,8K,16K,32K,64K,128K,256K,512K,1M,2M,4M,8M,16M"
/* a median of fewer says nothing */
#define MIN_TURNS	3
/* calls of one turn, for small messages, whose time a clock hardly sees */
#define TURN_BYTES	(256u << 10)
#define MAX_TURN	16
/* what the calls of a turn may take, if they are several */
#define TURN_US		20000
/*
 * Buffers of all ranks begin at different pages of a huge page.  An emulator finds
 * translations by the low bits of the page number: with equal ones both sides
 * would measure little but its misses.
 */
#define PLACES		16
#define PLACE_STEP	(5u << 12)

enum { HCOMM, MPI, SIDES };

struct options {
	const char *coll;
	uint64_t sizes[MAX_SIZES + 1];
	unsigned int nsizes;
	uint64_t turns;
	uint64_t budget_ms;
	uint64_t total_s;
	const char *network;
	const char *json;
};

/**
 * struct bench - a rank's run
 * @rank: this rank
 * @size: number of ranks
 * @nodes: number of nodes
 * @name: of the MPI, with its version
 * @in: input, never changed after it is filled
 * @out: output
 * @ref: what the MPI made of it
 * @samples: microseconds of a call, per side and turn
 * @wrong: elements that were wrong on all ranks
 */
struct bench {
	int rank;
	int size;
	int nodes;
	char name[32];
	float *in;
	float *out;
	float *ref;
	double *samples[SIDES];
	uint64_t wrong;
};

/* "64K,1M" */
static void sizes_arg(struct argp_state *state, const char *text, void *options)
{
	struct options *opt = options;
	char word[24];
	size_t len;

	for (opt->nsizes = 0; *text; text += len + (text[len] == ',')) {
		uint64_t *size = &opt->sizes[opt->nsizes++];

		len = strcspn(text, ",");
		snprintf(word, sizeof(word), "%.*s", (int)len, text);
		if (opt->nsizes > MAX_SIZES || !parse_size(word, size) ||
		    *size < sizeof(float) || *size > MAX_BYTES)
			argp_error(state, "--sizes: use up to %u sizes from 4 to 1G, separated by commas",
				   MAX_SIZES);
	}
}

static const struct arg args[] = {
	ARG_TEXT('C', "coll", "NAME", coll, "Collective (default: allreduce), or all"),
	ARG_CALL('s', "sizes", "LIST", sizes_arg, "Sizes (default: " DEFAULT_SIZES ")"),
	ARG_NUMBER('n', "turns", "N", turns, MIN_TURNS, MAX_SAMPLES,
		   "Turns of each side per size (default: 21)"),
	ARG_NUMBER('t', "time", "MS", budget_ms, 1, 3600000,
		   "Fewer turns, but no fewer than 3, where they take longer than this (default: 5000)"),
	ARG_NUMBER('T', "total", "S", total_s, 1, 86400,
		   "Measure no more after so many seconds: the largest sizes are the last (default: 3600)"),
	ARG_TEXT('N', "network", "NAME", network, "What the MPI was told to use, for the results"),
	ARG_JSON('J'),
};

static const struct command_line command_line = {
	args, ARRAY_SIZE(args),
	.doc = "Collectives (fp32, sum, root 0, out of place): hcomm and an MPI in turns, medians, and how many times faster hcomm is.\v"
	       "Start it with the mpirun of its MPI.  Exit status: 1 if a result was wrong.",
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
		fatal("MPI: " #name " failed");			\
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

#define NCOLLS ARRAY_SIZE(colls)

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
	c->call[MPI](b, n, b->ref);
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

/* Collective: calls of a turn, many where a clock would hardly see one. */
static unsigned int calls_of_turn(struct bench *b, const struct coll *c, size_t n,
				  uint64_t bytes)
{
	unsigned int calls = (unsigned int)(TURN_BYTES / bytes) + 1, fit;
	double us;
	int side;

	calls = calls < MAX_TURN ? calls : MAX_TURN;
	/* with more ranks than CPUs a call of few bytes may take time slices */
	for (side = 0; side < SIDES && calls > 1; side++) {
		us = turn(b, c, side, n, 1);
		fit = us < TURN_US ? (unsigned int)(TURN_US / (us + 1)) + 1 : 1;
		calls = calls < fit ? calls : fit;
	}
	return calls;
}

static void measure(struct bench *b, const struct coll *c, const struct options *opt,
		    uint64_t bytes, double *medians)
{
	size_t n = bytes / sizeof(float) / (c->blocks ? b->size : 1);
	double spent_us = 0, us;
	unsigned int calls;
	uint64_t i;
	int side;

	n = n ? n : 1;
	check(b, c, n);
	calls = calls_of_turn(b, c, n, bytes);
	/* all ranks have the same times, and stop together */
	for (i = 0; i < opt->turns; i++) {
		if (i >= MIN_TURNS && spent_us > (double)opt->budget_ms * 1000)
			break;
		for (side = 0; side < SIDES; side++) {
			us = turn(b, c, side, n, calls);
			b->samples[side][i] = us;
			spent_us += us * (calls + 1);
		}
	}
	for (side = 0; side < SIDES; side++)
		medians[side] = median_of(b->samples[side], i);
}

static double bus_gb(const struct bench *b, const struct coll *c, uint64_t bytes,
		     double us)
{
	double share = c->whole ? 1 : (double)(b->size - 1) / b->size;

	return us > 0 ? c->bus * share * (double)bytes / us / 1000 : 0;
}

/* "Open MPI 4.1.4", "MPICH 4.0.2" */
static void find_name(struct bench *b)
{
	char library[MPI_MAX_LIBRARY_VERSION_STRING], version[16];
	int len;

	MPI_Get_library_version(library, &len);
	if (sscanf(library, "Open MPI v%15[0-9.]", version) == 1)
		snprintf(b->name, sizeof(b->name), "Open MPI %s", version);
	else if (sscanf(library, "MPICH Version: %15[0-9.]", version) == 1)
		snprintf(b->name, sizeof(b->name), "MPICH %s", version);
	else
		snprintf(b->name, sizeof(b->name), "%.*s", (int)strcspn(library, ",\"\n"),
			 library);
}

/* The first rank of each node counts. */
static void count_nodes(struct bench *b)
{
	int rank, first;
	MPI_Comm node;

	MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
	MPI_Comm_rank(node, &rank);
	MPI_Comm_free(&node);
	first = !rank;
	MPI_Allreduce(&first, &b->nodes, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

static FILE *json_begin(const struct bench *b, const struct options *opt)
{
	FILE *json;

	if (b->rank || !opt->json)
		return NULL;
	json = results_open(opt->json);
	fprintf(json, "{\n \"tool\": \"bench_mpi\",\n \"ranks\": %d,\n \"nodes\": %d,\n \"mpi\": \"%s\",\n \"network\": \"%s\",\n \"turns\": %" PRIu64 ",\n \"results\": [",
		b->size, b->nodes, b->name, opt->network, opt->turns);
	return json;
}

static void print_row(const struct bench *b, const struct coll *c, uint64_t bytes,
		      const double *us, FILE *json, bool first)
{
	double hcomm_gb = bus_gb(b, c, bytes, us[HCOMM]);
	double mpi_gb = bus_gb(b, c, bytes, us[MPI]);
	double ratio = us[MPI] / us[HCOMM];
	char size[24];

	printf("%-14s  %10s  %12.1f %12.1f  %12.3f %12.3f  %8.2f\n", c->name,
	       format_size(bytes, size), us[HCOMM], us[MPI], hcomm_gb, mpi_gb, ratio);
	fflush(stdout);
	if (json)
		fprintf(json, "%s\n  {\"coll\": \"%s\", \"size\": %" PRIu64 ", \"hcomm_us\": %.3f, \"mpi_us\": %.3f, \"hcomm_busbw\": %.6f, \"mpi_busbw\": %.6f, \"ratio\": %.4f}",
			first ? "" : ",", c->name, bytes, us[HCOMM], us[MPI], hcomm_gb,
			mpi_gb, ratio);
}

/* Collective: is there time for more?  The clock of rank 0 decides. */
static bool in_time(uint64_t end_ns)
{
	int more = now_ns() < end_ns;

	MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
	return more;
}

static void run(struct bench *b, const struct options *opt)
{
	uint64_t end_ns = now_ns() + opt->total_s * 1000000000;
	FILE *json = json_begin(b, opt);
	bool all = !strcmp(opt->coll, "all"), first = true, found = false;
	double us[SIDES];
	unsigned int k;
	size_t i;

	if (!b->rank)
		printf("%d ranks, %d nodes, %s %s\n%-14s  %10s  %12s %12s  %12s %12s  %8s\n",
		       b->size, b->nodes, b->name, opt->network, "collective", "size", "hcomm us",
		       "MPI us", "hcomm GB/s", "MPI GB/s", "ratio");
	for (k = 0; k < opt->nsizes; k++) {
		for (i = 0; i < NCOLLS; i++) {
			if (!all && strcmp(opt->coll, colls[i].name))
				continue;
			found = true;
			/* a barrier has no sizes */
			if ((k && !colls[i].bus) || !in_time(end_ns))
				continue;
			measure(b, &colls[i], opt, opt->sizes[k], us);
			if (!b->rank)
				print_row(b, &colls[i], opt->sizes[k], us, json, first);
			first = false;
		}
	}
	if (json) {
		fprintf(json, "\n ]\n}\n");
		results_close(json, opt->json);
	}
	if (!found)
		fatal("--coll %s: no such collective", opt->coll);
}

/* Input and output at places of their own; returns what is to be freed. */
static char *place(struct bench *b, uint64_t max)
{
	/* blocks have at least one element */
	uint64_t room = max + b->size * sizeof(float) + PLACES * PLACE_STEP, i;
	char *base = must_hcomm_malloc(3 * room);

	b->in = (float *)(base + 2 * b->rank % PLACES * PLACE_STEP);
	b->out = (float *)(base + room + (2 * b->rank + 1) % PLACES * PLACE_STEP);
	b->ref = (float *)(base + 2 * room);
	for (i = 0; i < max / sizeof(float) + b->size; i++)
		b->in[i] = input_of(b->rank, i);
	return base;
}

int main(int argc, char **argv)
{
	struct options opt = {
		.coll = "allreduce", .turns = 21, .budget_ms = 5000, .total_s = 3600,
		.network = "",
	};
	struct bench b = { .wrong = 0 };
	uint64_t wrong, max = 0;
	unsigned int i;
	char *base;
	int n;

	sizes_arg(NULL, DEFAULT_SIZES, &opt);
	parse_args(argc, argv, &command_line, &opt);
	need_device();
	MPI_Init(&argc, &argv);
	must(hcommInit(&argc, &argv), "hcommInit");
	MPI_Comm_rank(MPI_COMM_WORLD, &b.rank);
	MPI_Comm_size(MPI_COMM_WORLD, &b.size);
	must(hcommCommRank(COMM_WORLD, &n), "CommRank");
	if (n != b.rank)
		fatal("rank %d of MPI is rank %d of hcomm", b.rank, n);
	find_name(&b);
	count_nodes(&b);
	for (i = 0; i < opt.nsizes; i++)
		max = opt.sizes[i] > max ? opt.sizes[i] : max;
	base = place(&b, max);
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
