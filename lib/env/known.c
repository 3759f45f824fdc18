// SPDX-License-Identifier: LGPL-2.1-or-later
/* All variables of this library, to find those that are misspelt. */
#include <string.h>
#include <unistd.h>

#include "../base/base.h"
#include "env.h"

static const char *const known[] = {
	"HCOMM_ALGO", "HCOMM_ALGO_TABLE", "HCOMM_BOOTSTRAP_TIMEOUT",
	"HCOMM_BOUNCE_SIZE", "HCOMM_CHUNK_SIZE", "HCOMM_CONNECT_TIMEOUT",
	"HCOMM_DEBUG", "HCOMM_EAGER_SIZE", "HCOMM_GROUP", "HCOMM_LOCAL_RANK",
	"HCOMM_LOG_LEVEL", "HCOMM_MAX_RUNS", "HCOMM_MODEL", "HCOMM_NIC",
	"HCOMM_PLAN_CACHE", "HCOMM_PORT", "HCOMM_PROBE", "HCOMM_PROTO", "HCOMM_RANK",
	"HCOMM_ROOT", "HCOMM_SECRET", "HCOMM_SIZE", "HCOMM_SOCKET_IFNAME",
	"HCOMM_TIMEOUT", "HCOMM_TRANSPORT", "HCOMM_TUNE", "HCOMM_TUNER",
};

bool hcomm_env_known(const char *var)
{
	size_t len = strcspn(var, "="), i;

	if (strncmp(var, "HCOMM_", 6))
		return true;
	for (i = 0; i < ARRAY_SIZE(known); i++) {
		if (strlen(known[i]) == len && !memcmp(known[i], var, len))
			return true;
	}
	return false;
}

void hcomm_env_warn_unknown(void)
{
	static bool warned;
	char **var;

	if (hcomm_log_level < HCOMM_LOG_WARN ||
	    __atomic_exchange_n(&warned, true, __ATOMIC_RELAXED))
		return;
	for (var = environ; var && *var; var++) {
		if (!hcomm_env_known(*var))
			hcomm_log_write("warning: %.*s is set, but there is no such variable",
					(int)strcspn(*var, "="), *var);
	}
}
