// SPDX-License-Identifier: GPL-2.0-only
/*
 * The last launches of an engine: a ring of them, and a table to find them by key.
 */
#include "engine_priv.h"

static u8 *bucket(struct hcomm_engine *e, u64 key)
{
	return &e->history.bucket[(u32)(key ^ key >> 32) % HCOMM_HISTORY];
}

/* Take one out of the chain of its bucket. */
static void unchain(struct hcomm_engine *e, u8 which)
{
	struct hcomm_past *past = e->history.past;
	u8 *p = bucket(e, past[which - 1].run);

	while (*p != which)
		p = &past[*p - 1].next;
	*p = past[which - 1].next;
}

void hcomm_history_add(struct hcomm_engine *e, u64 key, const struct hcomm_call *call)
{
	u8 at = (u8)(e->history.launches % HCOMM_HISTORY);
	struct hcomm_past *past = &e->history.past[at];
	u8 *b;

	if (e->history.launches++ >= HCOMM_HISTORY)
		unchain(e, at + 1);
	past->run = key;
	past->call = *call;
	b = bucket(e, key);
	past->next = *b;
	*b = at + 1;
}

const struct hcomm_call *hcomm_history_find(struct hcomm_engine *e, u64 key)
{
	const struct hcomm_past *past;
	u8 i;

	for (i = *bucket(e, key); i; i = past->next) {
		past = &e->history.past[i - 1];
		if (past->run == key)
			return &past->call;
	}
	return NULL;
}
