/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the fuzz targets share.  A target is LLVMFuzzerTestOneInput() and
 * fuzz_make(), which makes a sensible input: the seeds of libFuzzer's corpus, and
 * the start of each mutation where there is no libFuzzer (driver.c).
 */
#ifndef HCOMM_FUZZ_H
#define HCOMM_FUZZ_H

#include "engine.h"
#include "rng.h"

#define FUZZ_MAX 8192

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t fuzz_make(struct sim_rng *rng, u8 *buf, size_t max);

/* A promise that does not hold ends the process; fuzzers keep the input. */
#define FUZZ_CHECK(c) do { if (!(c)) fuzz_failed(__FILE__, __LINE__, #c); } while (0)
__attribute__((noreturn))
void fuzz_failed(const char *file, int line, const char *what);

/* The input as a stream; zeros when it is used up. */
struct fuzz_in {
	const u8 *p;
	size_t left;
};

static inline u8 in_u8(struct fuzz_in *in)
{
	if (!in->left)
		return 0;
	in->left--;
	return *in->p++;
}

static inline u32 in_u16(struct fuzz_in *in)
{
	u32 lo = in_u8(in);

	return lo | (u32)in_u8(in) << 8;
}

static inline u32 in_u32(struct fuzz_in *in)
{
	u32 lo = in_u16(in);

	return lo | in_u16(in) << 16;
}

static inline u64 in_u64(struct fuzz_in *in)
{
	u64 lo = in_u32(in);

	return lo | (u64)in_u32(in) << 32;
}

/**
 * struct fuzz_prog - a program as it came out of an input, not verified
 * @par: what it is for
 * @steps: from hcomm_zalloc_array()
 * @deps: from hcomm_zalloc_array()
 * @nsteps: number of steps
 * @ndeps: number of dependencies
 * @nslots: number of slots
 */
struct fuzz_prog {
	struct hcomm_prog_params par;
	struct hcomm_step *steps;
	u32 *deps;
	u32 nsteps;
	u32 ndeps;
	u32 nslots;
};

/* program.c */
void fuzz_read_prog(struct fuzz_in *in, struct fuzz_prog *fp);
void fuzz_write_prog(struct sim_rng *rng, u8 *buf, size_t max, size_t *used, u32 nranks);
/* Written from the ABI alone: is it a valid program? */
bool fuzz_prog_valid(const struct fuzz_prog *fp);

#endif /* HCOMM_FUZZ_H */
