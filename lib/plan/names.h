/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Words that people use for algorithms and collectives: full names, and short
 * ones from other libraries and the literature.  Upper and lower case are equal, and
 * hyphens and underscores are as if they were not there.
 *
 * "hierarchical/ALGORITHM" says, too, by which algorithm the last level of a hierarchical
 * AllReduce goes: that between the groups, or where there is but one, its nodes.
 */
#ifndef HCOMM_PLAN_NAMES_H
#define HCOMM_PLAN_NAMES_H

#include <ctype.h>
#include <hcomm/sched.h>

/* collectives that have algorithms to choose from */
#define HCOMM_PLAN_COLLS	(HCOMM_COLL_EXSCAN + 1)

/* "reduce-scatter" is "Reduce_Scatter" is "reducescatter" */
static inline bool hcomm_is_word(const char *name, const char *word, size_t len)
{
	const char *end = word + len;

	for (;;) {
		while (*name == '-' || *name == '_')
			name++;
		while (word < end && (*word == '-' || *word == '_'))
			word++;
		if (!*name || word == end)
			return !*name && word == end;
		if (tolower((unsigned char)*name++) != tolower((unsigned char)*word++))
			return false;
	}
}

/* ways of the last level; all of them as a mask; and no one in particular */
#define HCOMM_LAST_LEVELS	6u
#define HCOMM_LAST_ALL		((1u << HCOMM_LAST_LEVELS) - 1)
#define HCOMM_LAST_ANY		HCOMM_LAST_LEVELS

/* has a call by this algorithm a last level to choose? */
static inline bool hcomm_has_last(uint32_t algo, uint32_t coll)
{
	return algo == HCOMM_ALGO_HIERARCHICAL && coll == HCOMM_COLL_ALLREDUCE;
}

/* which way a radix is; the radix and the algorithm of a way */
uint32_t hcomm_last_by_radix(uint32_t radix);
uint32_t hcomm_last_radix(uint32_t last);
uint32_t hcomm_last_algo(uint32_t last);

/**
 * hcomm_algo_by_word - what a word means
 * @word: name or short name of an algorithm, or hierarchical/ALGORITHM
 * @len: its characters
 * @last: out: way of the last level, HCOMM_LAST_ANY: the word says nothing; NULL: no
 *	word may
 *
 * Return: enum hcomm_algo, -1: unknown.
 */
int hcomm_algo_by_word(const char *word, size_t len, uint32_t *last);

/* does an algorithm do a collective by that way? */
bool hcomm_word_supports(int algo, uint32_t last, uint32_t coll);

/* the word for how a candidate is done; the text is static or @text */
const char *hcomm_algo_word(uint32_t algo, uint32_t coll, uint32_t radix, char *text,
			    size_t room);

/* enum hcomm_coll of a word; -1: none that can be planned */
int hcomm_coll_by_word(const char *word, size_t len);

/* all algorithms that do @coll (0: any), with their short names, for messages */
void hcomm_algo_words(uint32_t coll, char *text, size_t room);

void hcomm_coll_words(char *text, size_t room);

#endif /* HCOMM_PLAN_NAMES_H */
