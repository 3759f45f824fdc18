/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Messages between two engines.  struct hcomm_msg is the form in memory;
 * encode and decode turn it into the little-endian header that goes over a
 * network.  The header is followed by the payload of an EAGER message or by the
 * fault of an ABORT message.
 */
#ifndef HCOMM_CORE_WIRE_H
#define HCOMM_CORE_WIRE_H

#include "platform.h"
#include "mem.h"

/**
 * enum hcomm_msg_type - messages
 * @HCOMM_MSG_EAGER: a whole message of at most eager_size bytes
 * @HCOMM_MSG_REQ: the sender has this eager message but no credit
 * @HCOMM_MSG_CTS: the eager message of a REQ may be sent now
 * @HCOMM_MSG_GRANT: the chunk may be written to addr/rkey; then notify imm
 * @HCOMM_MSG_RTS: the chunk may be read from src (links with direct access)
 * @HCOMM_MSG_FIN: the chunk of an RTS was read
 * @HCOMM_MSG_CREDIT: nothing but credits
 * @HCOMM_MSG_TELL: the sender waits in this run; its call is this
 * @HCOMM_MSG_TOLD: a TELL was seen; with HCOMM_MSG_F_OVER its run is over there
 * @HCOMM_MSG_ABORT: the communicator is dead; fault says why
 * @HCOMM_MSG_BYE: the sender leaves; it needs nothing more from this link
 * @HCOMM_MSG_BYE_ACK: everything before the BYE was seen
 */
enum hcomm_msg_type {
	HCOMM_MSG_EAGER = 1,
	HCOMM_MSG_REQ,
	HCOMM_MSG_CTS,
	HCOMM_MSG_GRANT,
	HCOMM_MSG_RTS,
	HCOMM_MSG_FIN,
	HCOMM_MSG_CREDIT,
	HCOMM_MSG_TELL,
	HCOMM_MSG_TOLD,
	HCOMM_MSG_ABORT,
	HCOMM_MSG_BYE,
	HCOMM_MSG_BYE_ACK,
	/* private: */
	HCOMM_MSG_TYPES,
};

/* On EAGER: sent under a CTS, not under a credit. */
#define HCOMM_MSG_F_CTS		BIT(0)
/* On TOLD: all that this rank does in the run is done. */
#define HCOMM_MSG_F_OVER	BIT(1)

/**
 * struct hcomm_msg - one message
 * @type: enum hcomm_msg_type
 * @flags: HCOMM_MSG_F_*
 * @credits: eager credits given back
 * @run: run key
 * @msg: message number
 * @chunk: chunk index
 * @len: bytes of the message or chunk
 * @call: fingerprint (EAGER, REQ, GRANT, RTS, TELL)
 * @addr: GRANT: address; BYE, and TOLD with HCOMM_MSG_F_OVER: number of messages sent
 *	before it
 * @rkey: GRANT: key of @addr
 * @imm: GRANT: what to notify
 * @src: RTS: where to read; only on links within one kernel, never encoded.
 *	The transport keeps the memory alive until the receiver releases the
 *	message.
 * @fault: ABORT: the cause
 */
struct hcomm_msg {
	u8 type;
	u8 flags;
	u16 credits;
	u32 msg;
	u32 chunk;
	u32 len;
	u64 run;
	struct hcomm_call call;
	u64 addr;
	u32 rkey;
	u32 imm;
	union {
		struct hcomm_buf src;
		struct hcomm_fault fault;
	};
};

/**
 * hcomm_msg_copy - copy a message
 * @to: copy
 * @from: message
 *
 * More than half of one is the fault, which only an ABORT has.
 */
static inline void hcomm_msg_copy(struct hcomm_msg *to, const struct hcomm_msg *from)
{
	to->type = from->type;
	to->flags = from->flags;
	to->credits = from->credits;
	to->msg = from->msg;
	to->chunk = from->chunk;
	to->len = from->len;
	to->run = from->run;
	to->call = from->call;
	to->addr = from->addr;
	to->rkey = from->rkey;
	to->imm = from->imm;
	if (from->type == HCOMM_MSG_ABORT)
		to->fault = from->fault;
	else
		to->src = from->src;
}

#define HCOMM_WIRE_HDR_SIZE	72u	/* encoded header */
#define HCOMM_WIRE_FAULT_SIZE	80u	/* encoded fault behind an ABORT header */
#define HCOMM_WIRE_MAGIC	0x4843u

/**
 * hcomm_wire_encode - write the header, and the fault of an ABORT
 * @msg: message
 * @buf: HCOMM_WIRE_HDR_SIZE (+ HCOMM_WIRE_FAULT_SIZE for ABORT) bytes
 *
 * Return: bytes written.
 */
u32 hcomm_wire_encode(const struct hcomm_msg *msg, u8 *buf);

/**
 * hcomm_wire_decode - read and check a header
 * @msg: out: message
 * @buf: what arrived
 * @len: its length
 * @payload: out: payload of an EAGER message, inside @buf
 *
 * Trusts nothing: unknown type or flag, a length that does not match what
 * arrived, or nonzero reserved bytes are refused.
 *
 * Return: 0 or -EBADMSG.
 */
int hcomm_wire_decode(struct hcomm_msg *msg, const u8 *buf, u32 len,
		      const u8 **payload);

#endif /* HCOMM_CORE_WIRE_H */
