/* SPDX-License-Identifier: GPL-2.0-only */
/* One kind of AllReduce, again and again with other numbers, on communicators with options. */
#ifndef SELFTESTS_LIB_API_REPEAT_H
#define SELFTESTS_LIB_API_REPEAT_H

#include "api_util.h"

#define COUNT	1000

static int32_t *in, *out;

static inline hcommResult_t make(const hcommConfig_t *config, hcommComm_t *comm)
{
	hcommUniqueId id = unique_id();

	return hcommCommInitRankConfig(comm, size, id, rank, config);
}

static inline void check(int turn)
{
	size_t i;

	for (i = 0; i < COUNT; i++) {
		int32_t want = size * (size - 1) / 2 + size * (int32_t)(i + turn);

		if (out[i] != want) {
			FAIL("call %d: element %zu is %d, must be %d", turn, i, out[i], want);
			return;
		}
	}
}

static inline void fill(int turn)
{
	size_t i;

	for (i = 0; i < COUNT; i++)
		in[i] = rank + (int32_t)i + turn;
}

static inline void one_call(hcommComm_t comm, int turn)
{
	fill(turn);
	MUST(hcommAllReduce(in, out, COUNT, hcommInt32, hcommSum, comm));
	check(turn);
}

static inline uint64_t built(hcommComm_t comm)
{
	hcommStats_t stats = { .size = sizeof(stats) };

	MUST(hcommCommGetStats(comm, &stats));
	return stats.plansBuilt;
}


static inline void begin_repeat(int *argc, char ***argv)
{
	begin(argc, argv);
	in = hcommMalloc(COUNT * sizeof(*in));
	out = hcommMalloc(COUNT * sizeof(*out));
	if (!in || !out)
		MUST(HCOMM_ERR_NO_MEMORY);
}

static inline int end_repeat(void)
{
	MUST(hcommFree(in));
	MUST(hcommFree(out));
	return end();
}

#endif /* SELFTESTS_LIB_API_REPEAT_H */
