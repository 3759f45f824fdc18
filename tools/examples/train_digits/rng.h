/* SPDX-License-Identifier: GPL-2.0-only */
/* Random numbers that are the same on every rank and machine. */
#ifndef RNG_H
#define RNG_H

#include <stdint.h>

static inline uint64_t rng_next(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ull;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

/* -1 to 1 */
static inline float rng_symmetric(uint64_t *state)
{
	return (float)(rng_next(state) >> 40) / (float)(1 << 23) - 1;
}

static inline void rng_shuffle(uint32_t *items, uint32_t count, uint64_t seed)
{
	uint32_t i;

	for (i = count; i > 1; i--) {
		uint32_t k = (uint32_t)(rng_next(&seed) % i);
		uint32_t other = items[k];

		items[k] = items[i - 1];
		items[i - 1] = other;
	}
}

#endif /* RNG_H */
