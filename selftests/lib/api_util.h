/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For tests that run as several ranks: elements of every type from small whole
 * numbers (so that sums are exact in any order), and TAP from rank 0 that counts
 * the failed checks of all ranks.
 */
#ifndef SELFTESTS_LIB_API_UTIL_H
#define SELFTESTS_LIB_API_UTIL_H

#include <hcomm/hcomm.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NTYPES	14
#define NOPS	11

static const size_t type_bytes[NTYPES] = { 1, 1, 2, 2, 4, 4, 8, 8, 2, 2, 4, 8, 1, 1 };
static const char *const type_names[NTYPES] = {
	"int8", "uint8", "int16", "uint16", "int32", "uint32",
	"int64", "uint64", "fp16", "bf16", "fp32", "fp64", "e4m3", "e5m2",
};
static const struct {
	hcommRedOp_t op;
	const char *name;
	int ints_only;
} ops[NOPS] = {
	{ hcommSum, "sum", 0 }, { hcommProd, "prod", 0 }, { hcommMin, "min", 0 },
	{ hcommMax, "max", 0 }, { hcommAvg, "avg", 0 }, { hcommBand, "band", 1 },
	{ hcommBor, "bor", 1 }, { hcommBxor, "bxor", 1 }, { hcommLand, "land", 1 },
	{ hcommLor, "lor", 1 }, { hcommLxor, "lxor", 1 },
};

static int rank, size, failures, tests, failed_tests;

#define FAIL(...)							\
	do {								\
		if (failures++ < 3) {					\
			printf("# rank %d: line %d: ", rank, __LINE__);	\
			printf(__VA_ARGS__);				\
			printf("\n");					\
			fflush(stdout);					\
		}							\
	} while (0)

/* a call that must succeed; without it nothing that follows makes sense */
#define MUST(call)							\
	do {								\
		hcommResult_t r_ = (call);				\
									\
		if (r_) {						\
			printf("# rank %d: line %d: %s: %s: %s\n", rank,	\
			       __LINE__, #call, hcommGetErrorString(r_),	\
			       hcommGetLastError(NULL));		\
			if (!rank)					\
				printf("not ok %d - %s\nBail out!\n",	\
				       tests + 1, #call);		\
			fflush(stdout);					\
			_exit(1);					\
		}							\
	} while (0)

/* a whole number as an element; exact for what the tests use (0 to 255) */
static inline void put(int type, void *buf, size_t i, long v)
{
	uint8_t *p = (uint8_t *)buf + i * type_bytes[type];
	float f = (float)v;
	double d = (double)v;
	uint32_t bits;
	uint16_t h = 0;
	int e = 0;

	while (v >> (e + 1))
		e++;
	switch (type) {
	case hcommFp8E4M3:
		*p = (uint8_t)(v ? (e + 7) << 3 | ((v << 3 >> e) & 7) : 0);
		break;
	case hcommFp8E5M2:
		*p = (uint8_t)(v ? (e + 15) << 2 | ((v << 2 >> e) & 3) : 0);
		break;
	case hcommFloat16:
		if (v)
			h = (uint16_t)((e + 15) << 10 | ((v << (10 - e)) & 0x3ff));
		memcpy(p, &h, 2);
		break;
	case hcommBfloat16:
		memcpy(&bits, &f, 4);
		h = (uint16_t)(bits >> 16);
		memcpy(p, &h, 2);
		break;
	case hcommFloat32:
		memcpy(p, &f, 4);
		break;
	case hcommFloat64:
		memcpy(p, &d, 8);
		break;
	default:
		/* little endian: the low bytes */
		memcpy(p, &v, type_bytes[type]);
	}
}

/*
 * Element i of a rank: small enough for exact results on up to 8 ranks, of the
 * 8 bit types, which hold 3 bits, on up to 4.
 */
static inline long value(int type, int op, int r, size_t i)
{
	bool small = type == hcommFp8E4M3 || type == hcommFp8E5M2;

	switch (op) {
	case hcommAvg:
		/* the quotient is a whole number where it has to be one */
		if (type >= hcommFloat16)
			return small && r > 1 ? 0 : size * (long)((r + i) % (small ? 2 : 4));
		return (long)((r * 7 + i * 3 + (i >> 8)) % 15);
	case hcommLand:
	case hcommLor:
	case hcommLxor:
		return (long)((r + 1) * i % 3 * (i % 5));
	case hcommSum:
		return (long)((r * 7 + i * 3 + (i >> 8)) % (small ? 2 : 30));
	case hcommProd:
		return 1 + (long)((r + i + (i >> 5)) % 3 == 0);
	default:
		return (long)((r * 53 + i * 29 + (i >> 7)) % (small ? 8 : 120));
	}
}

/* the reduction of ranks 0 to n - 1 */
static inline long prefix(int type, int op, int n, size_t i)
{
	long acc = value(type, op, 0, i), v;
	int r;

	for (r = 1; r < n; r++) {
		v = value(type, op, r, i);
		switch (op) {
		case hcommBand:
			acc &= v;
			break;
		case hcommBor:
			acc |= v;
			break;
		case hcommBxor:
			acc ^= v;
			break;
		case hcommLand:
			acc = acc && v;
			break;
		case hcommLor:
			acc = acc || v;
			break;
		case hcommLxor:
			acc = !acc != !v;
			break;
		case hcommAvg:
		case hcommSum:
			acc += v;
			break;
		case hcommProd:
			acc *= v;
			break;
		case hcommMin:
			acc = v < acc ? v : acc;
			break;
		default:
			acc = v > acc ? v : acc;
		}
	}
	if (op == hcommAvg)
		acc /= n;
	/* one rank: its input, whatever the operation */
	return acc;
}

static inline long reduced(int type, int op, size_t i)
{
	return prefix(type, op, size, i);
}

/* the end of a test: its failures on all ranks, told by rank 0 */
static inline void verdict(const char *fmt, ...)
	__attribute__((format(printf, 1, 2)));


static inline void verdict(const char *fmt, ...)
{
	int32_t mine = failures, all = 0;
	char name[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(name, sizeof(name), fmt, ap);
	va_end(ap);
	MUST(hcommAllReduce(&mine, &all, 1, hcommInt32, hcommSum, COMM_WORLD));
	tests++;
	failed_tests += all != 0;
	if (!rank)
		printf("%sok %d - %s\n", all ? "not " : "", tests, name);
	fflush(stdout);
	failures = 0;
}

static inline void begin(int *argc, char ***argv)
{
	if (access("/dev/hcomm", F_OK)) {
		printf("1..0 # SKIP no /dev/hcomm\n");
		exit(0);
	}
	MUST(hcommInit(argc, argv));
	MUST(hcommCommRank(COMM_WORLD, &rank));
	MUST(hcommCommSize(COMM_WORLD, &size));
}

static inline int end(void)
{
	MUST(hcommBarrier(COMM_WORLD));
	MUST(hcommFinalize());
	if (!rank)
		printf("1..%d\n", tests);
	return failed_tests != 0;
}

static inline void need_two(void)
{
	if (size < 2)
		MUST(HCOMM_ERR_INVALID_USAGE);
}

#define RUN_TESTS(...)							\
	do {								\
		static void (*const list_[])(void) = { __VA_ARGS__ };	\
		size_t i_;						\
									\
		for (i_ = 0; i_ < sizeof(list_) / sizeof(list_[0]); i_++)	\
			list_[i_]();					\
	} while (0)

/* @text: part of what must be told of an error, NULL: anything */
static inline void expect(hcommResult_t got, hcommResult_t want, const char *text)
{
	if (got != want)
		FAIL("got \"%s\" (%s), wanted \"%s\"", hcommGetErrorString(got),
		     hcommGetLastError(NULL), hcommGetErrorString(want));
	else if (text && !strstr(hcommGetLastError(NULL), text))
		FAIL("\"%s\" is not in: %s", text, hcommGetLastError(NULL));
}

/* bytes that tell where they are from */
static inline void pattern(uint8_t *buf, size_t n, int seed)
{
	size_t i;

	for (i = 0; i < n; i++)
		buf[i] = (uint8_t)(i * 13 + (i >> 8) + (size_t)seed * 31);
}

static inline void expect_pattern(const uint8_t *buf, size_t n, int seed, const char *what)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (buf[i] != (uint8_t)(i * 13 + (i >> 8) + (size_t)seed * 31)) {
			FAIL("%s: byte %zu of %zu is wrong", what, i, n);
			return;
		}
	}
}

/* one id on all ranks */
static inline hcommUniqueId unique_id(void)
{
	hcommUniqueId id;

	memset(&id, 0, sizeof(id));
	if (!rank)
		MUST(hcommGetUniqueId(&id));
	MUST(hcommBcast(&id, sizeof(id), hcommUint8, 0, COMM_WORLD));
	return id;
}

/* a communicator of all ranks beside the world */
static inline hcommComm_t new_comm(void)
{
	hcommUniqueId id = unique_id();
	hcommComm_t comm;

	MUST(hcommCommInitRank(&comm, size, id, rank));
	return comm;
}

#endif /* SELFTESTS_LIB_API_UTIL_H */
