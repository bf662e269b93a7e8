/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_ADDRESS_H
#define MPIIO_ADDRESS_H

#include <stdint.h>

#include "local_address.h"

/*
 * Listens at a local address, on a port that is free. The socket (non-blocking,
 * closed on exec) and the list of addresses, as mpiio_address_dial takes it (malloc'd), are the
 * caller's. 0 or a negative errno.
 */
int mpiio_address_listen(const struct mpiio_local_address *local, int *fd, char **addresses);

/*
 * Connects from a local address to one of a list "IP:PORT [IP6]:PORT ...", and moves *addresses
 * behind it.
 * Returns a non-blocking socket that is closed on exec, or a negative errno: -ENOENT when
 * the list is at its end, -EINVAL for what is no address, -ETIMEDOUT after timeout ms.
 */
int mpiio_address_dial(const struct mpiio_local_address *local, const char **addresses,
                       int timeout);

/* Waits up to timeout ms for events of poll(2) on fd. 0, -ETIMEDOUT or another negative errno. */
int mpiio_address_wait(int fd, short events, int64_t timeout);

#endif
