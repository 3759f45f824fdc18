// SPDX-License-Identifier: GPL-2.0-only
/*
 * Programs from fuzz inputs, in a form in which a mutation of few bytes gives a
 * program that is almost right, and the rules of the ABI header written a second
 * time, without the verifier's tricks.
 *
 * A step is: op, control, then what the control asks for.
 */
#include <stdio.h>
#include "fuzz.h"

#define C_MSG	1	/* message number from the input, else the right one */
#define C_FIRST	2	/* dep_first from the input, else the right one */
#define C_WIDE	4	/* offsets and length are 64 bits */
#define C_JUNK	8	/* unused and reserved fields from the input */
#define OP_RAW	0x80	/* struct hcomm_step as it is */

long hcomm_user_alloc_budget = -1;

void fuzz_failed(const char *file, int line, const char *what)
{
	fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, what);
	abort();
}

static bool has_peer(u32 op)
{
	return op == HCOMM_STEP_SEND || op == HCOMM_STEP_RECV || op == HCOMM_STEP_RECV_REDUCE;
}

static bool has_src(u32 op)
{
	return op == HCOMM_STEP_SEND || op == HCOMM_STEP_RECV_REDUCE ||
	       op == HCOMM_STEP_COPY || op == HCOMM_STEP_REDUCE || op == HCOMM_STEP_SCALE;
}

static bool has_dst(u32 op)
{
	return op == HCOMM_STEP_RECV || op == HCOMM_STEP_RECV_REDUCE ||
	       op == HCOMM_STEP_COPY || op == HCOMM_STEP_REDUCE || op == HCOMM_STEP_SCALE;
}

static bool has_type(u32 op)
{
	return op == HCOMM_STEP_RECV_REDUCE || op == HCOMM_STEP_REDUCE || op == HCOMM_STEP_SCALE;
}

static u32 type_size(u32 dtype)
{
	static const u8 size[HCOMM_DT_COUNT] = { 1, 1, 2, 2, 4, 4, 8, 8, 2, 2, 4, 8, 1, 1 };

	return dtype < HCOMM_DT_COUNT ? size[dtype] : 0;
}

static bool operation_valid(const struct hcomm_step *s)
{
	if (s->op != HCOMM_STEP_SCALE)
		return !s->operand && s->redop < (s->dtype < HCOMM_DT_FP16 ? 10 : 4);
	if (s->redop == HCOMM_SCALE_DIV)
		return s->operand >= 1 && s->operand <= HCOMM_MAX_RANKS;
	return s->redop == HCOMM_SCALE_MUL &&
	       (type_size(s->dtype) == 8 || s->operand < 1ull << (8 * type_size(s->dtype)));
}

static void read_step(struct fuzz_in *in, struct fuzz_prog *fp, struct hcomm_step *s,
		      u32 (*msgs)[2])
{
	u8 op = in_u8(in), c;
	u32 i;

	if (op & OP_RAW) {
		for (i = 0; i < sizeof(*s); i++)
			((u8 *)s)[i] = in_u8(in);
		return;
	}
	s->op = op;
	c = in_u8(in);
	if (has_peer(op)) {
		s->peer = in_u8(in);
		if (c & C_MSG)
			s->msg = in_u8(in);
		else if (s->peer < 256)
			s->msg = msgs[s->peer][op != HCOMM_STEP_SEND]++;
	}
	if (has_type(op)) {
		s->dtype = in_u8(in);
		s->redop = in_u8(in);
	}
	if (op == HCOMM_STEP_SCALE)
		s->operand = c & C_WIDE ? in_u64(in) : in_u8(in);
	if (has_src(op)) {
		s->src_slot = in_u8(in);
		s->src_off = c & C_WIDE ? in_u64(in) : in_u16(in);
	}
	if (has_dst(op)) {
		s->dst_slot = in_u8(in);
		s->dst_off = c & C_WIDE ? in_u64(in) : in_u16(in);
	}
	if (has_src(op) || has_dst(op))
		s->len = c & C_WIDE ? in_u64(in) : in_u16(in);
	s->dep_count = in_u8(in);
	s->dep_first = c & C_FIRST ? in_u32(in) : fp->ndeps;
	if (c & C_JUNK) {
		((u8 *)s)[in_u8(in) % sizeof(*s)] = in_u8(in);
		s->reserved[in_u8(in) & 1] = in_u8(in);
	}
}

/* Dependencies follow their step: how far back, and whether they stream. */
static void read_deps(struct fuzz_in *in, struct fuzz_prog *fp, u32 i)
{
	u32 n = min_t(u32, fp->steps[i].dep_count, 64);

	while (n--) {
		u32 d = in_u8(in);
		u32 back = 1 + (d & 0x3f);

		fp->deps[fp->ndeps++] = (i - back) | (d & 0x80 ? HCOMM_DEP_STREAM : 0);
		if (d & 0x40)
			fp->deps[fp->ndeps - 1] = in_u32(in);
	}
}

void fuzz_read_prog(struct fuzz_in *in, struct fuzz_prog *fp)
{
	static const u32 chunks[4] = { 512, 1024, 2048, 4096 };
	static const u32 eagers[4] = { 0, 64, 192, 1024 };
	u32 msgs[256][2] = {};
	u32 i, extra;

	memset(fp, 0, sizeof(*fp));
	fp->par.nranks = 1 + in_u8(in) % 8;
	fp->par.rank = in_u8(in) % fp->par.nranks;
	fp->par.chunk_size = chunks[in_u8(in) & 3];
	fp->par.eager_size = eagers[in_u8(in) & 3];
	fp->nslots = in_u8(in) % (HCOMM_MAX_SLOTS + 1);
	fp->nsteps = 1 + in_u8(in) % 64;
	extra = in_u8(in) & 3;
	fp->steps = hcomm_zalloc_array(fp->nsteps, sizeof(*fp->steps));
	fp->deps = hcomm_zalloc_array(fp->nsteps * 64 + 4, sizeof(*fp->deps));
	for (i = 0; i < fp->nsteps; i++) {
		read_step(in, fp, &fp->steps[i], msgs);
		read_deps(in, fp, i);
	}
	/* Rarely: more dependencies than steps speak of. */
	if (extra == 3)
		fp->ndeps++;
}

static bool range_valid(const struct fuzz_prog *fp, u32 slot, u64 off, u64 len)
{
	return slot < fp->nslots && off + len >= off;
}

static bool deps_valid(const struct fuzz_prog *fp, u32 i, u32 *next)
{
	const struct hcomm_step *s = &fp->steps[i];
	u32 k, streams = 0;
	bool plain = false;

	/* The lists of the steps follow one another. */
	if (s->dep_first != *next || s->dep_count > fp->ndeps - *next)
		return false;
	*next += s->dep_count;
	for (k = 0; k < s->dep_count; k++) {
		u32 d = fp->deps[s->dep_first + k], t = d & 0x7fffffffu;

		if (t >= i)
			return false;
		if (!(d >> 31)) {
			plain = true;
			continue;
		}
		if (plain || fp->steps[t].len != s->len || ++streams > HCOMM_MAX_STREAM_DEPS)
			return false;
	}
	return true;
}

bool fuzz_prog_valid(const struct fuzz_prog *fp)
{
	u32 i, k, next = 0;

	if (!fp->nsteps || fp->nslots > HCOMM_MAX_SLOTS)
		return false;
	for (i = 0; i < fp->nsteps; i++) {
		const struct hcomm_step *s = &fp->steps[i];
		u32 op = s->op, msg = 0;

		if (op > HCOMM_STEP_SCALE || s->flags)
			return false;
		for (k = 0; k < 2; k++)
			if (s->reserved[k])
				return false;
		if (has_peer(op)) {
			if (s->peer >= fp->par.nranks || s->peer == fp->par.rank)
				return false;
			for (k = 0; k < i; k++)
				if (has_peer(fp->steps[k].op) && fp->steps[k].peer == s->peer &&
				    (fp->steps[k].op == HCOMM_STEP_SEND) == (op == HCOMM_STEP_SEND))
					msg++;
			if (s->msg != msg)
				return false;
		} else if (s->peer || s->msg) {
			return false;
		}
		if (s->len > HCOMM_MAX_STEP_LEN)
			return false;
		if (has_src(op) ? !range_valid(fp, s->src_slot, s->src_off, s->len) :
				  s->src_slot || s->src_off)
			return false;
		if (has_dst(op) ? !range_valid(fp, s->dst_slot, s->dst_off, s->len) :
				  s->dst_slot || s->dst_off)
			return false;
		if (!has_src(op) && !has_dst(op) && s->len)
			return false;
		if (has_type(op) ? !type_size(s->dtype) || s->len % type_size(s->dtype) ||
				   !operation_valid(s) :
				   s->dtype || s->redop || s->operand)
			return false;
		if (!deps_valid(fp, i, &next))
			return false;
	}
	return next == fp->ndeps;
}

/* -------------------------------------------------------------- generating */

static void put(u8 *buf, size_t max, size_t *used, u64 v, u32 bytes)
{
	while (bytes--) {
		if (*used < max)
			buf[(*used)++] = (u8)v;
		v >>= 8;
	}
}

/* A program that is valid, in the form that fuzz_read_prog() reads. */
void fuzz_write_prog(struct sim_rng *rng, u8 *buf, size_t max, size_t *used, u32 nranks)
{
	u32 rank = rng_below(rng, nranks), nslots = rng_range(rng, 1, 4);
	u32 n = rng_range(rng, 1, rng_below(rng, 2) ? 8 : 40), i, k;
	u64 lens[64] = {};

	put(buf, max, used, nranks - 1, 1);
	put(buf, max, used, rank, 1);
	put(buf, max, used, rng_below(rng, 4), 1);
	put(buf, max, used, rng_below(rng, 4), 1);
	put(buf, max, used, nslots, 1);
	put(buf, max, used, n - 1, 1);
	put(buf, max, used, 0, 1);
	for (i = 0; i < n; i++) {
		u32 op = rng_below(rng, HCOMM_STEP_COUNT), dtype = rng_below(rng, HCOMM_DT_COUNT);
		u32 peer = (rank + 1 + rng_below(rng, nranks - 1)) % nranks, deps;
		u64 len = rng_below(rng, 3) ? rng_below(rng, 2000) : rng_below(rng, 100);
		/* Sources and destinations apart: what overlaps is not launched. */
		u64 src = rng_below(rng, 2000), dst = 5000 + rng_below(rng, 2000);
		u32 redops = op == HCOMM_STEP_SCALE ? HCOMM_SCALE_COUNT :
			     dtype < HCOMM_DT_FP16 ? HCOMM_OP_COUNT : HCOMM_OP_BAND;
		u8 d[4];

		if (nranks == 1 && has_peer(op))
			op = HCOMM_STEP_COPY;
		len -= len % 8;
		if (i && rng_below(rng, 2))
			len = lens[rng_below(rng, i)];
		if (op == HCOMM_STEP_NOP)
			len = 0;
		lens[i] = len;
		put(buf, max, used, op, 1);
		put(buf, max, used, 0, 1);
		if (has_peer(op))
			put(buf, max, used, peer, 1);
		if (has_type(op)) {
			put(buf, max, used, dtype, 1);
			put(buf, max, used, rng_below(rng, redops), 1);
		}
		if (op == HCOMM_STEP_SCALE)
			put(buf, max, used, 1 + rng_below(rng, 255), 1);
		if (has_src(op)) {
			put(buf, max, used, rng_below(rng, nslots), 1);
			put(buf, max, used, src, 2);
		}
		if (has_dst(op)) {
			put(buf, max, used, rng_below(rng, nslots), 1);
			put(buf, max, used, dst, 2);
		}
		if (has_src(op) || has_dst(op))
			put(buf, max, used, len, 2);
		deps = i ? rng_below(rng, 4) : 0;
		for (k = 0; k < deps; k++) {
			u32 back = 1 + rng_below(rng, i);
			bool stream = lens[i - back] == len && !rng_below(rng, 3);

			/* Streaming ones first; the rest of the list is plain then. */
			if (stream && k && !(d[k - 1] & 0x80))
				stream = false;
			d[k] = (u8)((back - 1) | (stream ? 0x80 : 0));
		}
		put(buf, max, used, deps, 1);
		for (k = 0; k < deps; k++)
			put(buf, max, used, d[k], 1);
	}
}
