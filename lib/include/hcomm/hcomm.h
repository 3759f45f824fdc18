/* SPDX-License-Identifier: MIT */
/*
 * hcomm: collective communication through the kernel - the API of libhcomm-user
 *
 * A program starts with hcommInit() (the launcher's environment says who it is)
 * or with hcommGetUniqueId() and hcommCommInitRank(), calls collectives that all
 * ranks of a communicator call in the same order, and ends with
 * hcommFinalize().  Link with -lhcomm-user.
 *
 * Common rules
 *
 * Results.  Functions return HCOMM_SUCCESS or an HCOMM_ERR_* code.
 * hcommGetLastError() then tells what happened, where, which rank was first and
 * what can be done about it.  Nothing is printed unless HCOMM_LOG_LEVEL or
 * HCOMM_DEBUG ask for it.
 *
 * Threads.  All functions may be called by several threads at once, except that
 * no thread may use a communicator, a request or memory that another destroys,
 * waits for or frees.  The collectives of one communicator must be called in the
 * same order on all ranks: threads that share it must agree on an order.
 *
 * Buffers.  @send is only read, @recv only written (and read where the call is
 * in place).  A buffer may be NULL where the rank does not use it or where the
 * count is 0.  Alignment does not matter.  Memory from hcommMalloc() or given to
 * hcommMemRegister() is pinned once and is fastest; any other memory works: up
 * to HCOMM_BOUNCE_SIZE bytes it is copied through pinned memory, larger buffers
 * are pinned for the duration of each call.  The send and receive buffers of a
 * call must be the same (in place, as each call defines it) or not overlap.
 *
 * After a failure (a rank died, calls did not match, ...) a communicator can
 * only be destroyed; all later calls on it return the first error.
 *
 * fork().  A child can't use what its parent has: every function returns
 * HCOMM_ERR_FORKED in it.  exec() closes everything.
 */
#ifndef HCOMM_HCOMM_H
#define HCOMM_HCOMM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HCOMM_VERSION_MAJOR	0
#define HCOMM_VERSION_MINOR	1

/* -------------------------------------------------------------------- results */

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
 * @HCOMM_ERR_PEER_LEFT: a rank destroyed its communicator
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

/* --------------------------------------------------------------------- errors */

/**
 * hcommGetErrorString - what an error code means
 * @result: code
 *
 * Return: a constant text, also for unknown codes.  Any thread.
 */
const char *hcommGetErrorString(hcommResult_t result);

/**
 * hcommGetLastError - what went wrong
 * @comm: communicator: its first fault; NULL: the last failed call of this thread
 *
 * Return: text of one or more sentences, "no error" if there was none.  It
 * belongs to the calling thread and stays valid until the thread's next call of
 * any function of this library.
 */
const char *hcommGetLastError(hcommComm_t comm);

/* -------------------------------------------------------------- start and end */

/**
 * hcommInit - join the job that the environment describes
 * @argc: &argc or NULL; not changed
 * @argv: &argv or NULL; not changed
 *
 * Makes HCOMM_COMM_WORLD of all processes of the job.  Collective: returns when
 * all ranks are here, or after HCOMM_BOOTSTRAP_TIMEOUT seconds (default 60).  Who
 * and where the ranks are comes from the first of these that is set:
 * HCOMM_RANK, HCOMM_SIZE, HCOMM_ROOT; the variables of torchrun; of Open MPI; of
 * MPICH and other PMI launchers; of Slurm.  Without any of them the job has one
 * rank.
 *
 * The ranks prove to each other that they know a secret: HCOMM_SECRET, which
 * should be random and the job's own.  Without it, the job's identity or rank 0's
 * address takes its place.  That keeps jobs from meeting by mistake; it does not
 * keep out somebody on the network who can guess it.
 *
 * Once per process, by one thread.  Errors: HCOMM_ERR_ENVIRONMENT,
 * HCOMM_ERR_NO_DEVICE, HCOMM_ERR_VERSION, HCOMM_ERR_TIMEOUT, HCOMM_ERR_BOOTSTRAP,
 * HCOMM_ERR_AUTH, HCOMM_ERR_OPTIONS, HCOMM_ERR_INVALID_USAGE (a second time).
 */
hcommResult_t hcommInit(int *argc, char ***argv);

/**
 * hcommFinalize - leave the job
 *
 * Waits for the calls in flight on HCOMM_COMM_WORLD and destroys it.  Every
 * other communicator must have been destroyed before.  After it, memory from
 * hcommMalloc() may only be given to hcommFree().  hcommInit() can't be called
 * again.
 */
hcommResult_t hcommFinalize(void);

/**
 * hcommGetUniqueId - make the id of a new communicator
 * @id: out
 *
 * Opens a TCP port of this process (on the addresses that HCOMM_SOCKET_IFNAME
 * selects, default: those of all interfaces but loopback), where the ranks meet,
 * until they have.  Errors: HCOMM_ERR_SYSTEM, HCOMM_ERR_ENVIRONMENT.
 */
hcommResult_t hcommGetUniqueId(hcommUniqueId *id);

/**
 * struct hcommConfig_t - options of a communicator
 * @size: sizeof(hcommConfig_t)
 * @chunkSize: bytes, the grain of pipelining, multiple of 4096, 4096 to 1 MiB;
 *	HCOMM_CHUNK_SIZE
 * @eagerSize: bytes, messages up to it are sent without asking, multiple of 64,
 *	0 to 16384; HCOMM_EAGER_SIZE.  0 takes the default
 * @maxRuns: calls in flight, 1 to 64; HCOMM_MAX_RUNS
 * @connectTimeoutMs: milliseconds to bring a link up, 1 to 3600000;
 *	HCOMM_CONNECT_TIMEOUT (in seconds)
 * @bootstrapTimeoutMs: milliseconds for all ranks to meet, 1 to 86400000;
 *	HCOMM_BOOTSTRAP_TIMEOUT (in seconds)
 * @runTimeoutMs: milliseconds that one call may take, 0: no limit, to 3600000;
 *	HCOMM_TIMEOUT (in seconds)
 * @transports: HCOMM_CONFIG_* bits; HCOMM_TRANSPORT ("local", "rdma",
 *	"local,rdma")
 *
 * @probe: 1: measure the links when the communicator is made; HCOMM_PROBE
 * @tune: 1: measure calls and go on with what was fastest; HCOMM_TUNE
 * @algo: algorithms to use or not, "allreduce:ring,hd;broadcast:^tree"; HCOMM_ALGO
 * @algoTable: algorithms by size, "allreduce: 0-128K=ring,128K-=dbtree", or
 *	"@file"; HCOMM_ALGO_TABLE
 * @proto: "eager", "write", "^eager", "^write" or "auto"; HCOMM_PROTO
 * @model: file of a cost model; HCOMM_MODEL
 * @tuner: shared object of a tuner plugin, see hcomm/tuner.h; HCOMM_TUNER
 *
 * A field that is 0 or NULL takes its default.  A variable of the environment,
 * where it is set, wins over the field, so that who runs a program has the last
 * word.  All but the timeouts must be equal on all ranks (of files, what is in
 * them).  Texts are looked at only during the call.
 */
typedef struct {
	size_t size;
	uint32_t chunkSize;
	uint32_t eagerSize;
	uint32_t maxRuns;
	uint32_t connectTimeoutMs;
	uint32_t bootstrapTimeoutMs;
	uint32_t runTimeoutMs;
	uint32_t transports;
	uint32_t probe;
	uint32_t tune;
	uint32_t reserved;
	const char *algo;
	const char *algoTable;
	const char *proto;
	const char *model;
	const char *tuner;
} hcommConfig_t;

#define HCOMM_CONFIG_LOCAL	1u	/* ranks of one node: direct copies */
#define HCOMM_CONFIG_RDMA	2u	/* InfiniBand, RoCE, iWARP */

#define HCOMM_CONFIG_INITIALIZER { sizeof(hcommConfig_t), 0, 0, 0, 0, 0, 0, 0, 0, \
				   0, 0, NULL, NULL, NULL, NULL, NULL }

/**
 * hcommCommInitRank - join a new communicator
 * @comm: out: communicator, to be given to hcommCommDestroy()
 * @nranks: number of ranks, 1 to 65536
 * @id: from hcommGetUniqueId() of one process; one communicator per id
 * @rank: this rank, 0 to nranks - 1
 *
 * Collective: see hcommInit() for waiting and errors.  A process may be several
 * ranks only if each is made by a thread of its own.
 */
hcommResult_t hcommCommInitRank(hcommComm_t *comm, int nranks, hcommUniqueId id,
				int rank);

/**
 * hcommCommInitRankConfig - join a new communicator with options
 * @comm: out: communicator
 * @nranks: number of ranks
 * @id: from hcommGetUniqueId()
 * @rank: this rank
 * @config: options or NULL
 *
 * Errors: as hcommCommInitRank(); HCOMM_ERR_OPTIONS names the ranks and values
 * that differ.
 */
hcommResult_t hcommCommInitRankConfig(hcommComm_t *comm, int nranks,
				      hcommUniqueId id, int rank,
				      const hcommConfig_t *config);

/* the color of a rank that is in no new communicator */
#define HCOMM_SPLIT_NOCOLOR	(-1)

/**
 * hcommCommSplit - make communicators of the ranks of one
 * @comm: communicator, which stays as it is
 * @color: ranks of the same color become one communicator; 0 or more, or
 *	HCOMM_SPLIT_NOCOLOR for none
 * @key: ranks of the new one are in the order of keys; of equal keys, in that of
 *	ranks in @comm
 * @newcomm: out: to be given to hcommCommDestroy(); NULL without a color and
 *	after an error
 * @config: options; NULL: those of @comm
 *
 * Collective over @comm, which carries it: no sockets, no id.  Operations that
 * were made for @comm are not those of the new one.  Errors: if a rank of @comm
 * can't begin (HCOMM_ERR_NO_MEMORY, a bad @config), all ranks return that; later
 * ones are those of hcommCommInitRankConfig(), on all ranks of a color.
 */
hcommResult_t hcommCommSplit(hcommComm_t comm, int color, int key,
			     hcommComm_t *newcomm, const hcommConfig_t *config);

/**
 * hcommCommDup - make a communicator of the same ranks
 * @comm: communicator
 * @newcomm: out: as of hcommCommSplit(), with all ranks in their order
 * @config: options; NULL: those of @comm
 */
hcommResult_t hcommCommDup(hcommComm_t comm, hcommComm_t *newcomm,
			   const hcommConfig_t *config);

/**
 * hcommCommDestroy - leave a communicator
 * @comm: communicator, NULL is ignored; HCOMM_COMM_WORLD ends by hcommFinalize()
 *
 * Waits for the calls in flight on this rank.  Requests that were not waited for
 * stay valid for hcommWait().
 */
hcommResult_t hcommCommDestroy(hcommComm_t comm);

/**
 * hcommCommAbort - end all calls in flight, on all ranks
 * @comm: communicator; it can only be queried and destroyed after
 *
 * May be called while other threads are in calls on @comm; those return
 * HCOMM_ERR_ABORTED.
 */
hcommResult_t hcommCommAbort(hcommComm_t comm);

/**
 * hcommCommRank - number of this rank
 * @comm: communicator
 * @rank: out: 0 to size - 1
 */
hcommResult_t hcommCommRank(hcommComm_t comm, int *rank);

/**
 * hcommCommSize - number of ranks
 * @comm: communicator
 * @size: out
 */
hcommResult_t hcommCommSize(hcommComm_t comm, int *size);

/**
 * hcommCommLocalRank - number of this rank among the ranks of its node
 * @comm: communicator
 * @local_rank: out: 0 to ranks of this node - 1, in the order of ranks
 */
hcommResult_t hcommCommLocalRank(hcommComm_t comm, int *local_rank);

/**
 * hcommCommGetAsyncError - is the communicator sound?
 * @comm: communicator
 * @result: out: HCOMM_SUCCESS or its first fault
 */
hcommResult_t hcommCommGetAsyncError(hcommComm_t comm, hcommResult_t *result);

/* --------------------------------------------------------------------- memory */

/**
 * hcommMalloc - memory that collectives use without a copy
 * @size: bytes; 0 gives a unique pointer to no bytes
 *
 * Aligned to 64 bytes, to 2 MiB (and in huge pages where there are any) from
 * 2 MiB up.  Not cleared.  Comes from a pool; pinned when a collective first
 * uses it, once.
 *
 * Return: memory to be given to hcommFree(), NULL on error.
 */
void *hcommMalloc(size_t size);

/**
 * hcommFree - give memory back
 * @ptr: from hcommMalloc(), NULL is ignored; no call in flight uses it
 */
hcommResult_t hcommFree(void *ptr);

/**
 * hcommMemRegister - pin memory for many calls
 * @ptr: start, any alignment
 * @size: bytes, at least 1
 * @mem: out: registration, to be given to hcommMemDeregister()
 *
 * The range must stay mapped until hcommMemDeregister(): the pages are pinned,
 * and if the range is unmapped and mapped again, collectives would go on using
 * the old pages.  It must not overlap another registration or hcommMalloc()
 * memory.  Errors: HCOMM_ERR_INVALID_ARGUMENT, HCOMM_ERR_MEMLOCK,
 * HCOMM_ERR_UNSUPPORTED (memory that can't be pinned).
 */
hcommResult_t hcommMemRegister(void *ptr, size_t size, hcommMem_t *mem);

/**
 * hcommMemDeregister - end a registration
 * @mem: registration, NULL is ignored; call it before the memory is unmapped
 */
hcommResult_t hcommMemDeregister(hcommMem_t mem);

/* ------------------------------------------------------------- point to point */

/**
 * hcommSend - send a message
 * @buf: message
 * @n: bytes
 * @dst: receiving rank, not this one but in a group
 * @tag: 0 to HCOMM_MAX_TAG; messages of one tag are received in order
 * @comm: communicator
 *
 * Returns when @buf may be used again.  Up to the eager size that does not wait
 * for the receiver; larger messages do, so two ranks that both send first would
 * wait for ever.  The receiver must ask for exactly @n bytes: any other length
 * is HCOMM_ERR_MISMATCH on both ranks.
 */
hcommResult_t hcommSend(const void *buf, size_t n, int dst, int tag,
			hcommComm_t comm);

/**
 * hcommRecv - receive a message
 * @buf: where to
 * @n: bytes, equal to what the sender sends
 * @src: sending rank, not this one but in a group
 * @tag: 0 to HCOMM_MAX_TAG
 * @comm: communicator
 */
hcommResult_t hcommRecv(void *buf, size_t n, int src, int tag,
			hcommComm_t comm);

/**
 * hcommSendRecv - send a message and receive one at the same time
 * @sendbuf: message; must not overlap @recvbuf
 * @n: its bytes
 * @dst: receiving rank; may be this one, if @src is, too, and both tags are equal
 * @sendtag: tag of the message sent
 * @recvbuf: where to
 * @m: bytes to receive
 * @src: sending rank
 * @recvtag: tag of the message received
 * @comm: communicator
 *
 * As hcommSend() and hcommRecv() in a group: neither waits for the other.
 */
hcommResult_t hcommSendRecv(const void *sendbuf, size_t n, int dst, int sendtag,
			    void *recvbuf, size_t m, int src, int recvtag,
			    hcommComm_t comm);

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

/**
 * hcommBatchSendRecv - send and receive many messages together
 * @ops: messages; those of one direction, peer and tag in their order
 * @count: how many, may be 0
 * @comm: communicator
 *
 * As hcommSend() and hcommRecv() in a group.
 */
hcommResult_t hcommBatchSendRecv(const hcommP2p_t *ops, int count, hcommComm_t comm);

/* --------------------------------------------------------------------- groups */

/**
 * hcommGroupStart - begin to collect calls
 *
 * Until the hcommGroupEnd() that belongs to it, this thread's blocking calls
 * (messages and collectives, of one or several communicators) only check their
 * arguments, and are done by hcommGroupEnd(); all of them go out together, by one
 * system call if they are not more than 64.  None waits for another, so a group may
 * send first on both ranks, and a call must not use what another receives.
 * Collectives of one communicator keep the order that all ranks must have; which of
 * their calls ranks put into groups is up to each.
 *
 * In a group a rank may send to itself, if the same group receives that, too.
 *
 * Groups may be nested: the outermost one ends them all.  All other functions do
 * at once what they do, in a group, too.
 */
hcommResult_t hcommGroupStart(void);

/**
 * hcommGroupEnd - do what was collected, and wait for all of it
 *
 * Errors: HCOMM_ERR_INVALID_USAGE (no group, or a message to this rank itself
 * lacks its other end); the first error of any call since hcommGroupStart();
 * HCOMM_ERR_BUSY (the calls on one communicator, with those in flight, are more
 * than it allows (maxRuns)): then nothing was done.  Else the first error of the
 * calls when all of them are over; those on other communicators than one that
 * fails are done.
 */
hcommResult_t hcommGroupEnd(void);

/* ---------------------------------------------------------------- collectives */

/**
 * hcommRedOpCreatePreMulSum - make a sum of scaled inputs
 * @op: out: operation, to be given to hcommRedOpDestroy()
 * @scalar: a number of type @dtype, read now: what this rank's input is multiplied
 *	by before it is added; each rank may have its own
 * @dtype: type that @op is for
 * @comm: communicator that @op is for, and ends with
 *
 * Only this rank: nothing is communicated.  Ranks must use operations made so in
 * the same calls.  Errors: HCOMM_ERR_INVALID_ARGUMENT, HCOMM_ERR_NO_MEMORY.
 */
hcommResult_t hcommRedOpCreatePreMulSum(hcommRedOp_t *op, const void *scalar,
					hcommDataType_t dtype, hcommComm_t comm);

/**
 * hcommRedOpDestroy - end an operation that was made
 * @op: operation; calls that were started with it go on
 * @comm: its communicator
 *
 * Errors: HCOMM_ERR_INVALID_ARGUMENT (@comm has no such operation).
 */
hcommResult_t hcommRedOpDestroy(hcommRedOp_t op, hcommComm_t comm);

/**
 * hcommAllReduce - reduce over all ranks, result on all
 * @send: @count elements
 * @recv: @count elements; in place: @send == @recv
 * @count: elements
 * @dtype: their type
 * @op: reduction
 * @comm: communicator
 */
hcommResult_t hcommAllReduce(const void *send, void *recv, size_t count,
			     hcommDataType_t dtype, hcommRedOp_t op,
			     hcommComm_t comm);

/**
 * hcommBroadcast - one rank's data to all
 * @send: @count elements, on @root only
 * @recv: @count elements; in place on the root: @send == @recv
 * @count: elements
 * @dtype: their type
 * @root: the rank that has the data
 * @comm: communicator
 */
hcommResult_t hcommBroadcast(const void *send, void *recv, size_t count,
			     hcommDataType_t dtype, int root, hcommComm_t comm);

/**
 * hcommBcast - broadcast in place
 * @buf: @count elements
 * @count: elements
 * @dtype: their type
 * @root: the rank that has the data
 * @comm: communicator
 */
hcommResult_t hcommBcast(void *buf, size_t count, hcommDataType_t dtype,
			 int root, hcommComm_t comm);

/**
 * hcommReduce - reduce over all ranks, result on one
 * @send: @count elements
 * @recv: @count elements, on @root only; in place: @send == @recv
 * @count: elements
 * @dtype: their type
 * @op: reduction
 * @root: the rank that gets the result
 * @comm: communicator
 */
hcommResult_t hcommReduce(const void *send, void *recv, size_t count,
			  hcommDataType_t dtype, hcommRedOp_t op, int root,
			  hcommComm_t comm);

/**
 * hcommReduceScatter - reduce over all ranks, a block of the result on each
 * @send: size * @count elements
 * @recv: @count elements: block @rank of the result; in place:
 *	@recv == @send + @rank * @count elements
 * @count: elements of a block
 * @dtype: their type
 * @op: reduction
 * @comm: communicator
 */
hcommResult_t hcommReduceScatter(const void *send, void *recv, size_t count,
				 hcommDataType_t dtype, hcommRedOp_t op,
				 hcommComm_t comm);

/**
 * hcommAllGather - every rank's block to all
 * @send: @count elements
 * @recv: size * @count elements, blocks in the order of ranks; in place:
 *	@send == @recv + @rank * @count elements
 * @count: elements of a block
 * @dtype: their type
 * @comm: communicator
 */
hcommResult_t hcommAllGather(const void *send, void *recv, size_t count,
			     hcommDataType_t dtype, hcommComm_t comm);

/**
 * hcommGather - every rank's block to one
 * @send: @count elements
 * @recv: size * @count elements, blocks in the order of ranks, on @root only; in
 *	place on the root: @send == @recv + @root * @count elements
 * @count: elements of a block
 * @dtype: their type
 * @root: the rank that gets them
 * @comm: communicator
 */
hcommResult_t hcommGather(const void *send, void *recv, size_t count,
			  hcommDataType_t dtype, int root, hcommComm_t comm);

/**
 * hcommScatter - a block of one rank's data to each
 * @send: size * @count elements, blocks in the order of ranks, on @root only
 * @recv: @count elements; in place on the root:
 *	@recv == @send + @root * @count elements
 * @count: elements of a block
 * @dtype: their type
 * @root: the rank that has the data
 * @comm: communicator
 */
hcommResult_t hcommScatter(const void *send, void *recv, size_t count,
			   hcommDataType_t dtype, int root, hcommComm_t comm);

/**
 * hcommAlltoAll - a block of every rank to every other
 * @send: size * @count elements: block r goes to rank r
 * @recv: size * @count elements: block r comes from rank r; in place, on all ranks
 *	or none: @send == @recv
 * @count: elements of a block
 * @dtype: their type
 * @comm: communicator
 */
hcommResult_t hcommAlltoAll(const void *send, void *recv, size_t count,
			    hcommDataType_t dtype, hcommComm_t comm);

/**
 * hcommScan - reduce over the ranks up to this one
 * @send: @count elements
 * @recv: @count elements: the reduction of ranks 0 to this one; in place:
 *	@send == @recv
 * @count: elements
 * @dtype: their type
 * @op: reduction, not hcommAvg
 * @comm: communicator
 */
hcommResult_t hcommScan(const void *send, void *recv, size_t count,
			hcommDataType_t dtype, hcommRedOp_t op, hcommComm_t comm);

/**
 * hcommExscan - reduce over the ranks below this one
 * @send: @count elements
 * @recv: @count elements: the reduction of the ranks below this one; not used, and
 *	not changed, on rank 0; in place: @send == @recv
 * @count: elements
 * @dtype: their type
 * @op: reduction, not hcommAvg
 * @comm: communicator
 */
hcommResult_t hcommExscan(const void *send, void *recv, size_t count,
			  hcommDataType_t dtype, hcommRedOp_t op, hcommComm_t comm);

/*
 * Blocks of unequal length.  Counts and displacements are arrays with an entry per
 * rank, in elements; they are looked at only during the call.  Displacements say
 * where in the buffer each block begins; NULL: one behind the other, in the order
 * of ranks.  Blocks may lie in any order and apart, but must not overlap where
 * they are received; what is between them is not touched.  A block may be empty.
 *
 * What a rank sends to another is what that one expects: different counts are an
 * error on both, or a call that does not end if one of them is 0.
 */

/**
 * hcommAllGatherV - every rank's block to all
 * @send: @counts[rank] elements
 * @recv: all blocks; in place: @send is where this rank's block of @recv is
 * @counts: elements of each block, the same on all ranks
 * @displs: of the blocks in @recv, may differ between ranks
 * @dtype: type of the elements
 * @comm: communicator
 */
hcommResult_t hcommAllGatherV(const void *send, void *recv, const size_t *counts,
			      const size_t *displs, hcommDataType_t dtype,
			      hcommComm_t comm);

/**
 * hcommReduceScatterV - reduce over all ranks, a block of the result on each
 * @send: all blocks, one behind the other
 * @recv: @counts[rank] elements: block @rank of the result; in place: it is where
 *	that block of @send is
 * @counts: elements of each block, the same on all ranks
 * @dtype: type of the elements
 * @op: reduction
 * @comm: communicator
 */
hcommResult_t hcommReduceScatterV(const void *send, void *recv, const size_t *counts,
				  hcommDataType_t dtype, hcommRedOp_t op,
				  hcommComm_t comm);

/**
 * hcommGatherV - every rank's block to one
 * @send: @count elements
 * @count: elements of this rank's block
 * @recv: all blocks, on @root only; in place on the root: @send is where its own
 *	block of @recv is
 * @counts: elements of each block, on @root only
 * @displs: of the blocks in @recv, on @root only
 * @dtype: type of the elements
 * @root: the rank that gets them
 * @comm: communicator
 */
hcommResult_t hcommGatherV(const void *send, size_t count, void *recv,
			   const size_t *counts, const size_t *displs,
			   hcommDataType_t dtype, int root, hcommComm_t comm);

/**
 * hcommScatterV - a block of one rank's data to each
 * @send: all blocks, on @root only
 * @counts: elements of each block, on @root only
 * @displs: of the blocks in @send, on @root only
 * @recv: @count elements; in place on the root: it is where its own block of
 *	@send is
 * @count: elements of this rank's block
 * @dtype: type of the elements
 * @root: the rank that has the data
 * @comm: communicator
 */
hcommResult_t hcommScatterV(const void *send, const size_t *counts,
			    const size_t *displs, void *recv, size_t count,
			    hcommDataType_t dtype, int root, hcommComm_t comm);

/**
 * hcommAlltoAllV - a block of every rank to every other
 * @send: blocks to each rank
 * @sendCounts: elements of them
 * @sendDispls: of them in @send
 * @recv: blocks from each rank; in place, on all ranks or none: @send == @recv, and
 *	what is sent to a rank has the count and place of what comes from it:
 *	@sendCounts and @sendDispls are not looked at
 * @recvCounts: elements of them
 * @recvDispls: of them in @recv
 * @dtype: type of the elements
 * @comm: communicator
 */
hcommResult_t hcommAlltoAllV(const void *send, const size_t *sendCounts,
			     const size_t *sendDispls, void *recv,
			     const size_t *recvCounts, const size_t *recvDispls,
			     hcommDataType_t dtype, hcommComm_t comm);

/**
 * hcommBarrier - wait until all ranks are here
 * @comm: communicator
 */
hcommResult_t hcommBarrier(hcommComm_t comm);

/* --------------------------------------------------------------- non-blocking */

/*
 * The same calls without waiting: the kernel makes progress on its own, and
 * buffers must not be used until the request is complete.  They return
 * HCOMM_ERR_BUSY, and have done nothing, while as many calls are in flight as the
 * communicator (maxRuns) or the plan of that call allows: wait for one, then call
 * again.  @req is set only on success and must be given to hcommWait(),
 * hcommWaitAll() or hcommTest() once.
 */
hcommResult_t hcommSendAsync(const void *buf, size_t n, int dst, int tag,
			     hcommComm_t comm, hcommRequest_t *req);
hcommResult_t hcommRecvAsync(void *buf, size_t n, int src, int tag,
			     hcommComm_t comm, hcommRequest_t *req);
hcommResult_t hcommSendRecvAsync(const void *sendbuf, size_t n, int dst, int sendtag,
				 void *recvbuf, size_t m, int src, int recvtag,
				 hcommComm_t comm, hcommRequest_t *req);
hcommResult_t hcommBatchSendRecvAsync(const hcommP2p_t *ops, int count,
				      hcommComm_t comm, hcommRequest_t *req);
hcommResult_t hcommAllReduceAsync(const void *send, void *recv, size_t count,
				  hcommDataType_t dtype, hcommRedOp_t op,
				  hcommComm_t comm, hcommRequest_t *req);
hcommResult_t hcommBroadcastAsync(const void *send, void *recv, size_t count,
				  hcommDataType_t dtype, int root,
				  hcommComm_t comm, hcommRequest_t *req);
hcommResult_t hcommBcastAsync(void *buf, size_t count, hcommDataType_t dtype,
			      int root, hcommComm_t comm, hcommRequest_t *req);
hcommResult_t hcommReduceAsync(const void *send, void *recv, size_t count,
			       hcommDataType_t dtype, hcommRedOp_t op, int root,
			       hcommComm_t comm, hcommRequest_t *req);
hcommResult_t hcommReduceScatterAsync(const void *send, void *recv,
				      size_t count, hcommDataType_t dtype,
				      hcommRedOp_t op, hcommComm_t comm,
				      hcommRequest_t *req);
hcommResult_t hcommAllGatherAsync(const void *send, void *recv, size_t count,
				  hcommDataType_t dtype, hcommComm_t comm,
				  hcommRequest_t *req);
hcommResult_t hcommGatherAsync(const void *send, void *recv, size_t count,
			       hcommDataType_t dtype, int root, hcommComm_t comm,
			       hcommRequest_t *req);
hcommResult_t hcommScatterAsync(const void *send, void *recv, size_t count,
				hcommDataType_t dtype, int root, hcommComm_t comm,
				hcommRequest_t *req);
hcommResult_t hcommAlltoAllAsync(const void *send, void *recv, size_t count,
				 hcommDataType_t dtype, hcommComm_t comm,
				 hcommRequest_t *req);
hcommResult_t hcommScanAsync(const void *send, void *recv, size_t count,
			     hcommDataType_t dtype, hcommRedOp_t op,
			     hcommComm_t comm, hcommRequest_t *req);
hcommResult_t hcommExscanAsync(const void *send, void *recv, size_t count,
			       hcommDataType_t dtype, hcommRedOp_t op,
			       hcommComm_t comm, hcommRequest_t *req);
hcommResult_t hcommAllGatherVAsync(const void *send, void *recv, const size_t *counts,
				   const size_t *displs, hcommDataType_t dtype,
				   hcommComm_t comm, hcommRequest_t *req);
hcommResult_t hcommReduceScatterVAsync(const void *send, void *recv,
				       const size_t *counts, hcommDataType_t dtype,
				       hcommRedOp_t op, hcommComm_t comm,
				       hcommRequest_t *req);
hcommResult_t hcommGatherVAsync(const void *send, size_t count, void *recv,
				const size_t *counts, const size_t *displs,
				hcommDataType_t dtype, int root, hcommComm_t comm,
				hcommRequest_t *req);
hcommResult_t hcommScatterVAsync(const void *send, const size_t *counts,
				 const size_t *displs, void *recv, size_t count,
				 hcommDataType_t dtype, int root, hcommComm_t comm,
				 hcommRequest_t *req);
hcommResult_t hcommAlltoAllVAsync(const void *send, const size_t *sendCounts,
				  const size_t *sendDispls, void *recv,
				  const size_t *recvCounts, const size_t *recvDispls,
				  hcommDataType_t dtype, hcommComm_t comm,
				  hcommRequest_t *req);
hcommResult_t hcommBarrierAsync(hcommComm_t comm, hcommRequest_t *req);

/**
 * hcommWait - wait until a call is complete
 * @req: request, freed and set to NULL; a persistent one stays, and can be started
 *	again; pointing to NULL, or not in flight: returns at once
 *
 * Return: the result of the call.
 */
hcommResult_t hcommWait(hcommRequest_t *req);

/**
 * hcommTest - is a call complete?
 * @req: request; freed and set to NULL if it is complete, as by hcommWait()
 * @done: out: 1 if it is complete (or @req points to NULL), else 0
 *
 * Return: the result of the call if it is complete, else HCOMM_SUCCESS.
 */
hcommResult_t hcommTest(hcommRequest_t *req, int *done);

/**
 * hcommWaitAll - wait until calls are complete
 * @count: number of requests, may be 0
 * @reqs: requests, all freed and set to NULL, as by hcommWait()
 *
 * Return: the first error in the order of @reqs, else HCOMM_SUCCESS.
 */
hcommResult_t hcommWaitAll(int count, hcommRequest_t *reqs);

/* ----------------------------------------------------------------- persistent */

/*
 * The same calls to be made many times: all that can be done once is done by
 * hcomm<Name>Init(), and hcommStart() only launches.  All ranks must make these
 * calls in the same order as their collectives; nothing is communicated but where
 * links are made.  Buffers are pinned, whatever their size, and must stay mapped
 * until hcommRequestFree(); arrays of counts are looked at only here.  Requests must
 * be freed before their communicator is destroyed.  The planner keeps to what it
 * chose here.
 */
hcommResult_t hcommSendInit(const void *buf, size_t n, int dst, int tag,
			    hcommComm_t comm, hcommRequest_t *req);
hcommResult_t hcommRecvInit(void *buf, size_t n, int src, int tag, hcommComm_t comm,
			    hcommRequest_t *req);
hcommResult_t hcommAllReduceInit(const void *send, void *recv, size_t count,
				 hcommDataType_t dtype, hcommRedOp_t op,
				 hcommComm_t comm, hcommRequest_t *req);
hcommResult_t hcommBroadcastInit(const void *send, void *recv, size_t count,
				 hcommDataType_t dtype, int root, hcommComm_t comm,
				 hcommRequest_t *req);
hcommResult_t hcommBcastInit(void *buf, size_t count, hcommDataType_t dtype, int root,
			     hcommComm_t comm, hcommRequest_t *req);
hcommResult_t hcommReduceInit(const void *send, void *recv, size_t count,
			      hcommDataType_t dtype, hcommRedOp_t op, int root,
			      hcommComm_t comm, hcommRequest_t *req);
hcommResult_t hcommReduceScatterInit(const void *send, void *recv, size_t count,
				     hcommDataType_t dtype, hcommRedOp_t op,
				     hcommComm_t comm, hcommRequest_t *req);
hcommResult_t hcommAllGatherInit(const void *send, void *recv, size_t count,
				 hcommDataType_t dtype, hcommComm_t comm,
				 hcommRequest_t *req);
hcommResult_t hcommGatherInit(const void *send, void *recv, size_t count,
			      hcommDataType_t dtype, int root, hcommComm_t comm,
			      hcommRequest_t *req);
hcommResult_t hcommScatterInit(const void *send, void *recv, size_t count,
			       hcommDataType_t dtype, int root, hcommComm_t comm,
			       hcommRequest_t *req);
hcommResult_t hcommAlltoAllInit(const void *send, void *recv, size_t count,
				hcommDataType_t dtype, hcommComm_t comm,
				hcommRequest_t *req);
hcommResult_t hcommScanInit(const void *send, void *recv, size_t count,
			    hcommDataType_t dtype, hcommRedOp_t op, hcommComm_t comm,
			    hcommRequest_t *req);
hcommResult_t hcommExscanInit(const void *send, void *recv, size_t count,
			      hcommDataType_t dtype, hcommRedOp_t op,
			      hcommComm_t comm, hcommRequest_t *req);
hcommResult_t hcommAllGatherVInit(const void *send, void *recv, const size_t *counts,
				  const size_t *displs, hcommDataType_t dtype,
				  hcommComm_t comm, hcommRequest_t *req);
hcommResult_t hcommReduceScatterVInit(const void *send, void *recv,
				      const size_t *counts, hcommDataType_t dtype,
				      hcommRedOp_t op, hcommComm_t comm,
				      hcommRequest_t *req);
hcommResult_t hcommGatherVInit(const void *send, size_t count, void *recv,
			       const size_t *counts, const size_t *displs,
			       hcommDataType_t dtype, int root, hcommComm_t comm,
			       hcommRequest_t *req);
hcommResult_t hcommScatterVInit(const void *send, const size_t *counts,
				const size_t *displs, void *recv, size_t count,
				hcommDataType_t dtype, int root, hcommComm_t comm,
				hcommRequest_t *req);
hcommResult_t hcommAlltoAllVInit(const void *send, const size_t *sendCounts,
				 const size_t *sendDispls, void *recv,
				 const size_t *recvCounts, const size_t *recvDispls,
				 hcommDataType_t dtype, hcommComm_t comm,
				 hcommRequest_t *req);
hcommResult_t hcommBarrierInit(hcommComm_t comm, hcommRequest_t *req);

/**
 * hcommStart - make the call of a persistent request
 * @req: request that is not in flight
 *
 * As an Async call: buffers must not be used until hcommWait() or hcommTest() say
 * that it is complete; then it may be started again.  Requests of collectives are
 * started in the same order on all ranks, also as to other collectives.  Errors:
 * HCOMM_ERR_INVALID_USAGE (it is in flight), HCOMM_ERR_BUSY.
 */
hcommResult_t hcommStart(hcommRequest_t req);

/**
 * hcommStartAll - start persistent requests in their order
 * @count: number of requests, may be 0
 * @reqs: requests
 *
 * Return: as hcommStart(); after an error, those before it are in flight and those
 * behind it are not.
 */
hcommResult_t hcommStartAll(int count, const hcommRequest_t *reqs);

/**
 * hcommRequestFree - end a persistent request
 * @req: request that is not in flight, set to NULL; pointing to NULL: nothing
 */
hcommResult_t hcommRequestFree(hcommRequest_t *req);

/* ----------------------------------------------------------------- statistics */

/**
 * struct hcommStats_t - counters of a communicator
 * @size: sizeof(hcommStats_t)
 * @plansBuilt: schedules that were planned and loaded
 * @planHits: calls that found theirs loaded
 * @plansEvicted: schedules that were given up for others
 * @launches: calls given to the kernel
 * @bounced: buffers that were copied through pinned memory
 * @pinned: buffers that were pinned for one call
 */
typedef struct {
	size_t size;
	uint64_t plansBuilt;
	uint64_t planHits;
	uint64_t plansEvicted;
	uint64_t launches;
	uint64_t bounced;
	uint64_t pinned;
} hcommStats_t;

/**
 * hcommCommGetStats - read the counters
 * @comm: communicator
 * @stats: in: size; out: the rest
 */
hcommResult_t hcommCommGetStats(hcommComm_t comm, hcommStats_t *stats);

#ifdef __cplusplus
}
#endif

#endif /* HCOMM_HCOMM_H */
