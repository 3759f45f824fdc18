/* SPDX-License-Identifier: GPL-2.0-only */
/* hcomm_perf: how fast are the collectives? */
#ifndef HCOMM_PERF_H
#define HCOMM_PERF_H

#include <hcomm/hcomm.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "../common/elems.h"

enum perf_coll {
	PERF_ALLREDUCE,
	PERF_REDUCE,
	PERF_BROADCAST,
	PERF_REDUCE_SCATTER,
	PERF_ALLGATHER,
	PERF_GATHER,
	PERF_SCATTER,
	PERF_ALLTOALL,
	PERF_SCAN,
	PERF_EXSCAN,
	PERF_SENDRECV,
	PERF_ONEWAY,
	PERF_BARRIER,
	PERF_COLLS,
};

/* which of the measured times is shown */
enum perf_stat {
	STAT_MEAN,
	STAT_MEDIAN,
	STAT_MIN,
};

/* how the times of the ranks become one */
enum perf_average {
	AVERAGE_RANK0,
	AVERAGE_MEAN,
	AVERAGE_MIN,
	AVERAGE_MAX,
};

/**
 * struct options - the command line
 * @coll: what is measured
 * @min: first size in bytes
 * @max: last size
 * @step: added from size to size; 0: @factor
 * @factor: size is multiplied by it
 * @iters: measured rounds
 * @warmup: rounds before
 * @aggregate: calls in flight at once, in a round
 * @check: verify the results
 * @dtypes: mask of types
 * @ops: mask of reductions, as many as there are redops, then PREMUL_SUM
 * @root: root, -1: all ranks, one after the other
 * @stat: which time is shown
 * @average: how ranks are combined
 * @json: file to write, or NULL
 * @local: ranks to start without a launcher
 */
struct options {
	enum perf_coll coll;
	uint64_t min;
	uint64_t max;
	uint64_t step;
	uint64_t factor;
	uint64_t iters;
	uint64_t warmup;
	uint64_t aggregate;
	bool check;
	unsigned int dtypes;
	unsigned int ops;
	int root;
	enum perf_stat stat;
	enum perf_average average;
	const char *json;
	uint64_t local;
};

/**
 * struct timing - one way (in place or not) of one size, in microseconds
 * @mean: time of a call
 * @median: same
 * @min: same
 * @wrong: elements that were wrong on all ranks, -1: not checked
 */
struct timing {
	double mean;
	double median;
	double min;
	double wrong;
};

/**
 * struct line - a line of the table
 * @bytes: size as the table has it
 * @count: elements of the call
 * @way: out of place, in place
 * @has_way: which of them make sense
 */
struct line {
	uint64_t bytes;
	uint64_t count;
	hcommDataType_t dtype;
	hcommRedOp_t op;
	int root;
	struct timing way[2];
	bool has_way[2];
};

/**
 * struct perf - this rank's run
 * @opt: options
 * @rank: this rank
 * @size: number of ranks
 * @memory: hcommMalloc() memory for input and output
 * @samples: time of each round
 * @json: open file of rank 0, or NULL
 * @lines: lines in @json so far
 * @wrong: elements that were wrong, in all
 */
struct perf {
	const struct options *opt;
	unsigned int rank;
	unsigned int size;
	char *memory[2];
	double *samples;
	FILE *json;
	unsigned int lines;
	double wrong;
};

#define PERF_PREMUL	REDOPS		/* its place in the mask of reductions */

extern const char *const perf_coll_names[PERF_COLLS];
bool perf_coll_by_name(const char *name, enum perf_coll *coll);
bool perf_has_op(enum perf_coll coll);
bool perf_is_scan(enum perf_coll coll);
/* its size is that of all blocks */
bool perf_has_blocks(enum perf_coll coll);
bool perf_has_root(enum perf_coll coll);
bool perf_has_in_place(enum perf_coll coll);
bool perf_moves_data(enum perf_coll coll);
/* bus bandwidth is algorithm bandwidth times this */
double perf_bus_factor(enum perf_coll coll, unsigned int nranks);
/*
 * Elements of a call for @bytes of the table, one at least unless @bytes is 0, and the
 * bytes that it moves then.
 */
uint64_t perf_count(enum perf_coll coll, unsigned int nranks, size_t elem,
		    uint64_t bytes, uint64_t *really);

/* measure.c */
void perf_measure(struct perf *perf, struct line *line, bool in_place);

/* output.c */
double timing_shown(const struct options *opt, const struct timing *timing);
void print_table_head(const struct perf *perf);
void print_line(const struct perf *perf, const struct line *line);
/* collective; false on all ranks if rank 0, which says so, can't write the file */
bool json_begin(struct perf *perf);
void json_line(struct perf *perf, const struct line *line);
void json_end(struct perf *perf);

#endif /* HCOMM_PERF_H */
