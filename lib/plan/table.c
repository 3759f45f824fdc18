// SPDX-License-Identifier: LGPL-2.1-or-later
/* The table of sizes. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy.h"

#define MAX_FILE	65536

/**
 * struct reader - where in the text, and where to complain
 * @p: next character
 * @item: beginning of the range, or of the collective, that is read
 * @why: error
 * @room: its size
 */
struct reader {
	const char *p;
	const char *item;
	char *why;
	size_t room;
};

static int fail(struct reader *r, const char *what, const char *more)
{
	size_t len = strcspn(r->item, ",;\n#");

	while (len && isspace((unsigned char)r->item[len - 1]))
		len--;
	snprintf(r->why, r->room, "\"%.*s\": %s%s", (int)(len < 40 ? len : 40), r->item,
		 what, more);
	return -EINVAL;
}

/* space and comments, but not what ends a line */
static void skip(struct reader *r)
{
	while (isspace((unsigned char)*r->p) && *r->p != '\n')
		r->p++;
	if (*r->p == '#')
		r->p += strcspn(r->p, "\n");
}

static int read_size(struct reader *r, uint64_t *out)
{
	static const char units[] = "KMGT";
	const char *unit;
	uint64_t value = 0;

	if (!isdigit((unsigned char)*r->p))
		return fail(r, "a size in bytes is missing (suffixes K, M, G and T are known)",
			    "");
	while (isdigit((unsigned char)*r->p)) {
		if (value > (1ull << 60) / 10)
			return fail(r, "the size is too large", "");
		value = value * 10 + (uint64_t)(*r->p++ - '0');
	}
	unit = *r->p ? strchr(units, toupper((unsigned char)*r->p)) : NULL;
	if (unit) {
		uint32_t shift = 10 * (uint32_t)(unit - units + 1);

		if (value > (1ull << 60) >> shift)
			return fail(r, "the size is too large", "");
		value <<= shift;
		r->p++;
	}
	*out = value;
	return 0;
}

/* "0-128K=ring" */
static int read_range(struct reader *r, struct hcomm_range *range)
{
	char known[600];
	size_t len;
	int algo;

	if (read_size(r, &range->from))
		return -EINVAL;
	if (*r->p != '-')
		return fail(r, "use from-to=algorithm, or from-=algorithm", "");
	r->p++;
	range->to = UINT64_MAX;
	if (*r->p != '=' && read_size(r, &range->to))
		return -EINVAL;
	if (*r->p != '=')
		return fail(r, "use from-to=algorithm, or from-=algorithm", "");
	if (range->to <= range->from)
		return fail(r, "the range is empty", "");
	r->p++;
	len = strcspn(r->p, ",;\n# \t\r");
	algo = hcomm_algo_by_word(r->p, len, &range->last);
	hcomm_algo_words(range->coll, known, sizeof(known));
	if (algo < 0)
		return fail(r, "no algorithm; these can do it: ", known);
	if (!hcomm_word_supports(algo, range->last, range->coll))
		return fail(r, "the algorithm can't do that; these can: ", known);
	range->algo = (uint32_t)algo;
	r->p += len;
	return 0;
}

static int add_range(struct hcomm_policy *policy, const struct hcomm_range *range,
		     struct reader *r)
{
	uint32_t i;

	for (i = 0; i < policy->nranges; i++) {
		const struct hcomm_range *o = &policy->ranges[i];

		if (o->coll == range->coll && o->from < range->to &&
		    range->from < o->to)
			return fail(r, "the range overlaps another one", "");
	}
	if (policy->nranges == HCOMM_TABLE_RANGES)
		return fail(r, "too many ranges", "");
	policy->ranges[policy->nranges++] = *range;
	return 0;
}

/* "allreduce: range,range" */
static int read_coll(struct hcomm_policy *policy, struct reader *r)
{
	size_t len = strcspn(r->p, ":,;\n#= \t\r");
	int coll = hcomm_coll_by_word(r->p, len);
	struct hcomm_range range;
	char known[256];

	hcomm_coll_words(known, sizeof(known));
	if (coll < 0)
		return fail(r, "no collective; known are ", known);
	r->p += len;
	skip(r);
	if (*r->p != ':')
		return fail(r, "a colon is missing behind the collective", "");
	range.coll = (uint32_t)coll;
	do {
		r->p++;
		skip(r);
		if (*r->p && !strchr(",;\n", *r->p))
			r->item = r->p;
		if (read_range(r, &range) || add_range(policy, &range, r))
			return -EINVAL;
		skip(r);
	} while (*r->p == ',');
	return 0;
}

static int parse(struct hcomm_policy *policy, const char *text, char *why,
		 size_t room)
{
	struct reader r = { text, text, why, room };
	bool any = false;

	for (;;) {
		skip(&r);
		if (!*r.p && any)
			return 0;
		if (!*r.p) {
			snprintf(why, room, "the table is empty");
			return -EINVAL;
		}
		if (*r.p == ';' || *r.p == '\n') {
			r.p++;
			continue;
		}
		r.item = r.p;
		if (read_coll(policy, &r))
			return -EINVAL;
		any = true;
		r.item = r.p;
		if (*r.p && *r.p != ';' && *r.p != '\n')
			return fail(&r, "use , between ranges and ; between collectives",
				    "");
	}
}

static int parse_file(struct hcomm_policy *policy, const char *path, char *why,
		      size_t room)
{
	FILE *f = fopen(path, "re");
	int err = 0;
	size_t len;
	char *text;

	if (!f) {
		err = -errno;
		snprintf(why, room, "%s", strerror(-err));
		return err;
	}
	text = malloc(MAX_FILE + 1);
	if (!text) {
		snprintf(why, room, "no memory");
		err = -ENOMEM;
		goto out;
	}
	len = fread(text, 1, MAX_FILE + 1, f);
	if (ferror(f) || len > MAX_FILE || memchr(text, 0, len)) {
		snprintf(why, room, "no text of up to %d bytes", MAX_FILE);
		err = -EINVAL;
		goto out;
	}
	text[len] = 0;
	err = parse(policy, text, why, room);
out:
	free(text);
	fclose(f);
	return err;
}

int hcomm_policy_table(struct hcomm_policy *policy, const char *text, char *why,
		       size_t room)
{
	if (*text == '@')
		return parse_file(policy, text + 1, why, room);
	return parse(policy, text, why, room);
}

const struct hcomm_range *hcomm_policy_range(const struct hcomm_policy *policy,
					     uint32_t coll, uint64_t bytes)
{
	uint32_t i;

	for (i = 0; i < policy->nranges; i++) {
		const struct hcomm_range *r = &policy->ranges[i];

		if (r->coll == coll && bytes >= r->from && bytes < r->to)
			return r;
	}
	return NULL;
}

uint32_t hcomm_policy_lookup(const struct hcomm_policy *policy, uint32_t coll,
			     uint64_t bytes)
{
	const struct hcomm_range *r = hcomm_policy_range(policy, coll, bytes);

	return r ? r->algo : HCOMM_ALGO_NONE;
}
