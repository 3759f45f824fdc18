// SPDX-License-Identifier: GPL-2.0-only
/* Tuner plugins: the example, and bad ones. */
#include <dlfcn.h>
#include <hcomm/tuner.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../lib/plan/decide.h"
#include "tap.h"

static char why[700];

static void planner_make(struct hcomm_planner *p)
{
	memset(p, 0, sizeof(*p));
	hcomm_model_default(&p->model);
	p->lim = (struct hcomm_limits){ 256 << 10, 4096, 4 };
	CHECK(!hcomm_shape_make(&p->shape, 8, NULL, NULL), "shape");
}

static struct hcomm_sched_args call_of(uint32_t coll, uint64_t count)
{
	struct hcomm_sched_args a = {
		.coll = coll,
		.nranks = 8,
		.count = count,
		.dtype = HCOMM_DT_FP32,
		.chunk_size = 256 << 10,
	};

	return a;
}

static void test_example(void)
{
	static struct hcomm_planner p;
	struct hcomm_sched_args a = call_of(HCOMM_COLL_ALLREDUCE, 1 << 20);
	struct hcomm_decision d;

	planner_make(&p);
	if (!CHECK(!hcomm_tuner_load(TUNER_EXAMPLE, &p.tuner, why, sizeof(why)), "%s", why))
		return;
	CHECK(!strcmp(hcomm_tuner_name(p.tuner), "example"), "name");
	CHECK(!hcomm_planner_decide(&p, &a, &d) && d.why == HCOMM_WHY_MODEL,
	      "it is asked before it began");
	CHECK(!hcomm_tuner_open(p.tuner, &p.shape, &p.lim), "open");
	CHECK(!hcomm_planner_decide(&p, &a, &d) && d.why == HCOMM_WHY_TUNER &&
	      d.cand.algo == HCOMM_ALGO_RING && d.cand.channels == 2, "large");
	a.count = 10;
	CHECK(!hcomm_planner_decide(&p, &a, &d) && d.why == HCOMM_WHY_TUNER &&
	      d.cand.algo == HCOMM_ALGO_RECURSIVE_DOUBLING && d.cand.channels == 1,
	      "small");
	a = call_of(HCOMM_COLL_BROADCAST, 10);
	CHECK(!hcomm_planner_decide(&p, &a, &d) && d.why == HCOMM_WHY_MODEL, "no opinion");
	/* what the user excludes, what can't be done, what a table says: not asked */
	a = call_of(HCOMM_COLL_ALLREDUCE, 10);
	CHECK(!hcomm_policy_algo(&p.policy, "allreduce:^rd", why, sizeof(why)), "%s", why);
	CHECK(!hcomm_planner_decide(&p, &a, &d) && d.why == HCOMM_WHY_MODEL &&
	      d.cand.algo != HCOMM_ALGO_RECURSIVE_DOUBLING, "excluded");
	memset(&p.policy, 0, sizeof(p.policy));
	a.fixed_order = true;
	CHECK(!hcomm_planner_decide(&p, &a, &d) && d.why == HCOMM_WHY_MODEL,
	      "it can't do a fixed order");
	a.fixed_order = false;
	CHECK(!hcomm_policy_table(&p.policy, "allreduce: 0-=dbtree", why, sizeof(why)), "%s",
	      why);
	CHECK(!hcomm_planner_decide(&p, &a, &d) && d.why == HCOMM_WHY_TABLE, "table");
	hcomm_planner_exit(&p);
}

/* this program is a plugin, too: one that a test can change */
static uint32_t version = HCOMM_TUNER_VERSION;
static const char *says;
static int opens;

static int mine_open(const struct hcommTunerComm *comm, void **state)
{
	*state = &opens;
	return comm->nranks == 8 ? 0 : 22;
}

static int mine_choose(void *state, const struct hcommTunerCall *call,
		       struct hcommTunerChoice *choice)
{
	++*(int *)state;
	choice->algo = says;
	choice->channels = call->bytes > 1000 ? 1000 : 0;
	return 0;
}

struct hcommTuner hcommTunerPlugin = {
	.name = "mine", .open = mine_open, .choose = mine_choose,
};

static int load(struct hcomm_tuner_plugin **out)
{
	hcommTunerPlugin.version = version;
	return hcomm_tuner_load(NULL, out, why, sizeof(why));
}

static void test_bad(void)
{
	struct hcomm_sched_args a = call_of(HCOMM_COLL_ALLREDUCE, 10);
	struct hcomm_tuner_plugin *t;
	static struct hcomm_planner p;
	struct hcomm_decision d;
	struct hcomm_shape other;

	CHECK(hcomm_tuner_load("/nonexistent.so", &t, why, sizeof(why)) < 0 &&
	      !strncmp(why, "cannot open", 11), "%s", why);
	CHECK(hcomm_tuner_load("libc.so.6", &t, why, sizeof(why)) < 0 &&
	      strstr(why, "no symbol"), "%s", why);
	version = 99;
	CHECK(load(&t) < 0 && strstr(why, "version 99"), "%s", why);
	version = HCOMM_TUNER_VERSION;
	hcommTunerPlugin.choose = NULL;
	CHECK(load(&t) < 0 && strstr(why, "lacks"), "%s", why);
	hcommTunerPlugin.choose = mine_choose;

	planner_make(&p);
	if (!CHECK(!load(&p.tuner), "%s", why))
		return;
	CHECK(!hcomm_shape_make(&other, 3, NULL, NULL) &&
	      hcomm_tuner_open(p.tuner, &other, &p.lim) == -22, "open fails");
	CHECK(!hcomm_tuner_open(p.tuner, &p.shape, &p.lim), "open");
	says = "rings";
	CHECK(!hcomm_planner_decide(&p, &a, &d) && d.why == HCOMM_WHY_MODEL, "unknown word");
	says = NULL;
	CHECK(!hcomm_planner_decide(&p, &a, &d) && d.why == HCOMM_WHY_MODEL, "no word");
	says = "dissemination";
	CHECK(!hcomm_planner_decide(&p, &a, &d) && d.why == HCOMM_WHY_MODEL, "can't do it");
	says = "ring";
	CHECK(!hcomm_planner_decide(&p, &a, &d) && d.why == HCOMM_WHY_TUNER, "ring");
	says = "hier/rd";
	CHECK(!hcomm_planner_decide(&p, &a, &d) && d.why == HCOMM_WHY_TUNER &&
	      d.cand.algo == HCOMM_ALGO_HIERARCHICAL && d.cand.radix == 3, "a last level");
	CHECK(!hcomm_policy_algo(&p.policy, "allreduce:^hier/rd", why, sizeof(why)), "%s", why);
	CHECK(!hcomm_planner_decide(&p, &a, &d) && d.why == HCOMM_WHY_MODEL,
	      "a last level that is excluded");
	memset(&p.policy, 0, sizeof(p.policy));
	a.count = 1000;
	CHECK(!hcomm_planner_decide(&p, &a, &d) && d.why == HCOMM_WHY_MODEL,
	      "1000 channels");
	CHECK(opens == 7, "asked %d times", opens);
	hcomm_planner_exit(&p);
}

int main(void)
{
	RUN(test_example(), "the example");
	RUN(test_bad(), "bad plugins and bad answers");
	return tap_end();
}
