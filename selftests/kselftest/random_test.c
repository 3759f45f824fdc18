// SPDX-License-Identifier: GPL-2.0-only
/*
 * Bounded random tests: programs for the verifier and the engine, and ioctls
 * with any argument from several threads at once.
 *
 * HCOMM_SEED repeats a run (program k depends on the seed and k alone),
 * HCOMM_ROUNDS is the number of programs, HCOMM_SECONDS the time for each test.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <time.h>
#include "util.h"
#include "kselftest_harness.h"

#define LIMIT 300	/* of a test, in seconds: more is a hang */

struct rng {
	uint64_t s;
};

static uint64_t rnd(struct rng *g)
{
	uint64_t z = (g->s += 0x9e3779b97f4a7c15ull);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

static uint32_t below(struct rng *g, uint32_t n)
{
	return rnd(g) % n;
}

static bool one_in(struct rng *g, uint32_t n)
{
	return !below(g, n);
}

static void rnd_bytes(struct rng *g, void *p, size_t n)
{
	uint8_t *b = p;

	while (n--)
		*b++ = rnd(g);
}

/* A number that code is likely to have an edge at. */
static uint64_t edge(struct rng *g)
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

static uint64_t env_number(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 0) : otherwise;
}

static uint64_t seed_of_run(void)
{
	uint64_t seed;

	if (getrandom(&seed, sizeof(seed), 0) != sizeof(seed))
		seed = 1;
	seed = env_number("HCOMM_SEED", seed >> 32);
	printf("# HCOMM_SEED=%llu\n", (unsigned long long)seed);
	fflush(stdout);
	return seed;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

/* A figure in kB from a file of /proc. */
static long proc_kb(const char *path, const char *key)
{
	char line[256];
	long value = -1;
	FILE *f = fopen(path, "r");

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, key, strlen(key)))
			value = strtol(line + strlen(key) + 1, NULL, 10);
	if (f)
		fclose(f);
	return value;
}

static bool class_is_empty(void)
{
	/* Only communicators have a rank. */
	return system("ls /sys/class/hcomm/*/rank >/dev/null 2>&1") != 0;
}

/* --------------------------------------------------------------------- programs */

#define MAX_N 8
#define NSLOTS 3
#define SLOT 6000u		/* bytes of a slot */
#define GAP 512u		/* canary bytes around slots */
#define MEM_LEN (NSLOTS * (SLOT + GAP) + GAP)

struct program {
	struct hcomm_step steps[MAX_N];
	uint32_t deps[4 * MAX_N];
	uint32_t nsteps, ndeps, nslots;
};

static const uint8_t type_size[HCOMM_DT_COUNT] = { 1, 1, 2, 2, 4, 4, 8, 8, 2, 2, 4, 8 };

static bool uses_peer(int op)
{
	return op == HCOMM_STEP_SEND || op == HCOMM_STEP_RECV || op == HCOMM_STEP_RECV_REDUCE;
}

static bool uses_src(int op)
{
	return op != HCOMM_STEP_NOP && op != HCOMM_STEP_RECV;
}

static bool uses_dst(int op)
{
	return op != HCOMM_STEP_NOP && op != HCOMM_STEP_SEND;
}

static bool uses_type(int op)
{
	return op == HCOMM_STEP_REDUCE || op == HCOMM_STEP_RECV_REDUCE;
}

/* The rules of the ABI, written a second time. */
static bool is_valid(const struct program *p, uint32_t rank, uint32_t nranks)
{
	uint32_t sends[2] = {}, recvs[2] = {}, first = 0;

	if (!p->nsteps || p->nslots > HCOMM_MAX_SLOTS)
		return false;
	for (uint32_t i = 0; i < p->nsteps; i++) {
		const struct hcomm_step *s = &p->steps[i];
		uint32_t streams = 0;
		bool plain = false;

		if (s->op >= HCOMM_STEP_COUNT || s->flags || s->reserved[0] || s->reserved[1] ||
		    s->reserved[2] || s->reserved[3] || s->len > HCOMM_MAX_STEP_LEN)
			return false;
		if (uses_type(s->op) ? s->dtype >= HCOMM_DT_COUNT || s->redop >= HCOMM_OP_COUNT ||
				       s->len % type_size[s->dtype]
				     : s->dtype || s->redop)
			return false;
		if (uses_src(s->op) ? s->src_slot >= p->nslots || s->src_off + s->len < s->len
				    : s->src_slot || s->src_off)
			return false;
		if (uses_dst(s->op) ? s->dst_slot >= p->nslots || s->dst_off + s->len < s->len
				    : s->dst_slot || s->dst_off)
			return false;
		if (s->op == HCOMM_STEP_NOP && s->len)
			return false;
		if (!uses_peer(s->op)) {
			if (s->peer || s->msg)
				return false;
		} else if (s->peer >= nranks || s->peer == rank) {
			return false;
		} else if (s->msg != (s->op == HCOMM_STEP_SEND ? sends : recvs)[s->peer]++) {
			return false;
		}
		if (s->dep_first != first || s->dep_count > p->ndeps - first)
			return false;
		for (uint32_t k = 0; k < s->dep_count; k++) {
			uint32_t d = p->deps[first + k], on = HCOMM_DEP_INDEX(d);

			if (on >= i)
				return false;
			if (!(d & HCOMM_DEP_STREAM))
				plain = true;
			else if (plain || p->steps[on].len != s->len ||
				 ++streams > HCOMM_MAX_STREAM_DEPS)
				return false;
		}
		first += s->dep_count;
	}
	return first == p->ndeps;
}

static void make_deps(struct rng *g, struct program *p, uint32_t i)
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

static uint64_t make_len(struct rng *g)
{
	static const uint16_t lens[] = { 0, 8, 64, 256, 264, 1024, 2048 };

	return one_in(g, 2) ? lens[below(g, ARRAY_LEN(lens))] : 8 * below(g, 256);
}

/*
 * Sources are the lower half of a slot and destinations the upper, so that
 * operands never overlap by accident.
 */
static void place(struct rng *g, struct hcomm_step *s)
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
		s->redop = below(g, HCOMM_OP_COUNT);
	}
}

/* A valid program; with two ranks, those of both, which match. */
static void make_programs(struct rng *g, struct program *p, uint32_t nranks)
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
				one_in(g, 2) ? HCOMM_STEP_COPY : HCOMM_STEP_REDUCE;
			s->len = s->op == HCOMM_STEP_NOP ? 0 : len;
			place(g, s);
			make_deps(g, &p[r], p[r].nsteps++);
		}
	}
}

/* Something in it becomes something else, which is not always a fault. */
static void damage(struct rng *g, struct program *p)
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

struct side {
	struct rank r;
	uint8_t *map;		/* canary page, memory, canary page */
	uint8_t *buf;
	size_t map_len;
	uint32_t mem;
};

FIXTURE(programs)
{
	struct side side[3];	/* 0 and 1 are a pair, 2 is alone */
};

static const uint8_t canary = 0xc7;

static int side_memory(struct side *s)
{
	s->map_len = (MEM_LEN / 4096 + 3) * 4096;
	if (!s->map) {
		s->map = pages(s->map_len);
		if (!s->map)
			return -ENOMEM;
		memset(s->map, canary, s->map_len);
		s->buf = s->map + 4096 + 24;
	}
	return mem_reg(s->r.fd, s->buf, MEM_LEN, 0, &s->mem);
}

static int sides_open(struct side *s, uint32_t n)
{
	struct hcomm_comm_create opt;
	struct rank r[2] = {};
	int ret;

	create_init(&opt, 0, n);
	opt.chunk_size = 4096;
	opt.eager_size = 256;
	opt.eager_slots = 4;
	opt.max_runs = 2;
	opt.connect_timeout_ms = 2000;
	ret = ranks_open(r, n, &opt);
	for (uint32_t i = 0; i < n; i++) {
		s[i].r = r[i];
		if (!ret)
			ret = side_memory(&s[i]);
	}
	return ret;
}

static void sides_close(struct side *s, uint32_t n)
{
	while (n--)
		rank_close(&s[n].r);
}

FIXTURE_SETUP(programs)
{
	memset(self, 0, sizeof(*self));
	ASSERT_EQ(0, sides_open(self->side, 2));
	ASSERT_EQ(0, sides_open(self->side + 2, 1));
}

FIXTURE_TEARDOWN(programs)
{
	sides_close(self->side, 2);
	sides_close(self->side + 2, 1);
	for (int i = 0; i < 3; i++)
		munmap(self->side[i].map, self->side[i].map_len);
}

static uint32_t slot_at(uint32_t i)
{
	return GAP + i * (SLOT + GAP);
}

/* Nothing but slots, from byte @from on, may have been written. */
static bool canaries_live(const struct side *s, uint32_t from)
{
	const uint8_t *p = s->map, *end = s->map + s->map_len;

	for (uint32_t i = 0; i < NSLOTS; i++) {
		const uint8_t *dst = s->buf + slot_at(i) + from;

		for (; p < dst; p++)
			if (*p != canary)
				return false;
		p += SLOT - from;
	}
	for (; p < end; p++)
		if (*p != canary)
			return false;
	return true;
}

static void make_slots(const struct side *s, struct hcomm_slot *slots)
{
	memset(slots, 0, HCOMM_MAX_SLOTS * sizeof(*slots));
	for (uint32_t i = 0; i < HCOMM_MAX_SLOTS; i++) {
		slots[i].mem_id = s->mem;
		slots[i].offset = slot_at(i % NSLOTS);
		slots[i].length = SLOT;
	}
}

static int side_launch(const struct side *s, uint32_t prog, uint32_t nslots, uint64_t run)
{
	struct hcomm_slot slots[HCOMM_MAX_SLOTS];
	struct hcomm_launch arg = {
		.size = sizeof(arg), .prog_id = prog, .slots = (uintptr_t)slots,
		.nslots = nslots, .run = run, .timeout_ms = 100,
	};

	make_slots(s, slots);
	return call(s->r.fd, HCOMM_LAUNCH, &arg);
}

/* The completion of the one run in flight, or the error of the wait. */
static int side_status(struct side *s)
{
	struct hcomm_cqe cqe;
	int ret = ring_wait(s->r.fd, 1, 20000000000ll);

	if (ret)
		return ret == -ETIMEDOUT ? -EDEADLK : ret;
	return ring_next(s->r.ring, &cqe) ? cqe.status : -EDEADLK;
}

static int load(const struct side *s, const struct program *p, struct hcomm_prog_load *arg)
{
	*arg = (struct hcomm_prog_load){
		.size = sizeof(*arg), .comm_id = s->r.comm, .steps = (uintptr_t)p->steps,
		.deps = (uintptr_t)p->deps, .nsteps = p->nsteps, .ndeps = p->ndeps,
		.nslots = p->nslots,
	};
	return call(s->r.fd, HCOMM_PROG_LOAD, arg);
}

TEST_F_TIMEOUT(programs, random, LIMIT)
{
	uint64_t seed = seed_of_run(), rounds = env_number("HCOMM_ROUNDS", 1000000), k;
	double end = now() + env_number("HCOMM_SECONDS", 60);
	uint64_t accepted = 0, launched = 0, completed = 0, failed = 0, refused = 0;
	uint64_t reasons = 0;

	for (k = 0; k < rounds && (now() < end || getenv("HCOMM_ROUNDS")); k++) {
		struct rng g = { .s = seed * 0x100000001b3ull + k };
		struct program p[2];
		struct hcomm_prog_load arg[2];
		uint32_t first = one_in(&g, 3) ? 2 : 0, n = first ? 1 : 2;
		struct side *s = self->side + first;
		bool damaged = !one_in(&g, 8);
		int ret, status = 0;

		make_programs(&g, p, n);
		if (one_in(&g, 16))
			rnd_bytes(&g, p, sizeof(p[0].steps) + sizeof(p[0].deps));
		for (uint32_t i = damaged ? 1 + below(&g, 2) : 0; i; i--)
			damage(&g, p);
		ret = load(&s[0], &p[0], &arg[0]);
		if (is_valid(p, 0, n) ? ret : ret != -EINVAL) {
			TH_LOG("HCOMM_SEED=%llu, program %llu: load %d, reason %u at %u",
			       (unsigned long long)seed, (unsigned long long)k, ret,
			       arg[0].err_reason, arg[0].err_step);
			ASSERT_TRUE(false);
		}
		if (ret) {
			reasons |= 1ull << arg[0].err_reason;
			ASSERT_NE((uint32_t)HCOMM_PE_NONE, arg[0].err_reason);
			ASSERT_GT((uint32_t)HCOMM_PE_COUNT, arg[0].err_reason);
			ASSERT_TRUE(arg[0].err_step < p->nsteps || arg[0].err_step == ~0u);
			continue;
		}
		accepted++;
		/*
		 * A damaged program that is launched with a peer may end both
		 * communicators: that is right, and takes time.
		 */
		if (n == 2 && damaged && !one_in(&g, 64)) {
			ASSERT_EQ(0, destroy(s[0].r.fd, arg[0].out_prog_id));
			continue;
		}
		if (n == 2)
			ASSERT_EQ(0, load(&s[1], &p[1], &arg[1]));
		for (uint32_t i = 0; i < n && !status; i++) {
			status = side_launch(&s[i], arg[i].out_prog_id, p[i].nslots, k);
			launched += !status;
			refused += status == -ERANGE;
			if (status)
				ASSERT_EQ(-ERANGE, status);
		}
		for (uint32_t i = 0; i < n; i++) {
			if (status == -ERANGE && (damaged || !p[i].nslots))
				break;
			ret = side_status(&s[i]);
			if (ret && (n == 1 || !damaged)) {
				TH_LOG("HCOMM_SEED=%llu, program %llu: status %d",
				       (unsigned long long)seed, (unsigned long long)k, ret);
				ASSERT_EQ(0, ret);
			}
			ASSERT_NE(-EDEADLK, ret);
			completed += !ret;
			failed += !!ret;
			if (ret)
				status = ret;
		}
		for (uint32_t i = 0; i < n; i++)
			ASSERT_TRUE(canaries_live(&s[i], damaged ? 0 : SLOT / 2));
		if (status && n == 2) {
			sides_close(s, n);
			for (uint32_t i = 0; i < n; i++)
				memset(s[i].map, canary, s[i].map_len);
			ASSERT_EQ(0, sides_open(s, n));
		} else {
			if (damaged)
				for (uint32_t i = 0; i < n; i++)
					memset(s[i].map, canary, s[i].map_len);
			for (uint32_t i = 0; i < n; i++)
				ASSERT_EQ(0, destroy(s[i].r.fd, arg[i].out_prog_id));
		}
	}
	printf("# %llu programs, %llu accepted; launches: %llu, %llu good, %llu failed, %llu slots refused\n",
	       (unsigned long long)k, (unsigned long long)accepted, (unsigned long long)launched,
	       (unsigned long long)completed, (unsigned long long)failed,
	       (unsigned long long)refused);
	printf("# reasons of refusal: 0x%llx\n", (unsigned long long)reasons);
	fflush(stdout);
	/* What did not happen was not tested. */
	if (k >= 10000) {
		EXPECT_LT(k / 50, accepted);
		EXPECT_LT(k / 100, completed);
		EXPECT_LE(10, __builtin_popcountll(reasons));
	}
	sides_close(self->side, 2);
	sides_close(self->side + 2, 1);
	for (int i = 0; i < 50 && proc_kb("/proc/self/status", "VmPin"); i++)
		usleep(100000);
	EXPECT_EQ(0, proc_kb("/proc/self/status", "VmPin"));
}

/* ----------------------------------------------------------------------- ioctls */

#define THREADS 4
#define CONTEXTS 4
#define ARENA (256u << 10)

struct fuzz {
	int fd[CONTEXTS];
	uint32_t ops[CONTEXTS];
	struct hcomm_ring *ring[CONTEXTS];
	uint8_t *arena;		/* mapped, then read-only, then nothing */
	uint32_t last_id;
	uint64_t seed;
	double end;
	uint64_t calls, good;
	int eventfd;
};

struct fuzz_thread {
	struct fuzz *f;
	struct rng g;
	pthread_t thread;
	uint64_t scratch[64];
};

static void nothing(int sig)
{
}

static uint64_t fuzz_pointer(struct fuzz_thread *t)
{
	struct rng *g = &t->g;
	uintptr_t arena = (uintptr_t)t->f->arena;

	switch (below(g, 16)) {
	case 0:
		return 4096;
	case 1:
		return arena + ARENA + below(g, 4096);		/* read-only */
	case 2:
		return arena + ARENA + 4096 + below(g, 4096);	/* not there */
	case 3:
		return arena + ARENA - below(g, 64);
	case 4:
		return 0;
	case 5:
		return 1ull << 47 | rnd(g);
	default:
		return arena + below(g, ARENA / 2) / 8 * 8;
	}
}

static uint32_t fuzz_id(struct fuzz_thread *t)
{
	uint32_t last = __atomic_load_n(&t->f->last_id, __ATOMIC_RELAXED);

	if (one_in(&t->g, 8))
		return edge(&t->g);
	return one_in(&t->g, 3) ? last : below(&t->g, 24);
}

static uint32_t small_or_edge(struct rng *g, uint32_t n)
{
	return one_in(g, 12) ? edge(g) : below(g, n);
}

static void fuzz_create(struct fuzz_thread *t, void *buf)
{
	struct hcomm_comm_create *a = buf;
	struct rng *g = &t->g;

	create_init(a, below(g, 3), 1 + below(g, 3));
	memset(a->uuid, below(g, 3), sizeof(a->uuid));
	a->secret[0] = one_in(g, 16);
	a->transports = one_in(g, 4) ? below(g, 8) : HCOMM_TRANSPORT_LOCAL;
	a->chunk_size = one_in(g, 16) ? edge(g) % 65536 : 4096;
	a->eager_size = one_in(g, 8) ? edge(g) : 64;
	a->eager_slots = small_or_edge(g, 4);
	a->window = small_or_edge(g, 4);
	a->max_runs = small_or_edge(g, 4);
	a->staging_slots = one_in(g, 8) ? below(g, 300) : 8;
	a->connect_timeout_ms = 1 + below(g, 50);
	if (one_in(g, 16))
		rnd_bytes(g, &a->listen, sizeof(a->listen));
	if (one_in(g, 32)) {
		a->listen.family = 2;
		a->listen.addr[0] = 127;
		a->listen.addr[3] = 1;
	}
}

/* A program in the arena, often a good one. */
static void fuzz_load(struct fuzz_thread *t, void *buf)
{
	struct hcomm_prog_load *a = buf;
	struct rng *g = &t->g;
	struct program p[2];
	uint8_t *at = t->f->arena + below(g, 8) * 4096;

	make_programs(g, p, 1 + below(g, 2));
	if (one_in(g, 3))
		damage(g, p);
	memcpy(at, &p[0], sizeof(p[0]));
	a->comm_id = fuzz_id(t);
	a->steps = one_in(g, 16) ? fuzz_pointer(t) : (uintptr_t)at;
	a->deps = one_in(g, 16) ? fuzz_pointer(t)
		: (uintptr_t)at + offsetof(struct program, deps);
	a->nsteps = one_in(g, 16) ? edge(g) : p->nsteps;
	a->ndeps = one_in(g, 16) ? edge(g) : p->ndeps;
	a->nslots = one_in(g, 16) ? edge(g) : p->nslots;
	a->max_runs = small_or_edge(g, 3);
}

static void fuzz_launch(struct fuzz_thread *t, void *buf)
{
	struct hcomm_launch *a = buf;
	struct rng *g = &t->g;
	struct hcomm_slot *slots = (void *)(t->f->arena + 65536 + below(g, 8) * 4096);

	for (int i = 0; i < NSLOTS; i++) {
		slots[i].mem_id = fuzz_id(t);
		slots[i].pad = one_in(g, 32);
		slots[i].offset = small_or_edge(g, 8);
		slots[i].length = one_in(g, 8) ? edge(g) : SLOT;
	}
	a->prog_id = fuzz_id(t);
	a->slots = one_in(g, 16) ? fuzz_pointer(t) : (uintptr_t)slots;
	a->nslots = one_in(g, 16) ? edge(g) : NSLOTS;
	a->flags = one_in(g, 8) ? edge(g) : below(g, 2);
	a->run = below(g, 8);
	a->call.coll = below(g, 40) ? 1 : 2;
	a->timeout_ms = 1 + below(g, 50);
	a->queue_id = one_in(g, 32);
}

static void fuzz_peers(struct fuzz_thread *t, void *buf)
{
	struct hcomm_info info = { .size = sizeof(info) };
	struct hcomm_comm_peers *a = buf;
	struct rng *g = &t->g;
	struct hcomm_peer *peers = (void *)(t->f->arena + 131072);

	call(t->f->fd[0], HCOMM_INFO, &info);
	for (int i = 0; i < 3; i++)
		memcpy(peers[i].node_id, info.node_id, sizeof(info.node_id));
	a->comm_id = fuzz_id(t);
	a->peers = one_in(g, 8) ? fuzz_pointer(t) : (uintptr_t)peers;
	a->count = small_or_edge(g, 4);
}

/* Fills buf, returns the command; size is what the struct has. */
static unsigned long fuzz_args(struct fuzz_thread *t, void *buf, uint32_t *size)
{
	struct rng *g = &t->g;
	unsigned long cmd = _IO(HCOMM_IOC_MAGIC, HCOMM_CMD_BASE +
				below(g, HCOMM_CMD_END - HCOMM_CMD_BASE));
	struct hcomm_link_open *lo = buf;
	struct hcomm_ring_setup *rs = buf;
	struct hcomm_mem_reg *mr = buf;
	struct hcomm_wait *w = buf;

	switch (cmd) {
	case HCOMM_INFO:
		*size = sizeof(struct hcomm_info);
		break;
	case HCOMM_DESTROY:
		*size = sizeof(struct hcomm_destroy);
		((struct hcomm_destroy *)buf)->id = fuzz_id(t);
		break;
	case HCOMM_MEM_REG:
		*size = sizeof(*mr);
		mr->flags = small_or_edge(g, 2);
		mr->addr = fuzz_pointer(t);
		mr->length = one_in(g, 8) ? edge(g) : below(g, 65536);
		break;
	case HCOMM_COMM_CREATE:
		*size = sizeof(struct hcomm_comm_create);
		fuzz_create(t, buf);
		break;
	case HCOMM_COMM_PEERS:
		*size = sizeof(struct hcomm_comm_peers);
		fuzz_peers(t, buf);
		break;
	case HCOMM_COMM_QUERY:
		*size = sizeof(struct hcomm_comm_query);
		((struct hcomm_comm_query *)buf)->comm_id = fuzz_id(t);
		break;
	case HCOMM_COMM_ABORT:
		*size = sizeof(struct hcomm_comm_abort);
		((struct hcomm_comm_abort *)buf)->comm_id = one_in(g, 4) ? fuzz_id(t) : 0;
		break;
	case HCOMM_LINK_OPEN:
		*size = sizeof(*lo);
		lo->comm_id = fuzz_id(t);
		lo->peer = small_or_edge(g, 3);
		lo->timeout_ms = 1 + below(g, 50);
		break;
	case HCOMM_PROG_LOAD:
		*size = sizeof(struct hcomm_prog_load);
		fuzz_load(t, buf);
		break;
	case HCOMM_LAUNCH:
		*size = sizeof(struct hcomm_launch);
		fuzz_launch(t, buf);
		break;
	case HCOMM_WAIT:
		*size = sizeof(*w);
		w->count = small_or_edge(g, 3);
		w->timeout_ns = one_in(g, 16) ? (int64_t)edge(g) : (int64_t)below(g, 5000000);
		break;
	case HCOMM_RING_SETUP:
		*size = sizeof(*rs);
		rs->entries = one_in(g, 4) ? edge(g) : 1u << below(g, 6);
		rs->eventfd = one_in(g, 4) ? (int)edge(g) : one_in(g, 2) ? t->f->eventfd : -1;
		break;
	}
	return cmd;
}

static void fuzz_ioctl(struct fuzz_thread *t, uint32_t c)
{
	struct fuzz *f = t->f;
	struct rng *g = &t->g;
	uint32_t size = 64, real;
	unsigned long cmd;
	void *arg = t->scratch;
	uint64_t *out = t->scratch;
	int ret;

	memset(t->scratch, 0, sizeof(t->scratch));
	cmd = fuzz_args(t, arg, &size);
	real = size;
	if (one_in(g, 16))
		((uint8_t *)arg)[4 + below(g, size - 4)] = edge(g);
	if (one_in(g, 32))
		rnd_bytes(g, (uint8_t *)arg + 4, size - 4);
	/* What would pin the address space of the test itself. */
	if (cmd == HCOMM_MEM_REG) {
		struct hcomm_mem_reg *mr = arg;

		if (mr->addr < (uintptr_t)f->arena || mr->addr > (uintptr_t)f->arena + ARENA + 8192)
			mr->addr = 4096;
	}
	if (one_in(g, 16))
		size = one_in(g, 2) ? below(g, 512) : edge(g);
	*(uint32_t *)arg = size;
	if (one_in(g, 64))
		cmd = one_in(g, 2) ? edge(g) : _IO(HCOMM_IOC_MAGIC, below(g, 256));
	if (one_in(g, 64))
		cmd = _IOWR(HCOMM_IOC_MAGIC, below(g, 256), struct hcomm_launch);
	if (one_in(g, 64)) {
		/* The struct itself: nowhere, read-only, or across the end. */
		arg = (void *)fuzz_pointer(t);
		if (arg == NULL || one_in(g, 2))
			arg = f->arena + ARENA + 4096 - below(g, 16);
	}
	ret = call(__atomic_load_n(&f->fd[c], __ATOMIC_RELAXED), cmd, arg);
	__atomic_add_fetch(&f->calls, 1, __ATOMIC_RELAXED);
	if (ret)
		return;
	__atomic_add_fetch(&f->good, 1, __ATOMIC_RELAXED);
	if (arg != out || real != size)
		return;
	if (cmd == HCOMM_MEM_REG)
		f->last_id = ((struct hcomm_mem_reg *)arg)->out_mem_id;
	if (cmd == HCOMM_COMM_CREATE)
		f->last_id = ((struct hcomm_comm_create *)arg)->out_comm_id;
	if (cmd == HCOMM_PROG_LOAD)
		f->last_id = ((struct hcomm_prog_load *)arg)->out_prog_id;
}

/* A new context takes the number of the old one while others use it. */
static void fuzz_reopen(struct fuzz *f, uint32_t c)
{
	int new = dev_open();

	if (new < 0)
		return;
	dup3(new, f->fd[c], O_CLOEXEC);
	close(new);
	__atomic_store_n(&f->ops[c], 0, __ATOMIC_RELAXED);
}

static void fuzz_ring(struct fuzz_thread *t, uint32_t c)
{
	struct rng *g = &t->g;
	size_t len = one_in(g, 4) ? edge(g) % (1 << 20) : 4096u << below(g, 3);
	off_t off = one_in(g, 8) ? (off_t)(edge(g) & ~4095ull) : 0;
	struct hcomm_ring *ring;

	ring = mmap(NULL, len, one_in(g, 4) ? PROT_READ : PROT_READ | PROT_WRITE,
		    one_in(g, 8) ? MAP_PRIVATE : MAP_SHARED, t->f->fd[c], off);
	if (ring == MAP_FAILED)
		return;
	/* The process may write anything to its ring. */
	if (one_in(g, 2) && len >= 4096) {
		uint32_t word = edge(g);
		int fd = open("/proc/self/mem", O_RDWR | O_CLOEXEC);

		if (fd >= 0) {
			if (pwrite(fd, &word, 4, (uintptr_t)ring + 4 * below(g, 40)) < 0)
				word = 0;
			close(fd);
		}
	}
	munmap(ring, len);
}

static void *fuzz_thread(void *arg)
{
	struct fuzz_thread *t = arg;
	struct fuzz *f = t->f;

	while (now() < f->end) {
		uint32_t c = below(&t->g, CONTEXTS);
		struct pollfd pfd = { .fd = f->fd[c], .events = POLLIN | POLLOUT };

		switch (below(&t->g, 64)) {
		case 0:
			fuzz_reopen(f, c);
			break;
		case 1:
			fuzz_ring(t, c);
			break;
		case 2:
			poll(&pfd, 1, below(&t->g, 3));
			break;
		case 3:
			/* The arena's pages go and come while they are pinned. */
			madvise(f->arena + below(&t->g, 64) * 4096, 4096, MADV_DONTNEED);
			break;
		default:
			fuzz_ioctl(t, c);
		}
		if (__atomic_add_fetch(&f->ops[c], 1, __ATOMIC_RELAXED) > 400)
			fuzz_reopen(f, c);
	}
	return NULL;
}

static bool fuzz_run(struct fuzz *f, double seconds)
{
	struct fuzz_thread t[THREADS];
	bool done[THREADS] = {};
	double give_up;
	uint32_t left = THREADS;

	f->end = now() + seconds;
	give_up = f->end + 60;
	for (int i = 0; i < CONTEXTS; i++) {
		f->fd[i] = dev_open();
		if (f->fd[i] < 0)
			return false;
	}
	for (int i = 0; i < THREADS; i++) {
		t[i].f = f;
		t[i].g.s = f->seed * 1000 + i;
		if (pthread_create(&t[i].thread, NULL, fuzz_thread, &t[i]))
			return false;
	}
	/* Waits without limit are ended by signals, as a user would. */
	while (left && now() < give_up) {
		usleep(20000);
		for (int i = 0; i < THREADS; i++) {
			if (done[i])
				continue;
			pthread_kill(t[i].thread, SIGUSR1);
			if (now() > f->end && !pthread_tryjoin_np(t[i].thread, NULL)) {
				done[i] = true;
				left--;
			}
		}
	}
	for (int i = 0; i < CONTEXTS; i++)
		close(f->fd[i]);
	return !left;
}

static void settle(void)
{
	for (int i = 0; i < 100 && !class_is_empty(); i++)
		usleep(100000);
	usleep(500000);
}

FIXTURE(ioctls)
{
	struct fuzz f;
};

FIXTURE_SETUP(ioctls)
{
	struct sigaction sa = { .sa_handler = nothing };

	memset(self, 0, sizeof(*self));
	ASSERT_EQ(0, sigaction(SIGUSR1, &sa, NULL));
	self->f.arena = pages(ARENA + 8192);
	ASSERT_NE(NULL, self->f.arena);
	memset(self->f.arena, 0, ARENA);
	ASSERT_EQ(0, mprotect(self->f.arena + ARENA, 4096, PROT_READ));
	ASSERT_EQ(0, mprotect(self->f.arena + ARENA + 4096, 4096, PROT_NONE));
	self->f.eventfd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	ASSERT_LE(0, self->f.eventfd);
}

FIXTURE_TEARDOWN(ioctls)
{
	close(self->f.eventfd);
	munmap(self->f.arena, ARENA + 8192);
}

TEST_F_TIMEOUT(ioctls, random, LIMIT)
{
	uint64_t seed = seed_of_run();
	double seconds = env_number("HCOMM_SECONDS", 60) / 3.0;
	long pinned = proc_kb("/proc/self/status", "VmPin"), slab, grown;

	/* The first part fills caches, which is no leak. */
	self->f.seed = seed;
	ASSERT_TRUE(fuzz_run(&self->f, seconds));
	settle();
	slab = proc_kb("/proc/meminfo", "SUnreclaim");
	self->f.seed = seed + 1;
	ASSERT_TRUE(fuzz_run(&self->f, seconds));
	settle();
	grown = proc_kb("/proc/meminfo", "SUnreclaim") - slab;
	printf("# %llu calls, %llu of them succeeded; slab grew by %ld kB\n",
	       (unsigned long long)self->f.calls, (unsigned long long)self->f.good, grown);
	fflush(stdout);
	EXPECT_LT(1000u, self->f.calls);
	EXPECT_LT(self->f.calls / 50, self->f.good);
	EXPECT_TRUE(class_is_empty());
	EXPECT_EQ(pinned, proc_kb("/proc/self/status", "VmPin"));
	EXPECT_GT(8192, grown);
}

TEST_HARNESS_MAIN
