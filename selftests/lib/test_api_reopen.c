// SPDX-License-Identifier: GPL-2.0-only
/* Memory lives longer than the device is open, and is pinned anew. */
#include "api_util.h"

#define COUNT	20000

static void add_up(hcommComm_t comm, int32_t *in, int32_t *out, int ranks)
{
	int i;

	for (i = 0; i < COUNT; i++)
		in[i] = i;
	MUST(hcommAllReduce(in, out, COUNT, hcommInt32, hcommSum, comm));
	for (i = 0; i < COUNT; i++) {
		if (out[i] != i * ranks)
			FAIL("element %d of %d ranks is %d", i, ranks, out[i]);
	}
}

int main(int argc, char **argv)
{
	static int32_t own[COUNT];
	hcommUniqueId id;
	hcommMem_t reg;
	hcommComm_t comm;
	int32_t *mem;
	int i;

	if (access("/dev/hcomm", F_OK)) {
		printf("1..0 # SKIP no /dev/hcomm\n");
		return 0;
	}
	mem = hcommMalloc(COUNT * sizeof(*mem));
	MUST(hcommMemRegister(own, sizeof(own), &reg));
	/* the last communicator of a process closes the device */
	for (i = 0; i < 3; i++) {
		MUST(hcommGetUniqueId(&id));
		MUST(hcommCommInitRank(&comm, 1, id, 0));
		/* each is the first to be pinned in its turn */
		add_up(comm, i % 2 ? own : mem, i % 2 ? mem : own, 1);
		MUST(hcommCommDestroy(comm));
	}
	begin(&argc, &argv);
	add_up(COMM_WORLD, mem, own, size);
	add_up(COMM_WORLD, own, mem, size);
	verdict("memory of before the device was closed");
	MUST(hcommCommDup(COMM_WORLD, &comm, NULL));
	i = end();
	/* COMM_WORLD is gone, what was made of it is not */
	add_up(comm, mem, own, size);
	add_up(comm, own, mem, size);
	MUST(hcommCommDestroy(comm));
	MUST(hcommMemDeregister(reg));
	MUST(hcommFree(mem));
	return i || failures;
}
