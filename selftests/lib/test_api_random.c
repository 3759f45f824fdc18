// SPDX-License-Identifier: GPL-2.0-only
/*
 * Random calls against a plain reference: all ranks draw the same ones from a seed,
 * which is printed and can be given: HCOMM_SEED, and HCOMM_CALLS their number.
 * Run as 1 to 8 ranks.
 */
#include <time.h>

#include "api_case.h"

#define ROOM		(1 << 20)
#define GROUP		100	/* calls per line of output */

static uint64_t state;

static uint32_t draw(uint32_t below)
{
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(state >> 33) % below;
}

/* sizes of all magnitudes, many of them small, in bytes */
static size_t draw_bytes(size_t most)
{
	size_t n = (size_t)1 << draw(20);

	n = n / 2 + draw((uint32_t)n);
	return n < most ? n : most;
}

static void draw_case(struct acase *c)
{
	size_t blocks = 1, elem;

	memset(c, 0, sizeof(*c));
	c->comm = COMM_WORLD;
	c->coll = (int)draw(CASE_COLLS);
	c->vector = case_has_vector(c->coll) && draw(2);
	do {
		c->type = (int)draw(NTYPES);
		c->op = ops[draw(NOPS)].op;
	} while ((c->type >= hcommFloat16 && c->op >= hcommBand && c->op <= hcommLxor) ||
		 (c->op == hcommAvg && (c->coll == CASE_SCAN || c->coll == CASE_EXSCAN)));
	elem = type_bytes[c->type];
	if (c->coll >= CASE_REDUCE_SCATTER && c->coll != CASE_BROADCAST)
		blocks = (size_t)size;
	c->spread = draw(1000);
	c->gap = c->vector ? (int)draw(12) - 1 : -1;
	c->count = draw(10) ? draw_bytes(ROOM / blocks - 64 * elem) / elem : 0;
	c->root = (int)draw((uint32_t)size);
	c->in_place = (int)draw(2);
	c->skew = draw(2) ? (int)draw(9) : 0;
	c->plain = (int)draw(2);
	c->form = (int)draw(FORMS);
}

int main(int argc, char **argv)
{
	const char *text = getenv("HCOMM_SEED"), *calls = getenv("HCOMM_CALLS");
	unsigned long i, n = calls ? strtoul(calls, NULL, 0) : 800;
	struct timespec now;
	uint64_t seed;
	struct acase c;

	clock_gettime(CLOCK_REALTIME, &now);
	seed = text ? strtoull(text, NULL, 0) : (uint64_t)(now.tv_sec ^ now.tv_nsec << 20);
	begin(&argc, &argv);
	if (size > CASE_RANKS)
		MUST(HCOMM_ERR_INVALID_USAGE);
	MUST(hcommBcast(&seed, 1, hcommUint64, 0, COMM_WORLD));
	state = seed;
	if (!rank)
		printf("# HCOMM_SEED=%llu HCOMM_CALLS=%lu\n", (unsigned long long)seed, n);
	case_begin(ROOM);
	for (i = 0; i < n; i++) {
		draw_case(&c);
		case_run(&c);
		if (i % GROUP == GROUP - 1 || i == n - 1)
			verdict("random calls up to %lu", i + 1);
	}
	case_end();
	return end();
}
