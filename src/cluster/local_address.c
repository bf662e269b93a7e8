/* SPDX-License-Identifier: MIT */
#include "local_address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(struct sockaddr_in6) <= MPIIO_LOCAL_ADDRESS_MAX, "no room for an address");

/* What is looked for: the interface of a name, or addresses that begin with these bits. */
struct wanted {
    const char *interface; /* NULL: any */
    int family;            /* AF_UNSPEC: any */
    unsigned char bytes[sizeof(struct in6_addr)];
    int bits;
};

/* The length of a network's prefix; -1: it is none. */
static int parse_bits(const char *text, int most)
{
    char *end;
    long bits = strtol(text, &end, 10);

    return *text >= '0' && *text <= '9' && *end == '\0' && bits <= most ? (int)bits : -1;
}

static int parse_wanted(const char *where, struct wanted *wanted)
{
    char text[INET6_ADDRSTRLEN];
    size_t length = strcspn(where, "/");
    int most = 32;

    *wanted = (struct wanted){.family = AF_INET};
    if (length < sizeof(text)) {
        memcpy(text, where, length);
        text[length] = '\0';
        if (inet_pton(AF_INET, text, wanted->bytes) != 1) {
            wanted->family = inet_pton(AF_INET6, text, wanted->bytes) == 1 ? AF_INET6 : AF_UNSPEC;
            most = 128;
        }
    } else {
        wanted->family = AF_UNSPEC;
    }
    if (wanted->family == AF_UNSPEC) {
        wanted->interface = where;
        return where[length] == '\0' && length > 0 && length < IF_NAMESIZE ? 0 : -EINVAL;
    }
    wanted->bits = where[length] == '/' ? parse_bits(where + length + 1, most) : most;
    return wanted->bits >= 0 ? 0 : -EINVAL;
}

static bool begins_alike(const unsigned char *a, const unsigned char *b, int bits)
{
    int rest = bits % 8;

    return memcmp(a, b, (size_t)bits / 8) == 0 &&
           (rest == 0 || (a[bits / 8] ^ b[bits / 8]) >> (8 - rest) == 0);
}

static bool fits(const struct wanted *wanted, const struct ifaddrs *entry, int family)
{
    const struct sockaddr *address = entry->ifa_addr;
    const struct in6_addr *six;

    if (address == NULL || address->sa_family != family || (entry->ifa_flags & IFF_UP) == 0)
        return false;
    six = &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr;
    if (family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(six))
        return false;
    if (wanted->interface != NULL)
        return strcmp(entry->ifa_name, wanted->interface) == 0;
    if (family == AF_INET)
        return begins_alike(
            (const unsigned char *)&((const struct sockaddr_in *)(const void *)address)->sin_addr,
            wanted->bytes, wanted->bits);
    return begins_alike(six->s6_addr, wanted->bytes, wanted->bits);
}

static int find_address(const struct wanted *wanted, const struct ifaddrs *all, int family,
                        struct mpiio_local_address *local)
{
    socklen_t size = family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);

    if (wanted->family != AF_UNSPEC && wanted->family != family)
        return -EADDRNOTAVAIL;
    for (; all != NULL; all = all->ifa_next) {
        if (!fits(wanted, all, family))
            continue;
        memcpy(local->address, all->ifa_addr, size);
        local->size = size;
        return 0;
    }
    return -EADDRNOTAVAIL;
}

int mpiio_local_address_find(const char *where, struct mpiio_local_address *local)
{
    struct wanted wanted;
    struct ifaddrs *all;
    int error;

    memset(local, 0, sizeof(*local));
    if (where == NULL)
        return 0;
    error = parse_wanted(where, &wanted);
    if (error != 0)
        return error;
    if (getifaddrs(&all) != 0)
        return -errno;
    error = find_address(&wanted, all, AF_INET, local);
    if (error != 0)
        error = find_address(&wanted, all, AF_INET6, local);
    freeifaddrs(all);
    return error;
}
