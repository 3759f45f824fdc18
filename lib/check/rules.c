// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The rules that need no run: those of the kernel's verifier, written down
 * again from the ABI's text, and the bounds of buffers.
 */
#include <errno.h>
#include <stdlib.h>

#include "internal.h"

static int rule(struct checker *c, uint32_t rank, uint32_t step, const char *what)
{
	return chk_fail(c, HCOMM_CHECK_RULE, rank, step, "%s", what);
}

static int check_range(struct checker *c, uint32_t rank, uint32_t step,
		       uint32_t slot, uint64_t off, uint64_t len, bool write)
{
	uint64_t size;

	if (slot >= c->progs[rank].nslots)
		return rule(c, rank, step, "slot is not below nslots");
	if (off + len < off)
		return rule(c, rank, step, "offset + len overflows");
	if (!len)
		return 0;
	size = slot_size(c, rank, slot);
	if (off + len > size) {
		c->res->slot = slot;
		c->res->byte = off > size ? off : size;
		return chk_fail(c, HCOMM_CHECK_RULE, rank, step,
			    "bytes %llu to %llu of slot %u, which has %llu",
			    (unsigned long long)off,
			    (unsigned long long)(off + len), slot,
			    (unsigned long long)size);
	}
	if (write && slot == HCOMM_SLOT_SEND)
		return chk_fail(c, HCOMM_CHECK_INPUT, rank, step,
			    "writes the input: use slot 1 or 2");
	return 0;
}

static int check_deps(struct checker *c, uint32_t rank, uint32_t i)
{
	const struct hcomm_check_prog *p = &c->progs[rank];
	const struct hcomm_step *s = &p->steps[i];
	uint32_t k, streams = 0;

	for (k = 0; k < s->dep_count; k++) {
		uint32_t dep = p->deps[s->dep_first + k];
		uint32_t idx = HCOMM_DEP_INDEX(dep);

		if (idx >= i)
			return rule(c, rank, i, "depends on itself or a later step");
		if (!(dep & HCOMM_DEP_STREAM))
			continue;
		if (streams != k)
			return rule(c, rank, i,
				    "streaming dependency behind a plain one");
		if (++streams > HCOMM_MAX_STREAM_DEPS)
			return rule(c, rank, i, "too many streaming dependencies");
		if (p->steps[idx].len != s->len)
			return rule(c, rank, i,
				    "streaming dependency between different lengths");
	}
	return 0;
}

static bool operation_known(const struct hcomm_step *s)
{
	uint32_t size = hcomm_dtype_bytes(s->dtype);

	if (!size || s->op != HCOMM_STEP_SCALE)
		return size && s->redop < HCOMM_OP_COUNT &&
		       HCOMM_OP_FITS(s->redop, s->dtype);
	if (s->redop == HCOMM_SCALE_DIV)
		return s->operand && s->operand <= HCOMM_MAX_RANKS;
	return s->redop == HCOMM_SCALE_MUL && (size == 8 || !(s->operand >> (8 * size)));
}

static int check_step(struct checker *c, uint32_t rank, uint32_t i,
		      uint32_t *msgs, uint32_t *npeers)
{
	const struct hcomm_step *s = &c->progs[rank].steps[i];
	uint32_t *msg, reserved = s->flags, k;
	bool peer, type;
	uint64_t end;
	int err = 0;

	if (s->op >= HCOMM_STEP_COUNT)
		return rule(c, rank, i, "unknown op");
	for (k = 0; k < sizeof(s->reserved) / sizeof(s->reserved[0]); k++)
		reserved |= s->reserved[k];
	if (reserved)
		return rule(c, rank, i, "reserved field is set");
	peer = s->op == HCOMM_STEP_SEND || is_recv(s);
	type = s->op == HCOMM_STEP_RECV_REDUCE || s->op == HCOMM_STEP_REDUCE ||
	       s->op == HCOMM_STEP_SCALE;
	if ((!peer && (s->peer || s->msg)) ||
	    (s->op != HCOMM_STEP_SCALE && s->operand) ||
	    (!type && (s->dtype || s->redop)) ||
	    (!reads_slot(s) && (s->src_slot || s->src_off)) ||
	    (!writes_slot(s) && (s->dst_slot || s->dst_off)) ||
	    (s->op == HCOMM_STEP_NOP && s->len))
		return rule(c, rank, i, "a field that this op does not use is set");
	if (type && !operation_known(s))
		return rule(c, rank, i,
			    "unknown dtype or redop, or the dtype has no such redop");
	if (s->len > HCOMM_MAX_STEP_LEN ||
	    (type && s->len % hcomm_dtype_bytes(s->dtype)))
		return rule(c, rank, i,
			    "too long, or not a multiple of the element size");
	if (reads_slot(s))
		err = check_range(c, rank, i, s->src_slot, s->src_off, s->len, false);
	if (!err && writes_slot(s))
		err = check_range(c, rank, i, s->dst_slot, s->dst_off, s->len, true);
	if (err)
		return err;

	/* overlap of source and destination */
	if (reads_slot(s) && writes_slot(s) && s->src_slot == s->dst_slot && s->len) {
		end = (s->src_off > s->dst_off ? s->dst_off : s->src_off) + s->len;
		if ((s->src_off != s->dst_off || s->op == HCOMM_STEP_REDUCE) &&
		    end > s->src_off && end > s->dst_off)
			return rule(c, rank, i, "source and destination overlap");
	}

	if (peer) {
		if (s->peer >= c->n || s->peer == rank)
			return rule(c, rank, i, "peer is no other rank");
		msg = &msgs[2 * s->peer];
		if (!msg[0] && !msg[1] && ++*npeers > HCOMM_MAX_PEERS)
			return rule(c, rank, i, "too many peers");
		msg += is_recv(s);
		if (s->msg != *msg)
			return chk_fail(c, HCOMM_CHECK_RULE, rank, i,
				    "message number must be %u, the next of this pair",
				    *msg);
		++*msg;
	}
	return check_deps(c, rank, i);
}

static int check_prog(struct checker *c, uint32_t rank, uint32_t *msgs)
{
	const struct hcomm_check_prog *p = &c->progs[rank];
	uint32_t i, dep = 0, npeers = 0;
	int err = 0;

	if (!p->nsteps || p->nsteps > HCOMM_MAX_STEPS ||
	    p->ndeps > HCOMM_MAX_DEPS || p->nslots > 3)
		return rule(c, rank, HCOMM_CHECK_NO_STEP,
			    "number of steps, dependencies or slots is out of range");
	for (i = 0; i < p->nsteps; i++) {
		const struct hcomm_step *s = &p->steps[i];

		if (s->dep_first != dep || s->dep_count > p->ndeps - dep) {
			err = rule(c, rank, i,
				   "its dependencies do not follow those of the step before");
			break;
		}
		dep += s->dep_count;
		err = check_step(c, rank, i, msgs, &npeers);
		if (err)
			break;
	}
	/* leave the counters as they were */
	for (i = 0; i < p->nsteps; i++) {
		if (p->steps[i].peer < c->n) {
			msgs[2 * p->steps[i].peer] = 0;
			msgs[2 * p->steps[i].peer + 1] = 0;
		}
	}
	if (!err && dep != p->ndeps)
		err = rule(c, rank, HCOMM_CHECK_NO_STEP,
			   "dependencies that belong to no step");
	return err;
}

int chk_rules(struct checker *c)
{
	uint32_t *msgs = calloc(c->n, 2 * sizeof(*msgs)), rank;
	int err = msgs ? 0 : -ENOMEM;

	for (rank = 0; !err && rank < c->n; rank++)
		err = check_prog(c, rank, msgs);
	free(msgs);
	return err;
}
