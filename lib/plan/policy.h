/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the user wants: algorithms that may or may not be used, a table of sizes,
 * a protocol.  Parsed once; an unknown word is an error that lists the known ones.
 *
 *   algorithms	allreduce:ring,hd;broadcast:^tree
 *		ring			(for every collective that it can do)
 *		hierarchical/rd		(the same, with that last level of an AllReduce)
 *   table	allreduce: 0-128K=ring,128K-8M=dbtree,8M-=hd; reduce: 0-=tree
 *		@file			(the same; # begins a comment, lines end
 *					a collective as ; does)
 *   protocol	eager, write, ^eager, ^write, auto
 */
#ifndef HCOMM_PLAN_POLICY_H
#define HCOMM_PLAN_POLICY_H

#include "names.h"

#define HCOMM_TABLE_RANGES	64u

/**
 * enum hcomm_proto - how messages should travel
 * @HCOMM_PROTO_AUTO: as is fastest
 * @HCOMM_PROTO_EAGER: eagerly where a schedule can be cut so finely
 * @HCOMM_PROTO_WRITE: by write (local links: directly), but for the smallest
 */
enum hcomm_proto {
	HCOMM_PROTO_AUTO = 0,
	HCOMM_PROTO_EAGER = 1,
	HCOMM_PROTO_WRITE = 2,
	HCOMM_PROTO_COUNT,
};

/**
 * struct hcomm_range - a line of the table: sizes from @from to below @to
 * @coll: enum hcomm_coll
 * @algo: enum hcomm_algo
 * @last: way of its last level, HCOMM_LAST_ANY
 * @from: bytes
 * @to: bytes, UINT64_MAX: no end
 */
struct hcomm_range {
	uint32_t coll;
	uint32_t algo;
	uint32_t last;
	uint64_t from;
	uint64_t to;
};

/**
 * struct hcomm_policy - the user's wishes
 * @only: by collective: mask of the algorithms to choose from, 0: all
 * @never: by collective: mask of algorithms that are excluded
 * @last_only: mask of the last levels of a hierarchical AllReduce to choose from, 0: all
 * @last_never: mask of those that are excluded
 * @ranges: the table
 * @nranges: how many
 * @proto: enum hcomm_proto
 */
struct hcomm_policy {
	uint32_t only[HCOMM_PLAN_COLLS];
	uint32_t never[HCOMM_PLAN_COLLS];
	uint32_t last_only;
	uint32_t last_never;
	struct hcomm_range ranges[HCOMM_TABLE_RANGES];
	uint32_t nranges;
	uint32_t proto;
};

/*
 * Each reads one text into an empty part of @policy.  Return: 0 or -EINVAL
 * (a file: any errno), and @why says what is wrong.
 */
int hcomm_policy_algo(struct hcomm_policy *policy, const char *text, char *why,
		      size_t room);
int hcomm_policy_table(struct hcomm_policy *policy, const char *text, char *why,
		       size_t room);
int hcomm_policy_proto(struct hcomm_policy *policy, const char *text, char *why,
		       size_t room);

/* what the table says about a call, NULL: nothing; and of that enum hcomm_algo, 0: nothing */
const struct hcomm_range *hcomm_policy_range(const struct hcomm_policy *policy,
					     uint32_t coll, uint64_t bytes);
uint32_t hcomm_policy_lookup(const struct hcomm_policy *policy, uint32_t coll,
			     uint64_t bytes);

/* may the choice fall on this algorithm? (tables are not asked) */
bool hcomm_policy_allows(const struct hcomm_policy *policy, uint32_t coll,
			 uint32_t algo);

/* the last levels of a hierarchical AllReduce that it may fall on, as a mask */
uint32_t hcomm_policy_last(const struct hcomm_policy *policy);

uint64_t hcomm_policy_hash(const struct hcomm_policy *policy);

#endif /* HCOMM_PLAN_POLICY_H */
