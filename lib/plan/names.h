/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Words that people use for algorithms and collectives: full names, and short
 * ones from other libraries and the literature.  Upper and lower case are equal, and
 * hyphens and underscores are as if they were not there.
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

/* enum hcomm_algo of a word of @len characters, by name or short name; or -1 */
int hcomm_algo_by_word(const char *word, size_t len);

/* enum hcomm_coll of a word; -1: none that can be planned */
int hcomm_coll_by_word(const char *word, size_t len);

/* all algorithms that do @coll (0: any), with their short names, for messages */
void hcomm_algo_words(uint32_t coll, char *text, size_t room);

void hcomm_coll_words(char *text, size_t room);

#endif /* HCOMM_PLAN_NAMES_H */
