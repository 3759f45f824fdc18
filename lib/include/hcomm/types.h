/* SPDX-License-Identifier: MIT */
/*
 * hcomm: results, element types, reductions, and the handles of the library.  What is
 * called with them is in hcomm.h and the headers that it includes.
 */
#ifndef HCOMM_TYPES_H
#define HCOMM_TYPES_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * typedef hcommResult_t - what a function returns
 * @HCOMM_SUCCESS: done
 * @HCOMM_ERR_INVALID_ARGUMENT: an argument is out of its range
 * @HCOMM_ERR_INVALID_USAGE: calls in a wrong order, e.g. before hcommInit()
 * @HCOMM_ERR_SYSTEM: a system call failed
 * @HCOMM_ERR_NO_MEMORY: out of memory
 * @HCOMM_ERR_MEMLOCK: RLIMIT_MEMLOCK does not allow to pin so much
 * @HCOMM_ERR_NO_DEVICE: /dev/hcomm, or an RDMA device that is needed, is missing
 * @HCOMM_ERR_VERSION: library and module, or the libraries of two ranks, differ
 * @HCOMM_ERR_ENVIRONMENT: an environment variable has a bad value
 * @HCOMM_ERR_TIMEOUT: ranks did not appear, or a call took longer than allowed
 * @HCOMM_ERR_AUTH: a peer does not know the job's secret
 * @HCOMM_ERR_BOOTSTRAP: the ranks could not meet
 * @HCOMM_ERR_OPTIONS: ranks have different options
 * @HCOMM_ERR_MISMATCH: ranks made different calls
 * @HCOMM_ERR_PEER_DIED: a rank's process ended
 * @HCOMM_ERR_PEER_LEFT: a rank ended or destroyed its communicator
 * @HCOMM_ERR_LINK: no link to a rank, or it broke
 * @HCOMM_ERR_ABORTED: hcommCommAbort() was called
 * @HCOMM_ERR_BUSY: more calls in flight than the communicator allows
 * @HCOMM_ERR_FORKED: called in a child of the process that initialised hcomm
 * @HCOMM_ERR_UNSUPPORTED: the module or this version can't do that
 * @HCOMM_ERR_INTERNAL: a bug in hcomm
 */
typedef enum {
	HCOMM_SUCCESS = 0,
	HCOMM_ERR_INVALID_ARGUMENT = 1,
	HCOMM_ERR_INVALID_USAGE = 2,
	HCOMM_ERR_SYSTEM = 3,
	HCOMM_ERR_NO_MEMORY = 4,
	HCOMM_ERR_MEMLOCK = 5,
	HCOMM_ERR_NO_DEVICE = 6,
	HCOMM_ERR_VERSION = 7,
	HCOMM_ERR_ENVIRONMENT = 8,
	HCOMM_ERR_TIMEOUT = 9,
	HCOMM_ERR_AUTH = 10,
	HCOMM_ERR_BOOTSTRAP = 11,
	HCOMM_ERR_OPTIONS = 12,
	HCOMM_ERR_MISMATCH = 13,
	HCOMM_ERR_PEER_DIED = 14,
	HCOMM_ERR_PEER_LEFT = 15,
	HCOMM_ERR_LINK = 16,
	HCOMM_ERR_ABORTED = 17,
	HCOMM_ERR_BUSY = 18,
	HCOMM_ERR_FORKED = 19,
	HCOMM_ERR_UNSUPPORTED = 20,
	HCOMM_ERR_INTERNAL = 21
} hcommResult_t;

/* ------------------------------------------------------- types and operations */

/**
 * typedef hcommDataType_t - element types; integers are in the host's order
 *
 * All ranks must have the same byte order.
 */
typedef enum {
	hcommInt8 = 0,
	hcommUint8 = 1,
	hcommInt16 = 2,
	hcommUint16 = 3,
	hcommInt32 = 4,
	hcommUint32 = 5,
	hcommInt64 = 6,
	hcommUint64 = 7,
	hcommFloat16 = 8,	/* IEEE 754 binary16 */
	hcommBfloat16 = 9,	/* upper half of binary32 */
	hcommFloat32 = 10,
	hcommFloat64 = 11,
	hcommFp8E4M3 = 12,	/* OCP FP8 without infinities: bias 7, NaN is S.1111.111 */
	hcommFp8E5M2 = 13	/* OCP FP8 with infinities: bias 15 */
} hcommDataType_t;

/**
 * typedef hcommRedOp_t - reductions
 * @hcommSum: sum
 * @hcommProd: product
 * @hcommMin: minimum
 * @hcommMax: maximum
 * @hcommBand: bitwise and, of integers only as all that follow up to hcommLxor
 * @hcommBor: bitwise or
 * @hcommBxor: bitwise exclusive or
 * @hcommLand: 1 where all are not 0, else 0
 * @hcommLor: 1 where any is not 0, else 0
 * @hcommLxor: 1 where an odd number of them is not 0, else 0
 * @hcommAvg: the sum, divided by the number of ranks at the end
 * @hcommRedOpEnd: not an operation; keeps room for those that are made
 *
 * Integer sums and products wrap; the average of integers is their sum, wrapped,
 * divided toward zero.  Every operation on floating point numbers is rounded once
 * to nearest even, and so is the division of an average.  NaNs of results are
 * the canonical one of their type, and -0 is less than +0.  What is too large is
 * an infinity, or a NaN in hcommFp8E4M3, which has none.  All ranks get the
 * same bits, the same on every run.
 */
typedef enum {
	hcommSum = 0,
	hcommProd = 1,
	hcommMin = 2,
	hcommMax = 3,
	hcommBand = 4,
	hcommBor = 5,
	hcommBxor = 6,
	hcommLand = 7,
	hcommLor = 8,
	hcommLxor = 9,
	hcommAvg = 32,
	hcommRedOpEnd = 0x7fffffff
} hcommRedOp_t;

/** typedef hcommComm_t - a communicator; owned by who created it */
typedef struct hcomm_comm *hcommComm_t;

/**
 * typedef hcommRequest_t - a call in flight, which ends by hcommWait() or hcommTest(),
 * or a persistent request, which ends by hcommRequestFree()
 */
typedef struct hcomm_request *hcommRequest_t;

/** typedef hcommMem_t - a registration made by hcommMemRegister() */
typedef struct hcomm_registration *hcommMem_t;

/* the communicator that hcommInit() makes: all ranks of the job */
#define HCOMM_COMM_WORLD	((hcommComm_t)(uintptr_t)1)
#ifndef COMM_WORLD
#define COMM_WORLD		HCOMM_COMM_WORLD
#endif

#define HCOMM_UNIQUE_ID_BYTES	128
#define HCOMM_MAX_TAG		((1 << 30) - 1)

/**
 * typedef hcommUniqueId - the address and the secret of a new communicator
 *
 * Made by one rank and given to the others by any means that keeps it secret:
 * who has it can join.  Plain bytes, the same on all architectures.
 */
typedef struct {
	char internal[HCOMM_UNIQUE_ID_BYTES];
} hcommUniqueId;

/** typedef hcommP2pOp_t - direction of a message of hcommBatchSendRecv() */
typedef enum {
	hcommP2pSend = 0,
	hcommP2pRecv = 1
} hcommP2pOp_t;

/**
 * struct hcommP2p_t - a message of hcommBatchSendRecv()
 * @op: direction
 * @buf: message, or where to
 * @bytes: its length
 * @peer: the other rank
 * @tag: 0 to HCOMM_MAX_TAG
 */
typedef struct {
	hcommP2pOp_t op;
	void *buf;
	size_t bytes;
	int peer;
	int tag;
} hcommP2p_t;

#ifdef __cplusplus
}
#endif

#endif /* HCOMM_TYPES_H */
