/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Layouts and proofs on the bootstrap's connections; see bootstrap.h. */
#ifndef HCOMM_BS_WIRE_H
#define HCOMM_BS_WIRE_H

#include <stdbool.h>
#include <stdint.h>

#include "../base/hmac.h"
#include "bootstrap.h"

#define BS_MAGIC	"HCOMMBS1"
#define BS_MAGIC_SIZE	8u
#define BS_NONCE_SIZE	32u
#define BS_HEADER_SIZE	8u

struct bs_hello {
	uint8_t magic[BS_MAGIC_SIZE];
	uint8_t nonce[BS_NONCE_SIZE];
};

struct bs_join {
	uint8_t magic[BS_MAGIC_SIZE];
	uint8_t nonce[BS_NONCE_SIZE];
	uint32_t rank;
	uint32_t nranks;
	uint8_t mac[HCOMM_MAC_SIZE];
};

struct bs_header {
	uint32_t len;
	uint32_t type;
};

enum bs_frame {
	BS_GATHER = 1,	/* rank to hub: its blob */
	BS_DATA = 2,	/* hub to rank: all blobs */
	BS_ERROR = 3,	/* hub to rank: hcommResult_t[4] and text */
	BS_BYE = 4,	/* rank to hub: done */
};

enum bs_side {
	BS_HUB = 0,
	BS_RANK = 1,
};

/* what both ends know of a connection after HELLO and JOIN */
struct bs_proof {
	const struct hcomm_meeting *meeting;
	const uint8_t *hub_nonce;
	const uint8_t *rank_nonce;
	uint32_t rank;
	uint32_t nranks;
};

/* the proof of one side */
void bs_proof_mac(const struct bs_proof *proof, enum bs_side side,
		  uint8_t mac[HCOMM_MAC_SIZE]);

/* the ACCEPT of a hub that got a wrong proof: says nothing but that */
extern const uint8_t bs_refused[HCOMM_MAC_SIZE];

void bs_session_key(const struct bs_proof *proof, uint8_t key[HCOMM_MAC_SIZE]);

/* MAC of frame @number of one direction; @payload has header->len bytes */
void bs_frame_mac(const uint8_t key[HCOMM_MAC_SIZE], enum bs_side from,
		  uint64_t number, const struct bs_header *header,
		  const void *payload, uint32_t len,
		  uint8_t mac[HCOMM_MAC_SIZE]);

#endif /* HCOMM_BS_WIRE_H */
