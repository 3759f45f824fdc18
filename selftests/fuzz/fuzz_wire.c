// SPDX-License-Identifier: GPL-2.0-only
/* The wire format: any bytes decode or are refused, and what decodes, encodes. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	u8 again[HCOMM_WIRE_HDR_SIZE + HCOMM_WIRE_FAULT_SIZE];
	u8 *copy = malloc(size ? size : 1);	/* exact, for sanitizers */
	const u8 *payload = NULL;
	struct hcomm_msg msg;
	u32 n;

	FUZZ_CHECK(copy);
	if (size)
		memcpy(copy, data, size);
	if (!hcomm_wire_decode(&msg, copy, (u32)size, &payload)) {
		FUZZ_CHECK(msg.type > 0 && msg.type < HCOMM_MSG_TYPES);
		n = hcomm_wire_encode(&msg, again);
		FUZZ_CHECK(n <= sizeof(again) && n <= size);
		FUZZ_CHECK(!memcmp(again, copy, n));
		if (msg.type == HCOMM_MSG_EAGER)
			FUZZ_CHECK(payload == copy + n && n + msg.len == size);
		else
			FUZZ_CHECK(!payload && n == size);
	}
	free(copy);
	return 0;
}

size_t fuzz_make(struct sim_rng *rng, u8 *buf, size_t max)
{
	struct hcomm_msg msg;
	size_t n;

	rng_fill(rng, (u8 *)&msg, sizeof(msg));
	msg.type = (u8)rng_range(rng, 1, HCOMM_MSG_TYPES - 1);
	msg.flags = msg.type == HCOMM_MSG_EAGER ? msg.flags & HCOMM_MSG_F_CTS : 0;
	msg.len = msg.type == HCOMM_MSG_EAGER ? rng_below(rng, 200) : msg.len;
	msg.fault.pad = 0;
	n = hcomm_wire_encode(&msg, buf);
	if (msg.type == HCOMM_MSG_EAGER) {
		rng_fill(rng, buf + n, msg.len);
		n += msg.len;
	}
	return min(n, max);
}
