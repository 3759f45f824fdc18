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
 * are pinned for the duration of each call.  What is copied the library itself
 * reads and writes, as memcpy() does: there a bad pointer is SIGSEGV, not an error.
 * The send and receive buffers of a call must be the same (in place, as each call
 * defines it) or not overlap.
 *
 * After a failure (a rank died, calls did not match, ...) a communicator can
 * only be destroyed; all later calls on it return the first error.
 *
 * fork().  A child can't use what its parent has: if that had a communicator, every
 * function returns HCOMM_ERR_FORKED in the child (hcommMalloc() NULL).  exec() closes
 * everything.
 */
#ifndef HCOMM_HCOMM_H
#define HCOMM_HCOMM_H

#include <stddef.h>
#include <stdint.h>

#include <hcomm/collectives.h>
#include <hcomm/requests.h>
#include <hcomm/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HCOMM_VERSION_MAJOR	0
#define HCOMM_VERSION_MINOR	1

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
 * Once per process, by one thread; after an error it may be tried again.  Errors:
 * HCOMM_ERR_ENVIRONMENT, HCOMM_ERR_NO_DEVICE, HCOMM_ERR_VERSION, HCOMM_ERR_TIMEOUT,
 * HCOMM_ERR_BOOTSTRAP, HCOMM_ERR_AUTH, HCOMM_ERR_OPTIONS, HCOMM_ERR_FORKED,
 * HCOMM_ERR_INVALID_USAGE (a second time).
 */
hcommResult_t hcommInit(int *argc, char ***argv);

/**
 * hcommFinalize - leave the job
 *
 * Waits for the calls in flight on HCOMM_COMM_WORLD and destroys it.  Other
 * communicators are not touched: they can be used on, and are destroyed by
 * hcommCommDestroy() or by the end of the process.  hcommInit() can't be called
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
 * @algo: algorithms to use or not, "allreduce:ring,hd;broadcast:^tree", or
 *	"allreduce:hierarchical/rd": with that algorithm across nodes; HCOMM_ALGO
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
 * were made for @comm are not those of the new one.  Errors: a rank that can't call
 * (a bad @comm or @newcomm, HCOMM_ERR_NO_MEMORY, HCOMM_ERR_MEMLOCK) has done nothing,
 * and the others wait for it, as with any collective.  If one can't go on
 * (HCOMM_ERR_NO_MEMORY, a bad @color or @config), all return that; later ones are those
 * of hcommCommInitRankConfig(), on all ranks of a color.
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
 * memory.  Without any communicator it is pinned when a call first uses it, and
 * what goes wrong then is an error of that call.  Errors: HCOMM_ERR_INVALID_ARGUMENT,
 * HCOMM_ERR_MEMLOCK, HCOMM_ERR_UNSUPPORTED (memory that can't be pinned).
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
 * @sendbuf: message; must not overlap @recvbuf, which is an error
 * @n: its bytes
 * @dst: receiving rank; may be this one, if @src is, too, and both tags are equal
 * @sendtag: tag of the message sent
 * @recvbuf: where to
 * @m: bytes to receive
 * @src: sending rank
 * @recvtag: tag of the message received
 * @comm: communicator
 *
 * As hcommSend() and hcommRecv() in a group: neither waits for the other.  They are two
 * calls: maxRuns must be 2 at least.
 */
hcommResult_t hcommSendRecv(const void *sendbuf, size_t n, int dst, int sendtag,
			    void *recvbuf, size_t m, int src, int recvtag,
			    hcommComm_t comm);

/**
 * hcommBatchSendRecv - send and receive many messages together
 * @ops: messages; those of one direction, peer and tag in their order
 * @count: how many, may be 0
 * @comm: communicator
 *
 * As hcommSend() and hcommRecv() in a group.  A buffer that is received into must not
 * overlap any other of @ops, which is an error.
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
 * fails, or was found to have failed since hcommGroupStart(), are done.
 */
hcommResult_t hcommGroupEnd(void);

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
