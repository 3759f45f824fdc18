/* SPDX-License-Identifier: GPL-2.0-only */
/* Seeded random numbers (splitmix64): the only source of chance in the simulator. */
#ifndef HCOMM_SIM_RNG_H
#define HCOMM_SIM_RNG_H

#include "platform.h"

struct sim_rng {
	u64 state;
};

static inline u64 rng_mix(u64 z)
{
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

static inline u64 rng_next(struct sim_rng *r)
{
	r->state += 0x9e3779b97f4a7c15ull;
	return rng_mix(r->state);
}

/* A number below n; 0 for n = 0. */
static inline u64 rng_below(struct sim_rng *r, u64 n)
{
	return n ? rng_next(r) % n : 0;
}

/* A number from lo to hi, both included. */
static inline u64 rng_range(struct sim_rng *r, u64 lo, u64 hi)
{
	return lo + rng_below(r, hi - lo + 1);
}

static inline bool rng_permille(struct sim_rng *r, u32 permille)
{
	return permille && rng_below(r, 1000) < permille;
}

static inline void rng_fill(struct sim_rng *r, u8 *p, size_t n)
{
	while (n) {
		u64 v = rng_next(r);
		size_t k = min_t(size_t, n, sizeof(v));

		memcpy(p, &v, k);
		p += k;
		n -= k;
	}
}

#endif /* HCOMM_SIM_RNG_H */
