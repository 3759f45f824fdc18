// SPDX-License-Identifier: GPL-2.0-only
/* Threads that share a communicator which allows one call at a time. */
#include <pthread.h>

#include "api_util.h"

#define THREADS	4
#define CALLS	100
#define COUNT	(1 << 20)

static hcommComm_t comm;
static int wrong;

/* memory that is pinned for each call: others come while it is prepared */
static void *caller(void *arg)
{
	int32_t *in = malloc(COUNT * sizeof(*in)), *out = malloc(COUNT * sizeof(*out));
	int i, k, bad = 0;

	(void)arg;
	for (k = 0; k < COUNT; k++)
		in[k] = k;
	for (i = 0; i < CALLS; i++) {
		memset(out, 0xff, COUNT * sizeof(*out));
		bad += hcommAllReduce(in, out, COUNT, hcommInt32, hcommSum, comm) != 0;
		bad += !!memcmp(in, out, COUNT * sizeof(*out));
	}
	__atomic_add_fetch(&wrong, bad, __ATOMIC_RELAXED);
	free(in);
	free(out);
	return NULL;
}

int main(int argc, char **argv)
{
	hcommConfig_t c = HCOMM_CONFIG_INITIALIZER;
	pthread_t id[THREADS];
	hcommUniqueId uid;
	int i;

	begin(&argc, &argv);
	/* of this rank alone, so that the order of calls does not matter */
	c.maxRuns = 1;
	MUST(hcommGetUniqueId(&uid));
	MUST(hcommCommInitRankConfig(&comm, 1, uid, 0, &c));
	for (i = 0; i < THREADS; i++) {
		if (pthread_create(&id[i], NULL, caller, NULL))
			MUST(HCOMM_ERR_SYSTEM);
	}
	for (i = 0; i < THREADS; i++)
		pthread_join(id[i], NULL);
	if (wrong)
		FAIL("%d of %d calls failed", wrong, THREADS * CALLS);
	verdict("no blocking call is refused for those of other threads");
	MUST(hcommCommDestroy(comm));
	return end();
}
