/* SPDX-License-Identifier: MIT */
#include "address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <limits.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "viewspec/base/integer.h"

/* The number of joins that may arrive at once. The kernel may have a lower limit. */
#define BACKLOG 4096

/* Returns the port of an address. It is at the same offset in both families. */
static in_port_t *port_of(struct sockaddr_storage *address)
{
    return &((struct sockaddr_in *)address)->sin_port;
}

static socklen_t size_of(int family)
{
    return family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
}

/* Listens at a port; 0: any. */
static int listen_at_port(struct sockaddr_storage *address, int port)
{
    const int off = 0, on = 1;
    int fd = socket(address->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int error;

    if (fd < 0)
        return -errno;
    *port_of(address) = htons((uint16_t)port);
    if (address->ss_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
    if (port != 0) /* connections of an earlier mount may be in TIME_WAIT */
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (bind(fd, (struct sockaddr *)address, size_of(address->ss_family)) == 0 &&
        listen(fd, BACKLOG) == 0)
        return fd;
    error = -errno;
    close(fd);
    return error;
}

/* Listens at the first free port, and stores it in address. */
static int try_listen(struct sockaddr_storage *address, const struct mpiio_ports *ports)
{
    socklen_t size = size_of(address->ss_family);
    int fd = -EADDRINUSE;

    for (int port = ports->first; port <= ports->last && fd == -EADDRINUSE; port++)
        fd = listen_at_port(address, port);
    if (fd >= 0 && getsockname(fd, (struct sockaddr *)address, &size) != 0) {
        close(fd);
        return -errno;
    }
    return fd;
}

/* The size of a text "IP:PORT" or "[IP6]:PORT". */
#define ADDRESS_TEXT (INET6_ADDRSTRLEN + 16)

/* Returns the bytes of an address of either family. */
static void *bytes_of(const struct sockaddr *address)
{
    void *any = (void *)address;

    return address->sa_family == AF_INET6 ? (void *)&((struct sockaddr_in6 *)any)->sin6_addr
                                          : (void *)&((struct sockaddr_in *)any)->sin_addr;
}

static void print_address(const struct sockaddr *address, int port, char text[ADDRESS_TEXT])
{
    char host[INET6_ADDRSTRLEN];

    inet_ntop(address->sa_family, bytes_of(address), host, sizeof(host));
    snprintf(text, ADDRESS_TEXT, address->sa_family == AF_INET6 ? "[%s]:%d" : "%s:%d", host, port);
}

/* Returns true for an address of a family that other machines can use. Link-local addresses are not
   valid on other machines. */
static bool is_usable(const struct ifaddrs *entry, int family)
{
    return entry->ifa_addr != NULL && entry->ifa_addr->sa_family == family &&
           (entry->ifa_flags & IFF_UP) != 0 &&
           (family != AF_INET6 || !IN6_IS_ADDR_LINKLOCAL(bytes_of(entry->ifa_addr)));
}

/* Writes all addresses of a family. Returns their number. */
static int print_family(FILE *out, const struct ifaddrs *all, int family, bool loopback, int port)
{
    char text[ADDRESS_TEXT];
    int count = 0;

    for (const struct ifaddrs *entry = all; entry != NULL; entry = entry->ifa_next) {
        if (!is_usable(entry, family) || ((entry->ifa_flags & IFF_LOOPBACK) != 0) != loopback)
            continue;
        print_address(entry->ifa_addr, port, text);
        fprintf(out, "%s ", text);
        count++;
    }
    return count;
}

static int print_addresses(bool both, int port, char **addresses)
{
    struct ifaddrs *all;
    size_t length = 0;
    FILE *out;
    int count = 0;

    if (getifaddrs(&all) != 0)
        return -errno;
    out = open_memstream(addresses, &length);
    if (out == NULL) {
        freeifaddrs(all);
        return -ENOMEM;
    }
    for (int loopback = 0; loopback < 2 && count == 0; loopback++) {
        count += print_family(out, all, AF_INET, loopback == 1, port);
        if (both)
            count += print_family(out, all, AF_INET6, loopback == 1, port);
    }
    freeifaddrs(all);
    if (fclose(out) != 0 || count == 0) {
        free(*addresses);
        *addresses = NULL;
        return count == 0 ? -EADDRNOTAVAIL : -ENOMEM;
    }
    (*addresses)[length - 1] = '\0'; /* the last blank */
    return 0;
}

int mpiio_address_listen(const struct mpiio_local_address *local, const struct mpiio_ports *ports,
                         int *fd, char **addresses)
{
    struct sockaddr_storage bound = {.ss_family = AF_INET6};
    char text[ADDRESS_TEXT];
    int error;

    *addresses = NULL;
    memcpy(&bound, local->address, local->size);
    *fd = try_listen(&bound, ports);
    if (local->size == 0 && *fd < 0 && *fd != -EADDRINUSE) { /* a kernel without IPv6 */
        bound = (struct sockaddr_storage){.ss_family = AF_INET};
        *fd = try_listen(&bound, ports);
    }
    if (*fd < 0)
        return *fd;
    if (local->size == 0) {
        error = print_addresses(bound.ss_family == AF_INET6, ntohs(*port_of(&bound)), addresses);
    } else {
        print_address((const struct sockaddr *)&bound, ntohs(*port_of(&bound)), text);
        *addresses = strdup(text);
        error = *addresses != NULL ? 0 : -ENOMEM;
    }
    if (error != 0) {
        close(*fd);
        *fd = -1;
    }
    return error;
}

/* Parses a number of decimal digits. Returns -1 if it is invalid or greater than most. */
static int parse_number(const char *text, int most)
{
    char *end;
    long number = strtol(text, &end, 10);

    return *text >= '0' && *text <= '9' && *end == '\0' && number <= most ? (int)number : -1;
}

/* Parses "IP:PORT" or "[IP6]:PORT". Modifies text. Returns the size of the address, or 0 if the
   text is invalid. */
static socklen_t parse_address(char *text, struct sockaddr_storage *address)
{
    char *colon = strrchr(text, ':');
    bool six = text[0] == '[';
    int port = colon != NULL ? parse_number(colon + 1, 65535) : 0;

    if (port <= 0 || colon == text || (six && colon[-1] != ']'))
        return 0;
    colon[six ? -1 : 0] = '\0';
    *address = (struct sockaddr_storage){.ss_family = six ? AF_INET6 : AF_INET};
    *port_of(address) = htons((uint16_t)port);
    return inet_pton(address->ss_family, text + six, bytes_of((struct sockaddr *)address)) == 1
               ? size_of(address->ss_family)
               : 0;
}

int mpiio_address_wait(int fd, short events, int64_t timeout)
{
    struct pollfd poller = {.fd = fd, .events = events};
    int64_t end = mpiio_clock() + timeout;
    int ready;

    do {
        ready = poll(&poller, 1, (int)vs_min(vs_max(end - mpiio_clock(), 0), INT_MAX));
    } while (ready < 0 && errno == EINTR);
    return ready > 0 ? 0 : ready == 0 ? -ETIMEDOUT : -errno;
}

static int finish_connecting(int fd, int timeout)
{
    int refused = 0;
    socklen_t size = sizeof(refused);
    int error = mpiio_address_wait(fd, POLLOUT, timeout);

    if (error == 0 && getsockopt(fd, SOL_SOCKET, SO_ERROR, &refused, &size) != 0)
        error = -errno;
    return error != 0 ? error : -refused;
}

/* Binds a socket to the local address. The kernel chooses the port when the socket connects. */
static int bind_to(const struct mpiio_local_address *local, int fd)
{
    const int late = 1;

    if (local->size == 0)
        return 0;
    setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &late, sizeof(late));
    return bind(fd, (const struct sockaddr *)(const void *)local->address, local->size) == 0
               ? 0
               : -errno;
}

int mpiio_address_dial(const struct mpiio_local_address *local, const char **addresses, int timeout)
{
    char text[ADDRESS_TEXT];
    struct sockaddr_storage address;
    socklen_t size;
    size_t length;
    int fd, error;

    *addresses += strspn(*addresses, " ");
    length = strcspn(*addresses, " ");
    if (length == 0)
        return -ENOENT;
    snprintf(text, sizeof(text), "%.*s", (int)(length < sizeof(text) ? length : 0), *addresses);
    *addresses += length;
    size = parse_address(text, &address);
    if (size == 0)
        return -EINVAL;
    fd = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -errno;
    error = bind_to(local, fd);
    if (error == 0)
        error = connect(fd, (struct sockaddr *)&address, size) == 0 ? 0 : -errno;
    if (error == -EINPROGRESS)
        error = finish_connecting(fd, timeout);
    if (error == 0)
        return fd;
    /* connect(2) fails with EINVAL at a blackhole route, with EACCES at a prohibit route, and with
       EPERM at a local firewall. Callers would take the first two for a daemon's answer. */
    if (error == -EINVAL || error == -EACCES || error == -EPERM)
        error = -EHOSTUNREACH;
    close(fd);
    return error;
}

/* The address that a daemon binds to. */

_Static_assert(sizeof(struct sockaddr_in6) <= MPIIO_LOCAL_ADDRESS_MAX, "no room for an address");

/* A filter of addresses: an interface name, or a network prefix. */
struct wanted {
    const char *interface; /* NULL: any */
    int family;            /* AF_UNSPEC: any */
    unsigned char bytes[sizeof(struct in6_addr)];
    int bits;
};

static int parse_wanted(const char *where, struct wanted *wanted)
{
    char text[INET6_ADDRSTRLEN];
    size_t length = strcspn(where, "/");
    int most = 32;

    *wanted = (struct wanted){.family = AF_INET};
    snprintf(text, sizeof(text), "%.*s", (int)(length < sizeof(text) ? length : 0), where);
    if (inet_pton(AF_INET, text, wanted->bytes) != 1) {
        wanted->family = inet_pton(AF_INET6, text, wanted->bytes) == 1 ? AF_INET6 : AF_UNSPEC;
        most = 128;
    }
    if (wanted->family == AF_UNSPEC) {
        wanted->interface = where;
        return where[length] == '\0' && length > 0 && length < IF_NAMESIZE ? 0 : -EINVAL;
    }
    wanted->bits = where[length] == '/' ? parse_number(where + length + 1, most) : most;
    return wanted->bits >= 0 ? 0 : -EINVAL;
}

static bool begins_alike(const unsigned char *a, const unsigned char *b, int bits)
{
    int rest = bits % 8;

    return memcmp(a, b, (size_t)bits / 8) == 0 &&
           (rest == 0 || (a[bits / 8] ^ b[bits / 8]) >> (8 - rest) == 0);
}

static bool fits(const struct wanted *wanted, const struct ifaddrs *entry)
{
    if (wanted->interface != NULL)
        return strcmp(entry->ifa_name, wanted->interface) == 0;
    return begins_alike(bytes_of(entry->ifa_addr), wanted->bytes, wanted->bits);
}

static int find_address(const struct wanted *wanted, const struct ifaddrs *all, int family,
                        struct mpiio_local_address *local)
{
    if (wanted->family != AF_UNSPEC && wanted->family != family)
        return -EADDRNOTAVAIL;
    for (; all != NULL; all = all->ifa_next) {
        if (!is_usable(all, family) || !fits(wanted, all))
            continue;
        local->size = size_of(family);
        memcpy(local->address, all->ifa_addr, local->size);
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

/* Sending and receiving. */

/* Sends (POLLOUT) or receives (POLLIN) size bytes. Waits if the socket is not ready. */
static int talk(int fd, short events, char *at, size_t size, int64_t timeout)
{
    int error = 0;

    while (size > 0 && error == 0) {
        ssize_t moved = events == POLLOUT ? send(fd, at, size, MSG_NOSIGNAL | MSG_DONTWAIT)
                                          : recv(fd, at, size, MSG_DONTWAIT);

        if (moved > 0) {
            at += moved;
            size -= (size_t)moved;
        } else if (moved == 0 || errno == EPIPE || errno == ECONNRESET) {
            error = -ENOTCONN;
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            error = mpiio_address_wait(fd, events, timeout);
        } else if (errno != EINTR) {
            error = -errno;
        }
    }
    return error;
}

int mpiio_talk_send(int fd, const void *bytes, size_t size, int64_t timeout)
{
    return talk(fd, POLLOUT, (char *)bytes, size, timeout);
}

int mpiio_talk_receive(int fd, void *bytes, size_t size, int64_t timeout)
{
    return talk(fd, POLLIN, bytes, size, timeout);
}

void mpiio_talk_prepare(int fd)
{
    const int on = 1;

    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}
