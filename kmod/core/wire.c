// SPDX-License-Identifier: GPL-2.0-only
/*
 * Wire format: a 72-byte little-endian header.
 *
 *   0 magic u16   2 type u8    3 flags u8   4 credits u16   6 zero u16
 *   8 msg u32    12 chunk u32 16 len u32   20 rkey u32
 *  24 run u64    32 call (24)  56 addr u64  64 imm u32     68 zero u32
 */
#include "wire.h"

static void put16(u8 *p, u16 v)
{
	p[0] = (u8)v;
	p[1] = (u8)(v >> 8);
}

static void put32(u8 *p, u32 v)
{
	put16(p, (u16)v);
	put16(p + 2, (u16)(v >> 16));
}

static void put64(u8 *p, u64 v)
{
	put32(p, (u32)v);
	put32(p + 4, (u32)(v >> 32));
}

static u16 get16(const u8 *p)
{
	return (u16)(p[0] | (u16)p[1] << 8);
}

static u32 get32(const u8 *p)
{
	return get16(p) | (u32)get16(p + 2) << 16;
}

static u64 get64(const u8 *p)
{
	return get32(p) | (u64)get32(p + 4) << 32;
}

static void put_call(u8 *p, const struct hcomm_call *c)
{
	put16(p, c->coll);
	p[2] = c->dtype;
	p[3] = c->redop;
	put32(p + 4, c->root);
	put64(p + 8, c->count);
	put32(p + 16, c->algo);
	put32(p + 20, c->hash);
}

static void get_call(const u8 *p, struct hcomm_call *c)
{
	c->coll = get16(p);
	c->dtype = p[2];
	c->redop = p[3];
	c->root = get32(p + 4);
	c->count = get64(p + 8);
	c->algo = get32(p + 16);
	c->hash = get32(p + 20);
}

static void put_fault(u8 *p, const struct hcomm_fault *f)
{
	put32(p, (u32)f->error);
	put32(p + 4, f->reason);
	put32(p + 8, f->rank);
	put32(p + 12, f->reporter);
	put32(p + 16, f->step);
	put32(p + 20, 0);
	put64(p + 24, f->run);
	put_call(p + 32, &f->mine);
	put_call(p + 56, &f->theirs);
}

static void get_fault(const u8 *p, struct hcomm_fault *f)
{
	f->error = (s32)get32(p);
	f->reason = get32(p + 4);
	f->rank = get32(p + 8);
	f->reporter = get32(p + 12);
	f->step = get32(p + 16);
	f->pad = get32(p + 20);
	f->run = get64(p + 24);
	get_call(p + 32, &f->mine);
	get_call(p + 56, &f->theirs);
}

u32 hcomm_wire_encode(const struct hcomm_msg *msg, u8 *buf)
{
	put16(buf, HCOMM_WIRE_MAGIC);
	buf[2] = msg->type;
	buf[3] = msg->flags;
	put16(buf + 4, msg->credits);
	put16(buf + 6, 0);
	put32(buf + 8, msg->msg);
	put32(buf + 12, msg->chunk);
	put32(buf + 16, msg->len);
	put32(buf + 20, msg->rkey);
	put64(buf + 24, msg->run);
	put_call(buf + 32, &msg->call);
	put64(buf + 56, msg->addr);
	put32(buf + 64, msg->imm);
	put32(buf + 68, 0);
	if (msg->type != HCOMM_MSG_ABORT)
		return HCOMM_WIRE_HDR_SIZE;
	put_fault(buf + HCOMM_WIRE_HDR_SIZE, &msg->fault);
	return HCOMM_WIRE_HDR_SIZE + HCOMM_WIRE_FAULT_SIZE;
}

int hcomm_wire_decode(struct hcomm_msg *msg, const u8 *buf, u32 len,
		      const u8 **payload)
{
	u32 want = 0;

	memset(msg, 0, sizeof(*msg));
	*payload = NULL;
	if (len < HCOMM_WIRE_HDR_SIZE || get16(buf) != HCOMM_WIRE_MAGIC ||
	    get16(buf + 6) || get32(buf + 68))
		return -EBADMSG;
	msg->type = buf[2];
	msg->flags = buf[3];
	msg->credits = get16(buf + 4);
	msg->msg = get32(buf + 8);
	msg->chunk = get32(buf + 12);
	msg->len = get32(buf + 16);
	msg->rkey = get32(buf + 20);
	msg->run = get64(buf + 24);
	get_call(buf + 32, &msg->call);
	msg->addr = get64(buf + 56);
	msg->imm = get32(buf + 64);

	switch (msg->type) {
	case HCOMM_MSG_EAGER:
		if (msg->len > HCOMM_MAX_EAGER_SIZE)
			return -EBADMSG;
		want = msg->len;
		break;
	case HCOMM_MSG_ABORT:
		want = HCOMM_WIRE_FAULT_SIZE;
		break;
	case HCOMM_MSG_REQ:
	case HCOMM_MSG_CTS:
	case HCOMM_MSG_GRANT:
	case HCOMM_MSG_CREDIT:
	case HCOMM_MSG_TELL:
	case HCOMM_MSG_TOLD:
	case HCOMM_MSG_BYE:
	case HCOMM_MSG_BYE_ACK:
		break;
	default:
		/* RTS and FIN never cross a network. */
		return -EBADMSG;
	}
	if (msg->flags & ~(msg->type == HCOMM_MSG_EAGER ? HCOMM_MSG_F_CTS :
			   msg->type == HCOMM_MSG_TOLD ? HCOMM_MSG_F_OVER : 0u))
		return -EBADMSG;
	if (len - HCOMM_WIRE_HDR_SIZE != want)
		return -EBADMSG;
	if (msg->type == HCOMM_MSG_EAGER) {
		*payload = buf + HCOMM_WIRE_HDR_SIZE;
	} else if (msg->type == HCOMM_MSG_ABORT) {
		get_fault(buf + HCOMM_WIRE_HDR_SIZE, &msg->fault);
		if (msg->fault.pad)
			return -EBADMSG;
	}
	return 0;
}
