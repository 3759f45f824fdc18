// SPDX-License-Identifier: GPL-2.0-only
/* The planner: texts, files, fits, wishes, decisions. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../../lib/check/check.h"
#include "../../lib/plan/decide.h"
#include "../../lib/plan/scratch.h"
#include "tap.h"

static char why[700];

/* ---------------------------------------------------------------------- words */

static void test_names(void)
{
	char words[512];
	uint32_t i;

	for (i = HCOMM_ALGO_NONE + 1; i < HCOMM_ALGO_COUNT; i++) {
		const char *name = hcomm_algo_name(i);
		int want = i == HCOMM_ALGO_P2P ? -1 : (int)i;

		CHECK(hcomm_algo_by_word(name, strlen(name), NULL) == want, "%s", name);
	}
	CHECK(hcomm_algo_by_word("DBTree", 6, NULL) == HCOMM_ALGO_DOUBLE_TREE, "case");
	CHECK(hcomm_algo_by_word("hd", 2, NULL) == HCOMM_ALGO_HALVING_DOUBLING, "hd");
	CHECK(hcomm_algo_by_word("tree", 4, NULL) == HCOMM_ALGO_BINOMIAL, "tree");
	CHECK(hcomm_algo_by_word("tre", 3, NULL) < 0 && hcomm_algo_by_word("", 0, NULL) < 0, "tre");
	CHECK(hcomm_algo_by_word("none", 4, NULL) < 0, "none");
	CHECK(hcomm_coll_by_word("reduce-scatter", 14) == HCOMM_COLL_REDUCE_SCATTER,
	      "coll");
	CHECK(hcomm_coll_by_word("ReduceScatter", 13) == HCOMM_COLL_REDUCE_SCATTER &&
	      hcomm_coll_by_word("reduce_scatter:", 14) == HCOMM_COLL_REDUCE_SCATTER &&
	      hcomm_coll_by_word("all_reduce", 10) == HCOMM_COLL_ALLREDUCE, "separators");
	CHECK(hcomm_coll_by_word("reduce", 6) == HCOMM_COLL_REDUCE &&
	      hcomm_coll_by_word("reduce-", 6) == HCOMM_COLL_REDUCE &&
	      hcomm_coll_by_word("reduce-scat", 11) < 0 && hcomm_coll_by_word("-", 1) < 0,
	      "parts");
	CHECK(hcomm_coll_by_word("p2p", 3) < 0 && hcomm_coll_by_word("group", 5) < 0,
	      "not to plan");
	hcomm_algo_words(HCOMM_COLL_BARRIER, words, sizeof(words));
	CHECK(strstr(words, "dissemination") && !strstr(words, "double-tree"), "%s", words);
	hcomm_algo_words(0, words, sizeof(words));
	CHECK(strstr(words, "double-tree (dbtree)") && strstr(words, "linear"), "%s", words);
}

/* --------------------------------------------------------------------- wishes */

static struct hcomm_policy policy;

static int algo(const char *text)
{
	memset(&policy, 0, sizeof(policy));
	return hcomm_policy_algo(&policy, text, why, sizeof(why));
}

static int table(const char *text)
{
	memset(&policy, 0, sizeof(policy));
	return hcomm_policy_table(&policy, text, why, sizeof(why));
}

#define ALLOWS(coll, a) hcomm_policy_allows(&policy, HCOMM_COLL_##coll, HCOMM_ALGO_##a)

static void test_algo(void)
{
	CHECK(!algo("allreduce:ring;broadcast:^tree"), "%s", why);
	CHECK(ALLOWS(ALLREDUCE, RING) && !ALLOWS(ALLREDUCE, DOUBLE_TREE), "only ring");
	CHECK(!ALLOWS(BROADCAST, BINOMIAL) && ALLOWS(BROADCAST, DOUBLE_TREE), "no tree");
	CHECK(ALLOWS(REDUCE, BINOMIAL), "not named");
	CHECK(!algo("ring"), "%s", why);
	CHECK(ALLOWS(ALLGATHER, RING) && ALLOWS(BROADCAST, BINOMIAL), "where it can");
	CHECK(!ALLOWS(ALLREDUCE, BINOMIAL), "where it can");
	CHECK(!algo(" allreduce : rd , RING ; reduce: dbtree"), "%s", why);
	CHECK(ALLOWS(ALLREDUCE, RING) && ALLOWS(ALLREDUCE, RECURSIVE_DOUBLING) &&
	      !ALLOWS(ALLREDUCE, DIRECT), "two");
	/* a comma may also begin the next collective */
	CHECK(!algo("allreduce:ring,broadcast:binomial"), "%s", why);
	CHECK(ALLOWS(BROADCAST, BINOMIAL) && !ALLOWS(BROADCAST, DOUBLE_TREE), "comma");
	CHECK(!algo("^rd,^direct"), "%s", why);
	CHECK(!ALLOWS(ALLREDUCE, RECURSIVE_DOUBLING) && !ALLOWS(ALLREDUCE, DIRECT) &&
	      ALLOWS(ALLREDUCE, BINOMIAL), "two excluded");
}

/* the way of a hierarchical AllReduce's last level that a word names, -1: none */
static int last_of(const char *word)
{
	uint32_t last;

	if (hcomm_algo_by_word(word, strlen(word), &last) != HCOMM_ALGO_HIERARCHICAL)
		return -1;
	return last == HCOMM_LAST_ANY ? 99 : (int)hcomm_last_algo(last);
}

static void test_last_words(void)
{
	uint64_t hash[3];
	char text[64];
	uint32_t i;

	CHECK(last_of("hier") == 99 && last_of("hierarchical/nhr") == HCOMM_ALGO_NONUNIFORM_RING &&
	      last_of("HIER/Recursive_Doubling") == HCOMM_ALGO_RECURSIVE_DOUBLING &&
	      last_of("hier/nb") == HCOMM_ALGO_NONUNIFORM_BRUCK &&
	      last_of("hier/mesh") == HCOMM_ALGO_DIRECT, "words");
	CHECK(last_of("hier/") < 0 && last_of("hier/star") < 0 && last_of("/rd") < 0 &&
	      last_of("hier/rd/rd") < 0 && last_of("ring/rd") < 0, "no words");
	CHECK(hcomm_algo_by_word("hier/rd", 7, NULL) < 0, "where none may be");
	/* what is printed can be given back */
	for (i = 0; i < HCOMM_LAST_LEVELS; i++) {
		CHECK(hcomm_last_by_radix(hcomm_last_radix(i)) == i, "radix %u", i);
		hcomm_algo_word(HCOMM_ALGO_HIERARCHICAL, HCOMM_COLL_ALLREDUCE,
				hcomm_last_radix(i), text, sizeof(text));
		CHECK(last_of(text) == (int)hcomm_last_algo(i), "%s", text);
	}
	CHECK(hcomm_last_by_radix(4) == 0, "the builder's default");

	CHECK(!algo("allreduce:hier/rd,ring"), "%s", why);
	CHECK(ALLOWS(ALLREDUCE, HIERARCHICAL) && ALLOWS(ALLREDUCE, RING) &&
	      !ALLOWS(ALLREDUCE, DIRECT) && ALLOWS(BROADCAST, BINOMIAL) &&
	      hcomm_policy_last(&policy) == 1u << hcomm_last_by_radix(3), "only rd, and ring");
	hash[0] = hcomm_policy_hash(&policy);
	CHECK(!algo("allreduce:hier/nb,ring"), "%s", why);
	hash[1] = hcomm_policy_hash(&policy);
	CHECK(!algo("allreduce:hier,ring"), "%s", why);
	hash[2] = hcomm_policy_hash(&policy);
	CHECK(hcomm_policy_last(&policy) == HCOMM_LAST_ALL, "all");
	CHECK(hash[0] != hash[1] && hash[1] != hash[2] && hash[0] != hash[2], "hash");
	CHECK(!algo("hier/nb") && ALLOWS(REDUCE, BINOMIAL) && !ALLOWS(ALLREDUCE, RING),
	      "of an AllReduce alone");
	CHECK(!algo("^hier/rd") && ALLOWS(ALLREDUCE, HIERARCHICAL) && ALLOWS(ALLREDUCE, RING) &&
	      hcomm_policy_last(&policy) == (HCOMM_LAST_ALL & ~(1u << hcomm_last_by_radix(3))),
	      "all but rd");
	CHECK(!algo("^hier/nhr,^hier/nb,^hier/rd,^hier/ring,^hier/hd,^hier/mesh") &&
	      !ALLOWS(ALLREDUCE, HIERARCHICAL) && ALLOWS(BROADCAST, HIERARCHICAL), "none");
	CHECK(!table("allreduce: 0-1K=hier/rd,1K-=hier") &&
	      hcomm_policy_range(&policy, HCOMM_COLL_ALLREDUCE, 5)->last ==
	      hcomm_last_by_radix(3) &&
	      hcomm_policy_range(&policy, HCOMM_COLL_ALLREDUCE, 5000)->last == HCOMM_LAST_ANY,
	      "table");
	hash[0] = hcomm_policy_hash(&policy);
	CHECK(!table("allreduce: 0-1K=hier/nb,1K-=hier") &&
	      hcomm_policy_hash(&policy) != hash[0], "hash of a table");
}

static void test_bad_algo(void)
{
	static const char * const bad[][2] = {
		{ "hier/star", "hierarchical/mesh" }, { "ring/rd", "is no algorithm" },
		{ "broadcast:hier/rd", "hier/rd can't do broadcast" },
		{ "allreduce:hier,^hier/rd", "not both" },
		{ "allreduce:^hier/rd,ring", "not both" },
		{ "rings", "known are ring" }, { "", "is no algorithm" },
		{ "allreduce:", "is no algorithm" }, { "all:ring", "known are barrier" },
		{ "allreduce:ring,^tree", "not both" }, { "p2p", "is no algorithm" },
		{ "allreduce:dissemination", "can't do allreduce" },
		{ "allreduce:ring;;", "is no algorithm" },
		{ "allreduce:ring:", "use collective:algorithm" },
	};
	char none[256] = "";
	size_t len = 0, i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		*why = 0;
		CHECK(algo(bad[i][0]) < 0, "\"%s\" is taken", bad[i][0]);
		CHECK(strstr(why, bad[i][1]), "\"%s\": %s", bad[i][0], why);
	}
	/* every algorithm that does it */
	for (i = 1; i < HCOMM_ALGO_COUNT; i++) {
		if (!hcomm_algo_supports((uint32_t)i, HCOMM_COLL_BARRIER))
			continue;
		len += (size_t)snprintf(none + len, sizeof(none) - len, "%s^%s",
					len ? "," : "barrier:", hcomm_algo_name((uint32_t)i));
	}
	CHECK(algo(none) < 0 && strstr(why, "no algorithm is left for barrier"),
	      "%s: %s", none, why);
}

static void test_proto(void)
{
	memset(&policy, 0, sizeof(policy));
	CHECK(!hcomm_policy_proto(&policy, "^eager", why, sizeof(why)) &&
	      policy.proto == HCOMM_PROTO_WRITE, "^eager");
	CHECK(!hcomm_policy_proto(&policy, "EAGER", why, sizeof(why)) &&
	      policy.proto == HCOMM_PROTO_EAGER, "EAGER");
	CHECK(hcomm_policy_proto(&policy, "read", why, sizeof(why)) < 0 &&
	      strstr(why, "known are eager"), "%s", why);
}

static uint32_t at(uint32_t coll, uint64_t bytes)
{
	return hcomm_policy_lookup(&policy, coll, bytes);
}

static void test_table(void)
{
	char path[] = "/tmp/hcomm-table-XXXXXX", arg[64];
	int fd = mkstemp(path);
	FILE *f;

	CHECK(!table("allreduce: 0-128K=ring,128K-8M=dbtree,8M-=rd; reduce: 64-65=tree"),
	      "%s", why);
	CHECK(at(HCOMM_COLL_ALLREDUCE, 0) == HCOMM_ALGO_RING, "0");
	CHECK(at(HCOMM_COLL_ALLREDUCE, 131071) == HCOMM_ALGO_RING, "128K - 1");
	CHECK(at(HCOMM_COLL_ALLREDUCE, 131072) == HCOMM_ALGO_DOUBLE_TREE, "128K");
	CHECK(at(HCOMM_COLL_ALLREDUCE, 8 << 20) == HCOMM_ALGO_RECURSIVE_DOUBLING, "8M");
	CHECK(at(HCOMM_COLL_ALLREDUCE, 1ull << 50) == HCOMM_ALGO_RECURSIVE_DOUBLING, "P");
	CHECK(!at(HCOMM_COLL_REDUCE, 63) && !at(HCOMM_COLL_REDUCE, 65), "gaps");
	CHECK(at(HCOMM_COLL_REDUCE, 64) == HCOMM_ALGO_BINOMIAL, "64");
	f = fdopen(fd, "w");
	if (!CHECK(f, "temporary file"))
		return;
	fprintf(f, "# measured\nallreduce: 0-1K=direct,\\\n");
	fclose(f);
	snprintf(arg, sizeof(arg), "@%s", path);
	CHECK(table(arg) < 0, "a backslash is taken");
	f = fopen(path, "w");
	if (!CHECK(f, "temporary file"))
		return;
	fprintf(f, "# measured\n\nallreduce: 0-1K = direct\n");
	fclose(f);
	CHECK(table(arg) < 0, "space inside a range is taken");
	f = fopen(path, "w");
	if (!CHECK(f, "temporary file"))
		return;
	fprintf(f, "# measured\n\nallreduce: 0-1K=direct, 1K-=ring # all\nreduce: 0-=tree\n");
	fclose(f);
	CHECK(!table(arg), "%s", why);
	CHECK(at(HCOMM_COLL_ALLREDUCE, 1024) == HCOMM_ALGO_RING &&
	      at(HCOMM_COLL_REDUCE, 5) == HCOMM_ALGO_BINOMIAL, "file");
	unlink(path);
	CHECK(table(arg) < 0, "a missing file is taken");
}

static void test_bad_table(void)
{
	static const char * const bad[][2] = {
		{ "", "empty" }, { "allreduce", "colon" }, { "all: 0-=ring", "known are" },
		{ "allreduce: ring", "size in bytes" }, { "allreduce: 0=ring", "from-to" },
		{ "allreduce: 0-4=rings", "these can" },
		{ "allreduce: 0-4=hier/star", "hierarchical/rd" },
		{ "broadcast: 0-4=hier/rd", "can't do that" },
		{ "barrier: 0-4=ring", "these can" }, { "allreduce: 4-4=ring", "empty" },
		{ "allreduce: 0-4=ring,3-9=rd", "\"3-9=rd\": the range overlaps" },
		{ "allreduce: 0-4=ring, 9-9=rd ; reduce: 0-=tree", "\"9-9=rd\": the range is" },
		{ "allreduce: 0-4=ring\nreduce 0-=tree", "\"reduce 0-=tree\": a colon" },
		{ "reduce:", "\"reduce:\": a size" },
		{ "allreduce: 0-=ring,9-10=rd", "overlaps" },
		{ "allreduce: 0-4X=ring", "from-to" },
		{ "allreduce: 0-99999999999T=ring", "too large" },
		{ "allreduce: 0-4=ring allreduce: 4-5=rd", "use ," },
		{ "@/nonexistent/table", "No such file" }, { "@/", "no text" },
	};
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		*why = 0;
		CHECK(table(bad[i][0]) < 0, "\"%s\" is taken", bad[i][0]);
		CHECK(strstr(why, bad[i][1]), "\"%s\": %s", bad[i][0], why);
		/* the caller says where it stands */
		CHECK(*bad[i][0] != '@' || !strchr(why, '/'), "%s", why);
	}
}

/* ---------------------------------------------------------------------- model */

static void test_model(void)
{
	struct hcomm_model a, b;
	char text[1024];

	hcomm_model_default(&a);
	CHECK(!hcomm_model_check(&a), "the built-in model is not sane");
	a.link[HCOMM_LINK_NODE].latency = 1.0 / 3e5;
	CHECK(hcomm_model_print(&a, text, sizeof(text)) < (int)sizeof(text), "room");
	CHECK(strstr(text, "local.latency = 3e-06\n"), "%s", text);
	memset(&b, 0, sizeof(b));
	CHECK(!hcomm_model_parse(text, &b, why, sizeof(why)), "%s", why);
	CHECK(!memcmp(&a, &b, sizeof(a)), "not the same after print and parse");
	CHECK(hcomm_model_hash(&a) == hcomm_model_hash(&b), "hash");
	b.reduce_rate *= 1 + 1e-15;
	CHECK(hcomm_model_hash(&a) != hcomm_model_hash(&b), "hash of another");
	CHECK(!hcomm_model_parse("# nothing\n\n  copy_rate=1e9 # slow\n", &b, why,
				 sizeof(why)) && b.copy_rate == 1e9, "%s", why);
	CHECK(hcomm_model_parse("copy_rate = fast", &b, why, sizeof(why)) &&
	      strstr(why, "line 1"), "%s", why);
	CHECK(hcomm_model_parse("\ncopy = 1", &b, why, sizeof(why)) &&
	      strstr(why, "line 2") && strstr(why, "local.latency"), "%s", why);
	CHECK(hcomm_model_parse("copy_rate = 0", &b, why, sizeof(why)), "0");
	CHECK(hcomm_model_parse("node.latency = -1", &b, why, sizeof(why)), "-1");
	CHECK(hcomm_model_parse("node.latency = nan", &b, why, sizeof(why)), "nan");
	CHECK(hcomm_model_parse("node.latency", &b, why, sizeof(why)), "no value");
	CHECK(hcomm_model_load("/nonexistent", &b, why, sizeof(why)) < 0, "file");
}

static bool near(double a, double b)
{
	return a > b * 0.999 && a < b * 1.001;
}

static void test_fit(void)
{
	struct hcomm_model m, old;
	struct hcomm_probe p[] = {
		{ HCOMM_LINK_NODE, 0, 50e-6 }, { HCOMM_LINK_NODE, 100000, 150e-6 },
		{ HCOMM_LINK_NODE, 1000000, 1050e-6 },
	};
	double sum, part;

	/* points on a line: 50 us and 1 GB/s */
	hcomm_model_default(&old);
	m = old;
	CHECK(hcomm_model_fit(&m, p, 3) == 1, "classes");
	sum = m.link[HCOMM_LINK_NODE].latency + m.link[HCOMM_LINK_NODE].overhead;
	part = old.link[HCOMM_LINK_NODE].latency /
	       (old.link[HCOMM_LINK_NODE].latency + old.link[HCOMM_LINK_NODE].overhead);
	CHECK(near(sum, 50e-6) && near(m.link[HCOMM_LINK_NODE].bandwidth, 1e9), "%g %g",
	      sum, m.link[HCOMM_LINK_NODE].bandwidth);
	CHECK(near(m.link[HCOMM_LINK_NODE].latency / sum, part), "shares");
	CHECK(!memcmp(&m.link[0], &old.link[0], sizeof(m.link[0])), "another class moved");
	CHECK(near(m.link[HCOMM_LINK_GROUP].bandwidth,
		   old.link[HCOMM_LINK_GROUP].bandwidth / 10), "the class above scales");
	/* one size: the bandwidth stays */
	m = old;
	hcomm_model_fit(&m, p, 1);
	CHECK(m.link[HCOMM_LINK_NODE].bandwidth == old.link[HCOMM_LINK_NODE].bandwidth,
	      "bandwidth from one size");
	/* noise: larger is faster */
	p[0].seconds = 200e-6;
	m = old;
	hcomm_model_fit(&m, p, 2);
	CHECK(!hcomm_model_check(&m) &&
	      m.link[HCOMM_LINK_NODE].bandwidth == old.link[HCOMM_LINK_NODE].bandwidth,
	      "a falling line");
	/* nonsense changes nothing */
	p[0].cls = 7;
	p[1].seconds = -1;
	m = old;
	CHECK(!hcomm_model_fit(&m, p, 2) && !memcmp(&m, &old, sizeof(m)), "nonsense");
}

/* ---------------------------------------------------------------------- shape */

static void test_shape(void)
{
	static const uint32_t node[12] = { 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2 };
	static const uint32_t mixed[4] = { 0, 1, 0, 1 }, group[3] = { 0, 0, 1 };
	static const uint32_t bad[2] = { 0, 2 };
	struct hcomm_shape s;

	CHECK(!hcomm_shape_make(&s, 12, node, group), "12");
	CHECK(s.nnodes == 3 && s.ngroups == 2 && s.max_local == 4 && s.in_order &&
	      s.levels == 4, "%u %u %u", s.nnodes, s.ngroups, s.max_local);
	CHECK(s.next_cross == 3 && s.next_group == 2 && s.next.flows == 1, "next");
	CHECK(s.flip[0].cls == HCOMM_LINK_LOCAL && s.flip[1].cls == HCOMM_LINK_LOCAL &&
	      s.flip[2].cls == HCOMM_LINK_NODE && s.flip[3].cls == HCOMM_LINK_GROUP,
	      "flips");
	CHECK(s.shift[0].flows == 1 && s.shift[1].flows == 2 && s.shift[2].flows == 4,
	      "flows");
	CHECK(!hcomm_shape_make(&s, 4, mixed, NULL) && !s.in_order && s.next_cross == 4,
	      "mixed");
	CHECK(!hcomm_shape_make(&s, 5, NULL, NULL) && s.nnodes == 1 && s.min_local == 5 &&
	      s.next.cls == HCOMM_LINK_LOCAL, "one node");
	CHECK(hcomm_shape_make(&s, 2, bad, NULL) < 0, "a node beyond the ranks");
}

/* ------------------------------------------------------------------ decisions */

static void planner_make(struct hcomm_planner *p, uint32_t nranks, uint32_t per_node)
{
	uint32_t node[1024], i;

	memset(p, 0, sizeof(*p));
	hcomm_model_default(&p->model);
	p->lim = (struct hcomm_limits){ 256 << 10, 4096, 4 };
	for (i = 0; i < nranks; i++)
		node[i] = i / per_node;
	CHECK(!hcomm_shape_make(&p->shape, nranks, node, NULL), "shape");
}

static struct hcomm_sched_args call_of(uint32_t coll, uint32_t nranks, uint64_t bytes)
{
	struct hcomm_sched_args a = {
		.coll = coll,
		.nranks = nranks,
		.count = bytes,
		.dtype = HCOMM_DT_UINT8,
		.chunk_size = 256 << 10,
	};

	return a;
}

/* whatever is chosen can be built, on all ranks, at all sizes and rank counts */
static void test_choice(void)
{
	uint32_t coll, n, wrong = 0, none = 0;
	struct hcomm_planner p;
	struct hcomm_decision d;
	struct hcomm_plan *plan;
	uint64_t bytes;

	for (n = 1; n <= 600; n += 1 + n / 2) {
		planner_make(&p, n, n < 8 ? n : 8);
		for (coll = HCOMM_COLL_BARRIER; coll < HCOMM_PLAN_COLLS; coll++) {
			for (bytes = 0; bytes < 1ull << 34; bytes = bytes * 16 + 1) {
				struct hcomm_sched_args a = call_of(coll, n, bytes);

				if (hcomm_planner_decide(&p, &a, &d)) {
					none++;
					continue;
				}
				hcomm_decision_apply(&d, &a);
				a.rank = n / 2;
				if (hcomm_sched_build(&a, &plan))
					wrong++;
				else
					hcomm_plan_free(plan);
			}
		}
	}
	CHECK(!wrong, "%u choices can't be built", wrong);
	CHECK(!none, "%u calls have no candidate", none);
}

/* a binomial tree is one of radix 2, whatever it carries */
static void test_radix_two(void)
{
	static const uint32_t colls[] = { HCOMM_COLL_GATHER, HCOMM_COLL_SCATTER };
	struct hcomm_candidate binomial = { HCOMM_ALGO_BINOMIAL, 256 << 10, 1, 0 };
	struct hcomm_candidate knomial = { HCOMM_ALGO_KNOMIAL, 256 << 10, 1, 2 };
	struct hcomm_planner p;
	uint32_t i;

	planner_make(&p, 48, 4);
	for (i = 0; i < 10; i++) {
		struct hcomm_call_shape call = {
			.coll = colls[i % 2], .bytes = 8ull << 2 * i, .esize = 4,
		};
		double a = hcomm_predict(&p.model, &p.shape, &p.lim, &call, &binomial, NULL);
		double b = hcomm_predict(&p.model, &p.shape, &p.lim, &call, &knomial, NULL);

		CHECK(near(a, b), "%s of %llu bytes: %g and %g", hcomm_coll_name(call.coll),
		      (unsigned long long)call.bytes, a, b);
	}
}

/* of @bytes, on @nranks, 4 of them on a node: radix of the choice, -1: not hierarchical */
static int last_chosen(const struct hcomm_planner *p, uint32_t nranks, uint64_t bytes,
		       uint32_t *why_so)
{
	struct hcomm_sched_args a = call_of(HCOMM_COLL_ALLREDUCE, nranks, bytes);
	struct hcomm_decision d;

	if (hcomm_planner_decide(p, &a, &d) || d.cand.algo != HCOMM_ALGO_HIERARCHICAL)
		return -1;
	*why_so = d.why;
	return (int)d.cand.radix;
}

static void test_last_choice(void)
{
	static const char * const words[] = { "nhr", "nb", "rd", "ring", "hd", "mesh" };
	struct hcomm_decision list[HCOMM_MAX_CANDIDATES];
	struct hcomm_sched_args a;
	struct hcomm_planner p;
	uint32_t i, k, n, why_so;
	char text[64];

	for (i = 0; i < HCOMM_LAST_LEVELS; i++) {
		planner_make(&p, 16, 4);
		snprintf(text, sizeof(text), "allreduce:hier/%s", words[i]);
		CHECK(!hcomm_policy_algo(&p.policy, text, why, sizeof(why)), "%s", why);
		CHECK(last_chosen(&p, 16, 1 << 20, &why_so) == (int)hcomm_last_radix(i) &&
		      why_so == HCOMM_WHY_MODEL, "%s", text);
		/* by size, whatever else is said */
		snprintf(text, sizeof(text), "allreduce: 0-64K=hier/%s", words[i]);
		CHECK(!hcomm_policy_algo(&p.policy, "allreduce:hier/rd", why, sizeof(why)) &&
		      !hcomm_policy_table(&p.policy, text, why, sizeof(why)), "%s", why);
		CHECK(last_chosen(&p, 16, 1024, &why_so) == (int)hcomm_last_radix(i) &&
		      why_so == HCOMM_WHY_TABLE, "%s", text);
	}
	/* one excluded: the others are candidates */
	planner_make(&p, 16, 4);
	CHECK(!hcomm_policy_algo(&p.policy, "allreduce:^hier/nb", why, sizeof(why)), "%s", why);
	a = call_of(HCOMM_COLL_ALLREDUCE, 16, 65536);
	n = hcomm_planner_candidates(&p, &a, list);
	for (i = 0, k = 0; i < n; i++) {
		k += list[i].cand.algo == HCOMM_ALGO_HIERARCHICAL;
		CHECK(list[i].cand.algo != HCOMM_ALGO_HIERARCHICAL || list[i].cand.radix != 2,
		      "it is excluded");
	}
	CHECK(k == HCOMM_LAST_LEVELS - 1, "%u", k);
	/* on one node there is nothing to choose */
	planner_make(&p, 4, 4);
	CHECK(!hcomm_policy_algo(&p.policy, "allreduce:hier/rd", why, sizeof(why)) &&
	      last_chosen(&p, 4, 1024, &why_so) >= 0, "one node");
	/* a mesh of so many nodes, unless it is asked for */
	planner_make(&p, 272, 4);
	CHECK(last_chosen(&p, 272, 64, &why_so) != 7, "68 nodes");
	CHECK(!hcomm_policy_algo(&p.policy, "allreduce:hier/mesh", why, sizeof(why)) &&
	      last_chosen(&p, 272, 64, &why_so) == 7, "asked for");
	/* and scratch memory of gigabytes */
	planner_make(&p, 16, 4);
	a = call_of(HCOMM_COLL_ALLREDUCE, 16, 4ull << 30);
	n = hcomm_planner_candidates(&p, &a, list);
	for (i = 0; i < n; i++)
		CHECK(list[i].cand.algo != HCOMM_ALGO_HIERARCHICAL ||
		      (list[i].cand.radix != 3 && list[i].cand.radix != 7), "scratch memory");
}

/* each candidate, with its grain, channels and radix, is proven right */
static void test_candidates(void)
{
	static const uint32_t ranks[] = { 2, 5, 8, 11 };
	static const uint32_t node[] = { 0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3 };
	struct hcomm_check_opts opts = { 16384, 1024, 4, 16 };
	struct hcomm_decision list[HCOMM_MAX_CANDIDATES];
	struct hcomm_check_result res;
	struct hcomm_sched_topo *topo;
	struct hcomm_planner p;
	uint32_t coll, i, k, n, proven = 0;
	int err;

	for (i = 0; i < 4; i++) {
		planner_make(&p, ranks[i], 3);
		if (!CHECK(!hcomm_sched_topo_create(ranks[i], node, NULL, &topo), "topology"))
			return;
		p.lim = (struct hcomm_limits){ 16384, 1024, 4 };
		p.policy.proto = i == 1 ? HCOMM_PROTO_EAGER : HCOMM_PROTO_AUTO;
		for (coll = HCOMM_COLL_BARRIER; coll < HCOMM_PLAN_COLLS; coll++) {
			struct hcomm_sched_args a = call_of(coll, ranks[i], 24000);

			a.dtype = HCOMM_DT_FP32;
			a.topo = topo;
			n = hcomm_planner_candidates(&p, &a, list);
			for (k = 0; k < n; k++) {
				hcomm_decision_apply(&list[k], &a);
				err = hcomm_check_sched(&a, &opts, &res);
				proven += !err;
				CHECK(!err, "%s by %s, %u ranks, grain %u, channels %u, radix %u: %d %s",
				      hcomm_coll_name(coll), hcomm_algo_name(a.algo),
				      ranks[i], a.chunk_size, a.channels, a.radix, err,
				      err == -EPROTO ? res.text : "");
			}
		}
		hcomm_sched_topo_free(topo);
	}
	printf("# %u candidates proven\n", proven);
	CHECK(proven > 100, "only %u candidates", proven);
}

static uint32_t chosen(struct hcomm_planner *p, uint32_t coll, uint32_t nranks,
		       uint64_t bytes)
{
	struct hcomm_sched_args a = call_of(coll, nranks, bytes);
	struct hcomm_decision d;

	return hcomm_planner_decide(p, &a, &d) ? HCOMM_ALGO_NONE : d.cand.algo;
}

/* what was measured with this engine, among the algorithms that were */
static void test_measured(void)
{
	static struct hcomm_planner p;
	uint32_t i;

	planner_make(&p, 2, 2);
	CHECK(!algo("allreduce:direct,ring,rd,dbtree,tree"), "%s", why);
	p.policy = policy;
	CHECK(chosen(&p, HCOMM_COLL_ALLREDUCE, 2, 1024) == HCOMM_ALGO_DIRECT, "2, 1K");
	CHECK(chosen(&p, HCOMM_COLL_ALLREDUCE, 2, 16384) == HCOMM_ALGO_DIRECT, "2, 16K");
	CHECK(chosen(&p, HCOMM_COLL_ALLREDUCE, 2, 1 << 20) == HCOMM_ALGO_RING, "2, 1M");
	/* also among all */
	planner_make(&p, 2, 2);
	for (i = 1; i < 32768; i *= 2)
		CHECK(chosen(&p, HCOMM_COLL_ALLREDUCE, 2, i) == HCOMM_ALGO_DIRECT, "2, %u",
		      i);
	planner_make(&p, 8, 8);
	p.policy = policy;
	CHECK(chosen(&p, HCOMM_COLL_ALLREDUCE, 8, 16384) == HCOMM_ALGO_RECURSIVE_DOUBLING,
	      "8, 16K: %s", hcomm_algo_name(chosen(&p, HCOMM_COLL_ALLREDUCE, 8, 16384)));
	CHECK(chosen(&p, HCOMM_COLL_ALLREDUCE, 8, 4 << 20) == HCOMM_ALGO_RING, "8, 4M");
	/* many ranks, middle sizes */
	planner_make(&p, 512, 1);
	p.policy = policy;
	CHECK(chosen(&p, HCOMM_COLL_ALLREDUCE, 512, 1 << 20) == HCOMM_ALGO_DOUBLE_TREE,
	      "512, 1M: %s", hcomm_algo_name(chosen(&p, HCOMM_COLL_ALLREDUCE, 512, 1 << 20)));
}

static void test_precedence(void)
{
	static struct hcomm_planner p;
	struct hcomm_sched_args a = call_of(HCOMM_COLL_ALLREDUCE, 8, 4096);
	struct hcomm_decision d;

	planner_make(&p, 8, 8);
	CHECK(!table("allreduce: 1K-1M=dbtree") &&
	      !hcomm_policy_algo(&policy, "allreduce:ring", why, sizeof(why)), "%s", why);
	p.policy = policy;
	CHECK(!hcomm_planner_decide(&p, &a, &d) && d.why == HCOMM_WHY_TABLE &&
	      d.cand.algo == HCOMM_ALGO_DOUBLE_TREE, "the table wins");
	a.count = 1;
	CHECK(!hcomm_planner_decide(&p, &a, &d) && d.why == HCOMM_WHY_MODEL &&
	      d.cand.algo == HCOMM_ALGO_RING, "beside the table, the wish");
	/* a table that names what can't do this form does not apply */
	a.fixed_order = true;
	a.count = 4096;
	CHECK(!algo("allreduce:^ring"), "%s", why);
	CHECK(!hcomm_policy_table(&policy, "allreduce: 0-=ring", why, sizeof(why)), "%s",
	      why);
	p.policy = policy;
	CHECK(!hcomm_planner_decide(&p, &a, &d) && d.why == HCOMM_WHY_MODEL, "%u", d.why);
	CHECK(!algo("allreduce:ring"), "%s", why);
	p.policy = policy;
	CHECK(hcomm_planner_decide(&p, &a, &d) < 0, "ring does no fixed order");
}

/* many ranks: no links to everybody without need */
static void test_links(void)
{
	static struct hcomm_planner p;
	struct hcomm_decision list[HCOMM_MAX_CANDIDATES];
	struct hcomm_sched_args a = call_of(HCOMM_COLL_ALLREDUCE, 65, 8);
	uint32_t n, i, found = 0;

	planner_make(&p, 65, 1);
	n = hcomm_planner_candidates(&p, &a, list);
	for (i = 0; i < n; i++)
		found += list[i].cand.algo == HCOMM_ALGO_DIRECT;
	CHECK(n && !found, "direct with 65 ranks");
	/* the only one that does this form; or asked for */
	a.coll = HCOMM_COLL_GATHER;
	a.rank = 1;
	a.vector = true;
	CHECK(hcomm_planner_candidates(&p, &a, list) &&
	      list[0].cand.algo == HCOMM_ALGO_STAR, "GatherV");
	a = call_of(HCOMM_COLL_ALLREDUCE, 65, 8);
	CHECK(!algo("direct"), "%s", why);
	p.policy = policy;
	CHECK(hcomm_planner_candidates(&p, &a, list) &&
	      list[0].cand.algo == HCOMM_ALGO_DIRECT, "asked for");
	planner_make(&p, 64, 1);
	a = call_of(HCOMM_COLL_ALLREDUCE, 64, 8);
	n = hcomm_planner_candidates(&p, &a, list);
	for (i = 0; i < n; i++)
		found += list[i].cand.algo == HCOMM_ALGO_DIRECT;
	CHECK(found, "no direct with 64 ranks");
}

/* eager where it can be, else nothing is refused */
static void test_eager(void)
{
	static struct hcomm_planner p;
	struct hcomm_sched_args a = call_of(HCOMM_COLL_ALLREDUCE, 8, 64 << 10);
	struct hcomm_decision d;

	planner_make(&p, 8, 8);
	memset(&policy, 0, sizeof(policy));
	CHECK(!hcomm_policy_proto(&policy, "eager", why, sizeof(why)), "%s", why);
	p.policy = policy;
	CHECK(!hcomm_planner_decide(&p, &a, &d) && d.largest <= 4096, "%llu",
	      (unsigned long long)d.largest);
	a.count = 1ull << 32;
	CHECK(!hcomm_planner_decide(&p, &a, &d), "large");
}

static void test_correction(void)
{
	static struct hcomm_planner p;
	struct hcomm_decision list[HCOMM_MAX_CANDIDATES], d;
	struct hcomm_sched_args a = call_of(HCOMM_COLL_ALLREDUCE, 8, 100000);
	uint32_t n, first;

	planner_make(&p, 8, 8);
	n = hcomm_planner_candidates(&p, &a, list);
	CHECK(n > 3 && list[1].seconds <= list[2].seconds, "sorted");
	first = list[0].cand.algo;
	CHECK(!hcomm_planner_measured(&p, &a, &list[0].cand, list[n - 1].seconds * 2),
	      "measured");
	CHECK(!hcomm_planner_decide(&p, &a, &d) && d.cand.algo != first,
	      "what was slow is chosen again");
	a.count = 90000;
	CHECK(!hcomm_planner_decide(&p, &a, &d) && d.cand.algo != first, "near by");
	a.count = 40000000;
	n = hcomm_planner_candidates(&p, &a, list);
	CHECK(n && list[0].why == HCOMM_WHY_MODEL, "far away");
	hcomm_planner_exit(&p);
}

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* the best of some rounds, as other work runs on the machine, too */
static void test_speed(void)
{
	static struct hcomm_planner p;
	uint64_t best = UINT64_MAX, begin, took;
	struct hcomm_decision d;
	uint32_t i, round;

	planner_make(&p, 512, 8);
	for (round = 0; round < 20; round++) {
		begin = now();
		for (i = 0; i < 10; i++) {
			struct hcomm_sched_args a =
				call_of(HCOMM_COLL_ALLREDUCE, 512, 1000u << i);

			if (hcomm_planner_decide(&p, &a, &d))
				CHECK(0, "no decision");
		}
		took = (now() - begin) / 10;
		if (took < best)
			best = took;
	}
	printf("# a decision takes %llu ns\n", (unsigned long long)best);
#if !defined(__SANITIZE_ADDRESS__)
	CHECK(best < 20000, "%llu ns", (unsigned long long)best);
#endif
}

/* ------------------------------------------------------------------ scratch */

/* what the plans of all ranks need at most, 0 if there are none */
static uint64_t most_scratch(struct hcomm_sched_args a)
{
	struct hcomm_plan *plan;
	uint64_t most = 0;

	for (a.rank = 0; a.rank < a.nranks; a.rank++) {
		if (hcomm_sched_build(&a, &plan))
			return 0;
		if (hcomm_plan_scratch_size(plan) > most)
			most = hcomm_plan_scratch_size(plan);
		hcomm_plan_free(plan);
	}
	return most;
}

/* all that grows is in the list: chunks are small, so what is left is bounded by few MiB */
static void test_scratch_growth(void)
{
	struct hcomm_sched_args a = {
		.dtype = HCOMM_DT_UINT8, .count = 64 << 20, .chunk_size = 4096,
	};
	struct hcomm_call_shape call;
	uint64_t need, bound;
	uint32_t i;

	for (a.coll = HCOMM_COLL_BROADCAST; a.coll <= HCOMM_COLL_EXSCAN; a.coll++) {
		for (a.algo = 1; a.algo < HCOMM_ALGO_COUNT; a.algo++) {
			for (a.nranks = 2; a.nranks <= 13; a.nranks++) {
				for (i = 0; i < 4; i++) {
					a.in_place = i & 1;
					a.fixed_order = i & 2;
					hcomm_call_shape(&a, &call);
					need = most_scratch(a);
					bound = (uint64_t)hcomm_scratch_growth(a.algo, &call,
						a.nranks, a.fixed_order) + (4 << 20);
					CHECK(need <= bound, "%s %s n %u, %u: %llu bytes, at most %llu",
					      hcomm_coll_name(a.coll), hcomm_algo_name(a.algo),
					      a.nranks, i, (unsigned long long)need,
					      (unsigned long long)bound);
				}
			}
		}
	}
}

/* the last level of an AllReduce: as the algorithm by which it goes, of a node's share */
static void test_scratch_last(void)
{
	static const uint32_t nodes[12] = { 0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3 };
	struct hcomm_sched_args a = {
		.coll = HCOMM_COLL_ALLREDUCE, .algo = HCOMM_ALGO_HIERARCHICAL, .nranks = 12,
		.dtype = HCOMM_DT_UINT8, .count = 64 << 20, .chunk_size = 4096,
	};
	struct hcomm_sched_topo *topo;
	struct hcomm_call_shape call;
	uint64_t need, bound;
	uint32_t i, k;

	if (!CHECK(!hcomm_sched_topo_create(12, nodes, NULL, &topo), "topology"))
		return;
	a.topo = topo;
	for (i = 0; i < HCOMM_LAST_LEVELS; i++) {
		for (k = 0; k < 2; k++) {
			a.radix = hcomm_last_radix(i);
			a.in_place = k;
			hcomm_call_shape(&a, &call);
			call.bytes /= 3;
			need = most_scratch(a);
			bound = (uint64_t)hcomm_scratch_growth(hcomm_last_algo(i), &call, 4,
							       false) + (4 << 20);
			CHECK(need <= bound, "radix %u: %llu bytes, at most %llu", a.radix,
			      (unsigned long long)need, (unsigned long long)bound);
		}
	}
	hcomm_sched_topo_free(topo);
}

/* of blocks of 1 GiB, nothing that grows is chosen, and not Bruck's AllToAll either */
static void test_scratch_limit(void)
{
	struct hcomm_sched_args a = {
		.nranks = 8, .dtype = HCOMM_DT_FP32, .count = 256 << 20,
		.chunk_size = 256 << 10,
	};
	struct hcomm_decision d;
	struct hcomm_planner p;
	uint64_t need;
	uint32_t i;

	for (a.coll = HCOMM_COLL_BROADCAST; a.coll <= HCOMM_COLL_EXSCAN; a.coll++) {
		planner_make(&p, a.nranks, 4);
		for (i = 0; i < 4; i++) {
			a.in_place = i & 1;
			a.fixed_order = i & 2;
			if (!CHECK(!hcomm_planner_decide(&p, &a, &d), "decision"))
				continue;
			hcomm_decision_apply(&d, &a);
			need = most_scratch(a);
			CHECK(d.cand.algo != HCOMM_ALGO_BRUCK, "bruck");
			CHECK(need <= HCOMM_SCRATCH_LIMIT, "%s %s: %llu bytes",
			      hcomm_coll_name(a.coll), hcomm_algo_name(a.algo),
			      (unsigned long long)need);
			a.chunk_size = 256 << 10;
		}
	}
	/* who asks for one by name gets it */
	planner_make(&p, a.nranks, 4);
	CHECK(!hcomm_policy_algo(&p.policy, "allreduce:rd", why, sizeof(why)), "%s", why);
	a.coll = HCOMM_COLL_ALLREDUCE;
	a.fixed_order = false;
	CHECK(!hcomm_planner_decide(&p, &a, &d) &&
	      d.cand.algo == HCOMM_ALGO_RECURSIVE_DOUBLING, "by name");
}

int main(void)
{
	RUN(test_names(), "names, short names, lists of known ones");
	RUN(test_algo(), "HCOMM_ALGO");
	RUN(test_last_words(), "words for the last level of a hierarchical AllReduce");
	RUN(test_bad_algo(), "bad HCOMM_ALGO is refused, and told what is known");
	RUN(test_proto(), "HCOMM_PROTO");
	RUN(test_table(), "tables of sizes, from text and file");
	RUN(test_bad_table(), "bad tables are refused");
	RUN(test_model(), "models: print, parse, hash, bad files");
	RUN(test_fit(), "fit of measured points");
	RUN(test_shape(), "shapes of communicators");
	RUN(test_choice(), "choices can be built");
	RUN(test_last_choice(), "last levels that are named, excluded, left out");
	RUN(test_radix_two(), "a binomial tree is predicted as one of radix 2");
	RUN(test_candidates(), "all candidates are right");
	RUN(test_measured(), "built-in model: what was measured");
	RUN(test_precedence(), "table before algorithms before model");
	RUN(test_links(), "many ranks: no needless links");
	RUN(test_scratch_growth(), "what scratch memory grows with");
	RUN(test_scratch_last(), "what that of a last level grows with");
	RUN(test_scratch_limit(), "much data: no more scratch memory than the limit");
	RUN(test_eager(), "HCOMM_PROTO=eager cuts messages");
	RUN(test_correction(), "measured times correct the model");
	RUN(test_speed(), "a decision takes less than 20 us");
	return tap_end();
}
