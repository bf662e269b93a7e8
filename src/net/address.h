/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_ADDRESS_H
#define MPIIO_ADDRESS_H

#include <stddef.h>
#include <stdint.h>

#define MPIIO_LOCAL_ADDRESS_MAX 28

/* The address that sockets are bound to: an address of this machine with port 0, as the bytes of
   a sockaddr_in or sockaddr_in6. size 0: all addresses. (This header does not include
   <sys/socket.h>, because other sources use the names that it defines.) */
struct mpiio_local_address {
    unsigned char address[MPIIO_LOCAL_ADDRESS_MAX];
    unsigned size;
};

/*
 * Finds the first address of this machine that where names: an interface ("ib0"), an address, or a
 * network ("10.1.0.0/16", "fd00::/8"). IPv4 comes before IPv6. Addresses of interfaces that are
 * down and link-local addresses are skipped; the latter are not valid on other machines. NULL
 * stands for all addresses. Returns 0 or a negative errno: -EINVAL if where is none of these,
 * -EADDRNOTAVAIL if the machine has no such address. Thread-safe.
 */
int mpiio_local_address_find(const char *where, struct mpiio_local_address *local);

/* A range of TCP ports, inclusive. 0 and 0: the system chooses a port. */
struct mpiio_ports {
    uint16_t first, last;
};

/*
 * Listens on a local address, on the first free port of ports. Sets *fd to the socket
 * (non-blocking, close-on-exec) and *addresses to a list for mpiio_address_dial (malloc'd). The
 * caller owns both. Returns 0 or a negative errno: -EADDRINUSE if no port is free.
 */
int mpiio_address_listen(const struct mpiio_local_address *local, const struct mpiio_ports *ports,
                         int *fd, char **addresses);

/*
 * Connects from a local address to the first address of a list "IP:PORT [IP6]:PORT ...", and moves
 * *addresses past it. Returns a non-blocking, close-on-exec socket, or a negative errno: -ENOENT at
 * the end of the list, -EINVAL if the address is malformed, -ETIMEDOUT after timeout ms.
 */
int mpiio_address_dial(const struct mpiio_local_address *local, const char **addresses,
                       int timeout);

/* Waits up to timeout ms for events of poll(2) on fd. Returns 0, -ETIMEDOUT or another negative
   errno. */
int mpiio_address_wait(int fd, short events, int64_t timeout);

/*
 * Sends or receives exactly size bytes over a connected non-blocking socket. Waits up to timeout ms
 * each time that the socket is not ready. Returns 0; -ENOTCONN if the peer has closed the
 * connection; -ETIMEDOUT; or another negative errno. Fails at once on a socket that another thread
 * has shut down. Thread-safe for different sockets.
 */
int mpiio_talk_send(int fd, const void *bytes, size_t size, int64_t timeout);
int mpiio_talk_receive(int fd, void *bytes, size_t size, int64_t timeout);

/* Sets TCP_NODELAY, so that the kernel sends short messages at once. Ignores errors. */
void mpiio_talk_prepare(int fd);

#endif
