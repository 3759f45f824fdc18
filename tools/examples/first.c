// SPDX-License-Identifier: GPL-2.0-only
/*
 * The first program: rank 0 sends a text to rank 1.
 *
 *	cc first.c -lhcomm-user -o first
 *	hcomm_run -n 2 ./first
 */
#include <stdio.h>
#include <string.h>
#include <hcomm/hcomm.h>

#define N	4096
#define TAG	7

int main(int argc, char **argv)
{
	int rank, size, result = 1;
	char *buf;

	if (hcommInit(&argc, &argv)) {
		fprintf(stderr, "first: %s\n", hcommGetLastError(NULL));
		return 1;
	}
	hcommCommRank(COMM_WORLD, &rank);
	hcommCommSize(COMM_WORLD, &size);

	buf = hcommMalloc(N);
	if (!buf) {
		fprintf(stderr, "first: %s\n", hcommGetLastError(NULL));
		return 1;
	}
	memset(buf, 0, N);
	if (size < 2) {
		fprintf(stderr, "first: start it as two ranks\n");
	} else if (rank == 0) {
		snprintf(buf, N, "hello from rank 0 of %d", size);
		result = hcommSend(buf, N, 1, TAG, COMM_WORLD);
	} else if (rank == 1) {
		result = hcommRecv(buf, N, 0, TAG, COMM_WORLD);
		if (!result)
			printf("rank 1 received: %s\n", buf);
	} else {
		result = 0;
	}
	if (result && size > 1)
		fprintf(stderr, "first: %s\n", hcommGetLastError(NULL));
	hcommFree(buf);
	hcommFinalize();
	return result != 0;
}
