// SPDX-License-Identifier: LGPL-2.1-or-later
/* Words for algorithms and collectives. */
#include <stdio.h>
#include <string.h>

#include "names.h"

/* the one table of short names */
static const struct alias {
	const char *word;
	uint32_t algo;
} aliases[] = {
	{ "tree", HCOMM_ALGO_BINOMIAL },
	{ "dbtree", HCOMM_ALGO_DOUBLE_TREE },
	{ "rd", HCOMM_ALGO_RECURSIVE_DOUBLING },
	{ "mesh", HCOMM_ALGO_DIRECT },
	{ "biring", HCOMM_ALGO_BIDIRECTIONAL_RING },
	{ "knomial", HCOMM_ALGO_KNOMIAL },
	{ "hd", HCOMM_ALGO_HALVING_DOUBLING },
	{ "chain", HCOMM_ALGO_PIPELINE },
	{ "sag", HCOMM_ALGO_SCATTER_ALLGATHER },
	{ "nhr", HCOMM_ALGO_NONUNIFORM_RING },
	{ "nb", HCOMM_ALGO_NONUNIFORM_BRUCK },
	{ "hier", HCOMM_ALGO_HIERARCHICAL },
};

#define NALIASES	(sizeof(aliases) / sizeof(aliases[0]))

/* the radix that each way of the last level is to the builder, the default first */
static const struct last {
	uint32_t algo;
	uint32_t radix;
} lasts[HCOMM_LAST_LEVELS] = {
	{ HCOMM_ALGO_NONUNIFORM_RING, 0 },
	{ HCOMM_ALGO_NONUNIFORM_BRUCK, 2 },
	{ HCOMM_ALGO_RECURSIVE_DOUBLING, 3 },
	{ HCOMM_ALGO_RING, 5 },
	{ HCOMM_ALGO_HALVING_DOUBLING, 6 },
	{ HCOMM_ALGO_DIRECT, 7 },
};

static bool choosable(uint32_t algo)
{
	return algo != HCOMM_ALGO_NONE && algo != HCOMM_ALGO_P2P &&
	       hcomm_algo_name(algo);
}

uint32_t hcomm_last_by_radix(uint32_t radix)
{
	uint32_t i;

	for (i = 1; i < HCOMM_LAST_LEVELS; i++) {
		if (lasts[i].radix == radix)
			return i;
	}
	return 0;
}

uint32_t hcomm_last_radix(uint32_t last)
{
	return last < HCOMM_LAST_LEVELS ? lasts[last].radix : 0;
}

uint32_t hcomm_last_algo(uint32_t last)
{
	return lasts[last].algo;
}

static int plain_word(const char *word, size_t len)
{
	uint32_t i;

	for (i = 0; i < HCOMM_ALGO_COUNT; i++) {
		if (choosable(i) && hcomm_is_word(hcomm_algo_name(i), word, len))
			return (int)i;
	}
	for (i = 0; i < NALIASES; i++) {
		if (hcomm_is_word(aliases[i].word, word, len))
			return (int)aliases[i].algo;
	}
	return -1;
}

int hcomm_algo_by_word(const char *word, size_t len, uint32_t *last)
{
	const char *slash = memchr(word, '/', len);
	size_t head = slash ? (size_t)(slash - word) : len;
	int algo = plain_word(word, head), by;
	uint32_t i;

	if (last)
		*last = HCOMM_LAST_ANY;
	if (!slash)
		return algo;
	if (!last || algo != HCOMM_ALGO_HIERARCHICAL)
		return -1;
	by = plain_word(slash + 1, len - head - 1);
	for (i = 0; i < HCOMM_LAST_LEVELS; i++) {
		if (by == (int)lasts[i].algo) {
			*last = i;
			return algo;
		}
	}
	return -1;
}

bool hcomm_word_supports(int algo, uint32_t last, uint32_t coll)
{
	return hcomm_algo_supports((uint32_t)algo, coll) &&
	       (last == HCOMM_LAST_ANY || hcomm_has_last((uint32_t)algo, coll));
}

static const char *short_name(uint32_t algo)
{
	uint32_t i;

	for (i = 0; i < NALIASES; i++) {
		if (aliases[i].algo == algo)
			return aliases[i].word;
	}
	return hcomm_algo_name(algo);
}

const char *hcomm_algo_word(uint32_t algo, uint32_t coll, uint32_t radix, char *text,
			    size_t room)
{
	if (!hcomm_has_last(algo, coll))
		return hcomm_algo_name(algo);
	snprintf(text, room, "%s/%s", hcomm_algo_name(algo),
		 short_name(lasts[hcomm_last_by_radix(radix)].algo));
	return text;
}

int hcomm_coll_by_word(const char *word, size_t len)
{
	uint32_t i;

	for (i = HCOMM_COLL_BARRIER; i < HCOMM_PLAN_COLLS; i++) {
		if (hcomm_is_word(hcomm_coll_name(i), word, len))
			return (int)i;
	}
	return -1;
}

static void append(char *text, size_t room, const char *fmt, const char *word)
{
	size_t len = strlen(text);

	snprintf(text + len, room - len, fmt, word);
}

void hcomm_algo_words(uint32_t coll, char *text, size_t room)
{
	uint32_t i, j;
	char word[64];

	*text = 0;
	for (i = 0; i < HCOMM_ALGO_COUNT; i++) {
		if (!choosable(i) || (coll && !hcomm_algo_supports(i, coll)))
			continue;
		append(text, room, *text ? ", %s" : "%s", hcomm_algo_name(i));
		for (j = 0; j < NALIASES; j++) {
			if (aliases[j].algo == i)
				append(text, room, " (%s)", aliases[j].word);
		}
		if (!hcomm_has_last(i, coll ? coll : HCOMM_COLL_ALLREDUCE))
			continue;
		for (j = 0; j < HCOMM_LAST_LEVELS; j++)
			append(text, room, ", %s",
			       hcomm_algo_word(i, HCOMM_COLL_ALLREDUCE, lasts[j].radix,
					       word, sizeof(word)));
	}
}

void hcomm_coll_words(char *text, size_t room)
{
	uint32_t i;

	*text = 0;
	for (i = HCOMM_COLL_BARRIER; i < HCOMM_PLAN_COLLS; i++)
		append(text, room, *text ? ", %s" : "%s", hcomm_coll_name(i));
}
