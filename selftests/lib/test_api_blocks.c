// SPDX-License-Identifier: GPL-2.0-only
/*
 * Gathers, scatters, exchanges, scans and V forms against a plain reference: types,
 * operations, sizes, roots, in place, gaps, kinds of memory, algorithms, limits.
 * Run as 1 to 8 ranks.
 */
#include <hcomm/sched.h>

#include "api_case.h"

#define ROOM	(1 << 20)

/**
 * struct kind - a collective that this program is about
 * @coll: enum case_coll
 * @vector: V form
 * @id: enum hcomm_coll
 */
static const struct kind {
	int coll;
	int vector;
	uint32_t id;
} kinds[] = {
	{ CASE_SCAN, 0, HCOMM_COLL_SCAN }, { CASE_EXSCAN, 0, HCOMM_COLL_EXSCAN },
	{ CASE_GATHER, 0, HCOMM_COLL_GATHER }, { CASE_SCATTER, 0, HCOMM_COLL_SCATTER },
	{ CASE_ALLTOALL, 0, HCOMM_COLL_ALLTOALL },
	{ CASE_REDUCE_SCATTER, 1, HCOMM_COLL_REDUCE_SCATTER },
	{ CASE_ALLGATHER, 1, HCOMM_COLL_ALLGATHER },
	{ CASE_GATHER, 1, HCOMM_COLL_GATHER }, { CASE_SCATTER, 1, HCOMM_COLL_SCATTER },
	{ CASE_ALLTOALL, 1, HCOMM_COLL_ALLTOALL },
};

#define NKINDS	(sizeof(kinds) / sizeof(kinds[0]))

static struct acase start(const struct kind *k)
{
	return (struct acase){
		.comm = COMM_WORLD, .coll = k->coll, .vector = k->vector,
		.type = hcommInt32, .op = hcommSum, .count = 1, .gap = -1,
	};
}

static bool fits(const struct acase *c, size_t o)
{
	if (!case_reduces(c->coll))
		return !o;
	if (ops[o].op == hcommAvg && (c->coll == CASE_SCAN || c->coll == CASE_EXSCAN))
		return false;
	return !ops[o].ints_only || c->type < hcommFloat16;
}

static void test_types(const struct kind *k)
{
	struct acase c = start(k);
	size_t o;

	for (c.type = 0; c.type < NTYPES; c.type++) {
		for (o = 0; o < NOPS; o++) {
			if (!fits(&c, o))
				continue;
			c.op = ops[o].op;
			c.root = (c.type + (int)o) % size;
			c.spread = o + (size_t)c.type;
			c.count = 5;
			c.in_place = 0;
			case_run(&c);
			c.count = 1001;
			c.in_place = 1;
			case_run(&c);
		}
	}
	verdict("%s%s: all types and operations", case_names[k->coll],
		k->vector ? "V" : "");
}

/* @step 2: every other size */
static void test_sizes(const struct kind *k, hcommComm_t comm, const char *algo,
		       size_t step)
{
	static const size_t counts[] = { 0, 1, 3, 129, 1024, 4097, 16391, 30011 };
	struct acase c = start(k);
	size_t i;
	int how;

	c.comm = comm;
	for (i = 0; i < sizeof(counts) / sizeof(counts[0]); i += step) {
		c.count = counts[i];
		for (how = 0; how < 8; how++) {
			if (step > 1 && how % 3)
				continue;
			c.in_place = how & 1;
			c.plain = how >> 1 & 1;
			c.skew = how >> 2 ? 3 : 0;
			c.gap = how % 3 - 1;
			c.spread = i + (size_t)how;
			c.root = (how + (int)i) % size;
			c.form = how % FORMS;
			case_run(&c);
		}
	}
	verdict("%s%s: sizes, memory, in place (%s)", case_names[k->coll],
		k->vector ? "V" : "", algo);
}

static void test_roots(void)
{
	struct acase c;
	size_t i;

	for (i = 0; i < NKINDS; i++) {
		if (!case_has_root(kinds[i].coll))
			continue;
		c = start(&kinds[i]);
		for (c.root = 0; c.root < size; c.root++) {
			for (c.count = 1; c.count < 30000; c.count = c.count * 90 + 7) {
				for (c.in_place = 0; c.in_place < 2; c.in_place++) {
					c.spread = c.count;
					c.gap = (int)(c.count % 5);
					case_run(&c);
				}
			}
		}
	}
	verdict("every root");
}

/* what the planner says where it may take one algorithm only */
static bool does(hcommComm_t comm, const struct kind *k)
{
	size_t none[CASE_RANKS] = { 0 };
	hcommResult_t ret;

	switch (k->coll) {
	case CASE_REDUCE_SCATTER:
		ret = hcommReduceScatterV(NULL, NULL, none, hcommInt32, hcommSum, comm);
		break;
	case CASE_ALLGATHER:
		ret = hcommAllGatherV(NULL, NULL, none, NULL, hcommInt32, comm);
		break;
	case CASE_GATHER:
		ret = hcommGatherV(NULL, 0, NULL, none, NULL, hcommInt32, 0, comm);
		break;
	case CASE_SCATTER:
		ret = hcommScatterV(NULL, none, NULL, NULL, 0, hcommInt32, 0, comm);
		break;
	default:
		ret = hcommAlltoAllV(NULL, none, NULL, NULL, none, NULL, hcommInt32, comm);
	}
	if (ret && ret != HCOMM_ERR_UNSUPPORTED)
		MUST(ret);
	return !ret;
}

/* every algorithm that does something of all this; returns how many V forms it does */
static int test_algo(uint32_t algo)
{
	bool any = false;
	int vectors = 0;
	hcommComm_t comm;
	size_t i;

	for (i = 0; i < NKINDS; i++)
		any |= hcomm_algo_supports(algo, kinds[i].id);
	if (!any)
		return 0;
	setenv("HCOMM_ALGO", hcomm_algo_name(algo), 1);
	comm = new_comm();
	unsetenv("HCOMM_ALGO");
	for (i = 0; i < NKINDS; i++) {
		if (!hcomm_algo_supports(algo, kinds[i].id) ||
		    (kinds[i].vector && !does(comm, &kinds[i])))
			continue;
		test_sizes(&kinds[i], comm, hcomm_algo_name(algo), 2);
		vectors += kinds[i].vector;
	}
	MUST(hcommCommDestroy(comm));
	return vectors;
}

static void refused(hcommResult_t ret, const char *text)
{
	if (ret != HCOMM_ERR_INVALID_ARGUMENT || !strstr(hcommGetLastError(NULL), text))
		FAIL("\"%s\" wanted, got %s: %s", text, hcommGetErrorString(ret),
		     hcommGetLastError(NULL));
}

/* arguments that are wrong on this rank alone: it must refuse them by itself */
static void test_limits(void)
{
	size_t counts[CASE_RANKS] = { 0 }, displs[CASE_RANKS] = { 0 };
	int32_t *buf = (int32_t *)case_memory[0][0], *out = (int32_t *)case_memory[0][1];
	size_t over = (size_t)1 << 62, most = ((size_t)1 << 31) + 5;

	refused(hcommGather(buf, out, 1, hcommInt32, size, COMM_WORLD), "root");
	refused(hcommScatter(buf, out, 1, hcommInt32, -1, COMM_WORLD), "root");
	refused(hcommAlltoAll(buf, out, over, hcommInt32, COMM_WORLD), "more than memory");
	refused(hcommAlltoAll(NULL, out, 1, hcommInt32, COMM_WORLD), "send buffer is NULL");
	refused(hcommScan(buf, out, 1, hcommInt32, hcommAvg, COMM_WORLD), "average");
	refused(hcommScan(buf, buf + 1, 2, hcommInt32, hcommSum, COMM_WORLD), "overlap");
	/* sizes that 32 bits do not hold are told in full */
	refused(hcommAlltoAll(buf, NULL, most, hcommUint8, COMM_WORLD),
		"receive buffer is NULL");
	refused(hcommScan(buf, NULL, most * 2, hcommInt16, hcommSum, COMM_WORLD),
		"8589934612 bytes");
	refused(hcommAllGatherV(buf, out, NULL, NULL, hcommInt32, COMM_WORLD),
		"counts is NULL");
	counts[size - 1] = over;
	refused(hcommAllGatherV(buf, out, counts, NULL, hcommInt32, COMM_WORLD), "beyond");
	counts[size - 1] = 1;
	displs[size - 1] = over;
	refused(hcommAllGatherV(buf, out, counts, displs, hcommInt32, COMM_WORLD),
		"beyond");
	displs[size - 1] = SIZE_MAX;
	refused(hcommAllGatherV(buf, out, counts, displs, hcommInt32, COMM_WORLD),
		"beyond");
	refused(hcommGatherV(buf, 3, out, counts, NULL, hcommInt32, rank, COMM_WORLD),
		"own block");
	refused(hcommAlltoAllV(buf, counts, NULL, out, NULL, NULL, hcommInt32, COMM_WORLD),
		"recvCounts is NULL");
	refused(hcommAlltoAllV(buf, NULL, NULL, out, counts, NULL, hcommInt32, COMM_WORLD),
		"sendCounts is NULL");
	/* nothing at all, from and to nowhere */
	memset(counts, 0, sizeof(counts));
	MUST(hcommAllGatherV(NULL, NULL, counts, NULL, hcommInt32, COMM_WORLD));
	MUST(hcommAlltoAllV(NULL, counts, NULL, NULL, counts, NULL, hcommInt32, COMM_WORLD));
	MUST(hcommGatherV(NULL, 0, NULL, counts, NULL, hcommInt32, 0, COMM_WORLD));
	MUST(hcommScatterV(NULL, counts, NULL, NULL, 0, hcommInt32, 0, COMM_WORLD));
	MUST(hcommReduceScatterV(NULL, NULL, counts, hcommInt32, hcommSum, COMM_WORLD));
	MUST(hcommAlltoAll(NULL, NULL, 0, hcommInt32, COMM_WORLD));
	MUST(hcommExscan(NULL, NULL, 0, hcommInt32, hcommSum, COMM_WORLD));
	verdict("limits");
}

/* all know the counts of an AllGatherV: who has other ones is found out */
static void test_mismatch(void)
{
	size_t counts[CASE_RANKS];
	hcommComm_t comm = new_comm();
	hcommResult_t ret;
	int i;

	for (i = 0; i < size; i++)
		counts[i] = 100;
	/* the sum is the same, and so are this rank's and its neighbours' counts */
	if (!rank) {
		counts[1] = 101;
		counts[2] = 99;
	}
	ret = hcommAllGatherV(case_memory[0][0], case_memory[0][1], counts, NULL,
			      hcommInt8, comm);
	if (ret != HCOMM_ERR_MISMATCH)
		FAIL("different counts: %s", hcommGetErrorString(ret));
	MUST(hcommCommDestroy(comm));
	verdict("different counts on different ranks");
}

int main(int argc, char **argv)
{
	int vectors = 0;
	uint32_t algo;
	size_t i;

	begin(&argc, &argv);
	if (size > CASE_RANKS)
		MUST(HCOMM_ERR_INVALID_USAGE);
	case_begin(ROOM);
	for (i = 0; i < NKINDS; i++) {
		test_types(&kinds[i]);
		test_sizes(&kinds[i], COMM_WORLD, "by size", 1);
	}
	test_roots();
	for (algo = HCOMM_ALGO_NONE + 1; algo < HCOMM_ALGO_COUNT; algo++)
		vectors += test_algo(algo);
	if (vectors < 5)
		FAIL("the algorithms do only %d V forms", vectors);
	verdict("algorithms of V forms");
	test_limits();
	if (size > 2)
		test_mismatch();
	case_end();
	return end();
}
