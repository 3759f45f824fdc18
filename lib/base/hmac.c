// SPDX-License-Identifier: LGPL-2.1-or-later
/* HMAC-SHA256, by nettle. */
#include <nettle/hmac.h>
#include <nettle/memops.h>
#include <string.h>

#include "hmac.h"

void hcomm_hmac(const void *key, size_t key_len,
		const struct hcomm_piece *pieces, size_t count,
		uint8_t mac[HCOMM_MAC_SIZE])
{
	struct hmac_sha256_ctx ctx;
	size_t i;

	hmac_sha256_set_key(&ctx, key_len, key);
	for (i = 0; i < count; i++)
		hmac_sha256_update(&ctx, pieces[i].len, pieces[i].data);
	hmac_sha256_digest(&ctx, HCOMM_MAC_SIZE, mac);
	explicit_bzero(&ctx, sizeof(ctx));
}

bool hcomm_mac_equal(const uint8_t *a, const uint8_t *b)
{
	return memeql_sec(a, b, HCOMM_MAC_SIZE);
}
