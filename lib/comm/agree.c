// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The agreement check.  All ranks see the same cards and come to the same verdict,
 * so nobody goes on alone.
 */
#include <string.h>

#include "../base/base.h"
#include "agree.h"

bool hcomm_same_node(const struct hcomm_card *a, const struct hcomm_card *b)
{
	return !memcmp(a->boot_id, b->boot_id, sizeof(a->boot_id)) &&
	       !memcmp(a->node_id, b->node_id, sizeof(a->node_id));
}

static hcommResult_t rank_failed(uint32_t rank, const char *host, int32_t status,
				 const char *text)
{
	if (status < 0 || status > HCOMM_ERR_INTERNAL)
		status = HCOMM_ERR_INTERNAL;
	return hcomm_fail((hcommResult_t)status, "rank %u (%s): %s", rank, host,
			  text);
}

static hcommResult_t differs(const struct hcomm_card *cards, uint32_t rank,
			     const char *what, uint32_t mine, uint32_t theirs)
{
	return hcomm_fail(HCOMM_ERR_OPTIONS,
			  "%s differs between the ranks: %u on rank 0 (%s), %u on rank %u (%s); set it equally on all",
			  what, mine, cards[0].host, theirs, rank, cards[rank].host);
}

static hcommResult_t hash_differs(const struct hcomm_card *cards, uint32_t rank,
				  const char *what)
{
	return hcomm_fail(HCOMM_ERR_OPTIONS,
			  "%s differs between rank 0 (%s) and rank %u (%s); set it equally on all",
			  what, cards[0].host, rank, cards[rank].host);
}

static hcommResult_t check_options(const struct hcomm_card *cards, uint32_t i)
{
	const struct hcomm_card *a = &cards[0], *b = &cards[i];

	if (a->abi != b->abi)
		return hcomm_fail(HCOMM_ERR_VERSION,
				  "the library of rank %u (%s) is for ABI version %u, that of rank 0 (%s) for %u",
				  i, b->host, b->abi, a->host, a->abi);
	if (a->chunk_size != b->chunk_size)
		return differs(cards, i, "the chunk size (HCOMM_CHUNK_SIZE)",
			       a->chunk_size, b->chunk_size);
	if (a->eager_size != b->eager_size)
		return differs(cards, i, "the eager size (HCOMM_EAGER_SIZE, HCOMM_PROTO)",
			       a->eager_size, b->eager_size);
	if (a->max_runs != b->max_runs)
		return differs(cards, i, "the number of calls in flight (HCOMM_MAX_RUNS)",
			       a->max_runs, b->max_runs);
	if (a->transports != b->transports)
		return differs(cards, i, "the transport mask (HCOMM_TRANSPORT: 1 local, 2 rdma)",
			       a->transports, b->transports);
	if (strcmp(a->algo, b->algo))
		return hcomm_fail(HCOMM_ERR_OPTIONS,
				  "HCOMM_ALGO differs between the ranks: \"%s\" on rank 0 (%s), \"%s\" on rank %u (%s); set it equally on all",
				  a->algo, a->host, b->algo, i, b->host);
	if (a->probe != b->probe)
		return differs(cards, i, "probing (HCOMM_PROBE)", a->probe, b->probe);
	if (a->tune != b->tune)
		return differs(cards, i, "tuning (HCOMM_TUNE)", a->tune, b->tune);
	if (a->policy != b->policy)
		return hash_differs(cards, i,
				    "which algorithms are wanted (HCOMM_ALGO, HCOMM_ALGO_TABLE and the file it names, HCOMM_PROTO)");
	if (a->model != b->model)
		return hash_differs(cards, i, "the cost model (the file of HCOMM_MODEL)");
	if (a->tuner != b->tuner)
		return hash_differs(cards, i, "the tuner plugin (HCOMM_TUNER)");
	return HCOMM_SUCCESS;
}

/* can every rank be reached by every other? */
static hcommResult_t check_reach(const struct hcomm_card *cards, uint32_t nranks)
{
	uint32_t other, i;

	for (other = 1; other < nranks; other++) {
		if (!hcomm_same_node(&cards[0], &cards[other]))
			break;
	}
	if (!(cards[0].transports & HCOMM_TRANSPORT_RDMA)) {
		if (other == nranks)
			return HCOMM_SUCCESS;
		return hcomm_fail(HCOMM_ERR_OPTIONS,
				  "rank %u (%s) is on another node than rank 0 (%s), but HCOMM_TRANSPORT allows only local links",
				  other, cards[other].host, cards[0].host);
	}
	/* one node without local links needs RDMA to itself */
	if (other == nranks && (cards[0].transports & HCOMM_TRANSPORT_LOCAL))
		return HCOMM_SUCCESS;
	for (i = 0; i < nranks; i++) {
		if (!*cards[i].nic)
			return hcomm_fail(HCOMM_ERR_NO_DEVICE,
					  "rank %u (%s) has no RDMA device that is active and has an address, and not all ranks can have local links; see rdma link and HCOMM_NIC (Soft-RoCE: rdma link add rxe0 type rxe netdev eth0)",
					  i, cards[i].host);
	}
	return HCOMM_SUCCESS;
}

hcommResult_t hcomm_agree_cards(struct hcomm_card *cards, uint32_t nranks)
{
	hcommResult_t ret;
	uint32_t i;

	for (i = 0; i < nranks; i++) {
		struct hcomm_card *c = &cards[i];

		c->host[sizeof(c->host) - 1] = 0;
		c->nic[sizeof(c->nic) - 1] = 0;
		c->algo[sizeof(c->algo) - 1] = 0;
		c->text[sizeof(c->text) - 1] = 0;
	}
	for (i = 0; i < nranks; i++) {
		if (cards[i].status)
			return rank_failed(i, cards[i].host, cards[i].status,
					   cards[i].text);
	}
	for (i = 1; i < nranks; i++) {
		ret = check_options(cards, i);
		if (ret)
			return ret;
	}
	return check_reach(cards, nranks);
}

hcommResult_t hcomm_agree_ready(const struct hcomm_card *cards,
				struct hcomm_ready *ready, uint32_t nranks)
{
	uint32_t i;

	for (i = 0; i < nranks; i++) {
		ready[i].text[sizeof(ready[i].text) - 1] = 0;
		if (ready[i].status)
			return rank_failed(i, cards[i].host, ready[i].status,
					   ready[i].text);
	}
	return HCOMM_SUCCESS;
}
