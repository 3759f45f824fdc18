/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Proof that a peer knows the job secret: HMAC-SHA256 over a transcript that
 * holds a fresh nonce of each side, so that a proof is of no use later or
 * elsewhere.  The secret itself never leaves the kernel.
 */
#ifndef HCOMM_AUTH_H
#define HCOMM_AUTH_H

#include <linux/types.h>

#define HCOMM_AUTH_NONCE_SIZE	32
#define HCOMM_AUTH_MAC_SIZE	32

struct hcomm_auth;

/**
 * enum hcomm_auth_role - who proves
 * @HCOMM_AUTH_CONNECTOR: the side that connected
 * @HCOMM_AUTH_ACCEPTOR: the side that accepted
 *
 * Part of what is signed: a proof can't be sent back to who made it.
 */
enum hcomm_auth_role {
	HCOMM_AUTH_CONNECTOR = 1,
	HCOMM_AUTH_ACCEPTOR = 2,
};

/**
 * struct hcomm_auth_part - a piece of the transcript
 * @data: bytes
 * @len: number of bytes
 */
struct hcomm_auth_part {
	const void *data;
	u32 len;
};

struct hcomm_auth *hcomm_auth_alloc(const u8 *secret, u32 len);
void hcomm_auth_free(struct hcomm_auth *auth);

int hcomm_auth_sign(struct hcomm_auth *auth, enum hcomm_auth_role role,
		    const struct hcomm_auth_part *parts, u32 nparts, u8 *mac);
int hcomm_auth_check(struct hcomm_auth *auth, enum hcomm_auth_role role,
		     const struct hcomm_auth_part *parts, u32 nparts,
		     const u8 *mac);

#endif /* HCOMM_AUTH_H */
