// SPDX-License-Identifier: LGPL-2.1-or-later
/* Strict reading of environment variables. */
#include <stdlib.h>
#include <string.h>

#include "../base/base.h"
#include "env.h"

bool hcomm_parse_number(const char *text, uint64_t max, uint64_t *out)
{
	uint64_t value = 0;

	if (!*text)
		return false;
	for (; *text; text++) {
		unsigned int digit = (unsigned char)*text - '0';

		if (digit > 9 || value > (UINT64_MAX - digit) / 10)
			return false;
		value = value * 10 + digit;
		if (value > max)
			return false;
	}
	*out = value;
	return true;
}

hcommResult_t hcomm_env_number(const char *name, uint64_t min, uint64_t max,
			       uint64_t *out)
{
	const char *text = getenv(name);
	uint64_t value;

	if (!text)
		return HCOMM_SUCCESS;
	if (!hcomm_parse_number(text, max, &value) || value < min)
		return hcomm_fail(HCOMM_ERR_ENVIRONMENT,
				  "%s=%s: use a whole number from %llu to %llu",
				  name, text, (unsigned long long)min,
				  (unsigned long long)max);
	*out = value;
	return HCOMM_SUCCESS;
}

hcommResult_t hcomm_env_size(const char *name, uint64_t min, uint64_t max,
			     uint64_t multiple, uint64_t *out)
{
	const char *text = getenv(name);
	uint64_t value = 0, unit = 1;
	char digits[32];
	size_t len;
	bool ok;

	if (!text)
		return HCOMM_SUCCESS;
	len = strlen(text);
	if (len && (text[len - 1] == 'K' || text[len - 1] == 'k'))
		unit = 1024;
	if (len && (text[len - 1] == 'M' || text[len - 1] == 'm'))
		unit = 1024 * 1024;
	if (unit > 1)
		len--;
	ok = len && len < sizeof(digits);
	if (ok) {
		memcpy(digits, text, len);
		digits[len] = 0;
		ok = hcomm_parse_number(digits, max / unit, &value);
	}
	value *= unit;
	ok = ok && value >= min;
	if (!ok && multiple == 1)
		return hcomm_fail(HCOMM_ERR_ENVIRONMENT,
				  "%s=%s: use %llu to %llu bytes (suffixes K and M are known)",
				  name, text, (unsigned long long)min,
				  (unsigned long long)max);
	if (!ok || value % multiple)
		return hcomm_fail(HCOMM_ERR_ENVIRONMENT,
				  "%s=%s: use a multiple of %llu from %llu to %llu bytes (suffixes K and M are known)",
				  name, text, (unsigned long long)multiple,
				  (unsigned long long)min,
				  (unsigned long long)max);
	*out = value;
	return HCOMM_SUCCESS;
}

/* "12" or "0.25", in thousandths */
static bool parse_thousandths(const char *text, uint64_t max, uint64_t *out)
{
	const char *dot = strchr(text, '.');
	size_t whole = dot ? (size_t)(dot - text) : strlen(text);
	uint64_t value, part = 0, unit = 100;
	char digits[24];

	if (!whole || whole >= sizeof(digits) || (dot && !dot[1]))
		return false;
	memcpy(digits, text, whole);
	digits[whole] = 0;
	if (!hcomm_parse_number(digits, max / 1000, &value))
		return false;
	for (text = dot ? dot + 1 : ""; *text; text++, unit /= 10) {
		if (*text < '0' || *text > '9' || !unit)
			return false;
		part += (uint64_t)(*text - '0') * unit;
	}
	*out = value * 1000 + part;
	return *out <= max;
}

hcommResult_t hcomm_env_seconds(const char *name, uint64_t min_ms,
				uint64_t max_ms, uint64_t *out_ms)
{
	const char *text = getenv(name);
	uint64_t value;

	if (!text)
		return HCOMM_SUCCESS;
	if (!parse_thousandths(text, max_ms, &value) || value < min_ms)
		return hcomm_fail(HCOMM_ERR_ENVIRONMENT,
				  "%s=%s: use seconds from %llu.%03llu to %llu, e.g. 10 or 0.5",
				  name, text, (unsigned long long)min_ms / 1000,
				  (unsigned long long)min_ms % 1000,
				  (unsigned long long)max_ms / 1000);
	*out_ms = value;
	return HCOMM_SUCCESS;
}

bool hcomm_parse_host_port(const char *text, char *host, size_t room,
			   uint16_t *port)
{
	const char *colon = strrchr(text, ':');
	size_t len = colon ? (size_t)(colon - text) : 0;
	uint64_t value;

	if (!len || !hcomm_parse_number(colon + 1, 65535, &value) || !value)
		return false;
	if (*text == '[') {
		if (len < 3 || text[len - 1] != ']')
			return false;
		text++;
		len -= 2;
	} else if (memchr(text, ':', len)) {
		return false;
	}
	if (len >= room)
		return false;
	memcpy(host, text, len);
	host[len] = 0;
	*port = (uint16_t)value;
	return true;
}
