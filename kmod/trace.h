/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tracepoints: a launch, the chunks of its steps, its completion, and what
 * happens to links.  Communicators are named by the number of their sysfs device.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM hcomm

#if !defined(HCOMM_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define HCOMM_TRACE_H

#include <linux/tracepoint.h>
#include <linux/hcomm.h>

#define hcomm_show_link_state(s)				\
	__print_symbolic(s,					\
			 { HCOMM_LINK_IDLE, "idle" },		\
			 { HCOMM_LINK_RESOLVING, "resolving" },	\
			 { HCOMM_LINK_CONNECTING, "connecting" }, \
			 { HCOMM_LINK_VERIFYING, "verifying" },	\
			 { HCOMM_LINK_READY, "ready" },		\
			 { HCOMM_LINK_RECOVERING, "recovering" }, \
			 { HCOMM_LINK_FAILED, "failed" },	\
			 { HCOMM_LINK_CLOSED, "closed" })

#define hcomm_show_coll(c)					\
	__print_symbolic(c,					\
			 { HCOMM_COLL_NONE, "none" },		\
			 { HCOMM_COLL_P2P, "p2p" },		\
			 { HCOMM_COLL_BARRIER, "barrier" },	\
			 { HCOMM_COLL_BROADCAST, "broadcast" },	\
			 { HCOMM_COLL_REDUCE, "reduce" },	\
			 { HCOMM_COLL_ALLREDUCE, "allreduce" },	\
			 { HCOMM_COLL_REDUCE_SCATTER, "reduce-scatter" }, \
			 { HCOMM_COLL_ALLGATHER, "allgather" },	\
			 { HCOMM_COLL_GATHER, "gather" },	\
			 { HCOMM_COLL_SCATTER, "scatter" },	\
			 { HCOMM_COLL_ALLTOALL, "alltoall" },	\
			 { HCOMM_COLL_SCAN, "scan" },		\
			 { HCOMM_COLL_EXSCAN, "exscan" },	\
			 { HCOMM_COLL_GROUP, "group" })

TRACE_EVENT(hcomm_launch,
	TP_PROTO(u32 comm, u32 rank, u32 program, u64 run, u64 user_data,
		 const struct hcomm_call *call),
	TP_ARGS(comm, rank, program, run, user_data, call),
	TP_STRUCT__entry(
		__field(u32, comm)
		__field(u32, rank)
		__field(u32, prog)
		__field(u64, run)
		__field(u64, user_data)
		__field(u32, coll)
		__field(u64, count)
		__field(u32, algo)
	),
	TP_fast_assign(
		__entry->comm = comm;
		__entry->rank = rank;
		__entry->prog = program;
		__entry->run = run;
		__entry->user_data = user_data;
		__entry->coll = call->coll;
		__entry->count = call->count;
		__entry->algo = call->algo;
	),
	TP_printk("comm%u rank=%u prog=%u run=%llu user_data=0x%llx coll=%s count=%llu algo=%u",
		  __entry->comm, __entry->rank, __entry->prog, __entry->run,
		  __entry->user_data, hcomm_show_coll(__entry->coll), __entry->count,
		  __entry->algo)
);

TRACE_EVENT(hcomm_step,
	TP_PROTO(u32 comm, u32 rank, u64 run, u32 step, u32 chunk, bool done),
	TP_ARGS(comm, rank, run, step, chunk, done),
	TP_STRUCT__entry(
		__field(u32, comm)
		__field(u32, rank)
		__field(u64, run)
		__field(u32, step)
		__field(u32, chunk)
		__field(bool, done)
	),
	TP_fast_assign(
		__entry->comm = comm;
		__entry->rank = rank;
		__entry->run = run;
		__entry->step = step;
		__entry->chunk = chunk;
		__entry->done = done;
	),
	TP_printk("comm%u rank=%u run=%llu step=%u chunk=%u %s",
		  __entry->comm, __entry->rank, __entry->run, __entry->step,
		  __entry->chunk, __entry->done ? "done" : "issue")
);

TRACE_EVENT(hcomm_complete,
	TP_PROTO(u32 comm, u32 rank, u64 run, int status, u64 duration_ns),
	TP_ARGS(comm, rank, run, status, duration_ns),
	TP_STRUCT__entry(
		__field(u32, comm)
		__field(u32, rank)
		__field(u64, run)
		__field(int, status)
		__field(u64, duration_ns)
	),
	TP_fast_assign(
		__entry->comm = comm;
		__entry->rank = rank;
		__entry->run = run;
		__entry->status = status;
		__entry->duration_ns = duration_ns;
	),
	TP_printk("comm%u rank=%u run=%llu status=%d duration_ns=%llu",
		  __entry->comm, __entry->rank, __entry->run, __entry->status,
		  __entry->duration_ns)
);

TRACE_EVENT(hcomm_link_state,
	TP_PROTO(u32 comm, u32 rank, u32 peer, u32 from, u32 to, u32 reason, int error),
	TP_ARGS(comm, rank, peer, from, to, reason, error),
	TP_STRUCT__entry(
		__field(u32, comm)
		__field(u32, rank)
		__field(u32, peer)
		__field(u32, from)
		__field(u32, to)
		__field(u32, reason)
		__field(int, error)
	),
	TP_fast_assign(
		__entry->comm = comm;
		__entry->rank = rank;
		__entry->peer = peer;
		__entry->from = from;
		__entry->to = to;
		__entry->reason = reason;
		__entry->error = error;
	),
	TP_printk("comm%u rank=%u peer=%u %s -> %s reason=%u error=%d",
		  __entry->comm, __entry->rank, __entry->peer,
		  hcomm_show_link_state(__entry->from),
		  hcomm_show_link_state(__entry->to), __entry->reason, __entry->error)
);

#endif /* HCOMM_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
