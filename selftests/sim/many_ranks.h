/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For the library's schedule builders as they are compiled into the simulator:
 * more ranks than a communicator of the kernel may have.  Nothing else of the
 * ABI depends on the limit.
 */
#ifndef HCOMM_SIM_MANY_RANKS_H
#define HCOMM_SIM_MANY_RANKS_H

#include <linux/hcomm.h>

#undef HCOMM_MAX_RANKS
#define HCOMM_MAX_RANKS (1u << 20)

#endif /* HCOMM_SIM_MANY_RANKS_H */
