/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the scenarios share: who and where this node is, checks, the bootstrap
 * among the nodes (boot.c), a rank with memory and programs (node.c).
 *
 * Everything is of one process per scenario and node; main.c forks it.
 */
#ifndef HCOMM_SELFTEST_MULTI_H
#define HCOMM_SELFTEST_MULTI_H

#include <netinet/in.h>
#include <stdio.h>
#include "../kselftest/util.h"

#define MAX_NODES 8
#define SCENARIO_LIMIT 90		/* seconds */
#define SEC 1000000000ll

/* Set once, by main(). */
extern uint32_t me, nodes;
extern struct in_addr addrs[MAX_NODES];

/* ------------------------------------------------------------------------ checks */

extern int checks_failed;

__attribute__((format(printf, 4, 5)))
bool check_failed(const char *file, int line, const char *what, const char *fmt, ...);

#define CHECK(cond, ...) ({						\
	bool ok_ = (cond);						\
									\
	if (!ok_)							\
		check_failed(__FILE__, __LINE__, #cond, __VA_ARGS__);	\
	ok_;								\
})
#define NEED(cond, ...)							\
	do {								\
		if (!CHECK(cond, __VA_ARGS__))				\
			exit(1);					\
	} while (0)
#define EQ(want, have)							\
	do {								\
		long long want_ = (want), have_ = (have);		\
									\
		if (want_ != have_)					\
			check_failed(__FILE__, __LINE__, #have,		\
				     "%lld, not %lld", have_, want_);	\
	} while (0)
#define NEED0(expr)							\
	do {								\
		int ret_ = (expr);					\
									\
		NEED(!ret_, "%s", strerror(-ret_));			\
	} while (0)

double now(void);

/* --------------------------------------------------------------------- bootstrap */

struct boot {
	int peer[MAX_NODES];	/* node 0: one to each; others: [0] */
};

/* The one of the scenario. */
extern struct boot boot;

int boot_open(struct boot *b, int port, uint32_t n);
/* all[me] is given; on return all of all[] is known to all. */
void boot_gather(struct boot *b, void *all, size_t size, uint32_t n);
/* Ranks 0 to n - 1 are here. */
void meet(uint32_t n);

/* ----------------------------------------------------------------- communicators */

struct node {
	struct rank r;
	uint32_t n;
	uint8_t *buf;
	size_t len;
	uint32_t mem;
};

void options(struct hcomm_comm_create *opt);
/* Rank me of n, known to the others; opt may differ from rank to rank. */
void node_open(struct node *x, uint32_t n, const struct hcomm_comm_create *opt);
void node_memory(struct node *x, size_t len);
void node_close(struct node *x);
int link_open(struct node *x, uint32_t peer, struct hcomm_link_open *arg);

uint32_t load(struct node *x, const struct hcomm_step *steps, uint32_t n,
	      const uint32_t *deps, uint32_t ndeps);
int go(struct node *x, uint32_t prog, uint64_t run, uint32_t timeout_ms);
/* The status of the next completion; -EDEADLK when there is none in time. */
int done(struct node *x, double seconds, struct hcomm_cqe *cqe);

struct hcomm_fault fault_of(struct node *x);
/* The communicator has failed, for this reason and this rank. */
void expect_fault(struct node *x, int error, uint32_t reason, uint32_t rank);

/* What a rank has at byte i. */
uint8_t pattern(uint32_t rank, uint64_t i, uint32_t salt);
/* Each to its next, from its last; stored, or added to what is there. */
void ring_pass(struct node *x, uint64_t len, bool reduce, uint32_t shift, uint32_t salt);

/* --------------------------------------------------------------------- scenarios */

/* data.c */
void exchange(void);
void small_chunks(void);
void many_runs(void);
void sequence(void);
void loopback(void);

/* links.c */
void higher_connects(void);
void both_connect(void);

/* refusal.c */
void other_secret(void);
void other_options(void);
void other_call(void);
void strangers(void);

/* fault.c */
void killed(void);
void killed_busy(void);
void left(void);
void aborted(void);
void timed_out(void);
void link_down(void);
void link_up(void);

#endif /* HCOMM_SELFTEST_MULTI_H */
