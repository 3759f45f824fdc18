// SPDX-License-Identifier: GPL-2.0-only
/*
 * Runs a fuzz target without libFuzzer, and makes seeds for libFuzzer:
 *
 *   fuzz_x [-seconds N] [-seed S]	sensible inputs and mutations of them
 *   fuzz_x -corpus DIR N		write N sensible inputs
 *   fuzz_x FILE...			run these inputs
 */
#include <stdio.h>
#include <time.h>
#include "fuzz.h"

static u8 current[FUZZ_MAX];
static size_t current_len;
static const char *keep;

static void save(void)
{
	FILE *f = keep ? fopen(keep, "wb") : NULL;

	if (!f)
		return;
	fwrite(current, 1, current_len, f);
	fclose(f);
	fprintf(stderr, "input kept in %s\n", keep);
}

/* Sanitizers call this before they end the process. */
void __asan_on_error(void);
void __asan_on_error(void)
{
	save();
}

static void mutate(struct sim_rng *rng)
{
	u32 n = rng_below(rng, 6);

	while (n-- && current_len) {
		size_t at = rng_below(rng, current_len);
		size_t len = min_t(size_t, rng_range(rng, 1, 16), current_len - at);
		size_t to = rng_below(rng, current_len - len + 1);

		switch (rng_below(rng, 6)) {
		case 0:
			current[at] ^= 1u << rng_below(rng, 8);
			break;
		case 1:
			current[at] = (u8)rng_next(rng);
			break;
		case 2:
			current[at] = rng_below(rng, 2) ? 0xff : 0;
			break;
		case 3:
			memmove(current + to, current + at, len);
			break;
		case 4:
			current_len = at;
			break;
		default:
			memmove(current + at, current + at + len, current_len - at - len);
			current_len -= len;
		}
	}
}

static int corpus(const char *dir, u32 n)
{
	struct sim_rng rng = { 1 };
	char name[4096];
	u32 i;

	for (i = 0; i < n; i++) {
		size_t len = fuzz_make(&rng, current, sizeof(current));
		FILE *f;

		snprintf(name, sizeof(name), "%s/seed-%04u", dir, i);
		f = fopen(name, "wb");
		if (!f || fwrite(current, 1, len, f) != len || fclose(f)) {
			perror(name);
			return 1;
		}
	}
	return 0;
}

static int replay(int n, char **names)
{
	int i;

	for (i = 0; i < n; i++) {
		FILE *f = fopen(names[i], "rb");

		if (!f) {
			perror(names[i]);
			return 1;
		}
		current_len = fread(current, 1, sizeof(current), f);
		fclose(f);
		LLVMFuzzerTestOneInput(current, current_len);
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct sim_rng rng = { 1 };
	double end = 10;
	struct timespec ts;
	u64 runs = 0;
	double t0;
	int i = 1;

	if (argc == 4 && !strcmp(argv[1], "-corpus"))
		return corpus(argv[2], (u32)strtoul(argv[3], NULL, 0));
	for (; i + 1 < argc && argv[i][0] == '-'; i += 2) {
		if (!strcmp(argv[i], "-seconds"))
			end = strtod(argv[i + 1], NULL);
		else if (!strcmp(argv[i], "-seed"))
			rng.state = strtoull(argv[i + 1], NULL, 0);
		else if (!strcmp(argv[i], "-keep"))
			keep = argv[i + 1];
		else
			break;
	}
	if (i < argc)
		return replay(argc - i, argv + i);
	clock_gettime(CLOCK_MONOTONIC, &ts);
	t0 = (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
	do {
		for (i = 0; i < 64; i++, runs++) {
			current_len = fuzz_make(&rng, current, sizeof(current));
			mutate(&rng);
			LLVMFuzzerTestOneInput(current, current_len);
		}
		clock_gettime(CLOCK_MONOTONIC, &ts);
	} while ((double)ts.tv_sec + (double)ts.tv_nsec / 1e9 - t0 < end);
	printf("%llu inputs\n", (unsigned long long)runs);
	return 0;
}
