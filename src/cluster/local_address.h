/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_LOCAL_ADDRESS_H
#define MPIIO_LOCAL_ADDRESS_H

#define MPIIO_LOCAL_ADDRESS_MAX 28

/*
 * What sockets are bound to: an address of this machine and port 0, as the bytes of a sockaddr_in
 * or sockaddr_in6. size 0: all addresses. (<sys/socket.h> has names that many sources use.)
 */
struct mpiio_local_address {
    unsigned char address[MPIIO_LOCAL_ADDRESS_MAX];
    unsigned size;
};

/*
 * The first address of this machine that where names: an interface ("ib0"), an address, or a
 * network
 * ("10.1.0.0/16", "fd00::/8"). IPv4 comes before IPv6; those of interfaces that are down, and
 * link-local ones, which mean nothing elsewhere, do not count. NULL: all of the machine. 0, or a
 * negative errno: -EINVAL where it is none of these, -EADDRNOTAVAIL where the machine has no such
 * address. Thread-safe.
 */
int mpiio_local_address_find(const char *where, struct mpiio_local_address *local);

#endif
