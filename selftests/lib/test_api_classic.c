// SPDX-License-Identifier: GPL-2.0-only
/*
 * The classic first program, as users write it; only the checks and the TAP are
 * the test's.  Two ranks or more.
 */
#include <hcomm/hcomm.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define N	(1 << 20)

int main(int argc, char **argv)
{
	int rank, size, i, wrong = 0;
	char *buf;

	if (access("/dev/hcomm", F_OK)) {
		printf("1..0 # SKIP no /dev/hcomm\n");
		return 0;
	}
	if (hcommInit(&argc, &argv)) {
		printf("not ok 1 - hcommInit\n# %s\n", hcommGetLastError(NULL));
		return 1;
	}
	hcommCommRank(COMM_WORLD, &rank);
	hcommCommSize(COMM_WORLD, &size);
	buf = hcommMalloc(N);
	if (rank == 0) {
		for (i = 0; i < N; i++)
			buf[i] = (char)(i * 7);
		wrong += hcommSend(buf, N, 1, 42, COMM_WORLD) != HCOMM_SUCCESS;
		memset(buf, 0, N);
		wrong += hcommRecv(buf, N, 1, 43, COMM_WORLD) != HCOMM_SUCCESS;
		for (i = 0; i < N; i++)
			wrong += buf[i] != (char)(i * 7 + 1);
		printf("%sok 1 - a message and its answer, %d ranks\n",
		       wrong ? "not " : "", size);
		if (wrong)
			printf("# %d wrong: %s\n", wrong, hcommGetLastError(NULL));
		printf("1..1\n");
	} else if (rank == 1) {
		wrong += hcommRecv(buf, N, 0, 42, COMM_WORLD) != HCOMM_SUCCESS;
		for (i = 0; i < N; i++)
			buf[i]++;
		wrong += hcommSend(buf, N, 0, 43, COMM_WORLD) != HCOMM_SUCCESS;
	}
	hcommFree(buf);
	hcommFinalize();
	return wrong != 0;
}
