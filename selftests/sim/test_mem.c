// SPDX-License-Identifier: GPL-2.0-only
/*
 * Unit test of span memory (kmod/core/mem.c): the same bytes as on contiguous
 * memory, whatever the spans, and not one byte elsewhere.
 *
 * Prints TAP; --seed=N changes the random numbers.
 */
#include "mem.h"
#include "reduce_ref.h"

long hcomm_user_alloc_budget = -1;

/* ------------------------------------------------------------------ span memory */

#define MAX_SPANS	40

struct spread {
	struct hcomm_mem mem;
	struct hcomm_span spans[MAX_SPANS];
	u8 *backing;
	size_t backing_len;
};

/* length bytes in pieces of odd sizes, in shuffled places with canaries between. */
static void spread_make(struct spread *s, u64 length, u32 nspans, bool tiny)
{
	u64 cut[MAX_SPANS + 1], room = 0;
	u32 order[MAX_SPANS], i, j;
	u8 *p;

	if (nspans > length)
		nspans = (u32)(length ? length : 1);
	cut[0] = 0;
	for (i = 1; i < nspans; i++) {
		u64 left = length - cut[i - 1] - (nspans - i);

		cut[i] = cut[i - 1] + 1 + rnd_below(tiny ? min_t(u64, left, 11) : left);
	}
	cut[nspans] = length;
	for (i = 0; i < nspans; i++) {
		order[i] = i;
		j = (u32)rnd_below(i + 1);
		order[i] = order[j];
		order[j] = i;
	}
	s->backing_len = length + (nspans + 1) * 16;
	s->backing = malloc(s->backing_len);
	if (!s->backing)
		abort();
	memset(s->backing, CANARY, s->backing_len);
	p = s->backing + 8;
	for (i = 0; i < nspans; i++) {
		j = order[i];
		s->spans[j].off = cut[j];
		s->spans[j].va = p;
		p += cut[j + 1] - cut[j] + 1 + rnd_below(15);
		room += cut[j + 1] - cut[j];
	}
	if (room != length || p > s->backing + s->backing_len)
		abort();
	s->mem.length = length;
	s->mem.nspans = nspans;
	s->mem.spans = s->spans;
}

static void spread_free(struct spread *s)
{
	free(s->backing);
}

/* Byte by byte, with nothing of mem.c. */
static u8 *spread_byte(struct spread *s, u64 off)
{
	u32 i = s->mem.nspans - 1;

	while (s->spans[i].off > off)
		i--;
	return s->spans[i].va + (off - s->spans[i].off);
}

/* Take all bytes out, leaving canaries behind, so that the rest must be canary. */
static bool spread_drain(struct spread *s, u8 *out)
{
	u64 i;

	for (i = 0; i < s->mem.length; i++) {
		u8 *p = spread_byte(s, i);

		out[i] = *p;
		*p = CANARY;
	}
	return all_canary(s->backing, s->backing_len);
}

static void spread_fill(struct spread *s, const u8 *in)
{
	u64 i;

	for (i = 0; i < s->mem.length; i++)
		*spread_byte(s, i) = in[i];
}

static u32 rnd_spans(void)
{
	return rnd_below(4) ? 1 + (u32)rnd_below(MAX_SPANS) : 1;
}

static void test_mem_ptr(void)
{
	struct spread s;
	u64 off, contig, n;
	u32 i;
	int round;

	for (round = 0; round < 300; round++) {
		spread_make(&s, 1 + rnd_below(600), rnd_spans(), round % 2);
		for (off = 0; off < s.mem.length; off++) {
			check(hcomm_mem_ptr(&s.mem, off, &contig) == spread_byte(&s, off),
			      "wrong address");
			n = s.mem.length;
			for (i = s.mem.nspans; i-- && s.spans[i].off > off;)
				n = s.spans[i].off;
			check(contig == n - off, "contig %llu, not %llu",
			      (unsigned long long)contig, (unsigned long long)(n - off));
		}
		spread_free(&s);
	}
	report("hcomm_mem_ptr", "spans", "");
}

#define MEM_MAX	3000

static void test_mem_copy(void)
{
	static u8 in[MEM_MAX], src_now[MEM_MAX], dst_was[MEM_MAX], dst_now[MEM_MAX];
	static u8 flat[MEM_MAX];
	int round;

	for (round = 0; round < 2000; round++) {
		u64 src_len = 1 + rnd_below(MEM_MAX), dst_len = 1 + rnd_below(MEM_MAX);
		u64 len = rnd_below(min_t(u64, src_len, dst_len) + 1);
		u64 src_off = rnd_below(src_len - len + 1);
		u64 dst_off = rnd_below(dst_len - len + 1);
		struct spread s, d;

		spread_make(&s, src_len, rnd_spans(), round % 2);
		spread_make(&d, dst_len, rnd_spans(), round % 3);
		rnd_bytes(in, src_len);
		rnd_bytes(dst_was, dst_len);
		spread_fill(&s, in);
		spread_fill(&d, dst_was);
		switch (round % 4) {
		case 0:
			hcomm_mem_copy((struct hcomm_buf){ &d.mem, dst_off },
				       (struct hcomm_buf){ &s.mem, src_off }, len);
			break;
		case 1:
			hcomm_mem_write((struct hcomm_buf){ &d.mem, dst_off }, in + src_off,
					len);
			break;
		case 2:
			memset(flat, CANARY, sizeof(flat));
			hcomm_mem_read(flat, (struct hcomm_buf){ &s.mem, src_off }, len);
			check(!memcmp(flat, in + src_off, len), "read");
			check(all_canary(flat + len, sizeof(flat) - len), "read too much");
			memcpy(in + src_off, flat, len);
			hcomm_mem_write((struct hcomm_buf){ &d.mem, dst_off }, flat, len);
			break;
		case 3:
			/* onto itself changes nothing */
			hcomm_mem_copy((struct hcomm_buf){ &s.mem, src_off },
				       (struct hcomm_buf){ &s.mem, src_off }, len);
			hcomm_mem_copy((struct hcomm_buf){ &d.mem, dst_off },
				       (struct hcomm_buf){ &s.mem, src_off }, len);
			break;
		}
		check(spread_drain(&s, src_now), "canary of the source");
		check(spread_drain(&d, dst_now), "canary of the destination");
		check(!memcmp(src_now, in, src_len), "source changed");
		memcpy(dst_was + dst_off, in + src_off, len);
		check(!memcmp(dst_now, dst_was, dst_len), "destination differs");
		spread_free(&s);
		spread_free(&d);
	}
	report("hcomm_mem_copy, read, write", "spans", "");
}

static void test_mem_reduce(u32 dtype, u32 redop)
{
	static u8 a_in[MEM_MAX], b_in[MEM_MAX], d_in[MEM_MAX], want[MEM_MAX], now[MEM_MAX];
	u32 size = dtype_bytes[dtype];
	int round;

	for (round = 0; round < 60; round++) {
		u64 n = rnd_below((MEM_MAX - 20) / size + 1), len = n * size;
		u64 off[3] = { rnd_below(20), rnd_below(20), rnd_below(20) };
		int alias = round % 3;
		bool flat = round % 5 == 0;
		struct spread s[3], *res;
		struct hcomm_buf buf[3];
		u8 *in[3] = { d_in, a_in, b_in };
		int i;

		for (i = 0; i < 3; i++) {
			spread_make(&s[i], len + 20, rnd_spans(), round % 2);
			rnd_bytes(in[i], len + 20);
			buf[i] = (struct hcomm_buf){ &s[i].mem, off[i] };
		}
		rnd_fill(dtype, a_in + off[1], b_in + off[2], n);
		for (i = 0; i < 3; i++)
			spread_fill(&s[i], in[i]);
		scalar_fn(dtype, redop)(want, a_in + off[1], b_in + off[2], n);
		if (flat) {
			if (alias == 2)
				alias = 1;
			hcomm_mem_reduce_flat(dtype, redop, buf[alias], buf[1], b_in + off[2],
					      len);
		} else {
			hcomm_mem_reduce(dtype, redop, buf[alias], buf[1], buf[2], len);
		}
		res = &s[alias];
		memcpy(in[alias] + off[alias], want, len);
		for (i = 0; i < 3; i++) {
			check(spread_drain(&s[i], now), "canary of operand %d", i);
			check(!memcmp(now, in[i], len + 20), "%s differs: n %llu alias %d flat %d",
			      &s[i] == res ? "result" : "operand", (unsigned long long)n,
			      alias, flat);
			spread_free(&s[i]);
		}
	}
	report("hcomm_mem_reduce", dtype_name[dtype], redop_name[redop]);
}

static void test_mem_scale(u32 dtype, u32 scale)
{
	static u8 src_in[MEM_MAX], dst_in[MEM_MAX], want[MEM_MAX], now[MEM_MAX];
	u32 size = dtype_bytes[dtype];
	int round;

	for (round = 0; round < 60; round++) {
		u64 n = rnd_below((MEM_MAX - 20) / size + 1), len = n * size, i;
		u64 src_off = rnd_below(20), dst_off = rnd_below(20);
		u64 operand = scale == HCOMM_SCALE_DIV ? 1 + rnd_below(70) :
							 rnd() >> (64 - 8 * size);
		bool same = round % 3 == 0;
		struct spread s, d;

		spread_make(&s, len + 20, rnd_spans(), round % 2);
		spread_make(&d, len + 20, rnd_spans(), round % 2);
		rnd_bytes(src_in, len + 20);
		rnd_bytes(dst_in, len + 20);
		spread_fill(&s, src_in);
		spread_fill(&d, dst_in);
		for (i = 0; i < n; i++)
			put(dtype, want, i, reference_scale(dtype, scale, operand,
							    get(dtype, src_in + src_off, i)));
		hcomm_mem_scale(dtype, scale, operand,
				same ? (struct hcomm_buf){ &s.mem, src_off } :
				       (struct hcomm_buf){ &d.mem, dst_off },
				(struct hcomm_buf){ &s.mem, src_off }, len);
		memcpy(same ? src_in + src_off : dst_in + dst_off, want, len);
		check(spread_drain(&s, now), "canary of the source");
		check(!memcmp(now, src_in, len + 20), "source, n %llu in place %d",
		      (unsigned long long)n, same);
		check(spread_drain(&d, now), "canary of the destination");
		check(!memcmp(now, dst_in, len + 20), "destination, n %llu in place %d",
		      (unsigned long long)n, same);
		spread_free(&s);
		spread_free(&d);
	}
	report("hcomm_mem_scale", dtype_name[dtype], scale ? "divided" : "times");
}

int main(int argc, char **argv)
{
	u32 dtype, redop;

	if (argc == 2 && !strncmp(argv[1], "--seed=", 7)) {
		rnd_state = strtoull(argv[1] + 7, NULL, 0);
	} else if (argc != 1) {
		fprintf(stderr, "usage: test_mem [--seed=N]\n");
		return 2;
	}

	hcomm_reduce_init(HCOMM_REDUCE_ANY);
	printf("# seed %llu\n", (unsigned long long)rnd_state);
	test_mem_ptr();
	test_mem_copy();
	for (dtype = 0; dtype < HCOMM_DT_COUNT; dtype++) {
		for (redop = 0; redop < redop_count(dtype); redop++)
			test_mem_reduce(dtype, redop);
		test_mem_scale(dtype, HCOMM_SCALE_MUL);
		test_mem_scale(dtype, HCOMM_SCALE_DIV);
	}
	return finish();
}
