/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_KNOWN_H
#define MPIIO_KNOWN_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "keeping.h"

/* All that a node knows of the pointers, for the one to which it has pledged itself (frame.h). */

/* The bytes, malloc'd, and how many; NULL: no memory. The keeping's lock is held. */
uint8_t *mpiio_known_write(const struct mpiio_keeping *keeping, size_t *size);

/*
 * Has them come in from a line (lines/talk.h), and be known here, too. 0 or a negative errno, where
 * some may be known. The lock, the keeping's, is not held.
 */
int mpiio_known_receive(pthread_mutex_t *lock, struct mpiio_keeping *keeping, int fd, int timeout);

#endif
