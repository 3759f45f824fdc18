/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * hcomm: collective communication engine - user space ABI of /dev/hcomm
 *
 * One open() of /dev/hcomm is a context.  Every object made through it is a
 * 32-bit id that is valid in that context only.  close() ends all of them in
 * the right order, whatever was in flight.
 */
#ifndef _UAPI_LINUX_HCOMM_H
#define _UAPI_LINUX_HCOMM_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define HCOMM_DEVICE		"/dev/hcomm"
#define HCOMM_ABI_VERSION	1

/**
 * DOC: general ioctl format
 *
 * The argument of every ioctl is a struct whose first member is its size in
 * bytes.  A struct that is shorter than the kernel's is taken as zero-extended,
 * a longer one is accepted when the tail is zero.  Pointers are __aligned_u64;
 * the layout is the same for 32 and 64 bit programs.  Nothing is half done
 * after an error.  Errors that every ioctl may return:
 *
 *  - ENOTTY: the ioctl number is unknown
 *  - EINVAL: the size is below the first version's, or padding is not zero
 *  - E2BIG: the struct is longer than known and its tail is not zero
 *  - EOPNOTSUPP: a flag or a mode that this kernel does not know
 *  - EFAULT: the struct or what it points to is not accessible
 *  - ENOENT: no object of that id and kind in this context
 *  - ENOMEM: no memory, or a limit (RLIMIT_MEMLOCK, memory cgroup) is reached
 *  - EINTR / ERESTARTSYS: a signal arrived during a wait
 */

#define HCOMM_IOC_MAGIC		0xB7

/* ------------------------------------------------------------------ limits */

#define HCOMM_MAX_RANKS		65536u		/* ranks of a communicator */
#define HCOMM_MAX_SLOTS		16u		/* buffer slots of a program */
#define HCOMM_MAX_STEPS		(1u << 18)	/* steps of a program */
#define HCOMM_MAX_DEPS		(1u << 20)	/* dependencies of a program */
#define HCOMM_MAX_STREAM_DEPS	8u		/* streaming dependencies of one step */
#define HCOMM_MAX_PEERS		4096u		/* distinct peers of a program */
#define HCOMM_MAX_STEP_LEN	(1ULL << 40)	/* bytes of one step */
#define HCOMM_MAX_PROG_RUNS	64u		/* concurrent launches of a program */
#define HCOMM_MAX_COMM_RUNS	64u		/* concurrent launches of a communicator */
#define HCOMM_MAX_RING_ENTRIES	65536u
#define HCOMM_MIN_CHUNK_SIZE	4096u
#define HCOMM_MAX_CHUNK_SIZE	(1u << 20)
#define HCOMM_MAX_EAGER_SIZE	16384u
#define HCOMM_MAX_EAGER_SLOTS	64u
#define HCOMM_MAX_WINDOW	16u
#define HCOMM_MAX_STAGING_SLOTS	256u
#define HCOMM_MAX_TIMEOUT_MS	3600000u

/* ------------------------------------------------------- types and operations */

enum hcomm_dtype {
	HCOMM_DT_INT8 = 0,
	HCOMM_DT_UINT8 = 1,
	HCOMM_DT_INT16 = 2,
	HCOMM_DT_UINT16 = 3,
	HCOMM_DT_INT32 = 4,
	HCOMM_DT_UINT32 = 5,
	HCOMM_DT_INT64 = 6,
	HCOMM_DT_UINT64 = 7,
	HCOMM_DT_FP16 = 8,	/* IEEE 754 binary16 */
	HCOMM_DT_BF16 = 9,	/* upper half of binary32 */
	HCOMM_DT_FP32 = 10,
	HCOMM_DT_FP64 = 11,
	HCOMM_DT_FP8_E4M3 = 12,	/* OCP FP8: bias 7, no infinity, NaN is S.1111.111 */
	HCOMM_DT_FP8_E5M2 = 13,	/* OCP FP8: bias 15, else as IEEE 754 */
	HCOMM_DT_COUNT,
};

/* The integer types come first. */
#define HCOMM_DT_IS_INT(dtype)	((dtype) < HCOMM_DT_FP16)

/**
 * enum hcomm_redop - reduction operations
 * @HCOMM_OP_SUM: sum; integers wrap
 * @HCOMM_OP_PROD: product; integers wrap
 * @HCOMM_OP_MIN: minimum
 * @HCOMM_OP_MAX: maximum
 * @HCOMM_OP_BAND: bitwise and, integers only as all that follow
 * @HCOMM_OP_BOR: bitwise or
 * @HCOMM_OP_BXOR: bitwise exclusive or
 * @HCOMM_OP_LAND: 1 where both are not 0, else 0
 * @HCOMM_OP_LOR: 1 where one or both are not 0, else 0
 * @HCOMM_OP_LXOR: 1 where exactly one is not 0, else 0
 * @HCOMM_OP_AVG: of a call, never of a step: SUM, then a SCALE by DIV
 * @HCOMM_OP_PREMUL_SUM: of a call, never of a step: a SCALE by MUL, then SUM
 *
 * The 8 and 16 bit floating point types are computed in fp32 and rounded to
 * nearest even after each operation.  A result beyond the largest finite number
 * is an infinity, or a NaN in FP8_E4M3, which has no infinity.  All operations
 * are commutative to the bit: a NaN operand gives the one canonical NaN of the
 * type (positive and quiet, only the top bit of the significand set; in
 * FP8_E4M3 its only positive one), so does an invalid operation; for MIN and
 * MAX -0 is less than +0.
 */
enum hcomm_redop {
	HCOMM_OP_SUM = 0,
	HCOMM_OP_PROD = 1,
	HCOMM_OP_MIN = 2,
	HCOMM_OP_MAX = 3,
	HCOMM_OP_BAND = 4,
	HCOMM_OP_BOR = 5,
	HCOMM_OP_BXOR = 6,
	HCOMM_OP_LAND = 7,
	HCOMM_OP_LOR = 8,
	HCOMM_OP_LXOR = 9,
	/* private: */
	HCOMM_OP_COUNT,
	/* public: */
	HCOMM_OP_AVG = 32,
	HCOMM_OP_PREMUL_SUM = 33,
};

/* Does a type have a reduction?  Both are below their counts. */
#define HCOMM_OP_FITS(redop, dtype) \
	((redop) < HCOMM_OP_BAND || HCOMM_DT_IS_INT(dtype))

/**
 * enum hcomm_scale - what a SCALE step does to each element
 * @HCOMM_SCALE_MUL: multiply by @operand, the bits of an element; as PROD
 * @HCOMM_SCALE_DIV: divide by @operand, an integer from 1 to HCOMM_MAX_RANKS;
 *	integers round toward zero, floating point numbers once, to nearest even
 *
 * NaNs become the canonical one.
 */
enum hcomm_scale {
	HCOMM_SCALE_MUL = 0,
	HCOMM_SCALE_DIV = 1,
	/* private: */
	HCOMM_SCALE_COUNT,
};

/* ------------------------------------------------------------------ programs */

/**
 * enum hcomm_step_op - what a step does
 * @HCOMM_STEP_NOP: nothing; joins its dependencies
 * @HCOMM_STEP_SEND: send src[len] to @peer
 * @HCOMM_STEP_RECV: receive dst[len] from @peer
 * @HCOMM_STEP_RECV_REDUCE: dst = src (op) message from @peer; src may be dst
 * @HCOMM_STEP_COPY: dst = src; the two do not overlap, or are the same
 * @HCOMM_STEP_REDUCE: dst = dst (op) src; the two do not overlap
 * @HCOMM_STEP_SCALE: dst = src times or divided by the step's operand; the two
 *	do not overlap, or are the same
 */
enum hcomm_step_op {
	HCOMM_STEP_NOP = 0,
	HCOMM_STEP_SEND = 1,
	HCOMM_STEP_RECV = 2,
	HCOMM_STEP_RECV_REDUCE = 3,
	HCOMM_STEP_COPY = 4,
	HCOMM_STEP_REDUCE = 5,
	HCOMM_STEP_SCALE = 6,
	/* private: */
	HCOMM_STEP_COUNT,
};

/**
 * struct hcomm_step - one step of a program
 * @op: enum hcomm_step_op
 * @dtype: enum hcomm_dtype, for RECV_REDUCE, REDUCE and SCALE; else 0
 * @redop: enum hcomm_redop, for RECV_REDUCE and REDUCE; enum hcomm_scale, for
 *	SCALE; else 0
 * @flags: 0
 * @peer: the other rank, for SEND, RECV and RECV_REDUCE; else 0
 * @msg: message number: the n-th SEND to a peer (from 0, in step order) has
 *	number n, and so has the n-th RECV or RECV_REDUCE from a peer.  Message n
 *	of a sender meets message n of the receiver: both programs list the
 *	messages of a pair in the same order.  0 for other steps.
 * @src_slot: slot that is read (all but NOP and RECV); else 0
 * @dst_slot: slot that is written (all but NOP and SEND); else 0
 * @src_off: byte offset in the source slot
 * @dst_off: byte offset in the destination slot
 * @len: bytes; a multiple of the element size where there is a dtype; may be 0
 * @dep_first: index of the first dependency in the dependency list: where
 *	those of the step before ended (0 for the first step)
 * @dep_count: number of dependencies
 * @operand: for SCALE, see enum hcomm_scale; else 0
 * @reserved: 0
 *
 * A step is executed in chunks of the communicator's chunk size, in order.
 */
struct hcomm_step {
	__u8	op;
	__u8	dtype;
	__u8	redop;
	__u8	flags;
	__u32	peer;
	__u32	msg;
	__u16	src_slot;
	__u16	dst_slot;
	__aligned_u64 src_off;
	__aligned_u64 dst_off;
	__aligned_u64 len;
	__u32	dep_first;
	__u32	dep_count;
	__aligned_u64 operand;
	__u32	reserved[2];
};

/*
 * A dependency is the index of a lower step that must be complete.  With
 * HCOMM_DEP_STREAM, chunk i waits only for chunk i of that step; both steps
 * have the same len.  Streaming dependencies come first in a step's list.
 */
#define HCOMM_DEP_STREAM	(1u << 31)
#define HCOMM_DEP_INDEX(d)	((d) & ~HCOMM_DEP_STREAM)

/*
 * enum hcomm_prog_error: why the verifier refused a program.
 *
 * Reported in &struct hcomm_prog_load.err_reason with the index of the step.
 */
enum hcomm_prog_error {
	HCOMM_PE_NONE = 0,
	HCOMM_PE_OP,		/* unknown step op */
	HCOMM_PE_FLAGS,		/* unknown flag or reserved field set */
	HCOMM_PE_UNUSED,	/* a field that this op does not use is not 0 */
	HCOMM_PE_DTYPE,		/* unknown data type */
	HCOMM_PE_REDOP,		/* unknown reduction */
	HCOMM_PE_PEER,		/* peer is not a rank, or is this rank */
	HCOMM_PE_MSG,		/* message number is not the next one of the pair */
	HCOMM_PE_SLOT,		/* slot is not below nslots */
	HCOMM_PE_LEN,		/* too long, or not a multiple of the element size */
	HCOMM_PE_RANGE,		/* offset + len overflows */
	HCOMM_PE_DEP_RANGE,	/* dependency list out of bounds, or not in step order */
	HCOMM_PE_DEP_ORDER,	/* dependency on this or a later step */
	HCOMM_PE_STREAM_LEN,	/* streaming dependency between different lengths */
	HCOMM_PE_STREAM_ORDER,	/* streaming dependency behind a plain one */
	HCOMM_PE_STREAM_COUNT,	/* more than HCOMM_MAX_STREAM_DEPS */
	HCOMM_PE_PEERS,		/* more than HCOMM_MAX_PEERS distinct peers */
	HCOMM_PE_EMPTY,		/* no steps, or more than HCOMM_MAX_STEPS */
	HCOMM_PE_DEPS,		/* more than HCOMM_MAX_DEPS */
	HCOMM_PE_NSLOTS,	/* more than HCOMM_MAX_SLOTS */
	HCOMM_PE_REDOP_TYPE,	/* the data type does not have this reduction */
	HCOMM_PE_OPERAND,	/* division by 0 or too much, or bits beyond the type */
	HCOMM_PE_COUNT,
};

/* ------------------------------------------------------------ calls and faults */

/* What a run stands for; only compared between ranks and shown in errors. */
enum hcomm_coll {
	HCOMM_COLL_NONE = 0,
	HCOMM_COLL_P2P = 1,
	HCOMM_COLL_BARRIER = 2,
	HCOMM_COLL_BROADCAST = 3,
	HCOMM_COLL_REDUCE = 4,
	HCOMM_COLL_ALLREDUCE = 5,
	HCOMM_COLL_REDUCE_SCATTER = 6,
	HCOMM_COLL_ALLGATHER = 7,
	HCOMM_COLL_GATHER = 8,
	HCOMM_COLL_SCATTER = 9,
	HCOMM_COLL_ALLTOALL = 10,
	HCOMM_COLL_SCAN = 11,
	HCOMM_COLL_EXSCAN = 12,
	HCOMM_COLL_GROUP = 13,
};

/**
 * struct hcomm_call - fingerprint of a run, the same on all its ranks
 * @coll: enum hcomm_coll
 * @dtype: enum hcomm_dtype
 * @redop: enum hcomm_redop
 * @root: root rank, or 0
 * @count: element count of the call
 * @algo: the planner's number of the algorithm
 * @hash: anything else that must agree
 *
 * Travels with every first message.  Two ranks whose calls of one run differ
 * in any field both fail with HCOMM_FAULT_MISMATCH.
 */
struct hcomm_call {
	__u16	coll;
	__u8	dtype;
	__u8	redop;
	__u32	root;
	__aligned_u64 count;
	__u32	algo;
	__u32	hash;
};

enum hcomm_fault_reason {
	HCOMM_FAULT_NONE = 0,
	HCOMM_FAULT_PEER_DIED = 1,	/* EOWNERDEAD: its process ended */
	HCOMM_FAULT_PEER_LEFT = 2,	/* EPIPE: it closed its communicator */
	HCOMM_FAULT_LINK = 3,		/* ECONNRESET: the link to it broke */
	HCOMM_FAULT_CONNECT = 4,	/* ETIMEDOUT, ECONNREFUSED, EHOSTUNREACH, ...: no link */
	HCOMM_FAULT_AUTH = 5,		/* EACCES: it does not know the secret */
	HCOMM_FAULT_OPTIONS = 6,	/* EPROTO: its options differ */
	HCOMM_FAULT_MISMATCH = 7,	/* EBADE: it made another call */
	HCOMM_FAULT_PROTOCOL = 8,	/* EBADMSG: it sent what it must not */
	HCOMM_FAULT_ABORTED = 9,	/* ECANCELED: a process asked for it */
	HCOMM_FAULT_TIMEOUT = 10,	/* ETIME: a run took longer than its limit */
	HCOMM_FAULT_MEMORY = 11,	/* ENOMEM, ENXIO: memory can't be reached here */
	HCOMM_FAULT_COUNT,
};

/**
 * struct hcomm_fault - the first thing that went wrong in a communicator
 * @error: positive errno, 0 while the communicator is sound
 * @reason: enum hcomm_fault_reason
 * @rank: the rank at fault (for MISMATCH: the peer whose call differs)
 * @reporter: the rank that noticed first
 * @step: step of the reporter's program, or ~0
 * @pad: 0
 * @run: run key at the reporter, or 0
 * @mine: for MISMATCH the reporter's call
 * @theirs: for MISMATCH the call of @rank
 */
struct hcomm_fault {
	__s32	error;
	__u32	reason;
	__u32	rank;
	__u32	reporter;
	__u32	step;
	__u32	pad;
	__aligned_u64 run;
	struct hcomm_call mine;
	struct hcomm_call theirs;
};

/* ------------------------------------------------------------------------ info */

/**
 * struct hcomm_info - ioctl(HCOMM_INFO): what this module is
 * @size: sizeof(struct hcomm_info)
 * @abi_version: out, HCOMM_ABI_VERSION of the module
 * @features: out, HCOMM_FEATURE_*
 * @transports: out, mask of HCOMM_TRANSPORT_*
 * @pad: 0
 * @node_id: out, identity of this running kernel
 * @max_steps: out, steps of a program
 * @max_deps: out, dependencies of a program
 * @max_slots: out, slots of a program
 * @max_ranks: out, ranks of a communicator
 */
struct hcomm_info {
	__u32	size;
	__u32	abi_version;
	__aligned_u64 features;
	__u32	transports;
	__u32	pad;
	__u8	node_id[16];
	__u32	max_steps;
	__u32	max_deps;
	__u32	max_slots;
	__u32	max_ranks;
};

#define HCOMM_TRANSPORT_LOCAL	(1u << 0)
#define HCOMM_TRANSPORT_RDMA	(1u << 1)
#define HCOMM_TRANSPORT_TCP	(1u << 2)	/* reserved */
#define HCOMM_TRANSPORT_ALL	(HCOMM_TRANSPORT_LOCAL | HCOMM_TRANSPORT_RDMA)

#define HCOMM_FEATURE_SIMD	(1ull << 0)	/* reductions use vector units */

/* ---------------------------------------------------------------------- memory */

/**
 * struct hcomm_mem_reg - ioctl(HCOMM_MEM_REG): pin memory
 * @size: sizeof(struct hcomm_mem_reg)
 * @flags: HCOMM_MEM_READ_ONLY: slots that a program writes can't be bound to it
 * @addr: start address, any alignment
 * @length: bytes, at least 1
 * @out_mem_id: out, id of the object
 * @pad: 0
 * @out_limit: out on ENOMEM by RLIMIT_MEMLOCK: the limit in bytes, else 0
 * @out_used: out on ENOMEM by RLIMIT_MEMLOCK: bytes already charged, else 0
 * @out_needed: out on success and ENOMEM: bytes that this object is charged
 *
 * The pages stay pinned and are charged to RLIMIT_MEMLOCK (unless the caller
 * has CAP_IPC_LOCK) until the object is destroyed and the last run that uses
 * it is over.
 *
 * Errors: EINVAL (length 0 or address overflow), EFAULT (part of the range is
 * not mapped, or not writable without READ_ONLY), ENOMEM (limit),
 * EOPNOTSUPP (memory that can't be pinned for long).
 */
struct hcomm_mem_reg {
	__u32	size;
	__u32	flags;
	__aligned_u64 addr;
	__aligned_u64 length;
	__u32	out_mem_id;
	__u32	pad;
	__aligned_u64 out_limit;
	__aligned_u64 out_used;
	__aligned_u64 out_needed;
};

#define HCOMM_MEM_READ_ONLY	(1u << 0)

/* --------------------------------------------------------------- communicators */

/**
 * struct hcomm_addr - where a rank listens
 * @family: AF_INET or AF_INET6; 0: none
 * @port: port, network byte order; 0: any
 * @scope_id: IPv6 scope
 * @addr: the address, IPv4 in the first four bytes
 * @reserved: 0
 */
struct hcomm_addr {
	__u16	family;
	__be16	port;
	__u32	scope_id;
	__u8	addr[16];
	__u32	reserved[2];
};

/**
 * struct hcomm_comm_create - ioctl(HCOMM_COMM_CREATE): one rank's end
 * @size: sizeof(struct hcomm_comm_create)
 * @flags: 0
 * @uuid: identity of the communicator, the same on all ranks
 * @secret: job secret that all ranks prove to know, never sent
 * @rank: this rank
 * @nranks: number of ranks, 1 to HCOMM_MAX_RANKS
 * @transports: allowed HCOMM_TRANSPORT_* mask; 0: all
 * @chunk_size: bytes, multiple of 4096; 0: default (256 KiB)
 * @eager_size: largest message sent eagerly, multiple of 64; 0: default (4 KiB)
 * @eager_slots: unexpected eager messages a peer may have here; 0: default (16)
 * @window: chunks in flight per run and link; 0: default (4)
 * @max_runs: concurrent launches; 0: default (8)
 * @staging_slots: chunks of staging memory, at least @max_runs; 0: default
 * @connect_timeout_ms: limit of link bring-up; 0: default (30000)
 * @listen: in: local address to accept RDMA connections on, family 0 for none;
 *	out: with the port in use
 * @out_comm_id: out, id of the object
 * @pad: 0
 *
 * chunk_size, eager_size, eager_slots, window and max_runs must be equal on
 * all ranks; links between ranks that differ fail with HCOMM_FAULT_OPTIONS.
 *
 * Errors: EINVAL (out of the ranges above), EEXIST (this rank of this uuid and
 * secret is already here), EADDRNOTAVAIL, EADDRINUSE, ENODEV (no RDMA device has
 * @listen).
 */
struct hcomm_comm_create {
	__u32	size;
	__u32	flags;
	__u8	uuid[16];
	__u8	secret[32];
	__u32	rank;
	__u32	nranks;
	__u32	transports;
	__u32	chunk_size;
	__u32	eager_size;
	__u32	eager_slots;
	__u32	window;
	__u32	max_runs;
	__u32	staging_slots;
	__u32	connect_timeout_ms;
	struct hcomm_addr listen;
	__u32	out_comm_id;
	__u32	pad;
};

/**
 * struct hcomm_peer - where one rank is
 * @node_id: &struct hcomm_info.node_id of its kernel
 * @addr: its &struct hcomm_comm_create.listen
 */
struct hcomm_peer {
	__u8	node_id[16];
	struct hcomm_addr addr;
};

/**
 * struct hcomm_comm_peers - ioctl(HCOMM_COMM_PEERS): tell where all ranks are
 * @size: sizeof(struct hcomm_comm_peers)
 * @comm_id: communicator
 * @peers: array of &struct hcomm_peer, by rank
 * @count: its length, equal to nranks
 * @flags: 0
 *
 * Once per communicator, before the first program is loaded (EBUSY after).
 */
struct hcomm_comm_peers {
	__u32	size;
	__u32	comm_id;
	__aligned_u64 peers;
	__u32	count;
	__u32	flags;
};

enum hcomm_link_state {
	HCOMM_LINK_IDLE = 0,
	HCOMM_LINK_RESOLVING = 1,
	HCOMM_LINK_CONNECTING = 2,
	HCOMM_LINK_VERIFYING = 3,
	HCOMM_LINK_READY = 4,
	HCOMM_LINK_RECOVERING = 5,
	HCOMM_LINK_FAILED = 6,
	HCOMM_LINK_CLOSED = 7,	/* the peer left in good order */
	HCOMM_LINK_STATES,
};

/**
 * struct hcomm_link_open - ioctl(HCOMM_LINK_OPEN): bring links up and wait
 * @size: sizeof(struct hcomm_link_open)
 * @comm_id: communicator
 * @peer: rank, or HCOMM_ALL_LINKS: all that loaded programs need
 * @flags: 0
 * @timeout_ms: longest wait; 0: the communicator's connect_timeout_ms
 * @out_state: out, enum hcomm_link_state (one peer)
 * @out_transport: out, HCOMM_TRANSPORT_* (one peer)
 * @out_peer: out on error: the first rank without a link
 * @out_rtt_ns: out, measured round trip (one peer)
 *
 * Errors: EINVAL (peer is no other rank), ETIMEDOUT (the link is not ready in
 * time; it is still being tried), EHOSTUNREACH (no transport reaches the peer),
 * EPIPE (the peer has left), or the communicator's fault.
 */
struct hcomm_link_open {
	__u32	size;
	__u32	comm_id;
	__u32	peer;
	__u32	flags;
	__u32	timeout_ms;
	__u32	out_state;
	__u32	out_transport;
	__u32	out_peer;
	__aligned_u64 out_rtt_ns;
};

#define HCOMM_ALL_LINKS		(~0u)

/**
 * struct hcomm_comm_query - ioctl(HCOMM_COMM_QUERY): state of a communicator
 * @size: sizeof(struct hcomm_comm_query)
 * @comm_id: communicator
 * @out_active_runs: out, launches in flight
 * @pad: 0
 * @fault: out, first fault; error is 0 while it is sound
 */
struct hcomm_comm_query {
	__u32	size;
	__u32	comm_id;
	__u32	out_active_runs;
	__u32	pad;
	struct hcomm_fault fault;
};

/**
 * struct hcomm_comm_abort - ioctl(HCOMM_COMM_ABORT): end all runs everywhere
 * @size: sizeof(struct hcomm_comm_abort)
 * @comm_id: communicator; it can only be queried and destroyed after
 */
struct hcomm_comm_abort {
	__u32	size;
	__u32	comm_id;
};

/* -------------------------------------------------------------------- programs */

/**
 * struct hcomm_prog_load - ioctl(HCOMM_PROG_LOAD): verify and keep a program
 * @size: sizeof(struct hcomm_prog_load)
 * @comm_id: communicator it is for
 * @steps: array of &struct hcomm_step
 * @deps: array of __u32, see HCOMM_DEP_STREAM
 * @nsteps: 1 to HCOMM_MAX_STEPS
 * @ndeps: 0 to HCOMM_MAX_DEPS
 * @nslots: 0 to HCOMM_MAX_SLOTS
 * @max_runs: launches of it that may be in flight; 0: 1
 * @flags: 0
 * @out_prog_id: out, id of the object
 * @err_reason: out on EINVAL: enum hcomm_prog_error
 * @err_step: out on EINVAL: step index, or ~0
 *
 * The memory is charged to the caller's memory cgroup.  Links to the peers
 * that the program needs begin to be made.
 *
 * Errors: EINVAL (err_reason; or @max_runs is above HCOMM_MAX_PROG_RUNS),
 * EHOSTUNREACH (no transport reaches a peer, or HCOMM_COMM_PEERS is missing).
 */
struct hcomm_prog_load {
	__u32	size;
	__u32	comm_id;
	__aligned_u64 steps;
	__aligned_u64 deps;
	__u32	nsteps;
	__u32	ndeps;
	__u32	nslots;
	__u32	max_runs;
	__u32	flags;
	__u32	out_prog_id;
	__u32	err_reason;
	__u32	err_step;
};

/**
 * struct hcomm_slot - a buffer for a launch
 * @mem_id: memory object, 0 for a slot that no step of length > 0 uses
 * @pad: 0
 * @offset: byte offset of the slot in the memory object
 * @length: bytes of the slot
 */
struct hcomm_slot {
	__u32	mem_id;
	__u32	pad;
	__aligned_u64 offset;
	__aligned_u64 length;
};

/**
 * struct hcomm_launch - ioctl(HCOMM_LAUNCH): run a program
 * @size: sizeof(struct hcomm_launch)
 * @prog_id: program
 * @slots: array of &struct hcomm_slot
 * @nslots: its length, as in the program
 * @flags: HCOMM_LAUNCH_WAIT: return when the run is over (its completion is in
 *	the ring); without it, return at once
 * @run: key that the ranks of this run share; not in use by another run that
 *	is in flight, nor by one of a rank's last 64 launches
 * @user_data: goes into the completion
 * @call: fingerprint
 * @timeout_ms: the run fails with HCOMM_FAULT_TIMEOUT after; 0: no limit
 * @queue_id: 0 (reserved for queues)
 * @err_slot: out on ERANGE/EACCES/ENOENT: the slot
 * @pad: 0
 * @err_needed: out on ERANGE: bytes that the program needs in that slot
 *
 * Errors: ENXIO (no completion ring yet), EBUSY (all runs of the program or
 * the communicator are in flight, or its ring is full of unread completions),
 * EEXIST (the run key is in flight, or was that of one of the last launches),
 * EAGAIN (a signal arrived before the run began: call again), EINTR (a signal
 * ended the wait of HCOMM_LAUNCH_WAIT; the run is in flight), EINVAL (nslots
 * differs), EOPNOTSUPP (queue_id), ETIMEDOUT (a link did not come up in time),
 * ERANGE (a slot is too small or outside its memory), EACCES (a written slot is
 * bound to read-only memory), or the fault of the communicator (query it).
 */
struct hcomm_launch {
	__u32	size;
	__u32	prog_id;
	__aligned_u64 slots;
	__u32	nslots;
	__u32	flags;
	__aligned_u64 run;
	__aligned_u64 user_data;
	struct hcomm_call call;
	__u32	timeout_ms;
	__u32	queue_id;
	__u32	err_slot;
	__u32	pad;
	__aligned_u64 err_needed;
};

#define HCOMM_LAUNCH_WAIT	(1u << 0)

#define HCOMM_MAX_BATCH		64u	/* launches in a batch */

/**
 * struct hcomm_launch_batch - ioctl(HCOMM_LAUNCH_BATCH): run several programs
 * @size: sizeof(struct hcomm_launch_batch)
 * @flags: HCOMM_LAUNCH_WAIT: return when all runs are over
 * @count: launches, 1 to HCOMM_MAX_BATCH
 * @launch_size: sizeof(struct hcomm_launch), the @size of each
 * @launches: array of &struct hcomm_launch, whose flags are 0; the programs may be
 *	of several communicators
 * @out_done: out: how many were launched
 * @pad: 0
 *
 * The launches are made in order, and all before any is waited for, so runs that
 * wait for each other may be in one batch.  The first that fails ends it: the
 * error is that launch's, which is number @out_done, and its err_slot and
 * err_needed say what HCOMM_LAUNCH would; those before it are in flight.
 *
 * Errors: ENXIO (no completion ring yet), EINVAL (count, launch_size, a launch of
 * another size), EINTR (a signal ended the wait; all are in flight if @out_done is
 * @count), or those of HCOMM_LAUNCH.
 */
struct hcomm_launch_batch {
	__u32	size;
	__u32	flags;
	__u32	count;
	__u32	launch_size;
	__aligned_u64 launches;
	__u32	out_done;
	__u32	pad;
};

/* ----------------------------------------------------------------- completions */

/**
 * struct hcomm_cqe - a run is over
 * @user_data: of the launch
 * @status: 0 or negative errno
 * @fault_rank: on error, &struct hcomm_fault.rank
 * @fault_step: on error, &struct hcomm_fault.step
 * @comm_id: communicator
 * @duration_ns: from launch to completion
 */
struct hcomm_cqe {
	__aligned_u64 user_data;
	__s32	status;
	__u32	fault_rank;
	__u32	fault_step;
	__u32	comm_id;
	__aligned_u64 duration_ns;
};

/**
 * struct hcomm_ring - completion ring, mapped at offset HCOMM_RING_MMAP_OFFSET
 * @head: next entry to read; written by the process with release semantics
 * @pad0: unused
 * @tail: next entry to be written by the kernel; read it with acquire semantics
 * @mask: entries - 1
 * @entries: number of entries, a power of two
 * @pad1: unused
 * @cqe: entry n is at cqe[n & mask]
 *
 * Never overflows: a launch is refused when there is no room for its completion.
 */
struct hcomm_ring {
	__u32	head;
	__u32	pad0[15];
	__u32	tail;
	__u32	mask;
	__u32	entries;
	__u32	pad1[13];
	struct hcomm_cqe cqe[];
};

#define HCOMM_RING_MMAP_OFFSET	0

/**
 * struct hcomm_ring_setup - ioctl(HCOMM_RING_SETUP): make the completion ring
 * @size: sizeof(struct hcomm_ring_setup)
 * @flags: 0
 * @entries: power of two, 1 to HCOMM_MAX_RING_ENTRIES
 * @eventfd: eventfd that is signalled for each completion, or -1
 * @out_mmap_size: out, bytes to map
 *
 * Once per context (EBUSY after).  EBADF: no such descriptor.  poll() of the
 * context tells POLLIN while the ring has unread entries.
 */
struct hcomm_ring_setup {
	__u32	size;
	__u32	flags;
	__u32	entries;
	__s32	eventfd;
	__aligned_u64 out_mmap_size;
};

/**
 * struct hcomm_wait - ioctl(HCOMM_WAIT): wait for completions
 * @size: sizeof(struct hcomm_wait)
 * @flags: 0
 * @count: wait until the ring has this many unread entries, 1 to its size
 * @pad: 0
 * @timeout_ns: longest wait; 0: do not wait, negative: no limit
 *
 * The waiting thread executes steps while it waits.  One waiter at a time.
 *
 * Errors: ENXIO (no ring), EBUSY (another thread waits), ETIMEDOUT,
 * EDEADLK (fewer than @count entries are unread or in flight).
 */
struct hcomm_wait {
	__u32	size;
	__u32	flags;
	__u32	count;
	__u32	pad;
	__s64	timeout_ns;	/* at a multiple of 8 without help */
};

/* ------------------------------------------------------------------- objects */

/* Kinds of object; QUEUE and EVENT are reserved. */
enum hcomm_obj_kind {
	HCOMM_OBJ_MEM = 1,
	HCOMM_OBJ_COMM = 2,
	HCOMM_OBJ_PROG = 3,
	HCOMM_OBJ_QUEUE = 4,
	HCOMM_OBJ_EVENT = 5,
};

/**
 * struct hcomm_destroy - ioctl(HCOMM_DESTROY): give an object up
 * @size: sizeof(struct hcomm_destroy)
 * @id: any object of this context
 *
 * EBUSY while something was made from it (programs of a communicator) or while
 * runs of the program or the communicator are in flight.  Memory that a run
 * still uses stays pinned until that run is over.
 */
struct hcomm_destroy {
	__u32	size;
	__u32	id;
};

enum {
	HCOMM_CMD_BASE = 0x40,
	HCOMM_CMD_INFO = HCOMM_CMD_BASE,
	HCOMM_CMD_DESTROY,
	HCOMM_CMD_MEM_REG,
	HCOMM_CMD_COMM_CREATE,
	HCOMM_CMD_COMM_PEERS,
	HCOMM_CMD_COMM_QUERY,
	HCOMM_CMD_COMM_ABORT,
	HCOMM_CMD_LINK_OPEN,
	HCOMM_CMD_PROG_LOAD,
	HCOMM_CMD_LAUNCH,
	HCOMM_CMD_WAIT,
	HCOMM_CMD_RING_SETUP,
	HCOMM_CMD_LAUNCH_BATCH,
	HCOMM_CMD_END,
};

#define HCOMM_INFO		_IO(HCOMM_IOC_MAGIC, HCOMM_CMD_INFO)
#define HCOMM_DESTROY		_IO(HCOMM_IOC_MAGIC, HCOMM_CMD_DESTROY)
#define HCOMM_MEM_REG		_IO(HCOMM_IOC_MAGIC, HCOMM_CMD_MEM_REG)
#define HCOMM_COMM_CREATE	_IO(HCOMM_IOC_MAGIC, HCOMM_CMD_COMM_CREATE)
#define HCOMM_COMM_PEERS	_IO(HCOMM_IOC_MAGIC, HCOMM_CMD_COMM_PEERS)
#define HCOMM_COMM_QUERY	_IO(HCOMM_IOC_MAGIC, HCOMM_CMD_COMM_QUERY)
#define HCOMM_COMM_ABORT	_IO(HCOMM_IOC_MAGIC, HCOMM_CMD_COMM_ABORT)
#define HCOMM_LINK_OPEN		_IO(HCOMM_IOC_MAGIC, HCOMM_CMD_LINK_OPEN)
#define HCOMM_PROG_LOAD		_IO(HCOMM_IOC_MAGIC, HCOMM_CMD_PROG_LOAD)
#define HCOMM_LAUNCH		_IO(HCOMM_IOC_MAGIC, HCOMM_CMD_LAUNCH)
#define HCOMM_WAIT		_IO(HCOMM_IOC_MAGIC, HCOMM_CMD_WAIT)
#define HCOMM_RING_SETUP	_IO(HCOMM_IOC_MAGIC, HCOMM_CMD_RING_SETUP)
#define HCOMM_LAUNCH_BATCH	_IO(HCOMM_IOC_MAGIC, HCOMM_CMD_LAUNCH_BATCH)

#endif /* _UAPI_LINUX_HCOMM_H */
