// SPDX-License-Identifier: GPL-2.0-only
/*
 * All collectives against a plain reference: types, operations, sizes, roots, in
 * place, kinds of memory, algorithms.  Run as 1 to 8 ranks.
 */
#include <hcomm/sched.h>

#include "api_util.h"

#define MAX_COUNT	300000
#define GUARD		64

/**
 * struct setup - how a call is made
 * @comm: communicator
 * @type: hcommDataType_t
 * @op: hcommRedOp_t
 * @count: elements
 * @root: root
 * @in_place: same buffer
 * @plain: memory of malloc(), one byte off
 */
struct setup {
	hcommComm_t comm;
	int type;
	int op;
	size_t count;
	int root;
	int in_place;
	int plain;
};

static uint8_t *pool[2], *plain[2], *wanted;
static size_t pool_bytes;

static uint8_t *buffer(const struct setup *s, int which)
{
	return GUARD + (s->plain ? plain[which] + 1 : pool[which]);
}

static void fill(const struct setup *s, uint8_t *buf, int r, size_t first,
		 size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		put(s->type, buf, i, value(s->type, s->op, r, first + i));
}

static void fill_reduced(const struct setup *s, uint8_t *buf, size_t first,
			 size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		put(s->type, buf, i, reduced(s->type, s->op, first + i));
}

static const char *op_name(int op)
{
	size_t i;

	for (i = 0; i < NOPS; i++) {
		if ((int)ops[i].op == op)
			return ops[i].name;
	}
	return "?";
}

static void check(const struct setup *s, const char *what, const uint8_t *got,
		  const uint8_t *want, size_t bytes)
{
	size_t i = 0;

	if (!memcmp(got, want, bytes))
		return;
	while (got[i] == want[i])
		i++;
	FAIL("%s: %s %s count %zu root %d%s%s: byte %zu is %02x, must be %02x", what,
	     type_names[s->type], op_name(s->op), s->count, s->root,
	     s->in_place ? " in place" : "", s->plain ? " plain" : "", i, got[i],
	     want[i]);
}

static void call(const struct setup *s, const char *what, hcommResult_t ret)
{
	if (!ret)
		return;
	FAIL("%s: %s count %zu: %s: %s", what, type_names[s->type], s->count,
	     hcommGetErrorString(ret), hcommGetLastError(NULL));
	MUST(ret);
}

/* bytes around a buffer that nobody may touch */
static void guard(uint8_t *buf, size_t bytes)
{
	memset(buf - GUARD, 0xa5, GUARD);
	memset(buf + bytes, 0xa5, GUARD);
}

static void check_guard(const struct setup *s, const char *what, const uint8_t *buf,
			size_t bytes)
{
	int i;

	for (i = 0; i < GUARD; i++) {
		if (buf[i - GUARD] == 0xa5 && buf[bytes + i] == 0xa5)
			continue;
		FAIL("%s: %s count %zu: a byte %s the buffer was written", what,
		     type_names[s->type], s->count,
		     buf[bytes + i] == 0xa5 ? "before" : "behind");
		return;
	}
}

static void all_reduce(const struct setup *s)
{
	size_t bytes = s->count * type_bytes[s->type];
	uint8_t *recv = buffer(s, 1), *send = s->in_place ? recv : buffer(s, 0);

	memset(recv, 0x5a, bytes);
	fill(s, send, rank, 0, s->count);
	guard(recv, bytes);
	call(s, "AllReduce", hcommAllReduce(send, recv, s->count, s->type, s->op,
					    s->comm));
	fill_reduced(s, wanted, 0, s->count);
	check(s, "AllReduce", recv, wanted, bytes);
	check_guard(s, "AllReduce", recv, bytes);
	if (s->in_place)
		return;
	fill(s, wanted, rank, 0, s->count);
	check(s, "AllReduce's input", send, wanted, bytes);
}

static void broadcast(const struct setup *s)
{
	size_t bytes = s->count * type_bytes[s->type];
	uint8_t *recv = buffer(s, 1), *send = s->in_place ? recv : buffer(s, 0);

	memset(recv, 0x5a, bytes);
	if (rank == s->root)
		fill(s, send, rank, 0, s->count);
	guard(recv, bytes);
	if (s->in_place)
		call(s, "Bcast", hcommBcast(recv, s->count, s->type, s->root,
					    s->comm));
	else
		call(s, "Broadcast",
		     hcommBroadcast(rank == s->root ? send : NULL, recv, s->count,
				    s->type, s->root, s->comm));
	fill(s, wanted, s->root, 0, s->count);
	check(s, "Broadcast", recv, wanted, bytes);
	check_guard(s, "Broadcast", recv, bytes);
}

static void reduce(const struct setup *s)
{
	size_t bytes = s->count * type_bytes[s->type];
	uint8_t *recv = buffer(s, 1), *send = s->in_place ? recv : buffer(s, 0);
	int is_root = rank == s->root;

	memset(recv, 0x5a, bytes);
	fill(s, send, rank, 0, s->count);
	guard(recv, bytes);
	/* in place at the root only: the others give no receive buffer */
	call(s, "Reduce", hcommReduce(send, is_root ? recv : NULL, s->count, s->type,
				      s->op, s->root, s->comm));
	check_guard(s, "Reduce", recv, bytes);
	if (is_root) {
		fill_reduced(s, wanted, 0, s->count);
		check(s, "Reduce", recv, wanted, bytes);
	} else {
		fill(s, wanted, rank, 0, s->count);
		check(s, "Reduce's input", send, wanted, bytes);
	}
}

static void reduce_scatter(const struct setup *s)
{
	size_t block = s->count * type_bytes[s->type];
	uint8_t *send = buffer(s, 0);
	uint8_t *recv = s->in_place ? send + (size_t)rank * block : buffer(s, 1);

	fill(s, send, rank, 0, s->count * (size_t)size);
	if (!s->in_place) {
		memset(recv, 0x5a, block);
		guard(recv, block);
	}
	call(s, "ReduceScatter", hcommReduceScatter(send, recv, s->count, s->type,
						    s->op, s->comm));
	fill_reduced(s, wanted, (size_t)rank * s->count, s->count);
	check(s, "ReduceScatter", recv, wanted, block);
	if (!s->in_place) {
		check_guard(s, "ReduceScatter", recv, block);
		fill(s, wanted, rank, 0, s->count * (size_t)size);
		check(s, "ReduceScatter's input", send, wanted, block * (size_t)size);
	}
}

static void all_gather(const struct setup *s)
{
	size_t block = s->count * type_bytes[s->type], total = block * (size_t)size;
	uint8_t *recv = buffer(s, 1);
	uint8_t *send = s->in_place ? recv + (size_t)rank * block : buffer(s, 0);
	int r;

	memset(recv, 0x5a, total);
	fill(s, send, rank, 0, s->count);
	guard(recv, total);
	call(s, "AllGather", hcommAllGather(send, recv, s->count, s->type, s->comm));
	for (r = 0; r < size; r++)
		fill(s, wanted + (size_t)r * block, r, 0, s->count);
	check(s, "AllGather", recv, wanted, total);
	check_guard(s, "AllGather", recv, total);
}

static void (*const colls[])(const struct setup *s) = {
	all_reduce, broadcast, reduce, reduce_scatter, all_gather,
};
static const char *const coll_names[] = {
	"AllReduce", "Broadcast", "Reduce", "ReduceScatter", "AllGather",
};

#define NCOLLS	(sizeof(colls) / sizeof(colls[0]))

/* all types and operations, a small and a larger count */
static void test_types(size_t coll)
{
	struct setup s = { .comm = COMM_WORLD };
	static const size_t counts[] = { 3, 3001 };
	size_t i, o;

	for (s.type = 0; s.type < NTYPES; s.type++) {
		for (o = 0; o < NOPS; o++) {
			if (ops[o].ints_only && s.type >= hcommFloat16)
				continue;
			s.op = ops[o].op;
			for (i = 0; i < 2; i++) {
				s.count = counts[i];
				s.in_place = (int)(o + i) & 1;
				s.root = (s.type + (int)o) % size;
				colls[coll](&s);
			}
		}
	}
	verdict("%s: all types and operations", coll_names[coll]);
}

/*
 * Sizes around every threshold and chunk, memory of each kind, in place or not;
 * @step 2: half of the sizes, and half of the combinations.
 */
static void test_sizes(size_t coll, hcommComm_t comm, const char *algo, size_t step)
{
	static const size_t counts[] = { 0, 1, 2, 7, 1023, 1024, 1025, 4097, 16384,
		16391, 65536, 70001, 150001 };
	struct setup s = { .comm = comm, .type = hcommFloat32, .op = hcommSum };
	size_t i;

	for (i = 0; i < sizeof(counts) / sizeof(counts[0]); i += step) {
		/* blocks: all of them have to fit */
		s.count = coll >= 3 ? counts[i] / (size_t)size + counts[i] % 2 :
				      counts[i];
		for (s.in_place = 0; s.in_place < 2; s.in_place++) {
			for (s.plain = 0; s.plain < 2; s.plain++) {
				s.root = (int)(i % (size_t)size);
				if (step == 1 || s.in_place == s.plain)
					colls[coll](&s);
			}
		}
	}
	verdict("%s: sizes, memory, in place (%s)", coll_names[coll], algo);
}

static void test_roots(void)
{
	struct setup s = { .comm = COMM_WORLD, .type = hcommInt32, .op = hcommSum };

	for (s.root = 0; s.root < size; s.root++) {
		for (s.count = 1; s.count < 100000; s.count = s.count * 40 + 3) {
			broadcast(&s);
			reduce(&s);
		}
	}
	verdict("every root");
}

/* every algorithm that does a collective, on a communicator of its own */
static void test_algo(uint32_t algo)
{
	static const uint32_t ids[NCOLLS] = {
		HCOMM_COLL_ALLREDUCE, HCOMM_COLL_BROADCAST, HCOMM_COLL_REDUCE,
		HCOMM_COLL_REDUCE_SCATTER, HCOMM_COLL_ALLGATHER,
	};
	hcommComm_t comm;
	size_t i;

	setenv("HCOMM_ALGO", hcomm_algo_name(algo), 1);
	comm = new_comm();
	unsetenv("HCOMM_ALGO");
	for (i = 0; i < NCOLLS; i++) {
		if (hcomm_algo_supports(algo, ids[i]))
			test_sizes(i, comm, hcomm_algo_name(algo), 2);
	}
	MUST(hcommCommDestroy(comm));
}

/* rounding depends on order: the bits must be equal on all ranks and every time */
static void test_bits(void)
{
	size_t n = 30001, i, turn;
	float *in = (float *)pool[0], *out = (float *)pool[1];
	uint64_t sum, all[64];
	uint32_t seed;
	int r;

	for (turn = 0; turn < 2; turn++) {
		seed = (uint32_t)rank * 77 + 5;
		for (i = 0; i < n; i++) {
			seed = seed * 1664525u + 1013904223u;
			in[i] = (float)(int32_t)seed * 1e-7f;
		}
		MUST(hcommAllReduce(in, out, n, hcommFloat32, hcommSum, COMM_WORLD));
		sum = 14695981039346656037ull;
		for (i = 0; i < n * 4; i++)
			sum = (sum ^ pool[1][i]) * 1099511628211ull;
		MUST(hcommAllGather(&sum, all, 1, hcommUint64, COMM_WORLD));
		for (r = 1; r < size; r++) {
			if (all[r] != all[0])
				FAIL("ranks 0 and %d have different bits", r);
		}
		if (turn && sum != *(uint64_t *)wanted)
			FAIL("two runs have different bits");
		memcpy(wanted, &sum, sizeof(sum));
	}
	verdict("bits are equal on all ranks and every time");
}

int main(int argc, char **argv)
{
	uint32_t algo;
	size_t i;

	begin(&argc, &argv);
	if (size > 8)
		MUST(HCOMM_ERR_INVALID_USAGE);
	pool_bytes = MAX_COUNT * 8 + 9 * GUARD;
	for (i = 0; i < 2; i++) {
		pool[i] = hcommMalloc(pool_bytes);
		plain[i] = malloc(pool_bytes + 1);
		if (!pool[i] || !plain[i])
			MUST(HCOMM_ERR_NO_MEMORY);
	}
	wanted = malloc(pool_bytes);
	for (i = 0; i < NCOLLS; i++)
		test_types(i);
	for (i = 0; i < NCOLLS; i++)
		test_sizes(i, COMM_WORLD, "by size", 1);
	test_roots();
	for (algo = HCOMM_ALGO_NONE + 1; algo < HCOMM_ALGO_COUNT; algo++) {
		if (algo != HCOMM_ALGO_P2P && algo != HCOMM_ALGO_DISSEMINATION)
			test_algo(algo);
	}
	test_bits();
	for (i = 0; i < 2; i++) {
		MUST(hcommFree(pool[i]));
		free(plain[i]);
	}
	free(wanted);
	return end();
}
