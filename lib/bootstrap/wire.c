// SPDX-License-Identifier: LGPL-2.1-or-later
/* Proofs of the bootstrap's connections, and the packing of unique ids. */
#include <endian.h>
#include <string.h>

#include "../base/base.h"
#include "wire.h"

const uint8_t bs_refused[HCOMM_MAC_SIZE] = "secret refused";

static void proof(const struct bs_proof *p, const char *label,
		  uint8_t mac[HCOMM_MAC_SIZE])
{
	uint32_t rank = htole32(p->rank), nranks = htole32(p->nranks);
	struct hcomm_piece pieces[] = {
		{ label, strlen(label) + 1 },
		{ p->hub_nonce, BS_NONCE_SIZE },
		{ p->rank_nonce, BS_NONCE_SIZE },
		{ p->meeting->uuid, sizeof(p->meeting->uuid) },
		HCOMM_PIECE(rank),
		HCOMM_PIECE(nranks),
	};

	hcomm_hmac(p->meeting->secret, sizeof(p->meeting->secret), pieces,
		   ARRAY_SIZE(pieces), mac);
}

void bs_proof_mac(const struct bs_proof *p, enum bs_side side,
		  uint8_t mac[HCOMM_MAC_SIZE])
{
	/* two labels: an answer can't be reflected to its sender */
	proof(p, side == BS_HUB ? "hcomm hub" : "hcomm rank", mac);
}

void bs_session_key(const struct bs_proof *p, uint8_t key[HCOMM_MAC_SIZE])
{
	proof(p, "hcomm session", key);
}

void bs_frame_mac(const uint8_t key[HCOMM_MAC_SIZE], enum bs_side from,
		  uint64_t number, const struct bs_header *header,
		  const void *payload, uint32_t len,
		  uint8_t mac[HCOMM_MAC_SIZE])
{
	uint8_t side = (uint8_t)from;
	struct hcomm_piece pieces[] = {
		HCOMM_PIECE(side),
		HCOMM_PIECE(number),
		{ header, sizeof(*header) },
		{ payload, len },
	};

	number = htole64(number);
	hcomm_hmac(key, HCOMM_MAC_SIZE, pieces, ARRAY_SIZE(pieces), mac);
}

/*
 * Unique id: magic[4] version[1] naddrs[1] port[2] secret[32] uuid[16], then 4
 * addresses of family[1] (4 or 6), zero[1], address[16].
 */
#define UID_MAGIC	"hcid"
#define UID_VERSION	1
#define UID_ADDRS	56
#define UID_ADDR_SIZE	18

_Static_assert(UID_ADDRS + HCOMM_BS_MAX_ADDRS * UID_ADDR_SIZE ==
	       HCOMM_UNIQUE_ID_BYTES, "the id is full");

void hcomm_uid_pack(const struct hcomm_meeting *m, hcommUniqueId *id)
{
	uint8_t *p = (uint8_t *)id->internal, *a;
	uint16_t port = htobe16(hcomm_addr_port(&m->addrs[0]));
	uint32_t i;

	memset(id, 0, sizeof(*id));
	memcpy(p, UID_MAGIC, 4);
	p[4] = UID_VERSION;
	p[5] = (uint8_t)m->naddrs;
	memcpy(p + 6, &port, 2);
	memcpy(p + 8, m->secret, 32);
	memcpy(p + 40, m->uuid, 16);
	for (i = 0; i < m->naddrs; i++) {
		const struct sockaddr_storage *ss = &m->addrs[i];

		a = p + UID_ADDRS + i * UID_ADDR_SIZE;
		a[0] = ss->ss_family == AF_INET ? 4 : 6;
		if (ss->ss_family == AF_INET)
			memcpy(a + 2, &((struct sockaddr_in *)ss)->sin_addr, 4);
		else
			memcpy(a + 2, &((struct sockaddr_in6 *)ss)->sin6_addr, 16);
	}
}

hcommResult_t hcomm_uid_unpack(const hcommUniqueId *id, struct hcomm_meeting *m)
{
	const uint8_t *p = (const uint8_t *)id->internal, *a;
	uint16_t port;
	uint32_t i;

	memset(m, 0, sizeof(*m));
	memcpy(&port, p + 6, 2);
	port = be16toh(port);
	m->naddrs = p[5];
	if (memcmp(p, UID_MAGIC, 4) || p[4] != UID_VERSION || !port ||
	    !m->naddrs || m->naddrs > HCOMM_BS_MAX_ADDRS)
		goto bad;
	memcpy(m->secret, p + 8, 32);
	memcpy(m->uuid, p + 40, 16);
	for (i = 0; i < m->naddrs; i++) {
		struct sockaddr_in *sin = (struct sockaddr_in *)&m->addrs[i];
		struct sockaddr_in6 *sin6 = (struct sockaddr_in6 *)&m->addrs[i];

		a = p + UID_ADDRS + i * UID_ADDR_SIZE;
		if (a[0] == 4) {
			sin->sin_family = AF_INET;
			memcpy(&sin->sin_addr, a + 2, 4);
		} else if (a[0] == 6) {
			sin6->sin6_family = AF_INET6;
			memcpy(&sin6->sin6_addr, a + 2, 16);
		} else {
			goto bad;
		}
		hcomm_addr_set_port(&m->addrs[i], port);
	}
	return HCOMM_SUCCESS;
bad:
	return hcomm_fail(HCOMM_ERR_INVALID_ARGUMENT,
			  "the unique id is not one that hcommGetUniqueId() of this version made");
}
