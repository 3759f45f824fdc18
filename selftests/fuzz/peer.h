/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One engine under test, and a transport whose other ends are played by the fuzz
 * target: what the engine sends is kept in a list per link, until the target has
 * it answered, correctly or not.
 */
#ifndef HCOMM_FUZZ_PEER_H
#define HCOMM_FUZZ_PEER_H

#include "fuzz.h"

#define MAX_OUT 64

enum fuzz_out_kind {
	OUT_MSG,
	OUT_WRITE,
};

/* What the engine sent and nobody answered yet. */
struct fuzz_out {
	enum fuzz_out_kind kind;
	struct hcomm_msg msg;
	u32 len;
	u64 addr;
	u32 rkey;
	u32 imm;
	u32 cookie;
	struct hcomm_buf granted;	/* GRANT: where it may be written */
};

struct fuzz_link {
	struct hcomm_elink el;
	struct fuzz_host *host;
	struct fuzz_out out[MAX_OUT];
	u32 nout;
	struct hcomm_buf exposed;
	int fail;		/* what send and write return */
	bool again;		/* owes a tx_space */
	/* the good peer's state in one run */
	u32 recv_next;		/* next message that it sends */
	u32 recv_chunk;
	u32 send_next;		/* next message that it grants */
	u32 send_chunk;
	u32 rts_out;
	u32 grants_out;
	u32 credits;
	bool req_out;
};

struct fuzz_host {
	struct hcomm_engine eng;
	struct hcomm_mem staging;
	struct hcomm_span staging_span;
	struct fuzz_link *links;	/* by rank; of the own rank: unused */
	struct hcomm_elink *run_links[8];
	struct hcomm_prog *prog;
	struct hcomm_run *run;
	struct hcomm_mem mem[HCOMM_MAX_SLOTS];
	struct hcomm_span span[HCOMM_MAX_SLOTS];
	struct hcomm_buf slots[HCOMM_MAX_SLOTS];
	u8 *before[HCOMM_MAX_SLOTS];	/* slots at launch */
	u64 key;
	struct hcomm_call call;
	u32 faults;
	u32 dones;
	int status;
	u32 held;		/* messages that the engine holds */
};

/* Where bytes go that are only looked at. */
extern u8 fuzz_sink;

/* Takes the program over.  Slots have exactly the extent that the program needs. */
bool host_init(struct fuzz_host *h, const struct fuzz_prog *fp, struct hcomm_prog *prog,
	       u32 direct_mask, u32 tuning);
void host_launch(struct fuzz_host *h);
/* Run the engine until it has nothing to do. */
void host_run(struct fuzz_host *h);
/* Give the engine a message; the payload is copied. */
void host_rx(struct fuzz_host *h, struct fuzz_link *l, struct hcomm_msg *msg,
	     const u8 *payload);
/* A peer in good faith: answers the oldest message, or does something of its own. */
bool host_good_step(struct fuzz_host *h, struct fuzz_link *l);
/* End: runs are failed if need be; checks that nothing is left. */
void host_exit(struct fuzz_host *h);

#endif /* HCOMM_FUZZ_PEER_H */
