/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The beginning of a communicator, whatever carries the rounds in which its ranks
 * agree: the bootstrap, or another communicator.
 */
#ifndef HCOMM_CREATE_H
#define HCOMM_CREATE_H

#include "agree.h"

/* bytes that a rank gives in a round, at most */
#define HCOMM_EXCHANGE_BLOB	2048u

/**
 * struct hcomm_exchange - how ranks that do not have a communicator yet talk
 * @gather: one round: @blob of @len bytes, equal on all ranks and at most
 *	HCOMM_EXCHANGE_BLOB, becomes the ranks' blobs in @all
 */
struct hcomm_exchange {
	hcommResult_t (*gather)(struct hcomm_exchange *ex, const void *blob, uint32_t len,
				void *all);
};

/**
 * struct hcomm_newcomer - a communicator that begins
 * @comm: it, until it is complete
 * @cards: of its ranks
 * @ready: of its ranks, of the last round
 */
struct hcomm_newcomer {
	struct hcomm_comm *comm;
	struct hcomm_card *cards;
	struct hcomm_ready *ready;
};

/**
 * hcomm_newcomer_init - get the memory, so that no round fails for the lack of it
 * @n: newcomer, to be given to hcomm_newcomer_exit() if this succeeds
 * @max_ranks: ranks that it may have
 */
hcommResult_t hcomm_newcomer_init(struct hcomm_newcomer *n, uint32_t max_ranks);
void hcomm_newcomer_exit(struct hcomm_newcomer *n);

/**
 * hcomm_newcomer_join - agree, and make it
 * @n: newcomer
 * @rank: this rank
 * @nranks: ranks
 * @opts: options
 * @ex: how they talk; NULL: there is but one
 * @secret: known to all ranks, and to nobody else
 * @out: out: communicator
 *
 * Rounds, errors: see hcomm_comm_create().
 */
hcommResult_t hcomm_newcomer_join(struct hcomm_newcomer *n, uint32_t rank, uint32_t nranks,
				  const struct hcomm_options *opts,
				  struct hcomm_exchange *ex, const uint8_t secret[32],
				  struct hcomm_comm **out);

#endif /* HCOMM_CREATE_H */
