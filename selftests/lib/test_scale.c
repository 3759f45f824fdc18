// SPDX-License-Identifier: GPL-2.0-only
/*
 * AVG and PREMUL_SUM around every builder that reduces, proven right by the
 * checker: rank counts, roots, in and out of place, fixed order, blocks of
 * unequal length, no elements.  Every rank has a scalar of its own.  And damage
 * that the checker must find.
 */
#include <errno.h>

#include "check_cases.h"
#include "tap.h"

static const struct hcomm_check_opts opts = {
	.chunk_size = 16, .window = 2, .staging_slots = 1,
};

static uint32_t cases;

static void prove(const struct hcomm_sched_args *a, uint32_t shape)
{
	struct hcomm_check_result res;
	struct test_case c;
	uint32_t i;
	int err;

	case_make(&c, a, shape);
	for (i = 0; i < a->nranks && a->redop == HCOMM_OP_PREMUL_SUM; i++)
		c.ranks[i].operand = 3 + i % 100;
	err = hcomm_check_sched_each(c.ranks, &opts, &res);
	case_free(&c);
	cases++;
	CHECK(!err, "%s %s ranks %u root %u count %llu in-place %d fixed %d shape %u: %d %s",
	      hcomm_coll_name(a->coll), hcomm_algo_name(a->algo), a->nranks, a->root,
	      (unsigned long long)a->count, a->in_place, a->fixed_order, shape, err,
	      res.text);
}

static void prove_form(struct hcomm_sched_args a)
{
	static const uint32_t ranks[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 16, 17, 31, 33 };
	static const uint64_t counts[] = { 0, 1, 7, 40 };
	struct hcomm_sched_topo *topo;
	uint32_t i, k;

	for (i = 0; i < sizeof(ranks) / sizeof(ranks[0]); i++) {
		a.nranks = ranks[i];
		a.root = case_rooted(a.coll) ? ranks[i] / 2 : 0;
		topo = case_topo(a.nranks, i % CASE_TOPOS);
		a.topo = a.algo == HCOMM_ALGO_HIERARCHICAL ? topo : NULL;
		for (k = 0; k < 8; k++) {
			a.count = counts[k / 2];
			/* of each block, of which there are many */
			if (case_blocks(a.coll) && a.nranks > 9)
				a.count = k / 2;
			a.in_place = k % 2;
			prove(&a, 0);
			if (case_supported(a.coll, a.algo, true, a.fixed_order))
				prove(&a, CASE_VECTOR);
		}
		hcomm_sched_topo_free(topo);
	}
}

static void test_builders(uint32_t redop)
{
	static const uint32_t dtypes[] = { HCOMM_DT_FP32, HCOMM_DT_INT8, HCOMM_DT_FP8_E4M3 };
	uint32_t coll, algo, fixed;

	cases = 0;
	for (coll = 0; coll <= HCOMM_COLL_EXSCAN; coll++) {
		bool scan = coll == HCOMM_COLL_SCAN || coll == HCOMM_COLL_EXSCAN;

		if (!case_reduces(coll) || (scan && redop == HCOMM_OP_AVG))
			continue;
		for (algo = 1; algo < HCOMM_ALGO_COUNT; algo++) {
			for (fixed = 0; fixed < 2; fixed++) {
				if (!case_supported(coll, algo, false, fixed))
					continue;
				prove_form((struct hcomm_sched_args){
					.coll = coll, .algo = algo, .redop = redop,
					.dtype = dtypes[algo % 3], .chunk_size = 16,
					.fixed_order = fixed,
				});
			}
		}
	}
	CHECK(cases > 500, "only %u cases", cases);
	printf("# %u cases\n", cases);
}

/* The programs of all ranks, to be damaged. */
struct set {
	struct hcomm_sched_args args[4];
	struct hcomm_plan *plan[4];
	struct hcomm_check_prog prog[4];
	struct hcomm_step *steps[4];
	uint32_t deps[64];
};

static void set_make(struct set *s, uint32_t redop)
{
	uint32_t r;

	for (r = 0; r < 4; r++) {
		struct hcomm_check_prog *p = &s->prog[r];

		s->args[r] = (struct hcomm_sched_args){
			.coll = HCOMM_COLL_ALLREDUCE, .algo = HCOMM_ALGO_RING, .rank = r,
			.nranks = 4, .count = 40, .dtype = HCOMM_DT_FP32, .redop = redop,
			.operand = redop == HCOMM_OP_PREMUL_SUM ? r + 1 : 0,
			.chunk_size = 16,
		};
		if (hcomm_sched_build(&s->args[r], &s->plan[r]))
			abort();
		p->steps = hcomm_plan_steps(s->plan[r], &p->nsteps);
		p->deps = hcomm_plan_deps(s->plan[r], &p->ndeps);
		p->nslots = hcomm_plan_nslots(s->plan[r]);
		p->scratch_size = hcomm_plan_scratch_size(s->plan[r]);
		s->steps[r] = malloc(p->nsteps * sizeof(*s->steps[r]));
		if (!s->steps[r])
			abort();
		memcpy(s->steps[r], p->steps, p->nsteps * sizeof(*s->steps[r]));
		p->steps = s->steps[r];
	}
}

static void set_free(struct set *s)
{
	uint32_t r;

	for (r = 0; r < 4; r++) {
		hcomm_plan_free(s->plan[r]);
		free(s->steps[r]);
	}
}

/* the SCALE step of rank 2 */
static struct hcomm_step *the_scale(struct set *s)
{
	struct hcomm_step *step = s->steps[2];

	while (step->op != HCOMM_STEP_SCALE)
		step++;
	return step;
}

/* take the dependencies on step 0 out */
static void forget_first(struct hcomm_check_prog *p, struct hcomm_step *steps,
			 uint32_t *deps)
{
	uint32_t i, k, n = 0;

	if (p->ndeps > 64)
		abort();
	for (i = 0; i < p->nsteps; i++) {
		uint32_t first = n;

		for (k = 0; k < steps[i].dep_count; k++) {
			if (HCOMM_DEP_INDEX(p->deps[steps[i].dep_first + k]))
				deps[n++] = p->deps[steps[i].dep_first + k];
		}
		steps[i].dep_first = first;
		steps[i].dep_count = n - first;
	}
	p->deps = deps;
	p->ndeps = n;
}

enum damage {
	NO_DAMAGE, LEFT_OUT, ANOTHER_NUMBER, ANOTHER_KIND, ANOTHER_TYPE, TOO_SHORT, TOO_EARLY,
	BY_ZERO, DAMAGES
};

static enum hcomm_check_kind check_damaged(uint32_t redop, enum damage damage)
{
	struct hcomm_check_result res;
	struct hcomm_step *step;
	struct set s;

	set_make(&s, redop);
	step = the_scale(&s);
	switch (damage) {
	case LEFT_OUT:
		step->op = HCOMM_STEP_COPY;
		step->dtype = 0;
		step->redop = 0;
		step->operand = 0;
		break;
	case ANOTHER_NUMBER:
		step->operand++;
		break;
	case ANOTHER_KIND:
		step->redop ^= 1;
		break;
	case ANOTHER_TYPE:
		step->dtype = HCOMM_DT_INT32;
		break;
	case TOO_SHORT:
		step->len -= 4;
		break;
	case TOO_EARLY:
		/* the one behind waits for nothing; the one in front is not waited for */
		if (redop == HCOMM_OP_AVG) {
			s.prog[2].ndeps -= step->dep_count;
			step->dep_count = 0;
		} else {
			forget_first(&s.prog[2], s.steps[2], s.deps);
		}
		break;
	case BY_ZERO:
		step->redop = HCOMM_SCALE_DIV;
		step->operand = 0;
		break;
	default:
		break;
	}
	hcomm_check_each(s.prog, s.args, &opts, &res);
	set_free(&s);
	return res.kind;
}

static void test_damage(uint32_t redop)
{
	static const char *const name[DAMAGES] = {
		"no damage", "left out", "another number", "another kind", "another type",
		"too short", "too early", "by zero",
	};
	int d;

	CHECK(check_damaged(redop, NO_DAMAGE) == HCOMM_CHECK_OK, "undamaged");
	for (d = LEFT_OUT; d < DAMAGES; d++)
		CHECK(check_damaged(redop, d) != HCOMM_CHECK_OK, "%s is not found", name[d]);
}

static int try_build(uint32_t coll, uint32_t algo, uint32_t redop, uint32_t dtype,
		     uint64_t operand)
{
	struct hcomm_sched_args a = {
		.coll = coll, .algo = algo, .redop = redop, .dtype = dtype, .nranks = 2,
		.count = 10, .chunk_size = 4096, .operand = operand,
	};
	struct hcomm_plan *plan = NULL;
	int err = hcomm_sched_build(&a, &plan);

	hcomm_plan_free(plan);
	return err;
}

static void test_errors(void)
{
	CHECK(try_build(HCOMM_COLL_SCAN, HCOMM_ALGO_LINEAR, HCOMM_OP_AVG, HCOMM_DT_FP32, 0) ==
	      -EINVAL, "average of a scan");
	CHECK(try_build(HCOMM_COLL_ALLREDUCE, HCOMM_ALGO_RING, HCOMM_OP_PREMUL_SUM,
			HCOMM_DT_FP16, 0x10000) == -EINVAL, "scalar with too many bits");
	CHECK(try_build(HCOMM_COLL_ALLREDUCE, HCOMM_ALGO_RING, HCOMM_OP_BAND, HCOMM_DT_FP16,
			0) == -EINVAL, "bitwise and of fractions");
	CHECK(try_build(HCOMM_COLL_ALLREDUCE, HCOMM_ALGO_RING, HCOMM_OP_PREMUL_SUM + 1,
			HCOMM_DT_FP16, 0) == -EINVAL, "unknown operation");
	CHECK(!try_build(HCOMM_COLL_ALLREDUCE, HCOMM_ALGO_RING, HCOMM_OP_LXOR,
			 HCOMM_DT_UINT16, 0), "logical xor of integers");
}

int main(void)
{
	RUN(test_builders(HCOMM_OP_AVG), "average, every builder");
	RUN(test_builders(HCOMM_OP_PREMUL_SUM), "scaled inputs, every builder");
	RUN(test_damage(HCOMM_OP_AVG), "average, damaged");
	RUN(test_damage(HCOMM_OP_PREMUL_SUM), "scaled inputs, damaged");
	RUN(test_errors(), "errors");
	return tap_end();
}
