// SPDX-License-Identifier: GPL-2.0-only
/*
 * Random programs: each verdict of the verifier is compared with the rules,
 * which are written here a second time, and accepted programs run between
 * canaries.
 *
 * Program k depends on the seed and k alone; HCOMM_ROUNDS is how many, else
 * as many as HCOMM_SECONDS have room for.
 */
#include "random.h"
#include "kselftest_harness.h"

#define GAP 512u		/* canary bytes around slots */
#define MEM_LEN (NSLOTS * (SLOT + GAP) + GAP)

static const uint8_t type_size[HCOMM_DT_COUNT] = { 1, 1, 2, 2, 4, 4, 8, 8, 2, 2, 4, 8, 1, 1 };

static bool is_operation(const struct hcomm_step *s)
{
	if (s->op != HCOMM_STEP_SCALE)
		return !s->operand &&
		       s->redop <= (s->dtype < HCOMM_DT_FP16 ? HCOMM_OP_LXOR : HCOMM_OP_MAX);
	if (s->redop == HCOMM_SCALE_DIV)
		return s->operand && s->operand <= HCOMM_MAX_RANKS;
	return s->redop == HCOMM_SCALE_MUL &&
	       (type_size[s->dtype] == 8 || !(s->operand >> 8 * type_size[s->dtype]));
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
		    s->len > HCOMM_MAX_STEP_LEN)
			return false;
		if (uses_type(s->op) ? s->dtype >= HCOMM_DT_COUNT ||
				       s->len % type_size[s->dtype] || !is_operation(s)
				     : s->dtype || s->redop || s->operand)
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

static int side_launch(const struct side *s, uint32_t prog, uint32_t nslots, uint64_t run,
		       uint32_t timeout_ms)
{
	struct hcomm_slot slots[HCOMM_MAX_SLOTS];
	struct hcomm_launch arg = {
		.size = sizeof(arg), .prog_id = prog, .slots = (uintptr_t)slots,
		.nslots = nslots, .run = run, .timeout_ms = timeout_ms,
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
			status = side_launch(&s[i], arg[i].out_prog_id, p[i].nslots, k,
					     damaged ? 100 : 15000);
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
	for (int i = 0; i < 50 && vm_pin_kb(); i++)
		usleep(100000);
	EXPECT_EQ(0, vm_pin_kb());
}

TEST_HARNESS_MAIN
