// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Reductions of the API: which there are, and those that a program makes itself,
 * which belong to a communicator.
 */
#include <stdlib.h>
#include <string.h>

#include "api.h"

/* operations of a communicator at one time */
#define PREMUL_MAX	65536u

/*
 * The number of a made operation: its entry, and above it a turn that the process
 * counts.  So one of another communicator, or one that has ended, is not taken for
 * that which has its entry now.
 */
#define TURN_SHIFT	16
#define TURNS		0x7ffeu
#define MADE_FIRST	(1u << TURN_SHIFT)

_Static_assert((int)hcommLxor == HCOMM_OP_LXOR && (int)hcommAvg == HCOMM_OP_AVG &&
	       (int)hcommFp8E5M2 == HCOMM_DT_FP8_E5M2, "the API has the ABI's numbers");

static hcommResult_t unknown_op(const char *name, hcommRedOp_t op)
{
	return hcomm_fail(HCOMM_ERR_INVALID_ARGUMENT,
			  "%s: op is %d, must be a hcommRedOp_t of this communicator",
			  name, (int)op);
}

/* comm locked; NULL: there is none */
static struct hcomm_premul *made_op(struct hcomm_comm *comm, hcommRedOp_t op)
{
	uint32_t i = (uint32_t)op % PREMUL_MAX;

	if ((uint32_t)op < MADE_FIRST || i >= comm->npremuls ||
	    comm->premuls[i].number != (uint32_t)op)
		return NULL;
	return &comm->premuls[i];
}

static hcommResult_t use_made_op(struct hcomm_comm *comm, hcommRedOp_t op,
				 struct hcomm_call_args *call)
{
	struct hcomm_premul found = { 0 }, *p;

	pthread_mutex_lock(&comm->lock);
	p = made_op(comm, op);
	if (p)
		found = *p;
	pthread_mutex_unlock(&comm->lock);
	if (!found.number)
		return unknown_op(call->name, op);
	if (found.dtype != call->dtype)
		return hcomm_fail(HCOMM_ERR_INVALID_ARGUMENT,
				  "%s: op was made for %s, but dtype is %s", call->name,
				  hcomm_dtype_text(found.dtype),
				  hcomm_dtype_text(call->dtype));
	call->redop = HCOMM_OP_PREMUL_SUM;
	call->operand = found.operand;
	return HCOMM_SUCCESS;
}

hcommResult_t hcomm_api_redop(struct hcomm_comm *comm, hcommRedOp_t op,
			      struct hcomm_call_args *call)
{
	if ((uint32_t)op >= MADE_FIRST)
		return use_made_op(comm, op, call);
	if (op != hcommAvg && (uint32_t)op >= HCOMM_OP_COUNT)
		return unknown_op(call->name, op);
	if (op == hcommAvg &&
	    (call->coll == HCOMM_COLL_SCAN || call->coll == HCOMM_COLL_EXSCAN))
		return hcomm_fail(HCOMM_ERR_INVALID_ARGUMENT,
				  "%s: there is no average of a prefix: use hcommSum and divide",
				  call->name);
	if (op != hcommAvg && !HCOMM_OP_FITS((uint32_t)op, call->dtype))
		return hcomm_fail(HCOMM_ERR_INVALID_ARGUMENT,
				  "%s: op is %s, which integers have, but dtype is %s",
				  call->name, hcomm_redop_text((uint32_t)op),
				  hcomm_dtype_text(call->dtype));
	call->redop = (uint32_t)op;
	return HCOMM_SUCCESS;
}

/* comm locked: the number of a free entry, PREMUL_MAX: no memory, or too many */
static uint32_t free_entry(struct hcomm_comm *comm)
{
	uint32_t n = comm->npremuls, room = n ? 2 * n : 8, i;
	struct hcomm_premul *more;

	for (i = 0; i < n; i++) {
		if (!comm->premuls[i].number)
			return i;
	}
	if (n == PREMUL_MAX)
		return PREMUL_MAX;
	more = realloc(comm->premuls, room * sizeof(*more));
	if (!more)
		return PREMUL_MAX;
	memset(more + n, 0, (room - n) * sizeof(*more));
	comm->premuls = more;
	comm->npremuls = room;
	return n;
}

static uint32_t new_number(uint32_t entry)
{
	static uint32_t turns;

	return (1 + __atomic_fetch_add(&turns, 1, __ATOMIC_RELAXED) % TURNS) << TURN_SHIFT |
	       entry;
}

static uint64_t element_bits(const void *element, uint32_t size)
{
	uint16_t x16;
	uint32_t x32;
	uint64_t x64;

	switch (size) {
	case 1:
		return *(const uint8_t *)element;
	case 2:
		memcpy(&x16, element, size);
		return x16;
	case 4:
		memcpy(&x32, element, size);
		return x32;
	default:
		memcpy(&x64, element, sizeof(x64));
		return x64;
	}
}

hcommResult_t hcommRedOpCreatePreMulSum(hcommRedOp_t *op, const void *scalar,
					hcommDataType_t dtype, hcommComm_t handle)
{
	static const char name[] = "RedOpCreatePreMulSum";
	struct hcomm_comm *comm;
	hcommResult_t ret;
	uint32_t i;

	ret = hcomm_api_sound(handle, &comm);
	if (ret)
		return ret;
	if (!op || !scalar)
		return hcomm_fail(HCOMM_ERR_INVALID_ARGUMENT, "%s: %s is NULL", name,
				  op ? "scalar" : "op");
	ret = hcomm_api_type(name, dtype);
	if (ret)
		return ret;
	pthread_mutex_lock(&comm->lock);
	i = free_entry(comm);
	if (i < PREMUL_MAX) {
		comm->premuls[i] = (struct hcomm_premul){
			.number = new_number(i), .dtype = (uint32_t)dtype,
			.operand = element_bits(scalar, hcomm_dtype_bytes((uint32_t)dtype)),
		};
		*op = (hcommRedOp_t)comm->premuls[i].number;
	}
	pthread_mutex_unlock(&comm->lock);
	if (i == PREMUL_MAX)
		return hcomm_fail(HCOMM_ERR_NO_MEMORY,
				  "%s: no memory, or %u operations exist; destroy some", name,
				  PREMUL_MAX);
	return HCOMM_SUCCESS;
}

hcommResult_t hcommRedOpDestroy(hcommRedOp_t op, hcommComm_t handle)
{
	struct hcomm_premul *p;
	struct hcomm_comm *comm;
	hcommResult_t ret;

	ret = hcomm_api_comm(handle, &comm);
	if (ret)
		return ret;
	pthread_mutex_lock(&comm->lock);
	p = made_op(comm, op);
	if (p)
		p->number = 0;
	pthread_mutex_unlock(&comm->lock);
	return p ? HCOMM_SUCCESS : unknown_op("RedOpDestroy", op);
}
