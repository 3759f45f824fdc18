// SPDX-License-Identifier: GPL-2.0-only
/* KUnit: encoding and decoding of messages, and what decoding must refuse. */
#include <kunit/test.h>
#include "../core/wire.h"

static const struct hcomm_msg sample = {
	.type = HCOMM_MSG_EAGER,
	.flags = HCOMM_MSG_F_CTS,
	.credits = 0x1234,
	.msg = 0x11223344,
	.chunk = 0x55667788,
	.len = 5,
	.run = 0x8877665544332211ull,
	.call = { .coll = HCOMM_COLL_ALLREDUCE, .dtype = HCOMM_DT_BF16,
		  .redop = HCOMM_OP_MAX, .root = 7, .count = 1ull << 40, .algo = 3,
		  .hash = 0xdeadbeef },
	.addr = 0x0102030405060708ull,
	.rkey = 0xa0b0c0d0,
	.imm = 0x01000200,
};

static void wire_round_trip(struct kunit *test)
{
	u8 buf[HCOMM_WIRE_HDR_SIZE + 5] = {};
	const u8 *payload;
	struct hcomm_msg m;

	KUNIT_ASSERT_EQ(test, hcomm_wire_encode(&sample, buf), HCOMM_WIRE_HDR_SIZE);
	KUNIT_ASSERT_EQ(test, hcomm_wire_decode(&m, buf, sizeof(buf), &payload), 0);
	KUNIT_EXPECT_PTR_EQ(test, payload, (const u8 *)buf + HCOMM_WIRE_HDR_SIZE);
	KUNIT_EXPECT_EQ(test, memcmp(&m, &sample, offsetof(struct hcomm_msg, fault)), 0);
	/* Little-endian, at the places that the format names. */
	KUNIT_EXPECT_EQ(test, buf[8], 0x44);
	KUNIT_EXPECT_EQ(test, buf[24], 0x11);
	KUNIT_EXPECT_EQ(test, buf[64 + 3], 0x01);
}

static void wire_abort(struct kunit *test)
{
	struct hcomm_msg in = { .type = HCOMM_MSG_ABORT }, out;
	u8 buf[HCOMM_WIRE_HDR_SIZE + HCOMM_WIRE_FAULT_SIZE];
	const u8 *payload;

	in.fault = (struct hcomm_fault){
		.error = EOWNERDEAD, .reason = HCOMM_FAULT_PEER_DIED, .rank = 3,
		.reporter = 1, .step = 17, .run = 99, .mine = sample.call,
	};
	KUNIT_ASSERT_EQ(test, hcomm_wire_encode(&in, buf), (u32)sizeof(buf));
	KUNIT_ASSERT_EQ(test, hcomm_wire_decode(&out, buf, sizeof(buf), &payload), 0);
	KUNIT_EXPECT_EQ(test, memcmp(&out.fault, &in.fault, sizeof(in.fault)), 0);
	KUNIT_EXPECT_EQ(test, hcomm_wire_decode(&out, buf, sizeof(buf) - 1, &payload),
			-EBADMSG);
}

static void wire_refuses(struct kunit *test)
{
	static const u8 zero_bytes[] = { 6, 7, 68, 69, 70, 71 };
	u8 good[HCOMM_WIRE_HDR_SIZE + 5] = {}, buf[sizeof(good)];
	const u8 *payload;
	struct hcomm_msg m;
	unsigned int i;

	hcomm_wire_encode(&sample, good);
	for (i = 0; i < sizeof(good); i++)
		KUNIT_EXPECT_EQ(test, hcomm_wire_decode(&m, good, i, &payload), -EBADMSG);
	for (i = 0; i < ARRAY_SIZE(zero_bytes); i++) {
		memcpy(buf, good, sizeof(buf));
		buf[zero_bytes[i]] = 1;
		KUNIT_EXPECT_EQ(test, hcomm_wire_decode(&m, buf, sizeof(buf), &payload),
				-EBADMSG);
	}
	memcpy(buf, good, sizeof(buf));
	buf[0] ^= 1;				/* magic */
	KUNIT_EXPECT_EQ(test, hcomm_wire_decode(&m, buf, sizeof(buf), &payload), -EBADMSG);
	memcpy(buf, good, sizeof(buf));
	buf[3] |= 2;				/* unknown flag */
	KUNIT_EXPECT_EQ(test, hcomm_wire_decode(&m, buf, sizeof(buf), &payload), -EBADMSG);
	/* RTS and FIN carry pointers or answer them: never from a network. */
	for (i = 0; i < 256; i++) {
		bool known = i >= HCOMM_MSG_EAGER && i < HCOMM_MSG_TYPES &&
			     i != HCOMM_MSG_RTS && i != HCOMM_MSG_FIN;
		bool plain = known && i != HCOMM_MSG_EAGER && i != HCOMM_MSG_ABORT;

		memcpy(buf, good, sizeof(buf));
		buf[2] = (u8)i;
		buf[3] = 0;
		KUNIT_EXPECT_EQ(test, hcomm_wire_decode(&m, buf, HCOMM_WIRE_HDR_SIZE, &payload),
				plain ? 0 : -EBADMSG);
	}
}

static struct kunit_case wire_cases[] = {
	KUNIT_CASE(wire_round_trip),
	KUNIT_CASE(wire_abort),
	KUNIT_CASE(wire_refuses),
	{}
};

static struct kunit_suite wire_suite = {
	.name = "hcomm_wire",
	.test_cases = wire_cases,
};

kunit_test_suite(wire_suite);
