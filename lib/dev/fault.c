// SPDX-License-Identifier: LGPL-2.1-or-later
/* Faults, calls and verifier reasons in words. */
#include <hcomm/sched.h>
#include <stdio.h>
#include <string.h>

#include "../base/base.h"
#include "dev.h"

static const char *const prog_errors[HCOMM_PE_COUNT] = {
	[HCOMM_PE_NONE] = "no reason given",
	[HCOMM_PE_OP] = "unknown step operation",
	[HCOMM_PE_FLAGS] = "unknown flag or reserved field set",
	[HCOMM_PE_UNUSED] = "a field that this operation does not use is not 0",
	[HCOMM_PE_DTYPE] = "unknown data type",
	[HCOMM_PE_REDOP] = "unknown reduction",
	[HCOMM_PE_PEER] = "the peer is not a rank, or is this rank",
	[HCOMM_PE_MSG] = "the message number is not the next one of the pair",
	[HCOMM_PE_SLOT] = "unknown slot",
	[HCOMM_PE_LEN] = "bad length",
	[HCOMM_PE_RANGE] = "offset and length overflow",
	[HCOMM_PE_DEP_RANGE] = "bad dependency list",
	[HCOMM_PE_DEP_ORDER] = "dependency on this or a later step",
	[HCOMM_PE_STREAM_LEN] = "streaming dependency between different lengths",
	[HCOMM_PE_STREAM_ORDER] = "streaming dependency behind a plain one",
	[HCOMM_PE_STREAM_COUNT] = "too many streaming dependencies",
	[HCOMM_PE_PEERS] = "too many peers",
	[HCOMM_PE_EMPTY] = "no steps, or too many",
	[HCOMM_PE_DEPS] = "too many dependencies",
	[HCOMM_PE_NSLOTS] = "too many slots",
	[HCOMM_PE_REDOP_TYPE] = "the data type does not have this reduction",
	[HCOMM_PE_OPERAND] = "division by 0 or by too much, or a factor of too many bits",
};

const char *hcomm_prog_error_name(uint32_t reason)
{
	if (reason >= ARRAY_SIZE(prog_errors) || !prog_errors[reason])
		return "unknown reason";
	return prog_errors[reason];
}

const char *hcomm_dtype_text(uint32_t dtype)
{
	static const char *const names[HCOMM_DT_COUNT] = {
		"int8", "uint8", "int16", "uint16", "int32", "uint32",
		"int64", "uint64", "fp16", "bf16", "fp32", "fp64",
		"fp8-e4m3", "fp8-e5m2",
	};

	return dtype < HCOMM_DT_COUNT ? names[dtype] : "unknown type";
}

const char *hcomm_redop_text(uint32_t op)
{
	static const char *const names[HCOMM_OP_COUNT] = {
		"sum", "prod", "min", "max", "band", "bor", "bxor", "land", "lor", "lxor",
	};

	if (op == HCOMM_OP_AVG)
		return "avg";
	if (op == HCOMM_OP_PREMUL_SUM)
		return "premul-sum";
	return op < HCOMM_OP_COUNT ? names[op] : "unknown operation";
}

const char *hcomm_call_name(uint32_t coll, bool vector)
{
	static const char *const vectors[] = {
		[HCOMM_COLL_REDUCE_SCATTER] = "ReduceScatterV",
		[HCOMM_COLL_ALLGATHER] = "AllGatherV",
		[HCOMM_COLL_GATHER] = "GatherV",
		[HCOMM_COLL_SCATTER] = "ScatterV",
		[HCOMM_COLL_ALLTOALL] = "AlltoAllV",
	};
	static const char *const names[] = {
		[HCOMM_COLL_BARRIER] = "Barrier",
		[HCOMM_COLL_BROADCAST] = "Broadcast",
		[HCOMM_COLL_REDUCE] = "Reduce",
		[HCOMM_COLL_ALLREDUCE] = "AllReduce",
		[HCOMM_COLL_REDUCE_SCATTER] = "ReduceScatter",
		[HCOMM_COLL_ALLGATHER] = "AllGather",
		[HCOMM_COLL_GATHER] = "Gather",
		[HCOMM_COLL_SCATTER] = "Scatter",
		[HCOMM_COLL_ALLTOALL] = "AlltoAll",
		[HCOMM_COLL_SCAN] = "Scan",
		[HCOMM_COLL_EXSCAN] = "Exscan",
	};

	if (vector && coll < ARRAY_SIZE(vectors) && vectors[coll])
		return vectors[coll];
	return coll < ARRAY_SIZE(names) && names[coll] ? names[coll] : "unknown call";
}

void hcomm_call_text(const struct hcomm_call *call, char *text, size_t room)
{
	const char *algo = hcomm_algo_name(call->algo);
	bool vector = call->hash & HCOMM_CALL_VECTOR;
	const char *op = "", *comma = "";
	char root[32] = "", count[32] = "";

	switch (call->coll) {
	case HCOMM_COLL_P2P:
		snprintf(text, room, "message of %llu bytes",
			 (unsigned long long)call->count);
		return;
	case HCOMM_COLL_BARRIER:
		snprintf(text, room, "%s", hcomm_call_name(call->coll, false));
		return;
	case HCOMM_COLL_REDUCE:
	case HCOMM_COLL_ALLREDUCE:
	case HCOMM_COLL_REDUCE_SCATTER:
	case HCOMM_COLL_SCAN:
	case HCOMM_COLL_EXSCAN:
		comma = ", ";
		op = hcomm_redop_text(call->redop);
		break;
	}
	switch (call->coll) {
	case HCOMM_COLL_BROADCAST:
	case HCOMM_COLL_REDUCE:
	case HCOMM_COLL_GATHER:
	case HCOMM_COLL_SCATTER:
		snprintf(root, sizeof(root), ", root %u", call->root);
		break;
	}
	/* of some V forms, each rank has its own */
	if (!vector || call->count)
		snprintf(count, sizeof(count), "%llu ", (unsigned long long)call->count);
	snprintf(text, room, "%s of %s%s%s%s%s, %s", hcomm_call_name(call->coll, vector),
		 count, hcomm_dtype_text(call->dtype),
		 comma, op, root, algo ? algo : "unknown algorithm");
}

hcommResult_t hcomm_fault_result(const struct hcomm_fault *fault)
{
	static const hcommResult_t results[HCOMM_FAULT_COUNT] = {
		[HCOMM_FAULT_NONE] = HCOMM_ERR_SYSTEM,
		[HCOMM_FAULT_PEER_DIED] = HCOMM_ERR_PEER_DIED,
		[HCOMM_FAULT_PEER_LEFT] = HCOMM_ERR_PEER_LEFT,
		[HCOMM_FAULT_LINK] = HCOMM_ERR_LINK,
		[HCOMM_FAULT_CONNECT] = HCOMM_ERR_LINK,
		[HCOMM_FAULT_AUTH] = HCOMM_ERR_AUTH,
		[HCOMM_FAULT_OPTIONS] = HCOMM_ERR_OPTIONS,
		[HCOMM_FAULT_MISMATCH] = HCOMM_ERR_MISMATCH,
		[HCOMM_FAULT_PROTOCOL] = HCOMM_ERR_MISMATCH,
		[HCOMM_FAULT_ABORTED] = HCOMM_ERR_ABORTED,
		[HCOMM_FAULT_TIMEOUT] = HCOMM_ERR_TIMEOUT,
		[HCOMM_FAULT_MEMORY] = HCOMM_ERR_NO_MEMORY,
	};

	if (fault->reason >= HCOMM_FAULT_COUNT)
		return HCOMM_ERR_SYSTEM;
	return results[fault->reason];
}

/* what happened, and what to do about it */
static void reason_text(const struct hcomm_fault *f, char *text, size_t room)
{
	const char *err = hcomm_strerror(f->error);

	switch (f->reason) {
	case HCOMM_FAULT_PEER_DIED:
		snprintf(text, room, "the process of rank %u ended; look there for the cause", f->rank);
		break;
	case HCOMM_FAULT_PEER_LEFT:
		snprintf(text, room, "rank %u ended or destroyed its communicator while others still used it; did it make fewer calls than they?", f->rank);
		break;
	case HCOMM_FAULT_LINK:
		snprintf(text, room, "the link between rank %u and rank %u broke (%s); see the kernel log of both nodes", f->reporter, f->rank, err);
		break;
	case HCOMM_FAULT_CONNECT:
		snprintf(text, room, "no link from rank %u to rank %u (%s); check the network between the two nodes, HCOMM_NIC and HCOMM_TRANSPORT", f->reporter, f->rank, err);
		break;
	case HCOMM_FAULT_AUTH:
		snprintf(text, room, "who answers as rank %u does not know the secret of the job; is it another job's, or HCOMM_SECRET another one there?", f->rank);
		break;
	case HCOMM_FAULT_OPTIONS:
		snprintf(text, room, "rank %u and rank %u have different options; see the kernel log of both nodes", f->reporter, f->rank);
		break;
	case HCOMM_FAULT_PROTOCOL:
		snprintf(text, room, "rank %u sent what rank %u does not expect (%s): compare the counts of GatherV, ScatterV and AlltoAllV on the two; if they fit, this is a bug in hcomm", f->rank, f->reporter, err);
		break;
	case HCOMM_FAULT_ABORTED:
		snprintf(text, room, "rank %u aborted the communicator", f->reporter);
		break;
	case HCOMM_FAULT_TIMEOUT:
		snprintf(text, room, "a call took longer than its limit (HCOMM_TIMEOUT) on rank %u; it waits for rank %u: is that at another call, or slow?", f->reporter, f->rank);
		break;
	case HCOMM_FAULT_MEMORY:
		snprintf(text, room, "the kernel of rank %u ran out of memory or lost a buffer (%s); see its log, or lower HCOMM_CHUNK_SIZE or HCOMM_MAX_RUNS", f->reporter, err);
		break;
	default:
		snprintf(text, room, "rank %u: %s", f->rank, err);
	}
}

void hcomm_fault_text(const struct hcomm_fault *f, char *text, size_t room)
{
	char mine[160], theirs[160], what[400], step[64] = "";

	if (f->reason == HCOMM_FAULT_MISMATCH) {
		hcomm_call_text(&f->mine, mine, sizeof(mine));
		hcomm_call_text(&f->theirs, theirs, sizeof(theirs));
		/* what else they compare is but a hash */
		snprintf(text, room,
			 "the calls of two ranks differ%s: rank %u: %s; rank %u: %s. All ranks must make the same calls in the same order, and a receive must ask for the length that is sent",
			 strcmp(mine, theirs) ? "" :
			 " in the lengths of blocks, or in the plan that a tuner or a measured model chose",
			 f->reporter, mine, f->rank, theirs);
		return;
	}
	reason_text(f, what, sizeof(what));
	if (f->step != ~0u && f->run)
		snprintf(step, sizeof(step), ", in step %u", f->step);
	snprintf(text, room, "%s (first noticed by rank %u%s)", what, f->reporter,
		 step);
}
