// SPDX-License-Identifier: LGPL-2.1-or-later
/* Addresses of this host and of others. */
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>

#include "../base/base.h"
#include "bootstrap.h"

socklen_t hcomm_addr_len(const struct sockaddr_storage *addr)
{
	return addr->ss_family == AF_INET ? sizeof(struct sockaddr_in) :
					    sizeof(struct sockaddr_in6);
}

void hcomm_addr_set_port(struct sockaddr_storage *addr, uint16_t port)
{
	if (addr->ss_family == AF_INET)
		((struct sockaddr_in *)addr)->sin_port = htons(port);
	else
		((struct sockaddr_in6 *)addr)->sin6_port = htons(port);
}

uint16_t hcomm_addr_port(const struct sockaddr_storage *addr)
{
	if (addr->ss_family == AF_INET)
		return ntohs(((const struct sockaddr_in *)addr)->sin_port);
	return ntohs(((const struct sockaddr_in6 *)addr)->sin6_port);
}

const char *hcomm_addr_text(const struct sockaddr_storage *addr)
{
	static __thread char text[INET6_ADDRSTRLEN + 16];
	char host[INET6_ADDRSTRLEN] = "?";

	if (addr->ss_family == AF_INET)
		inet_ntop(AF_INET, &((const struct sockaddr_in *)addr)->sin_addr,
			  host, sizeof(host));
	else
		inet_ntop(AF_INET6,
			  &((const struct sockaddr_in6 *)addr)->sin6_addr, host,
			  sizeof(host));
	snprintf(text, sizeof(text), addr->ss_family == AF_INET ? "%s:%u" :
		 "[%s]:%u", host, hcomm_addr_port(addr));
	return text;
}

static bool in_list(const char *list, const char *name)
{
	size_t len = strlen(name), item;

	for (; *list; list += item + (list[item] == ',')) {
		item = strcspn(list, ",");
		if (item == len && !memcmp(list, name, len))
			return true;
	}
	return false;
}

bool hcomm_name_listed(const char *list, const char *name)
{
	if (!list)
		return true;
	if (*list == '^')
		return !in_list(list + 1, name);
	return in_list(list, name);
}

/* interface of the IPv4 default route, empty if there is none */
static void default_route(char name[IF_NAMESIZE])
{
	char line[256], iface[IF_NAMESIZE];
	FILE *f = fopen("/proc/net/route", "re");
	unsigned int dest;

	*name = 0;
	if (!f)
		return;
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%15s %x", iface, &dest) == 2 && !dest) {
			strcpy(name, iface);
			break;
		}
	}
	fclose(f);
}

static bool usable(const struct ifaddrs *ifa, const char *filter)
{
	const struct sockaddr_in6 *sin6;

	if (!ifa->ifa_addr || !(ifa->ifa_flags & IFF_UP) ||
	    !hcomm_name_listed(filter, ifa->ifa_name))
		return false;
	/* loopback only by name, or by the caller as a last resort */
	if ((ifa->ifa_flags & IFF_LOOPBACK) && (!filter || *filter == '^'))
		return false;
	if (ifa->ifa_addr->sa_family == AF_INET)
		return true;
	if (ifa->ifa_addr->sa_family != AF_INET6)
		return false;
	sin6 = (const struct sockaddr_in6 *)ifa->ifa_addr;
	return !IN6_IS_ADDR_LINKLOCAL(&sin6->sin6_addr);
}

hcommResult_t hcomm_addr_local(const char *filter,
			       struct sockaddr_storage *addrs, uint32_t *count)
{
	struct ifaddrs *list, *ifa;
	char first[IF_NAMESIZE];
	uint32_t n = 0, pass;

	default_route(first);
	if (getifaddrs(&list))
		return hcomm_fail_errno(errno, "list of network interfaces");
	memset(addrs, 0, sizeof(*addrs) * HCOMM_BS_MAX_ADDRS);
	/* IPv4 before IPv6, the default route's interface before others */
	for (pass = 0; pass < 4; pass++) {
		int family = pass & 1 ? AF_INET6 : AF_INET;

		for (ifa = list; ifa && n < HCOMM_BS_MAX_ADDRS; ifa = ifa->ifa_next) {
			if (!usable(ifa, filter) ||
			    ifa->ifa_addr->sa_family != family ||
			    !strcmp(ifa->ifa_name, first) != (pass < 2))
				continue;
			memcpy(&addrs[n], ifa->ifa_addr, family == AF_INET ?
			       sizeof(struct sockaddr_in) :
			       sizeof(struct sockaddr_in6));
			n++;
		}
	}
	freeifaddrs(list);
	if (!n && filter)
		return hcomm_fail(HCOMM_ERR_ENVIRONMENT,
				  "HCOMM_SOCKET_IFNAME=%s: no such interface is up with an address",
				  filter);
	if (!n) {
		struct sockaddr_in *sin = (struct sockaddr_in *)addrs;

		sin->sin_family = AF_INET;
		sin->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		n = 1;
	}
	*count = n;
	return HCOMM_SUCCESS;
}

hcommResult_t hcomm_addr_resolve(const char *host, uint16_t port,
				 struct sockaddr_storage *addrs, uint32_t *count)
{
	struct addrinfo hints = { .ai_family = AF_UNSPEC,
				  .ai_socktype = SOCK_STREAM };
	struct addrinfo *list, *ai;
	uint32_t n = 0;
	int err;

	err = getaddrinfo(host, NULL, &hints, &list);
	if (err)
		return hcomm_fail(HCOMM_ERR_BOOTSTRAP,
				  "address of rank 0: host \"%s\": %s; HCOMM_ROOT=address:port says it in another way",
				  host, gai_strerror(err));
	memset(addrs, 0, sizeof(*addrs) * HCOMM_BS_MAX_ADDRS);
	for (ai = list; ai && n < HCOMM_BS_MAX_ADDRS; ai = ai->ai_next) {
		if (ai->ai_family != AF_INET && ai->ai_family != AF_INET6)
			continue;
		memcpy(&addrs[n], ai->ai_addr, ai->ai_addrlen);
		hcomm_addr_set_port(&addrs[n++], port);
	}
	freeaddrinfo(list);
	*count = n;
	if (!n)
		return hcomm_fail(HCOMM_ERR_BOOTSTRAP,
				  "address of rank 0: host \"%s\" has no IP address",
				  host);
	return HCOMM_SUCCESS;
}
