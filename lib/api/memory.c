// SPDX-License-Identifier: LGPL-2.1-or-later
/* Memory of the API. */
#include <stdlib.h>

#include "../mem/mem.h"
#include "api.h"

/**
 * struct hcomm_registration - memory that the caller promised to keep
 * @region: it
 */
struct hcomm_registration {
	struct hcomm_region region;
};

void *hcommMalloc(size_t size)
{
	void *p = NULL;

	if (hcomm_dev_check_fork() || hcomm_mem_alloc(size, &p))
		return NULL;
	return p;
}

hcommResult_t hcommFree(void *ptr)
{
	hcommResult_t ret = hcomm_dev_check_fork();

	if (ret)
		return ret;
	if (!hcomm_mem_free(ptr))
		return hcomm_fail(HCOMM_ERR_INVALID_ARGUMENT,
				  "%p is not from hcommMalloc(), or was freed already",
				  ptr);
	return HCOMM_SUCCESS;
}

hcommResult_t hcommMemRegister(void *ptr, size_t size, hcommMem_t *mem)
{
	struct hcomm_registration *reg;
	uintptr_t addr = (uintptr_t)ptr;
	hcommResult_t ret = hcomm_dev_check_fork();
	uint32_t id;
	uint64_t off;

	if (ret)
		return ret;
	if (!mem)
		return hcomm_fail(HCOMM_ERR_INVALID_ARGUMENT, "MemRegister: mem is NULL");
	if (!size)
		return hcomm_fail(HCOMM_ERR_INVALID_ARGUMENT,
				  "MemRegister: size is 0, must be 1 at least");
	ret = hcomm_api_buffer("MemRegister", "registered", ptr, size);
	if (ret)
		return ret;
	reg = calloc(1, sizeof(*reg));
	if (!reg)
		return hcomm_fail_nomem("a registration");
	reg->region.addr = addr;
	reg->region.len = size;
	ret = hcomm_region_add(&reg->region);
	if (ret)
		goto fail;
	/* now if there is a device, so that errors come here; else on first use */
	if (hcomm_dev_is_open())
		ret = hcomm_mem_find(ptr, size, &id, &off);
	if (!ret) {
		*mem = reg;
		return HCOMM_SUCCESS;
	}
	hcomm_region_del(&reg->region);
fail:
	free(reg);
	return ret;
}

hcommResult_t hcommMemDeregister(hcommMem_t mem)
{
	hcommResult_t ret = hcomm_dev_check_fork();

	if (ret || !mem)
		return ret;
	hcomm_region_del(&mem->region);
	free(mem);
	return HCOMM_SUCCESS;
}
