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

static bool choosable(uint32_t algo)
{
	return algo != HCOMM_ALGO_NONE && algo != HCOMM_ALGO_P2P &&
	       hcomm_algo_name(algo);
}

int hcomm_algo_by_word(const char *word, size_t len)
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

	*text = 0;
	for (i = 0; i < HCOMM_ALGO_COUNT; i++) {
		if (!choosable(i) || (coll && !hcomm_algo_supports(i, coll)))
			continue;
		append(text, room, *text ? ", %s" : "%s", hcomm_algo_name(i));
		for (j = 0; j < NALIASES; j++) {
			if (aliases[j].algo == i)
				append(text, room, " (%s)", aliases[j].word);
		}
	}
}

void hcomm_coll_words(char *text, size_t room)
{
	uint32_t i;

	*text = 0;
	for (i = HCOMM_COLL_BARRIER; i < HCOMM_PLAN_COLLS; i++)
		append(text, room, *text ? ", %s" : "%s", hcomm_coll_name(i));
}
