/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Random numbers that a seed repeats, and random programs.
 *
 * HCOMM_SEED repeats a run, HCOMM_SECONDS is the time that a test takes.
 */
#ifndef HCOMM_SELFTEST_RANDOM_H
#define HCOMM_SELFTEST_RANDOM_H

#include <stdio.h>
#include <time.h>
#include "util.h"

#define LIMIT 300	/* of a test, in seconds: more is a hang */

struct rng {
	uint64_t s;
};

static inline uint64_t rnd(struct rng *g)
{
	uint64_t z = (g->s += 0x9e3779b97f4a7c15ull);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

static inline uint32_t below(struct rng *g, uint32_t n)
{
	return rnd(g) % n;
}

static inline bool one_in(struct rng *g, uint32_t n)
{
	return !below(g, n);
}

static inline void rnd_bytes(struct rng *g, void *p, size_t n)
{
	uint8_t *b = p;

	while (n--)
		*b++ = rnd(g);
}

/* A number that code is likely to have an edge at. */
static inline uint64_t edge(struct rng *g)
{
	static const uint64_t edges[] = {
		0, 1, 2, 7, 8, 63, 64, 4095, 4096, 4097, 65535, 65536, INT32_MAX,
		1ull << 31, UINT32_MAX, 1ull << 32, HCOMM_MAX_STEP_LEN,
		HCOMM_MAX_STEP_LEN + 1, INT64_MAX, 1ull << 63, UINT64_MAX - 4095, UINT64_MAX,
	};

	switch (below(g, 3)) {
	case 0:
		return below(g, 8);
	case 1:
		return edges[below(g, ARRAY_LEN(edges))];
	default:
		return rnd(g) >> below(g, 64);
	}
}

static inline uint64_t env_number(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 0) : otherwise;
}

static inline uint64_t seed_of_run(void)
{
	uint64_t seed;

	if (getrandom(&seed, sizeof(seed), 0) != sizeof(seed))
		seed = 1;
	seed = env_number("HCOMM_SEED", seed >> 32);
	printf("# HCOMM_SEED=%llu\n", (unsigned long long)seed);
	fflush(stdout);
	return seed;
}

static inline double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

/* --------------------------------------------------------------------- programs */

#define MAX_N 8
#define NSLOTS 3
#define SLOT 6000u		/* bytes of a slot */

struct program {
	struct hcomm_step steps[MAX_N];
	uint32_t deps[4 * MAX_N];
	uint32_t nsteps, ndeps, nslots;
};

static inline bool uses_peer(int op)
{
	return op == HCOMM_STEP_SEND || op == HCOMM_STEP_RECV || op == HCOMM_STEP_RECV_REDUCE;
}

static inline bool uses_src(int op)
{
	return op != HCOMM_STEP_NOP && op != HCOMM_STEP_RECV;
}

static inline bool uses_dst(int op)
{
	return op != HCOMM_STEP_NOP && op != HCOMM_STEP_SEND;
}

static inline bool uses_type(int op)
{
	return op == HCOMM_STEP_REDUCE || op == HCOMM_STEP_RECV_REDUCE ||
	       op == HCOMM_STEP_SCALE;
}

static inline void make_deps(struct rng *g, struct program *p, uint32_t i)
{
	struct hcomm_step *s = &p->steps[i];
	uint32_t want = i ? below(g, 3) : 0;

	s->dep_first = p->ndeps;
	for (uint32_t k = 0; k < want; k++) {
		uint32_t on = below(g, i);

		/* Streaming ones have to come first. */
		if (!k && p->steps[on].len == s->len && one_in(g, 2))
			p->deps[p->ndeps++] = on | HCOMM_DEP_STREAM;
		else
			p->deps[p->ndeps++] = on;
	}
	s->dep_count = p->ndeps - s->dep_first;
}

static inline uint64_t make_len(struct rng *g)
{
	static const uint16_t lens[] = { 0, 8, 64, 256, 264, 1024, 2048 };

	return one_in(g, 2) ? lens[below(g, ARRAY_LEN(lens))] : 8 * below(g, 256);
}

/*
 * Sources are the lower half of a slot and destinations the upper, so that
 * operands never overlap by accident.
 */
static inline void place(struct rng *g, struct hcomm_step *s)
{
	if (uses_src(s->op)) {
		s->src_slot = below(g, NSLOTS);
		s->src_off = below(g, SLOT / 2 - s->len + 1);
	}
	if (uses_dst(s->op)) {
		s->dst_slot = below(g, NSLOTS);
		s->dst_off = SLOT / 2 + below(g, SLOT / 2 - s->len + 1);
	}
	if (uses_type(s->op)) {
		s->dtype = below(g, HCOMM_DT_COUNT);
		s->redop = below(g, HCOMM_DT_IS_INT(s->dtype) ? HCOMM_OP_COUNT :
								HCOMM_OP_BAND);
	}
	if (s->op == HCOMM_STEP_SCALE) {
		s->redop = below(g, HCOMM_SCALE_COUNT);
		s->operand = 1 + below(g, 255);
	}
}

/* A valid program; with two ranks, those of both, which match. */
static inline void make_programs(struct rng *g, struct program *p, uint32_t nranks)
{
	uint32_t msgs[2] = {}, n = 1 + below(g, MAX_N - 2);

	memset(p, 0, nranks * sizeof(*p));
	for (uint32_t r = 0; r < nranks; r++)
		p[r].nslots = NSLOTS;
	for (uint32_t i = 0; i < n; i++) {
		uint64_t len = make_len(g);

		if (nranks > 1 && one_in(g, 2)) {
			uint32_t from = below(g, 2);

			for (uint32_t r = 0; r < 2; r++) {
				struct hcomm_step *s = &p[r].steps[p[r].nsteps];

				s->op = r == from ? HCOMM_STEP_SEND :
					one_in(g, 2) ? HCOMM_STEP_RECV : HCOMM_STEP_RECV_REDUCE;
				s->peer = !r;
				s->msg = msgs[from];
				s->len = len;
				place(g, s);
				make_deps(g, &p[r], p[r].nsteps++);
			}
			msgs[from]++;
			continue;
		}
		for (uint32_t r = 0; r < nranks; r++) {
			struct hcomm_step *s = &p[r].steps[p[r].nsteps];

			s->op = one_in(g, 4) ? HCOMM_STEP_NOP :
				one_in(g, 2) ? HCOMM_STEP_COPY :
				one_in(g, 3) ? HCOMM_STEP_SCALE : HCOMM_STEP_REDUCE;
			s->len = s->op == HCOMM_STEP_NOP ? 0 : len;
			place(g, s);
			make_deps(g, &p[r], p[r].nsteps++);
		}
	}
}

/* Something in it becomes something else, which is not always a fault. */
static inline void damage(struct rng *g, struct program *p)
{
	struct hcomm_step *s = &p->steps[below(g, p->nsteps)];

	switch (below(g, 14)) {
	case 0:
		s->op = edge(g);
		break;
	case 1:
		s->dtype = edge(g);
		break;
	case 2:
		s->redop = edge(g);
		break;
	case 3:
		s->flags = edge(g);
		break;
	case 4:
		s->peer = edge(g);
		break;
	case 5:
		s->msg = edge(g);
		break;
	case 6:
		*(one_in(g, 2) ? &s->src_slot : &s->dst_slot) = edge(g);
		break;
	case 7:
		*(one_in(g, 2) ? &s->src_off : &s->dst_off) = edge(g);
		break;
	case 8:
		s->len = edge(g);
		break;
	case 9:
		*(one_in(g, 2) ? &s->dep_first : &s->dep_count) = edge(g);
		break;
	case 10:
		p->deps[below(g, ARRAY_LEN(p->deps))] = edge(g) | (uint32_t)(rnd(g) << 31);
		break;
	case 11:
		p->ndeps = below(g, ARRAY_LEN(p->deps) + 1);
		break;
	case 12:
		p->nslots = below(g, HCOMM_MAX_SLOTS + 2);
		break;
	default:
		((uint8_t *)s)[below(g, sizeof(*s))] ^= 1u << below(g, 8);
	}
}

#endif /* HCOMM_SELFTEST_RANDOM_H */
