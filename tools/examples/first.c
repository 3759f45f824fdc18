// SPDX-License-Identifier: GPL-2.0-only
/*
 * The first program: rank 0 sends a text to rank 1.  README.md shows it.
 *
 *	cc first.c -lhcomm-user -o first
 *	hcomm_run -n 2 ./first
 */
#include <stdio.h>
#include <hcomm/hcomm.h>

int main(int argc, char **argv)
{
	int rank, size;
	char buf[64] = "";
	hcommResult_t ret;

	ret = hcommInit(&argc, &argv);
	if (ret) {
		fprintf(stderr, "first: %s\n", hcommGetLastError(NULL));
		return 1;
	}
	hcommCommRank(COMM_WORLD, &rank);
	hcommCommSize(COMM_WORLD, &size);
	if (rank == 0) {
		snprintf(buf, sizeof(buf), "hello from rank 0 of %d", size);
		ret = hcommSend(buf, sizeof(buf), 1, 7, COMM_WORLD);
	} else if (rank == 1) {
		ret = hcommRecv(buf, sizeof(buf), 0, 7, COMM_WORLD);
	}
	if (ret)
		fprintf(stderr, "rank %d: %s\n", rank, hcommGetLastError(NULL));
	else if (rank == 1)
		printf("rank 1 received: %s\n", buf);
	hcommFinalize();
	return ret != HCOMM_SUCCESS;
}
