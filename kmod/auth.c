// SPDX-License-Identifier: GPL-2.0-only
/*
 * Proof of the job secret, see auth.h.  A struct hcomm_auth belongs to one
 * communicator, is immutable after hcomm_auth_alloc() and may be used by
 * several threads at once.
 */
#include <crypto/algapi.h>
#include <crypto/hash.h>
#include <linux/err.h>
#include <linux/slab.h>
#include <linux/string.h>
#include "auth.h"

static const char hcomm_auth_label[] = "hcomm link proof, version 1";

struct hcomm_auth {
	struct crypto_shash *tfm;
};

/**
 * hcomm_auth_alloc - make a prover and checker
 * @secret: job secret
 * @len: its length
 *
 * Return: the object or ERR_PTR.
 */
struct hcomm_auth *hcomm_auth_alloc(const u8 *secret, u32 len)
{
	struct hcomm_auth *auth;
	int ret;

	auth = kzalloc(sizeof(*auth), GFP_KERNEL_ACCOUNT);
	if (!auth)
		return ERR_PTR(-ENOMEM);

	auth->tfm = crypto_alloc_shash("hmac(sha256)", 0, 0);
	if (IS_ERR(auth->tfm)) {
		ret = PTR_ERR(auth->tfm);
		goto err_free;
	}
	ret = crypto_shash_setkey(auth->tfm, secret, len);
	if (ret)
		goto err_tfm;
	return auth;

err_tfm:
	crypto_free_shash(auth->tfm);
err_free:
	kfree(auth);
	return ERR_PTR(ret);
}

/**
 * hcomm_auth_free - end it
 * @auth: object or NULL
 */
void hcomm_auth_free(struct hcomm_auth *auth)
{
	if (!auth)
		return;
	crypto_free_shash(auth->tfm);
	kfree(auth);
}

/**
 * hcomm_auth_sign - make a proof
 * @auth: object
 * @role: who proves
 * @parts: transcript
 * @nparts: number of parts
 * @mac: out: HCOMM_AUTH_MAC_SIZE bytes
 *
 * The parts have fixed lengths in every protocol version, so their
 * concatenation is unambiguous.
 *
 * Return: 0 or negative errno.
 */
int hcomm_auth_sign(struct hcomm_auth *auth, enum hcomm_auth_role role,
		    const struct hcomm_auth_part *parts, u32 nparts, u8 *mac)
{
	SHASH_DESC_ON_STACK(desc, auth->tfm);
	u8 r = role;
	u32 i;
	int ret;

	desc->tfm = auth->tfm;
	ret = crypto_shash_init(desc);
	if (!ret)
		ret = crypto_shash_update(desc, hcomm_auth_label,
					  sizeof(hcomm_auth_label));
	if (!ret)
		ret = crypto_shash_update(desc, &r, 1);
	for (i = 0; !ret && i < nparts; i++)
		ret = crypto_shash_update(desc, parts[i].data, parts[i].len);
	if (!ret)
		ret = crypto_shash_final(desc, mac);
	shash_desc_zero(desc);
	return ret;
}

/**
 * hcomm_auth_check - check a peer's proof
 * @auth: object
 * @role: who proved
 * @parts: transcript
 * @nparts: number of parts
 * @mac: the proof
 *
 * Return: 0, -EACCES if it is wrong, or another negative errno.
 */
int hcomm_auth_check(struct hcomm_auth *auth, enum hcomm_auth_role role,
		     const struct hcomm_auth_part *parts, u32 nparts,
		     const u8 *mac)
{
	u8 want[HCOMM_AUTH_MAC_SIZE];
	int ret;

	ret = hcomm_auth_sign(auth, role, parts, nparts, want);
	if (!ret && crypto_memneq(want, mac, sizeof(want)))
		ret = -EACCES;
	memzero_explicit(want, sizeof(want));
	return ret;
}
