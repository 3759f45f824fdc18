/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The hub, shared by its two files: hub.c owns the thread, the listening sockets
 * and the rounds; hub_conn.c moves the bytes of one connection.
 *
 * Everything belongs to the hub's thread; there are no locks.
 */
#ifndef HCOMM_BS_HUB_H
#define HCOMM_BS_HUB_H

#include "../base/base.h"
#include "wire.h"

#define HUB_AUTH_MS	5000	/* for a connection to prove itself */
#define HUB_EVICT_MS	1000	/* may be evicted after, when there are too many */
#define HUB_MAX_PENDING	256u	/* connections that have not proven themselves */
#define HUB_LINGER_MS	3000	/* for an error to reach the ranks */

/* a message for all ranks; freed with its last user */
struct hub_shared {
	uint32_t users;
	uint32_t len;
	uint8_t data[];
};

enum conn_state {
	CONN_JOIN,	/* waits for JOIN */
	CONN_HEADER,	/* waits for a frame */
	CONN_BODY,	/* waits for its payload and MAC */
};

/**
 * struct hub_conn - one connection
 * @fd: socket
 * @state: what is being read
 * @next: list of all connections of the hub
 * @deadline: of JOIN
 * @since: when it was accepted
 * @rank: rank, once joined
 * @joined: it has proven that it knows the secret
 * @gave: its blob of this round is here
 * @bye: it said good-bye
 * @hub_nonce: our nonce
 * @key: session key
 * @received: frames
 * @sent: frames
 * @in: what is being read: JOIN, or payload and MAC
 * @in_room: size of @in
 * @in_want: bytes wanted
 * @in_have: bytes there
 * @header: header of the frame being read
 * @out: frame being written, NULL: none
 * @out_header: its header
 * @out_mac: its MAC
 * @out_done: bytes written
 * @error_sent: an ERROR was begun
 * @dead: to be freed at the end of the turn
 * @name: address, for messages
 */
struct hub_conn {
	int fd;
	enum conn_state state;
	struct hub_conn *next;
	int64_t deadline;
	int64_t since;
	uint32_t rank;
	bool joined;
	bool gave;
	bool bye;
	uint8_t hub_nonce[BS_NONCE_SIZE];
	uint8_t key[HCOMM_MAC_SIZE];
	uint64_t received;
	uint64_t sent;
	uint8_t *in;
	size_t in_room;
	size_t in_want;
	size_t in_have;
	struct bs_header header;
	struct hub_shared *out;
	struct bs_header out_header;
	uint8_t out_mac[HCOMM_MAC_SIZE];
	size_t out_done;
	bool error_sent;
	bool dead;
	char name[80];
};

/**
 * struct hub - the meeting point
 * @meeting: what must be known to join
 * @timeout_ms: of each phase
 * @epoll: epoll descriptor
 * @listen: listening sockets
 * @nlisten: how many
 * @listening: they are in the epoll set
 * @conns: all connections
 * @pending: those that have not joined
 * @strangers: those that failed to
 * @nranks: ranks, 0 before the first joined
 * @ranks: their connections, NULL: not here
 * @njoined: how many are here
 * @nbye: how many said good-bye
 * @round: rounds done
 * @blob_len: bytes of a blob of this round
 * @ngave: blobs that are here
 * @blobs: this round's blobs
 * @deadline: of this phase, INT64_MAX: nobody came yet
 * @error: ERROR for all ranks, NULL: all is well
 */
struct hub {
	struct hcomm_meeting meeting;
	uint64_t timeout_ms;
	int epoll;
	int listen[HCOMM_BS_MAX_ADDRS];
	uint32_t nlisten;
	bool listening;
	struct hub_conn *conns;
	uint32_t pending;
	uint32_t strangers;
	uint32_t nranks;
	struct hub_conn **ranks;
	uint32_t njoined;
	uint32_t nbye;
	uint32_t round;
	uint32_t blob_len;
	uint32_t ngave;
	struct hub_shared *blobs;
	int64_t deadline;
	struct hub_shared *error;
};

/* hub.c: what happens to connections */
bool hub_joined(struct hub *hub, struct hub_conn *conn, uint32_t rank,
		uint32_t nranks);
void hub_frame(struct hub *hub, struct hub_conn *conn, uint32_t type,
	       const uint8_t *payload, uint32_t len);
void hub_lost(struct hub *hub, struct hub_conn *conn);
void hub_fail(struct hub *hub, hcommResult_t code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* hub_conn.c */
struct hub_conn *hub_conn_new(struct hub *hub, int fd,
			      const struct sockaddr_storage *from);
void hub_conn_free(struct hub *hub, struct hub_conn *conn);
void hub_conn_event(struct hub *hub, struct hub_conn *conn, uint32_t events);
void hub_conn_send(struct hub *hub, struct hub_conn *conn, enum bs_frame type,
		   struct hub_shared *payload);
void hub_conn_drop(struct hub *hub, struct hub_conn *conn);

struct hub_shared *hub_shared_new(uint32_t len);
void hub_shared_put(struct hub_shared *shared);

#endif /* HCOMM_BS_HUB_H */
