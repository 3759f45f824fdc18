/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * hcomm_test: are the results right?
 *
 * All ranks go through the same list of checks.  Each rank compares its own
 * output with a reference that needs no communication; what a group of checks
 * found on all ranks is then added up and printed by rank 0.
 */
#ifndef HCOMM_TEST_H
#define HCOMM_TEST_H

#include <hcomm/hcomm.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* what surrounds an output buffer, and must stay as it is */
#define GUARD_BYTES	64
/* what is in memory that nobody has written to */
#define POISON		0x5a
/* a type's alignment never divides it */
#define MISALIGNMENT	3

enum coll {
	COLL_ALLREDUCE,
	COLL_REDUCE,
	COLL_REDUCE_SCATTER,
	COLL_SCAN,
	COLL_EXSCAN,
	COLL_ALLGATHER,
	COLL_GATHER,
	COLL_SCATTER,
	COLL_ALLTOALL,
	COLL_BROADCAST,
	COLL_COUNT,
};

/**
 * struct test - this rank's run of all checks
 * @rank: this rank
 * @size: number of ranks
 * @all: every combination, not a sample
 * @max_bytes: largest message
 * @chunk: chunk size of the communicator
 * @eager: its eager size
 * @memory: hcommMalloc() memory for input and output
 * @room: bytes of each of the two
 * @seed: changes with each check
 * @calls: collectives so far; the same on all ranks
 * @checks: checks of the group, on this rank
 * @wrong: how many of them failed on this rank
 * @begin: when the group began
 * @passed: groups that passed
 * @failed: groups that did not
 */
struct test {
	unsigned int rank;
	unsigned int size;
	bool all;
	uint64_t max_bytes;
	uint64_t chunk;
	uint64_t eager;
	char *memory[2];
	size_t room;
	unsigned int seed;
	unsigned int calls;
	unsigned int checks;
	unsigned int wrong;
	uint64_t begin;
	unsigned int passed;
	unsigned int failed;
};

/* message sizes in bytes that are worth a check; returns how many */
#define MAX_SIZES	16
unsigned int test_sizes(const struct test *t, uint64_t *sizes);

void group_begin(struct test *t);
/* Collective.  Prints "PASS" or "FAIL" and the name; @fmt is the name. */
void group_end(struct test *t, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* One check of this rank is over; reports where it failed. */
void check_result(struct test *t, bool ok, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

void test_collectives(struct test *t);
void test_vector(struct test *t);
void test_rounding(struct test *t);
void test_memory(struct test *t);
void test_async(struct test *t);
void test_barrier(struct test *t);
void test_p2p(struct test *t);

/**
 * struct facts - what sysfs tells about this rank's communicator
 * @path: its directory, empty if it was not found
 */
struct facts {
	char path[128];
};

/* Finds the communicator of this process; @before is from facts_before(). */
struct comm_list;
struct comm_list *facts_before(void);
void facts_find(struct facts *facts, struct comm_list *before, unsigned int rank,
		unsigned int size);
/* reads a number, keeps *value if there is none */
void facts_number(const struct facts *facts, const char *name, uint64_t *value);
/* Collective.  Rank 0 prints a line per link of each rank. */
void facts_print_links(const struct facts *facts, const struct test *t);

#endif /* HCOMM_TEST_H */
