// SPDX-License-Identifier: LGPL-2.1-or-later
/* Algorithms by name and by exclusion; the protocol. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "policy.h"

/* the next word up to one of @ends, without space around it */
static size_t word_at(const char **text, const char *ends)
{
	size_t len;

	while (isspace((unsigned char)**text))
		++*text;
	len = strcspn(*text, ends);
	while (len && isspace((unsigned char)(*text)[len - 1]))
		len--;
	return len;
}

static int no_coll(const char *word, size_t len, char *why, size_t room)
{
	char known[256];

	hcomm_coll_words(known, sizeof(known));
	snprintf(why, room, "\"%.*s\" is no collective; known are %s", (int)len, word,
		 known);
	return -EINVAL;
}

static int no_algo(const char *word, size_t len, char *why, size_t room)
{
	char known[600];

	hcomm_algo_words(0, known, sizeof(known));
	snprintf(why, room, "\"%.*s\" is no algorithm; known are %s", (int)len, word,
		 known);
	return -EINVAL;
}

static int cannot(const char *word, size_t len, uint32_t coll, char *why, size_t room)
{
	char known[512];

	hcomm_algo_words(coll, known, sizeof(known));
	snprintf(why, room, "%.*s can't do %s; these can: %s", (int)len, word,
		 hcomm_coll_name(coll), known);
	return -EINVAL;
}

/* excluding one way of the last level leaves the others */
static void add_last(struct hcomm_policy *policy, uint32_t last, bool never)
{
	uint32_t all = last == HCOMM_LAST_ANY ? HCOMM_LAST_ALL : 1u << last;

	if (never)
		policy->last_never |= all;
	else
		policy->last_only |= all;
}

static bool excludes(const struct hcomm_policy *policy, uint32_t coll)
{
	return policy->never[coll] || (coll == HCOMM_COLL_ALLREDUCE && policy->last_never);
}

/* one word of a list: for @coll, or for all that the algorithm can do */
static int add_word(struct hcomm_policy *policy, uint32_t coll, const char *word,
		    size_t len, char *why, size_t room)
{
	bool never = len && *word == '^';
	uint32_t *masks = never ? policy->never : policy->only;
	uint32_t i, first = coll ? coll : HCOMM_COLL_BARRIER;
	uint32_t last = coll ? coll : HCOMM_PLAN_COLLS - 1, way;
	int algo;

	word += never;
	len -= never;
	algo = hcomm_algo_by_word(word, len, &way);
	if (algo < 0)
		return no_algo(word, len, why, room);
	/* what can't be used can well be excluded */
	if (coll && !never && !hcomm_word_supports(algo, way, coll))
		return cannot(word, len, coll, why, room);
	for (i = first; i <= last; i++) {
		if (!hcomm_word_supports(algo, way, i))
			continue;
		if (hcomm_has_last((uint32_t)algo, i))
			add_last(policy, way, never);
		if (!never || way == HCOMM_LAST_ANY || policy->last_never == HCOMM_LAST_ALL)
			masks[i] |= 1u << algo;
		if (policy->only[i] && excludes(policy, i)) {
			snprintf(why, room,
				 "%s: name algorithms or exclude some, not both",
				 hcomm_coll_name(i));
			return -EINVAL;
		}
	}
	return 0;
}

/* is anything left to choose from? */
static int check_left(const struct hcomm_policy *policy, char *why, size_t room)
{
	uint32_t coll, algo;

	for (coll = HCOMM_COLL_BARRIER; coll < HCOMM_PLAN_COLLS; coll++) {
		bool some = false, left = false;

		for (algo = 1; algo < HCOMM_ALGO_COUNT; algo++) {
			if (!hcomm_algo_supports(algo, coll))
				continue;
			some = true;
			left |= hcomm_policy_allows(policy, coll, algo);
		}
		if (some && !left) {
			snprintf(why, room, "no algorithm is left for %s",
				 hcomm_coll_name(coll));
			return -EINVAL;
		}
	}
	return 0;
}

int hcomm_policy_algo(struct hcomm_policy *policy, const char *text, char *why,
		      size_t room)
{
	const char *p = text;
	int coll = 0, err;
	size_t len;

	for (;;) {
		len = word_at(&p, ":;,");
		if (p[strcspn(p, ":;,")] == ':') {
			coll = hcomm_coll_by_word(p, len);
			if (coll < 0)
				return no_coll(p, len, why, room);
			p += strcspn(p, ":") + 1;
			len = word_at(&p, ":;,");
		}
		err = add_word(policy, (uint32_t)coll, p, len, why, room);
		if (err)
			return err;
		p += strcspn(p, ":;,");
		if (!*p)
			return check_left(policy, why, room);
		if (*p == ':') {
			snprintf(why, room, "\"%s\": use collective:algorithm,...;...", p);
			return -EINVAL;
		}
		if (*p++ == ';')
			coll = 0;
	}
}

int hcomm_policy_proto(struct hcomm_policy *policy, const char *text, char *why,
		       size_t room)
{
	static const struct {
		const char *word;
		uint32_t proto;
	} protos[] = {
		{ "auto", HCOMM_PROTO_AUTO },
		{ "eager", HCOMM_PROTO_EAGER },
		{ "^write", HCOMM_PROTO_EAGER },
		{ "write", HCOMM_PROTO_WRITE },
		{ "^eager", HCOMM_PROTO_WRITE },
	};
	size_t i;

	for (i = 0; i < sizeof(protos) / sizeof(protos[0]); i++) {
		if (!strcasecmp(protos[i].word, text)) {
			policy->proto = protos[i].proto;
			return 0;
		}
	}
	snprintf(why, room,
		 "\"%s\" is no protocol; known are eager, write, ^eager, ^write and auto",
		 text);
	return -EINVAL;
}

bool hcomm_policy_allows(const struct hcomm_policy *policy, uint32_t coll,
			 uint32_t algo)
{
	uint32_t bit = 1u << algo;

	if (coll >= HCOMM_PLAN_COLLS)
		return true;
	return !(policy->never[coll] & bit) &&
	       (!policy->only[coll] || policy->only[coll] & bit);
}

uint32_t hcomm_policy_last(const struct hcomm_policy *policy)
{
	return policy->last_only ? policy->last_only : HCOMM_LAST_ALL & ~policy->last_never;
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
	int i;

	for (i = 0; i < 8; i++, value >>= 8)
		hash = (hash ^ (value & 0xff)) * 1099511628211ull;
	return hash;
}

uint64_t hcomm_policy_hash(const struct hcomm_policy *p)
{
	uint64_t hash = mix(14695981039346656037ull, p->proto);
	uint32_t i;

	for (i = 0; i < HCOMM_PLAN_COLLS; i++)
		hash = mix(mix(hash, p->only[i]), p->never[i]);
	hash = mix(mix(hash, p->last_only), p->last_never);
	for (i = 0; i < p->nranges; i++) {
		const struct hcomm_range *r = &p->ranges[i];

		hash = mix(mix(hash, (uint64_t)r->coll << 32 | r->algo), r->from);
		hash = mix(mix(hash, r->to), r->last);
	}
	return hash;
}
