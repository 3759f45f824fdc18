/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Collectives of the API: a function of the API fills in struct hcomm_coll_args, the
 * same in all of its forms, and gives it to the function of its form.
 */
#ifndef HCOMM_COLLECTIVE_H
#define HCOMM_COLLECTIVE_H

#include "api.h"

/**
 * struct hcomm_coll_blocks - unequal blocks of a buffer
 * @counts: elements of each
 * @displs: where each begins; NULL: packed
 */
struct hcomm_coll_blocks {
	const size_t *counts;
	const size_t *displs;
};

/**
 * struct hcomm_coll_args - a collective as its caller says it, not checked
 * @coll: which
 * @vector: V form
 * @dtype: type of the elements
 * @op: operation, where it reduces
 * @root: root, where it has one, else 0
 * @send: input
 * @recv: output
 * @count: elements of a block; V form: of this rank's own, where only the root has
 *	the counts of all
 * @sent: V form that sends all blocks
 * @received: V form that receives all blocks
 */
struct hcomm_coll_args {
	enum hcomm_coll coll;
	bool vector;
	hcommDataType_t dtype;
	hcommRedOp_t op;
	int root;
	const void *send;
	void *recv;
	size_t count;
	struct hcomm_coll_blocks sent;
	struct hcomm_coll_blocks received;
};

/* check it, and make it in one of the forms of enum hcomm_form */
hcommResult_t hcomm_coll_run(struct hcomm_coll_args args, hcommComm_t comm);
hcommResult_t hcomm_coll_start(struct hcomm_coll_args args, hcommComm_t comm,
			       hcommRequest_t *req);
hcommResult_t hcomm_coll_init(struct hcomm_coll_args args, hcommComm_t comm,
			      hcommRequest_t *req);

/* ------------------------------------------------------------------- blocks.c */

/**
 * struct hcomm_coll_sizes - buffers of a collective, in bytes
 * @send: input of a rank that has one
 * @recv: output of a rank that has one
 * @own: where the block of this rank begins in a buffer of all blocks
 */
struct hcomm_coll_sizes {
	uint64_t send;
	uint64_t recv;
	uint64_t own;
};

/**
 * hcomm_coll_measure - look at the blocks of a V form that has one array of counts
 * @a: what the caller said
 * @rooted: only the root has counts
 * @sends_all: they are of what is sent, else of what is received
 * @comm: communicator
 * @call: name, dtype and root are set; gets counts
 * @sizes: out
 */
hcommResult_t hcomm_coll_measure(const struct hcomm_coll_args *a, bool rooted,
				 bool sends_all, const struct hcomm_comm *comm,
				 struct hcomm_call_args *call,
				 struct hcomm_coll_sizes *sizes);

/* the same of an AlltoAllV, which has two */
hcommResult_t hcomm_coll_measure_both(const struct hcomm_coll_args *a,
				      const struct hcomm_comm *comm,
				      struct hcomm_call_args *call,
				      struct hcomm_coll_sizes *sizes);

#endif /* HCOMM_COLLECTIVE_H */
