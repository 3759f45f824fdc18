/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * TAP for tests of the library: a test is a function of checks; any failed check
 * makes it "not ok" and says where.
 */
#ifndef SELFTESTS_LIB_TAP_H
#define SELFTESTS_LIB_TAP_H

#include <stdbool.h>
#include <stdio.h>

static unsigned int tap_tests, tap_failed, tap_checks_failed;

#define CHECK(cond, ...) ({						\
	bool ok_ = !!(cond);						\
									\
	if (!ok_ && tap_checks_failed++ < 10) {				\
		printf("# %s:%d: %s: ", __func__, __LINE__, #cond);	\
		printf(__VA_ARGS__);					\
		printf("\n");						\
	}								\
	ok_;								\
})

#define RUN(test, name)							\
	do {								\
		tap_checks_failed = 0;					\
		test;							\
		tap_tests++;						\
		tap_failed += !!tap_checks_failed;			\
		printf("%sok %u - %s\n", tap_checks_failed ? "not " : "",	\
		       tap_tests, name);				\
		fflush(stdout);						\
	} while (0)

static inline int tap_end(void)
{
	printf("1..%u\n", tap_tests);
	return tap_failed != 0;
}

#endif /* SELFTESTS_LIB_TAP_H */
