// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory of simulated ranks: pieces of random length at odd addresses, each an
 * allocation of its own with guard bytes, so that a byte written outside is seen
 * with or without a sanitizer.
 */
#include <stdio.h>
#include "sim.h"

#define GUARD 32
#define GUARD_BYTE 0xc5

static void *must(void *p)
{
	if (!p) {
		fprintf(stderr, "out of memory\n");
		exit(2);
	}
	return p;
}

struct sim_mem *sim_mem_new(struct sim_rng *rng, u64 length, u32 max_pieces)
{
	static u32 serial;
	u32 n = max_pieces > 1 && length > 1 ?
		rng_range(rng, 1, min_t(u64, max_pieces, length)) : 1;
	struct sim_mem *m = must(calloc(1, sizeof(*m)));
	u64 off = 0;
	u32 i;

	m->mem.length = length;
	m->mem.nspans = n;
	m->mem.spans = must(calloc(n, sizeof(*m->mem.spans)));
	m->raw = must(calloc(n, sizeof(*m->raw)));
	m->len = must(calloc(n, sizeof(*m->len)));
	m->lead = must(calloc(n, sizeof(*m->lead)));
	for (i = 0; i < n; i++) {
		u64 left = length - off;
		u64 len = i == n - 1 ? left : rng_range(rng, 1, left - (n - 1 - i));

		if (i < n - 1 && len > 2 * length / n)
			len = 2 * length / n;
		m->lead[i] = GUARD + (max_pieces > 1 ? rng_below(rng, 16) : 0);
		m->len[i] = len;
		/* Most of the staging memory of a thousand ranks is never touched. */
		m->raw[i] = must(calloc(1, m->lead[i] + len + GUARD));
		memset(m->raw[i], GUARD_BYTE, m->lead[i]);
		memset(m->raw[i] + m->lead[i] + len, GUARD_BYTE, GUARD);
		m->mem.spans[i].off = off;
		m->mem.spans[i].va = m->raw[i] + m->lead[i];
		off += len;
	}
	m->refs = 1;
	m->key = (u32)rng_next(rng);
	m->base = ((u64)++serial << 32) + (rng_next(rng) & 0xffffff);
	return m;
}

void sim_mem_put(struct sim_mem *m)
{
	u32 i;

	if (!m || --m->refs)
		return;
	for (i = 0; i < m->mem.nspans; i++)
		free(m->raw[i]);
	free(m->raw);
	free(m->len);
	free(m->lead);
	free(m->mem.spans);
	free(m);
}

bool sim_mem_intact(const struct sim_mem *m)
{
	u32 i, k;

	for (i = 0; i < m->mem.nspans; i++) {
		for (k = 0; k < m->lead[i]; k++)
			if (m->raw[i][k] != GUARD_BYTE)
				return false;
		for (k = 0; k < GUARD; k++)
			if (m->raw[i][m->lead[i] + m->len[i] + k] != GUARD_BYTE)
				return false;
	}
	return true;
}

static u8 *piece(const struct hcomm_mem *mem, u64 off, u64 *contig)
{
	u32 i = 0;

	while (i + 1 < mem->nspans && mem->spans[i + 1].off <= off)
		i++;
	*contig = (i + 1 < mem->nspans ? mem->spans[i + 1].off : mem->length) - off;
	return mem->spans[i].va + (off - mem->spans[i].off);
}

u64 sim_mem_hash(const struct hcomm_mem *mem, u64 off, u64 len)
{
	u64 h = 0x9e3779b97f4a7c15ull ^ len;

	/* In words that do not depend on where the pieces begin. */
	while (len) {
		u64 v = 0, got = 0;

		while (got < sizeof(v) && len) {
			u64 contig, n;
			u8 *p = piece(mem, off, &contig);

			n = min_t(u64, min_t(u64, contig, len), sizeof(v) - got);
			memcpy((u8 *)&v + got, p, n);
			got += n;
			off += n;
			len -= n;
		}
		h = (h ^ v) * 0x100000001b3ull;
		h ^= h >> 29;
	}
	return h;
}

void sim_mem_store(struct sim_mem *m, u64 off, const void *src, u64 len)
{
	while (len) {
		u64 contig, n;
		u8 *p = piece(&m->mem, off, &contig);

		n = min_t(u64, contig, len);
		memcpy(p, src, n);
		src = (const u8 *)src + n;
		off += n;
		len -= n;
	}
}

void sim_mem_load(void *dst, const struct sim_mem *m, u64 off, u64 len)
{
	while (len) {
		u64 contig, n;
		u8 *p = piece(&m->mem, off, &contig);

		n = min_t(u64, contig, len);
		memcpy(dst, p, n);
		dst = (u8 *)dst + n;
		off += n;
		len -= n;
	}
}
