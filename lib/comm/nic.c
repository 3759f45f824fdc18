// SPDX-License-Identifier: LGPL-2.1-or-later
/* RDMA devices of this host, as sysfs shows them. */
#include <dirent.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/base.h"
#include "../bootstrap/bootstrap.h"
#include "../env/env.h"
#include "nic.h"
#include "numa.h"

#define DEVICES	"class/infiniband"

static bool netdev_address(const struct ifaddrs *list, const char *netdev,
			   struct hcomm_addr *addr)
{
	static const int families[] = { AF_INET, AF_INET6 };
	const struct sockaddr_in6 *sin6;
	const struct ifaddrs *ifa;
	size_t i;

	memset(addr, 0, sizeof(*addr));
	for (i = 0; i < ARRAY_SIZE(families); i++) {
		for (ifa = list; ifa; ifa = ifa->ifa_next) {
			if (!ifa->ifa_addr || !(ifa->ifa_flags & IFF_UP) ||
			    ifa->ifa_addr->sa_family != families[i] ||
			    strcmp(ifa->ifa_name, netdev))
				continue;
			sin6 = (const struct sockaddr_in6 *)ifa->ifa_addr;
			if (families[i] == AF_INET6 &&
			    IN6_IS_ADDR_LINKLOCAL(&sin6->sin6_addr))
				continue;
			addr->family = (__u16)families[i];
			if (families[i] == AF_INET)
				memcpy(addr->addr, &((const struct sockaddr_in *)
				       ifa->ifa_addr)->sin_addr, 4);
			else
				memcpy(addr->addr, &sin6->sin6_addr, 16);
			return true;
		}
	}
	return false;
}

/* one GID of a port: the interface behind it */
static bool try_gid(const char *port, const char *gid,
		    const struct ifaddrs *list, struct hcomm_nic *nic)
{
	char path[1024], netdev[64];

	snprintf(path, sizeof(path), "%s/gid_attrs/ndevs/%s", port, gid);
	if (!hcomm_read_line(path, netdev, sizeof(netdev)) ||
	    strlen(netdev) >= sizeof(nic->netdev) ||
	    !netdev_address(list, netdev, &nic->addr))
		return false;
	strcpy(nic->netdev, netdev);
	return true;
}

static bool try_port(const char *port, const struct ifaddrs *list,
		     struct hcomm_nic *nic)
{
	char path[768], state[64];
	struct dirent **gids;
	bool found = false;
	int n, i;

	snprintf(path, sizeof(path), "%s/state", port);
	if (!hcomm_read_line(path, state, sizeof(state)) || !strstr(state, "ACTIVE"))
		return false;
	snprintf(path, sizeof(path), "%s/gid_attrs/ndevs", port);
	n = scandir(path, &gids, NULL, versionsort);
	for (i = 0; i < n; i++) {
		if (!found && gids[i]->d_name[0] != '.')
			found = try_gid(port, gids[i]->d_name, list, nic);
		free(gids[i]);
	}
	if (n >= 0)
		free(gids);
	return found;
}

static bool try_device(const char *sysfs, const char *device,
		       const struct ifaddrs *list, struct hcomm_nic *nic)
{
	struct dirent **ports;
	char path[512];
	bool found = false;
	int n, i;

	snprintf(path, sizeof(path), "%s/" DEVICES "/%.63s/ports", sysfs, device);
	n = scandir(path, &ports, NULL, versionsort);
	for (i = 0; i < n; i++) {
		if (!found && ports[i]->d_name[0] != '.') {
			snprintf(path, sizeof(path), "%s/" DEVICES "/%.63s/ports/%.16s",
				 sysfs, device, ports[i]->d_name);
			found = try_port(path, list, nic);
		}
		free(ports[i]);
	}
	if (n >= 0)
		free(ports);
	if (found)
		snprintf(nic->device, sizeof(nic->device), "%.63s", device);
	return found;
}

/* every name of the list must be a device: a misspelt one is no wish */
static hcommResult_t check_filter(const char *filter, struct dirent **devs, int n)
{
	const char *p = *filter == '^' ? filter + 1 : filter;
	size_t len;
	int i;

	for (;;) {
		len = strcspn(p, ",");
		for (i = 0; i < n; i++) {
			if (strlen(devs[i]->d_name) == len &&
			    !memcmp(devs[i]->d_name, p, len))
				break;
		}
		if (i == n)
			return hcomm_fail(HCOMM_ERR_ENVIRONMENT,
					  "HCOMM_NIC=%s: there is no RDMA device \"%.*s\" on this host (see rdma link)",
					  filter, (int)len, p);
		if (!p[len])
			return HCOMM_SUCCESS;
		p += len + 1;
	}
}

/* devices of no bus are on no node, and behind all others */
static uint32_t distance_of(const char *sysfs, const char *device)
{
	char path[512], node[16];
	uint64_t number;

	snprintf(path, sizeof(path), "%s/" DEVICES "/%.63s/device/numa_node", sysfs, device);
	if (!hcomm_read_line(path, node, sizeof(node)) ||
	    !hcomm_parse_number(node, UINT16_MAX, &number))
		return HCOMM_NUMA_UNKNOWN;
	return hcomm_numa_distance(sysfs, (unsigned int)number);
}

/* the nearest of these that is usable and selected, the first of equals */
static void choose(const char *sysfs, const char *filter, struct dirent **devs, int n,
		   const struct ifaddrs *list, struct hcomm_nic *nic)
{
	uint32_t least = 0, one;
	struct hcomm_nic found;
	int i;

	for (i = 0; i < n; i++) {
		const char *name = devs[i]->d_name;

		memset(&found, 0, sizeof(found));
		if (*name == '.' || !hcomm_name_listed(filter, name) ||
		    !try_device(sysfs, name, list, &found))
			continue;
		one = distance_of(sysfs, name);
		if (one == HCOMM_NUMA_UNKNOWN)
			hcomm_decision("RDMA device %s: NUMA node not known", name);
		else
			hcomm_decision("RDMA device %s: NUMA distance %u", name, one);
		if (*nic->device && one >= least)
			continue;
		*nic = found;
		least = one;
	}
}

hcommResult_t hcomm_nic_choose(const char *sysfs, const char *filter,
			       struct hcomm_nic *nic)
{
	hcommResult_t ret = HCOMM_SUCCESS;
	struct ifaddrs *list = NULL;
	struct dirent **devs = NULL;
	char path[512];
	int n, i;

	memset(nic, 0, sizeof(*nic));
	if (getifaddrs(&list))
		return hcomm_fail_errno(errno, "list of network interfaces");
	snprintf(path, sizeof(path), "%s/" DEVICES, sysfs);
	n = scandir(path, &devs, NULL, versionsort);
	if (filter)
		ret = check_filter(filter, devs, n < 0 ? 0 : n);
	if (!ret)
		choose(sysfs, filter, devs, n, list, nic);
	for (i = 0; i < n; i++)
		free(devs[i]);
	free(devs);
	freeifaddrs(list);
	return ret;
}
