/* SPDX-License-Identifier: Apache-2.0 */
/* See adapters.h. */
#include "adapters.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>

/* Global, because it is kept from the start of the run to a hang. */
static struct ifaddrs *at_start;

/* Each adapter is once in the list with an address of this kind, whatever other addresses it has. */
static bool is_adapter(const struct ifaddrs *entry)
{
    return entry->ifa_addr && entry->ifa_addr->sa_family == AF_PACKET && !(entry->ifa_flags & IFF_LOOPBACK);
}

static bool has_link(const struct ifaddrs *entry, const char *name)
{
    for (; entry; entry = entry->ifa_next)
        if (is_adapter(entry) && strcmp(entry->ifa_name, name) == 0)
            return entry->ifa_flags & IFF_RUNNING;
    return false;
}

void adapters_begin(void)
{
    if (getifaddrs(&at_start) != 0)
        at_start = NULL;
}

json_t *adapters_lost(void)
{
    struct ifaddrs *now;
    json_t *names = json_array();
    if (getifaddrs(&now) != 0)
        return names;
    for (const struct ifaddrs *entry = at_start; entry; entry = entry->ifa_next)
        if (is_adapter(entry) && (entry->ifa_flags & IFF_RUNNING) && !has_link(now, entry->ifa_name))
            json_array_append_new(names, json_string(entry->ifa_name));
    freeifaddrs(now);
    return names;
}
