// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counts and sizes that do not fit 31 bits, and one that does not fit 32, with real
 * data of which every byte is looked at.  Skipped unless run as two ranks of a node
 * with memory enough.
 *
 * The buffer is two blocks of an odd length, so that the second one is not aligned;
 * each block is made of words that all differ.
 */
#define _GNU_SOURCE
#include <sys/mman.h>

#include "api_util.h"

#define HALF	((1ul << 30) + 2051)
#define TOTAL	(2 * HALF)
#define FLOATS	(TOTAL / 4)
#define LONG	((1ul << 32) + 4099)
#define NEEDED	(13ul << 29)	/* two buffers, and a block more while AlltoAll runs */

static uint8_t *buf;

/* ------------------------------------------------------------------- contents */

enum content { OF_RANK0, OF_RANK1, SUM };

/* word @i of a block: of a rank, or the sum of both, byte by byte */
static inline uint64_t word(enum content c, size_t i)
{
	const uint64_t low = 0x7f7f7f7f7f7f7f7f;
	uint64_t a = (i + 1) * 0x9e3779b97f4a7c15, b = ~(i * 0xd1342543de82ef95);

	if (c != SUM)
		return c == OF_RANK0 ? a : b;
	return ((a & low) + (b & low)) ^ ((a ^ b) & ~low);
}

/* words of block @k are not those of any other */
static size_t first_word(int k)
{
	return (size_t)k << 40;
}

static inline void fill(uint8_t *p, size_t n, enum content c, int k)
{
	size_t i, first = first_word(k);
	uint64_t w;

	for (i = 0; i < n / 8; i++) {
		w = word(c, first + i);
		memcpy(p + 8 * i, &w, 8);
	}
	w = word(c, first + i);
	memcpy(p + 8 * i, &w, n % 8);
}

static inline void check(const uint8_t *p, size_t n, enum content c, int k)
{
	uint64_t w, got, wrong = 0;
	size_t i, first = first_word(k);

	for (i = 0; i < n / 8; i++) {
		memcpy(&got, p + 8 * i, 8);
		wrong |= got ^ word(c, first + i);
	}
	w = word(c, first + i);
	if (!wrong && !memcmp(p + 8 * i, &w, n % 8))
		return;
	for (i = 0, w = 0; i < n; i++) {
		w = i % 8 ? w >> 8 : word(c, first + i / 8);
		if (p[i] == (uint8_t)w)
			continue;
		FAIL("byte %td is %02x, must be %02x", p + i - buf, p[i], (uint8_t)w);
		return;
	}
}

static void fill_blocks(void)
{
	int k;

	for (k = 0; k < 2; k++)
		fill(buf + (size_t)k * HALF, HALF, (enum content)rank, k);
}

static void check_blocks(enum content c0, int k0, enum content c1, int k1)
{
	check(buf, HALF, c0, k0);
	check(buf + HALF, HALF, c1, k1);
}

/* whole numbers below 2^20: sums are exact */
static inline float number(int r, size_t i)
{
	return (float)((uint32_t)(i + (size_t)r) * 2654435761u >> 12);
}

/* ---------------------------------------------------------------------- calls */

static void test_allreduce(void)
{
	fill_blocks();
	MUST(hcommAllReduce(buf, buf, TOTAL, hcommInt8, hcommSum, COMM_WORLD));
	check_blocks(SUM, 0, SUM, 1);
	verdict("AllReduce of %lu int8", TOTAL);
}

static void test_floats(void)
{
	float *f = (float *)buf;
	size_t i, wrong = 0;

	for (i = 0; i < FLOATS; i++)
		f[i] = number(rank, i);
	MUST(hcommAllReduce(f, f, FLOATS, hcommFloat32, hcommSum, COMM_WORLD));
	for (i = 0; i < FLOATS; i++)
		wrong += f[i] != number(0, i) + number(1, i);
	if (wrong)
		FAIL("%zu of %lu sums are wrong", wrong, FLOATS);
	verdict("AllReduce of %lu bytes of fp32", 4 * FLOATS);
}

static void test_broadcast(void)
{
	if (rank)
		fill_blocks();
	MUST(hcommBroadcast(buf, buf, TOTAL, hcommInt8, 1, COMM_WORLD));
	check_blocks(OF_RANK1, 0, OF_RANK1, 1);
	verdict("Broadcast of %lu int8", TOTAL);
}

static void test_allgather(void)
{
	uint8_t *own = buf + (size_t)rank * HALF;

	fill(own, HALF, (enum content)rank, 2);
	MUST(hcommAllGather(own, buf, HALF, hcommInt8, COMM_WORLD));
	check_blocks(OF_RANK0, 2, OF_RANK1, 2);
	verdict("AllGather to %lu int8", TOTAL);
}

/* the other block is not touched */
static void test_reduce_scatter(void)
{
	fill_blocks();
	MUST(hcommReduceScatter(buf, buf + (size_t)rank * HALF, HALF, hcommInt8, hcommSum,
				COMM_WORLD));
	check_blocks(rank ? OF_RANK1 : SUM, 0, rank ? SUM : OF_RANK0, 1);
	verdict("ReduceScatter of %lu int8", TOTAL);
}

static void test_alltoall(void)
{
	fill_blocks();
	MUST(hcommAlltoAll(buf, buf, HALF, hcommInt8, COMM_WORLD));
	check_blocks(OF_RANK0, rank, OF_RANK1, rank);
	verdict("AlltoAll of %lu int8", TOTAL);
}

static void test_message(void)
{
	if (!rank) {
		fill_blocks();
		MUST(hcommSend(buf, TOTAL, 1, 0, COMM_WORLD));
	} else {
		MUST(hcommRecv(buf, TOTAL, 0, 0, COMM_WORLD));
	}
	check_blocks(OF_RANK0, 0, OF_RANK0, 1);
	verdict("a message of %lu bytes", TOTAL);
}

/*
 * The sender has the same few pages again and again, as memory is scarce; what was
 * lost of an offset beyond 32 bits would still meet other bytes.
 */
#define PERIOD	(17ul << 20)

static void test_long_message(void)
{
	size_t n = (LONG + PERIOD - 1) / PERIOD, i;
	int fd = memfd_create("period", 0);
	uint8_t *p;

	MUST(hcommFree(buf));
	if (rank) {
		buf = hcommMalloc(LONG);
		if (!buf)
			MUST(HCOMM_ERR_NO_MEMORY);
		MUST(hcommRecv(buf, LONG, 0, 0, COMM_WORLD));
		for (i = 0; i < n; i++)
			check(buf + i * PERIOD, i < n - 1 ? PERIOD : LONG - i * PERIOD,
			      OF_RANK0, 3);
	} else {
		buf = NULL;
		p = mmap(NULL, n * PERIOD, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (fd < 0 || ftruncate(fd, PERIOD) || p == MAP_FAILED)
			MUST(HCOMM_ERR_NO_MEMORY);
		for (i = 0; i < n; i++) {
			if (mmap(p + i * PERIOD, PERIOD, PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED)
				MUST(HCOMM_ERR_NO_MEMORY);
		}
		fill(p, PERIOD, OF_RANK0, 3);
		MUST(hcommSend(p, LONG, 1, 0, COMM_WORLD));
		munmap(p, n * PERIOD);
	}
	close(fd);
	verdict("a message of %lu bytes", LONG);
}

/* ------------------------------------------------------------------------ run */

static size_t available(void)
{
	FILE *f = fopen("/proc/meminfo", "r");
	size_t kib = 0;
	char line[128];

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "MemAvailable: %zu", &kib) == 1)
			break;
	}
	if (f)
		fclose(f);
	return kib << 10;
}

int main(int argc, char **argv)
{
	int32_t fits, local;

	begin(&argc, &argv);
	MUST(hcommCommLocalRank(COMM_WORLD, &local));
	fits = size == 2 && local == rank && available() >= NEEDED;
	MUST(hcommAllReduce(&fits, &fits, 1, hcommInt32, hcommMin, COMM_WORLD));
	if (!fits) {
		MUST(hcommFinalize());
		if (!rank)
			printf("1..0 # SKIP needs two ranks of a node with %lu MiB of free memory\n",
			       NEEDED >> 20);
		return 0;
	}
	buf = hcommMalloc(TOTAL);
	if (!buf)
		MUST(HCOMM_ERR_NO_MEMORY);
	/* pinned as a whole before it is touched page by page, which takes longer */
	MUST(hcommBcast(buf, 1, hcommInt8, 0, COMM_WORLD));
	test_alltoall();
	test_allreduce();
	test_floats();
	test_broadcast();
	test_allgather();
	test_reduce_scatter();
	test_message();
	test_long_message();
	MUST(hcommFree(buf));
	return end();
}
