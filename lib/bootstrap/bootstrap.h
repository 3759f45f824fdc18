/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Bootstrap: how the ranks of a new communicator meet, over TCP.
 *
 * One process runs the hub: a thread with one epoll loop, as long as the ranks
 * need it.  Every rank, also the one in the hub's process, connects to it and
 * takes part in rounds: each gives a blob and gets those of all.
 *
 * On a connection, both ends first prove that they know the secret:
 *
 *	hub -> rank	HELLO	magic[8] hub_nonce[32]
 *	rank -> hub	JOIN	magic[8] rank_nonce[32] rank[4] nranks[4] mac[32]
 *	hub -> rank	ACCEPT	mac[32]
 *
 * with MACs (HMAC-SHA256, key: the secret) over the label of the sender, both
 * nonces, uuid, rank and nranks.  Frames follow:
 *
 *	len[4] type[4] payload[len] mac[32]
 *
 * with a key made from secret and nonces, over direction, frame number, header
 * and payload.  Integers are little endian.  Nothing is encrypted: what travels
 * (addresses, options) is no secret, and nobody without the secret can join,
 * alter or inject anything.  Such a stranger is dropped, after AUTH_TIMEOUT at
 * the latest, and can't keep ranks from joining.
 */
#ifndef HCOMM_BOOTSTRAP_H
#define HCOMM_BOOTSTRAP_H

#include <hcomm/hcomm.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#define HCOMM_BS_MAX_ADDRS	4u
#define HCOMM_BS_MAX_BLOB	65536u
#define HCOMM_BS_MAX_TOTAL	(256u << 20)

/**
 * struct hcomm_meeting - where ranks meet, and what they know
 * @addrs: addresses of the hub, tried in turn
 * @naddrs: how many
 * @secret: secret of the job
 * @uuid: identity of the meeting; mixed into the proofs
 */
struct hcomm_meeting {
	struct sockaddr_storage addrs[HCOMM_BS_MAX_ADDRS];
	uint32_t naddrs;
	uint8_t secret[32];
	uint8_t uuid[16];
};

/* ------------------------------------------------------------------ unique id */

/* a meeting as 128 bytes, and back; unpack fails for bytes that are none */
void hcomm_uid_pack(const struct hcomm_meeting *meeting, hcommUniqueId *id);
hcommResult_t hcomm_uid_unpack(const hcommUniqueId *id,
			       struct hcomm_meeting *meeting);

/* ------------------------------------------------------------------ addresses */

/**
 * hcomm_addr_local - addresses of this host that other ranks may reach
 * @filter: names of interfaces ("eth0,eth1" or "^eth2"), NULL: all
 * @addrs: out: HCOMM_BS_MAX_ADDRS addresses, without port
 * @count: out: how many, at least 1
 *
 * Interfaces that are up, the one with the default route first; loopback only
 * if there is nothing else or @filter names it.  No link-local addresses.
 */
hcommResult_t hcomm_addr_local(const char *filter,
			       struct sockaddr_storage *addrs, uint32_t *count);

/* all addresses of a host name, at most HCOMM_BS_MAX_ADDRS */
hcommResult_t hcomm_addr_resolve(const char *host, uint16_t port,
				 struct sockaddr_storage *addrs,
				 uint32_t *count);

/* "1.2.3.4:5" or "[::1]:5", in a buffer of the thread */
const char *hcomm_addr_text(const struct sockaddr_storage *addr);

socklen_t hcomm_addr_len(const struct sockaddr_storage *addr);
void hcomm_addr_set_port(struct sockaddr_storage *addr, uint16_t port);
uint16_t hcomm_addr_port(const struct sockaddr_storage *addr);

/**
 * hcomm_name_listed - is a name selected by a list?
 * @list: "a,b": only these; "^a,b": all but these; NULL: all
 * @name: name
 */
bool hcomm_name_listed(const char *list, const char *name);

/* ------------------------------------------------------------------------ hub */

/**
 * hcomm_hub_start - open the port and start the hub
 * @meeting: secret, uuid and addresses; port 0 is replaced by the one in use
 * @some: if there are several addresses, those that are of this host are enough
 * @timeout_ms: for the ranks to come once the first has, and for each round
 *
 * The hub ends by itself when all ranks have said good-bye or after an error,
 * which it tells to all that are there.
 */
hcommResult_t hcomm_hub_start(struct hcomm_meeting *meeting, bool some,
			      uint64_t timeout_ms);

/* --------------------------------------------------------------------- client */

struct hcomm_bootstrap;

/**
 * hcomm_bootstrap_join - connect to the hub
 * @meeting: where
 * @rank: this rank
 * @nranks: number of ranks
 * @timeout_ms: to reach the hub; the same is waited, and some seconds more so
 *	that the hub can tell its reason, in each round
 * @out: out: to be given to hcomm_bootstrap_leave()
 *
 * Tries again while nobody listens there.
 */
hcommResult_t hcomm_bootstrap_join(const struct hcomm_meeting *meeting,
				   uint32_t rank, uint32_t nranks,
				   uint64_t timeout_ms,
				   struct hcomm_bootstrap **out);

/**
 * hcomm_bootstrap_gather - one round
 * @bs: connection
 * @blob: what this rank gives
 * @len: bytes, equal on all ranks, 1 to HCOMM_BS_MAX_BLOB, and at most
 *	HCOMM_BS_MAX_TOTAL over all ranks
 * @all: out: @nranks blobs in the order of ranks
 */
hcommResult_t hcomm_bootstrap_gather(struct hcomm_bootstrap *bs,
				     const void *blob, uint32_t len, void *all);

/* say good-bye and free; NULL is ignored */
void hcomm_bootstrap_leave(struct hcomm_bootstrap *bs);

#endif /* HCOMM_BOOTSTRAP_H */
