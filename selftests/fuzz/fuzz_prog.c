// SPDX-License-Identifier: GPL-2.0-only
/*
 * The verifier: it must agree with the rules, its indexes must be right, and what
 * it lets pass must run to its end against good peers without touching a byte
 * beyond the extents that it computed.
 */
#include "peer.h"

static void check_indexes(const struct hcomm_prog *prog, const struct fuzz_prog *fp)
{
	u64 extent[HCOMM_MAX_SLOTS] = {};
	bool written[HCOMM_MAX_SLOTS] = {};
	u32 i, k, succs = 0, sends = 0, recvs = 0, last_stage = U32_MAX;

	FUZZ_CHECK(prog->nsteps == fp->nsteps && prog->ndeps == fp->ndeps &&
		   prog->nslots == fp->nslots);
	for (i = 0; i < prog->npeers; i++) {
		const struct hcomm_prog_peer *p = &prog->peers[i];

		FUZZ_CHECK(p->send_count || p->recv_count);
		FUZZ_CHECK(!i || prog->peers[i - 1].peer < p->peer);
		FUZZ_CHECK(hcomm_prog_find_peer(prog, p->peer) == i);
		FUZZ_CHECK(p->send_first == sends && p->recv_first == recvs);
		sends += p->send_count;
		recvs += p->recv_count;
	}
	FUZZ_CHECK(hcomm_prog_find_peer(prog, fp->par.rank) == U32_MAX);
	for (i = 0; i < prog->nsteps; i++) {
		const struct hcomm_step *s = &prog->steps[i];
		const struct hcomm_step_aux *a = &prog->aux[i];
		u32 full = 0, stream = 0;

		if (s->len <= fp->par.eager_size)
			FUZZ_CHECK(a->nchunks == 1);
		else
			FUZZ_CHECK((u64)a->nchunks * fp->par.chunk_size >= s->len &&
				   (u64)(a->nchunks - 1) * fp->par.chunk_size < s->len);
		for (k = 0; k < s->dep_count; k++)
			if (prog->deps[s->dep_first + k] & HCOMM_DEP_STREAM)
				stream++;
			else
				full++;
		FUZZ_CHECK(a->full_deps == full && a->stream_deps == stream);
		for (k = 0; k < a->succ_count; k++)
			FUZZ_CHECK(HCOMM_DEP_INDEX(prog->succs[a->succ_first + k]) > i &&
				   HCOMM_DEP_INDEX(prog->succs[a->succ_first + k]) < prog->nsteps);
		FUZZ_CHECK(a->succ_first == succs);
		succs += a->succ_count;
		if (s->op == HCOMM_STEP_SEND || s->op == HCOMM_STEP_RECV ||
		    s->op == HCOMM_STEP_RECV_REDUCE) {
			const struct hcomm_prog_peer *p = &prog->peers[a->peer_idx];

			FUZZ_CHECK(a->peer_idx < prog->npeers && p->peer == s->peer);
			FUZZ_CHECK(s->op == HCOMM_STEP_SEND ?
				   prog->sends[p->send_first + s->msg] == i :
				   prog->recvs[p->recv_first + s->msg] == i);
		} else {
			FUZZ_CHECK(a->peer_idx == U32_MAX);
		}
		if (s->op == HCOMM_STEP_RECV_REDUCE && s->len > fp->par.eager_size) {
			FUZZ_CHECK((last_stage == U32_MAX ? prog->stage_first :
				    prog->aux[last_stage].stage_next) == i);
			last_stage = i;
		}
		if (!s->len)
			continue;
		if (s->op != HCOMM_STEP_RECV)
			extent[s->src_slot] = max(extent[s->src_slot], (u64)(s->src_off + s->len));
		if (s->op != HCOMM_STEP_SEND) {
			extent[s->dst_slot] = max(extent[s->dst_slot], (u64)(s->dst_off + s->len));
			written[s->dst_slot] = true;
		}
	}
	FUZZ_CHECK(succs == prog->ndeps);
	FUZZ_CHECK((last_stage == U32_MAX ? prog->stage_first :
		    prog->aux[last_stage].stage_next) == U32_MAX);
	for (i = 0; i < prog->nslots; i++)
		FUZZ_CHECK(prog->slots[i].extent == extent[i] &&
			   prog->slots[i].written == written[i]);
}

static void run_to_end(struct fuzz_host *h)
{
	bool moved = true;
	u32 i;

	host_launch(h);
	host_run(h);
	while (moved && !h->dones) {
		moved = false;
		for (i = 0; i < h->eng.par.nranks; i++) {
			if (i == h->eng.par.rank || !host_good_step(h, &h->links[i]))
				continue;
			moved = true;
			host_run(h);
		}
	}
	FUZZ_CHECK(h->dones == 1 && !h->status && !h->faults);
	FUZZ_CHECK(h->eng.stage_nfree == h->eng.par.staging_slots);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in = { data, size };
	struct hcomm_prog_reject why;
	struct hcomm_prog *prog = NULL;
	struct fuzz_prog fp;
	struct fuzz_host h;
	u32 direct = in_u8(&in), tuning = in_u8(&in), nsteps;
	bool valid;
	int err;

	fuzz_read_prog(&in, &fp);
	nsteps = fp.nsteps;
	valid = fuzz_prog_valid(&fp);
	FUZZ_CHECK(!hcomm_prog_limits(fp.nsteps, fp.ndeps, fp.nslots, &why));
	err = hcomm_prog_create(&prog, &fp.par, fp.steps, fp.nsteps, fp.deps, fp.ndeps,
				fp.nslots, &why);
	FUZZ_CHECK(err == (valid ? 0 : -EINVAL));
	if (err) {
		FUZZ_CHECK(why.reason > HCOMM_PE_NONE && why.reason < HCOMM_PE_COUNT);
		FUZZ_CHECK(why.step < nsteps || why.step == U32_MAX);
		return 0;
	}
	check_indexes(prog, &fp);
	if (!host_init(&h, &fp, prog, direct, tuning))
		return 0;
	run_to_end(&h);
	host_exit(&h);
	return 0;
}

size_t fuzz_make(struct sim_rng *rng, u8 *buf, size_t max)
{
	size_t used = 2;

	buf[0] = (u8)rng_next(rng);
	buf[1] = (u8)rng_next(rng);
	fuzz_write_prog(rng, buf, max, &used, rng_range(rng, 1, 4));
	return used;
}
