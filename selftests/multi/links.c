// SPDX-License-Identifier: GPL-2.0-only
/* Who connects: the lower rank, the higher, or both at once. */
#include "multi.h"

/* The lower rank of the pair has no need of the link, and need not have. */
void higher_connects(void)
{
	struct hcomm_link_open arg;
	struct node x;

	node_open(&x, nodes, NULL);
	node_memory(&x, 65536);
	if (me == nodes - 1) {
		NEED0(link_open(&x, 0, &arg));
		EQ(HCOMM_LINK_READY, arg.out_state);
		CHECK(arg.out_rtt_ns > 0, " ");
	}
	meet(nodes);
	ring_pass(&x, 5000, false, 0, 1);
	meet(nodes);
	node_close(&x);
}

/*
 * The higher rank gives the lower half a second.  Begin on both sides so that
 * they meet: before, at, and after that time.
 */
void both_connect(void)
{
	for (int k = 0; k < 8; k++) {
		struct node x;

		node_open(&x, nodes, NULL);
		node_memory(&x, 65536);
		meet(nodes);
		usleep((nodes - 1 - me) * (470000 + k * 10000) / (nodes - 1));
		for (uint32_t peer = 0; peer < nodes; peer++) {
			struct hcomm_link_open arg;

			if (peer == me)
				continue;
			NEED0(link_open(&x, peer, &arg));
			EQ(HCOMM_LINK_READY, arg.out_state);
		}
		ring_pass(&x, 5000, false, 0, k);
		meet(nodes);
		node_close(&x);
	}
}
