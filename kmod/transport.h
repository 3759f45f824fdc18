/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a transport is.  Built in are "local" and "rdma"; the table is found by
 * id, so another one is another entry.
 *
 * A link's life: link_alloc() (state IDLE), link_start() begins bring-up and
 * returns; the transport moves the state on from its own callbacks and works
 * (RESOLVING, CONNECTING, VERIFYING: authenticate, compare options, ping) to
 * READY, or to FAILED with a reason; the lower rank of the pair connects, the
 * higher one accepts.  While READY the engine calls el.ops under comm->lock.
 * link_stop() ends all traffic, link_free() the memory.
 */
#ifndef HCOMM_TRANSPORT_H
#define HCOMM_TRANSPORT_H

#include "comm.h"

/**
 * struct hcomm_transport - operations of a transport
 * @name: for sysfs and messages
 * @id: HCOMM_TRANSPORT_*
 * @index: index in comm->tdata
 * @direct: the engine may read the peer's memory (RTS/FIN)
 * @link_ops: what the engine calls; link.c initialises el with them
 * @init: module load; optional
 * @exit: module unload; optional
 * @comm_init: the communicator's part (listener, completion queue); fills in
 *	comm->listen.port; may sleep
 * @comm_exit: ends it; no link is left; may sleep
 * @comm_poll: under comm->lock: pass on at most @budget arrivals and
 *	completions to the engine; true if there may be more
 * @comm_polls: optional; any context: something may come that does not kick; without
 *	it whatever comes kicks
 * @comm_arm: under comm->lock: make sure that what comes from now on causes
 *	hcomm_comm_kick(); true if something came before that: poll again
 * @comm_help: optional; for a thread that waits and spins: do some of what a peer
 *	does with our memory; true if there was something
 * @link_alloc: make a link, state IDLE, el not initialised; may sleep
 * @link_start: begin bring-up; called once, link_lock held; may sleep; an error
 *	fails the link
 * @link_drain: under comm->lock: true when every send that the engine made on
 *	this link has left (its work request is complete)
 * @link_stop: end bring-up and traffic.  After it returns no callback runs,
 *	nothing is written to or read from this rank's memory over this link,
 *	and el.ops fail with -ENOTCONN.  No lock held; may sleep.  Safe in any
 *	state and more than once.
 * @link_free: free it; after link_stop() and hcomm_elink_exit()
 * @link_info: facts for sysfs; no lock held
 * @mem_prepare: make memory ready for el.ops->write/expose on this link, which
 *	is READY.  Called before a launch, no lock held, may sleep and allocate.
 *	Idempotent and cheap when done already.  NULL: nothing to do.
 */
struct hcomm_transport {
	const char *name;
	u32 id;
	u32 index;
	bool direct;
	const struct hcomm_link_ops *link_ops;
	int (*init)(void);
	void (*exit)(void);
	int (*comm_init)(struct hcomm_comm *comm);
	void (*comm_exit)(struct hcomm_comm *comm);
	bool (*comm_poll)(struct hcomm_comm *comm, u32 budget);
	bool (*comm_polls)(struct hcomm_comm *comm);
	bool (*comm_arm)(struct hcomm_comm *comm);
	bool (*comm_help)(struct hcomm_comm *comm);
	struct hcomm_link *(*link_alloc)(struct hcomm_comm *comm, u32 peer);
	int (*link_start)(struct hcomm_link *link);
	bool (*link_drain)(struct hcomm_link *link);
	void (*link_stop)(struct hcomm_link *link);
	void (*link_free)(struct hcomm_link *link);
	void (*link_info)(struct hcomm_link *link, struct hcomm_link_info *info);
	int (*mem_prepare)(struct hcomm_link *link, struct hcomm_memobj *mo);
};

extern const struct hcomm_transport hcomm_transport_local;
extern const struct hcomm_transport hcomm_transport_rdma;

#define HCOMM_NR_TRANSPORTS 2
extern const struct hcomm_transport * const hcomm_transports[HCOMM_NR_TRANSPORTS];

#endif /* HCOMM_TRANSPORT_H */
