// SPDX-License-Identifier: GPL-2.0-only
/* What random programs must compute. */
#include "randprog.h"

static u8 *ref_at(struct grun *run, u32 rank, u32 slot, u64 off)
{
	const struct grank *g = &run->ranks[rank];
	u8 *p = run->mem[rank];

	while (slot--)
		p += g->slot_len[slot];
	return p + off;
}

void rand_ref_run(struct grun *run)
{
	u32 i;

	for (i = 0; i < run->nops; i++) {
		const struct gop *op = &run->ops[i];
		const struct hcomm_step *s = &run->ranks[op->rank].steps[op->step].s;
		const struct hcomm_step *snd;
		u8 *dst = ref_at(run, op->rank, s->dst_slot, s->dst_off);
		u8 *src = ref_at(run, op->rank, s->src_slot, s->src_off);
		u32 size = ref_dtype_size(s->dtype);

		switch (s->op) {
		case HCOMM_STEP_COPY:
			memmove(dst, src, s->len);
			break;
		case HCOMM_STEP_REDUCE:
			ref_reduce(s->dtype, s->redop, dst, dst, src, s->len / size);
			break;
		case HCOMM_STEP_SCALE:
			ref_scale(s->dtype, s->redop, s->operand, dst, src, s->len / size);
			break;
		case HCOMM_STEP_RECV:
		case HCOMM_STEP_RECV_REDUCE:
			/* Nothing wrote to the source since its SEND. */
			snd = &run->ranks[op->sender].steps[op->send_step].s;
			if (s->op == HCOMM_STEP_RECV)
				memcpy(dst, ref_at(run, op->sender, snd->src_slot,
						   snd->src_off), s->len);
			else
				ref_reduce(s->dtype, s->redop, dst, src,
					   ref_at(run, op->sender, snd->src_slot,
						  snd->src_off), s->len / size);
			break;
		default:
			break;
		}
	}
}

void rand_ref_compare(struct sim *sim, struct grun *run, u32 n, u32 rank)
{
	struct sim_run *sr = run->runs[rank];
	u32 slot;
	u64 i;

	for (slot = 0; slot < NSLOTS; slot++) {
		u64 len = run->ranks[rank].slot_len[slot];
		u8 *want = ref_at(run, rank, slot, 0), *got = malloc(len);

		if (!got)
			sim_die(sim, "out of memory");
		sim_mem_load(got, sr->slots[slot], 0, len);
		for (i = 0; i < len; i++)
			if (got[i] != want[i])
				sim_die(sim, "run %u rank %u slot %u byte %llu of %llu: %#x, must be %#x",
					n, rank, slot, (unsigned long long)i,
					(unsigned long long)len, got[i], want[i]);
		free(got);
	}
}
