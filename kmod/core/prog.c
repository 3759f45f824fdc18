// SPDX-License-Identifier: GPL-2.0-only
/*
 * The program verifier.  One pass over the steps checks everything that can be
 * checked without knowing the buffers; what a launch must still check is kept
 * as the extent of each slot.  A second pass builds the indexes.  No recursion,
 * no search: linear in steps + dependencies + ranks.
 */
#include "prog.h"

/* Which fields a step op uses. */
struct op_fields {
	bool peer;
	bool src;
	bool dst;
	bool type;
	bool send;
	bool scale;
};

static const struct op_fields op_table[HCOMM_STEP_COUNT] = {
	[HCOMM_STEP_NOP] = {},
	[HCOMM_STEP_SEND] = { .peer = true, .src = true, .send = true },
	[HCOMM_STEP_RECV] = { .peer = true, .dst = true },
	[HCOMM_STEP_RECV_REDUCE] = { .peer = true, .src = true, .dst = true, .type = true },
	[HCOMM_STEP_COPY] = { .src = true, .dst = true },
	[HCOMM_STEP_REDUCE] = { .src = true, .dst = true, .type = true },
	[HCOMM_STEP_SCALE] = { .src = true, .dst = true, .type = true, .scale = true },
};

/* Working state of one verification. */
struct verify {
	const struct hcomm_prog_params *par;
	struct hcomm_prog *prog;
	u32 *peer_of_rank;	/* nranks entries; first: seen, then: index */
	u32 *msgs;		/* 2 * nranks: next SEND, next RECV number */
	u32 dep_next;
};

int hcomm_prog_limits(u32 nsteps, u32 ndeps, u32 nslots, struct hcomm_prog_reject *why)
{
	why->step = U32_MAX;
	why->reason = HCOMM_PE_NONE;
	if (!nsteps || nsteps > HCOMM_MAX_STEPS)
		why->reason = HCOMM_PE_EMPTY;
	else if (ndeps > HCOMM_MAX_DEPS)
		why->reason = HCOMM_PE_DEPS;
	else if (nslots > HCOMM_MAX_SLOTS)
		why->reason = HCOMM_PE_NSLOTS;
	return why->reason ? -EINVAL : 0;
}

static u64 count_chunks(const struct hcomm_prog_params *par, u64 len)
{
	if (len <= par->eager_size)
		return 1;
	return div_u64(len + par->chunk_size - 1, par->chunk_size);
}

static u32 verify_range(struct verify *v, u32 slot, u64 off, u64 len, bool write)
{
	struct hcomm_slot_use *use;
	u64 end;

	if (slot >= v->prog->nslots)
		return HCOMM_PE_SLOT;
	if (check_add_overflow(off, len, &end))
		return HCOMM_PE_RANGE;
	if (!len)
		return 0;
	use = &v->prog->slots[slot];
	use->extent = max(use->extent, end);
	use->written |= write;
	return 0;
}

static u32 verify_deps(struct verify *v, u32 i)
{
	const struct hcomm_prog *prog = v->prog;
	const struct hcomm_step *step = &prog->steps[i];
	struct hcomm_step_aux *aux = &prog->aux[i];
	u32 k;

	if (step->dep_first != v->dep_next ||
	    step->dep_count > prog->ndeps - v->dep_next)
		return HCOMM_PE_DEP_RANGE;
	for (k = 0; k < step->dep_count; k++) {
		u32 dep = prog->deps[step->dep_first + k];
		u32 idx = HCOMM_DEP_INDEX(dep);

		if (idx >= i)
			return HCOMM_PE_DEP_ORDER;
		if (dep & HCOMM_DEP_STREAM) {
			if (aux->full_deps)
				return HCOMM_PE_STREAM_ORDER;
			if (prog->steps[idx].len != step->len)
				return HCOMM_PE_STREAM_LEN;
			if (++aux->stream_deps > HCOMM_MAX_STREAM_DEPS)
				return HCOMM_PE_STREAM_COUNT;
		} else {
			aux->full_deps++;
		}
		prog->aux[idx].succ_count++;
	}
	v->dep_next += step->dep_count;
	return 0;
}

static u32 verify_peer(struct verify *v, const struct hcomm_step *step, bool send)
{
	const struct hcomm_prog_params *par = v->par;
	u32 *next;

	if (step->peer >= par->nranks || step->peer == par->rank)
		return HCOMM_PE_PEER;
	if (v->peer_of_rank[step->peer] == U32_MAX) {
		if (v->prog->npeers == HCOMM_MAX_PEERS)
			return HCOMM_PE_PEERS;
		v->peer_of_rank[step->peer] = 0;
		v->prog->npeers++;
	}
	next = &v->msgs[2 * step->peer + (send ? 0 : 1)];
	if (step->msg != *next)
		return HCOMM_PE_MSG;
	++*next;
	return 0;
}

static u32 verify_operand(const struct hcomm_step *step, u32 size)
{
	if (step->redop == HCOMM_SCALE_DIV)
		return !step->operand || step->operand > HCOMM_MAX_RANKS ?
		       HCOMM_PE_OPERAND : 0;
	return size < sizeof(u64) && step->operand >> (8 * size) ? HCOMM_PE_OPERAND : 0;
}

static u32 verify_type(const struct hcomm_step *step)
{
	static const u8 size[HCOMM_DT_COUNT] = {
		[HCOMM_DT_INT8] = 1, [HCOMM_DT_UINT8] = 1,
		[HCOMM_DT_INT16] = 2, [HCOMM_DT_UINT16] = 2,
		[HCOMM_DT_INT32] = 4, [HCOMM_DT_UINT32] = 4,
		[HCOMM_DT_INT64] = 8, [HCOMM_DT_UINT64] = 8,
		[HCOMM_DT_FP16] = 2, [HCOMM_DT_BF16] = 2,
		[HCOMM_DT_FP32] = 4, [HCOMM_DT_FP64] = 8,
		[HCOMM_DT_FP8_E4M3] = 1, [HCOMM_DT_FP8_E5M2] = 1,
	};
	bool scale = op_table[step->op].scale;

	if (step->dtype >= HCOMM_DT_COUNT)
		return HCOMM_PE_DTYPE;
	if (step->redop >= (scale ? (u32)HCOMM_SCALE_COUNT : (u32)HCOMM_OP_COUNT))
		return HCOMM_PE_REDOP;
	if (!scale && !HCOMM_OP_FITS(step->redop, step->dtype))
		return HCOMM_PE_REDOP_TYPE;
	if (step->len & (size[step->dtype] - 1u))
		return HCOMM_PE_LEN;
	return scale ? verify_operand(step, size[step->dtype]) : 0;
}

static u32 verify_step(struct verify *v, u32 i)
{
	const struct hcomm_step *step = &v->prog->steps[i];
	struct hcomm_step_aux *aux = &v->prog->aux[i];
	const struct op_fields *f;
	u64 nchunks;
	u32 err;

	if (step->op >= HCOMM_STEP_COUNT)
		return HCOMM_PE_OP;
	f = &op_table[step->op];
	if (step->flags || step->reserved[0] || step->reserved[1])
		return HCOMM_PE_FLAGS;
	if ((!f->peer && (step->peer || step->msg)) ||
	    (!f->src && (step->src_slot || step->src_off)) ||
	    (!f->dst && (step->dst_slot || step->dst_off)) ||
	    (!f->src && !f->dst && step->len) ||
	    (!f->type && (step->dtype || step->redop)) ||
	    (!f->scale && step->operand))
		return HCOMM_PE_UNUSED;
	if (step->len > HCOMM_MAX_STEP_LEN)
		return HCOMM_PE_LEN;
	nchunks = count_chunks(v->par, step->len);
	if (nchunks > U32_MAX)
		return HCOMM_PE_LEN;
	aux->nchunks = (u32)nchunks;
	err = f->type ? verify_type(step) : 0;
	if (!err && f->src)
		err = verify_range(v, step->src_slot, step->src_off, step->len, false);
	if (!err && f->dst)
		err = verify_range(v, step->dst_slot, step->dst_off, step->len, true);
	if (!err && f->peer)
		err = verify_peer(v, step, f->send);
	if (!err)
		err = verify_deps(v, i);
	return err;
}

/* Peers by ascending rank, with room for their message lists. */
static void index_peers(struct verify *v)
{
	struct hcomm_prog *prog = v->prog;
	u32 rank, idx = 0, sends = 0, recvs = 0;

	for (rank = 0; rank < v->par->nranks; rank++) {
		struct hcomm_prog_peer *p;

		if (v->peer_of_rank[rank] == U32_MAX)
			continue;
		v->peer_of_rank[rank] = idx;
		p = &prog->peers[idx++];
		p->peer = rank;
		p->send_first = sends;
		p->send_count = v->msgs[2 * rank];
		p->recv_first = recvs;
		p->recv_count = v->msgs[2 * rank + 1];
		sends += p->send_count;
		recvs += p->recv_count;
	}
}

static void index_steps(struct verify *v)
{
	struct hcomm_prog *prog = v->prog;
	u32 *stage = &prog->stage_first;
	u32 i, k, succ = 0;

	for (i = 0; i < prog->nsteps; i++) {
		const struct hcomm_step *step = &prog->steps[i];
		struct hcomm_step_aux *aux = &prog->aux[i];

		aux->succ_first = succ;
		succ += aux->succ_count;
		aux->succ_count = 0;	/* counted again as they are filled in */
		aux->stage_next = U32_MAX;
		aux->peer_idx = U32_MAX;
		if (op_table[step->op].peer) {
			const struct hcomm_prog_peer *p;

			aux->peer_idx = v->peer_of_rank[step->peer];
			p = &prog->peers[aux->peer_idx];
			if (op_table[step->op].send)
				prog->sends[p->send_first + step->msg] = i;
			else
				prog->recvs[p->recv_first + step->msg] = i;
		}
		if (step->op == HCOMM_STEP_RECV_REDUCE && step->len > v->par->eager_size) {
			*stage = i;
			stage = &aux->stage_next;
		}
		for (k = 0; k < step->dep_count; k++) {
			u32 dep = prog->deps[step->dep_first + k];
			struct hcomm_step_aux *d = &prog->aux[HCOMM_DEP_INDEX(dep)];

			prog->succs[d->succ_first + d->succ_count++] =
				i | (dep & HCOMM_DEP_STREAM);
		}
	}
}

static int verify_all(struct verify *v, struct hcomm_prog_reject *why)
{
	struct hcomm_prog *prog = v->prog;
	u32 i;

	for (i = 0; i < v->par->nranks; i++)
		v->peer_of_rank[i] = U32_MAX;
	for (i = 0; i < prog->nsteps; i++) {
		why->reason = verify_step(v, i);
		if (why->reason) {
			why->step = i;
			return -EINVAL;
		}
	}
	if (v->dep_next != prog->ndeps) {
		why->reason = HCOMM_PE_DEP_RANGE;
		return -EINVAL;
	}
	return 0;
}

int hcomm_prog_create(struct hcomm_prog **out, const struct hcomm_prog_params *par,
		      struct hcomm_step *steps, u32 nsteps, u32 *deps, u32 ndeps,
		      u32 nslots, struct hcomm_prog_reject *why)
{
	struct verify v = { .par = par };
	struct hcomm_prog *prog;
	int err = -ENOMEM;

	why->reason = HCOMM_PE_NONE;
	why->step = U32_MAX;
	prog = hcomm_zalloc_array(1, sizeof(*prog));
	if (!prog) {
		hcomm_free(steps);
		hcomm_free(deps);
		return -ENOMEM;
	}
	prog->steps = steps;
	prog->deps = deps;
	prog->nsteps = nsteps;
	prog->ndeps = ndeps;
	prog->nslots = nslots;
	prog->stage_first = U32_MAX;
	v.prog = prog;

	prog->aux = hcomm_zalloc_array(nsteps, sizeof(*prog->aux));
	prog->succs = hcomm_zalloc_array(ndeps + 1, sizeof(*prog->succs));
	prog->sends = hcomm_zalloc_array(nsteps, sizeof(*prog->sends));
	prog->recvs = hcomm_zalloc_array(nsteps, sizeof(*prog->recvs));
	v.peer_of_rank = hcomm_zalloc_array(par->nranks, sizeof(u32));
	v.msgs = hcomm_zalloc_array(par->nranks, 2 * sizeof(u32));
	if (!prog->aux || !prog->succs || !prog->sends || !prog->recvs ||
	    !v.peer_of_rank || !v.msgs)
		goto out;

	err = verify_all(&v, why);
	if (err)
		goto out;
	err = -ENOMEM;
	prog->peers = hcomm_zalloc_array(prog->npeers + 1, sizeof(*prog->peers));
	if (!prog->peers)
		goto out;
	index_peers(&v);
	index_steps(&v);
	err = 0;
out:
	hcomm_free(v.msgs);
	hcomm_free(v.peer_of_rank);
	if (err) {
		hcomm_prog_free(prog);
		return err;
	}
	*out = prog;
	return 0;
}

u32 hcomm_prog_find_peer(const struct hcomm_prog *prog, u32 rank)
{
	u32 lo = 0, hi = prog->npeers;

	while (lo < hi) {
		u32 mid = lo + (hi - lo) / 2;

		if (prog->peers[mid].peer < rank)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < prog->npeers && prog->peers[lo].peer == rank ? lo : U32_MAX;
}

void hcomm_prog_free(struct hcomm_prog *prog)
{
	if (!prog)
		return;
	hcomm_free(prog->peers);
	hcomm_free(prog->recvs);
	hcomm_free(prog->sends);
	hcomm_free(prog->succs);
	hcomm_free(prog->aux);
	hcomm_free(prog->deps);
	hcomm_free(prog->steps);
	hcomm_free(prog);
}
