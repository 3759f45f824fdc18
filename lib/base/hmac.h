/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* HMAC-SHA256 over several pieces. */
#ifndef HCOMM_HMAC_H
#define HCOMM_HMAC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HCOMM_MAC_SIZE	32

struct hcomm_piece {
	const void *data;
	size_t len;
};

/* MAC of the concatenation of the pieces */
void hcomm_hmac(const void *key, size_t key_len,
		const struct hcomm_piece *pieces, size_t count,
		uint8_t mac[HCOMM_MAC_SIZE]);

/* in constant time */
bool hcomm_mac_equal(const uint8_t *a, const uint8_t *b);

#define HCOMM_PIECE(x)	{ &(x), sizeof(x) }

#endif /* HCOMM_HMAC_H */
