/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_FRESHNESS_H
#define MPIIO_FRESHNESS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "core/base/filesystem.h"

/* The age in ms from which a state of the file is old: a later write then leaves different
   times. */
#define MPIIO_FRESHNESS_AGE 40

/*
 * The last state of the file that this host has seen. stood is true if the host's pages were
 * dropped after that state was old. Initialize the mutex, and all other members with zeros.
 */
struct mpiio_freshness {
    pthread_mutex_t lock;
    struct statx_timestamp mtime, ctime; /* guarded by lock */
    int64_t size;                        /* guarded by lock */
    /* mpiio_clock: when this state was first seen; guarded by lock */
    int64_t seen;
    /* the pages were dropped when the state was old; guarded by lock */
    bool stood;
};

/*
 * Makes writes of others that were closed before this call visible to this host. Opens the file
 * again through fd, gets its state from the server, and drops the host's pages unless the state is
 * old and they have been dropped since. With MPIIO_COHERENCE_NONE it always drops them. Returns 0
 * or a negative errno. Thread-safe.
 */
int mpiio_freshness_renew(struct mpiio_freshness *freshness, int fd,
                          enum mpiio_coherence coherence);

#endif
