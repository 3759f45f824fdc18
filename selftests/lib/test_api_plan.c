// SPDX-License-Identifier: GPL-2.0-only
/* The planner through the API: wishes and probes.  Run as 1 to 8 ranks. */
#include "api_repeat.h"

/* a bad word is refused before anybody is asked */
static void test_words(void)
{
	hcommConfig_t c = HCOMM_CONFIG_INITIALIZER;
	hcommComm_t comm;

	c.algo = "allreduce:rings";
	if (make(&c, &comm) != HCOMM_ERR_INVALID_ARGUMENT)
		FAIL("rings: %s", hcommGetLastError(NULL));
	if (!strstr(hcommGetLastError(NULL), "double-tree (dbtree)"))
		FAIL("no list of known words: %s", hcommGetLastError(NULL));
	c.algo = "allreduce:tree";
	c.algoTable = "allreduce: 0-1K=ring,1K-=dbtree";
	MUST(make(&c, &comm));
	one_call(comm, 1);
	MUST(hcommCommDestroy(comm));
	verdict("wishes: a bad one is refused, good ones work");
}

static void test_differ(void)
{
	hcommConfig_t c = HCOMM_CONFIG_INITIALIZER;
	hcommComm_t comm;

	if (size > 1) {
		c.algo = rank ? "allreduce:ring" : "allreduce:tree";
		if (make(&c, &comm) != HCOMM_ERR_OPTIONS ||
		    !strstr(hcommGetLastError(NULL), "HCOMM_ALGO differs"))
			FAIL("algorithms: %s", hcommGetLastError(NULL));
		c.algo = NULL;
		c.algoTable = rank ? "reduce: 0-=tree" : "reduce: 0-=dbtree";
		if (make(&c, &comm) != HCOMM_ERR_OPTIONS ||
		    !strstr(hcommGetLastError(NULL), "HCOMM_ALGO_TABLE"))
			FAIL("tables: %s", hcommGetLastError(NULL));
	}
	verdict("wishes that differ are an error on all ranks");
}

static void test_probe(void)
{
	hcommConfig_t c = HCOMM_CONFIG_INITIALIZER;
	hcommComm_t comm;
	int i;

	c.probe = 1;
	MUST(make(&c, &comm));
	if (built(comm))
		FAIL("the probe left %llu plans", (unsigned long long)built(comm));
	for (i = 0; i < 5; i++)
		one_call(comm, i);
	if (built(comm) != 1)
		FAIL("%llu plans for one kind of call", (unsigned long long)built(comm));
	MUST(hcommCommDestroy(comm));
	verdict("probing at creation");
}

int main(int argc, char **argv)
{
	begin_repeat(&argc, &argv);
	test_words();
	test_differ();
	test_probe();
	return end_repeat();
}
