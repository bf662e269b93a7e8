/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_FRESHNESS_H
#define MPIIO_FRESHNESS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "core/base/filesystem.h"

/*
 * The state of the file when this host last dropped the pages that it had of it. Initialised by
 * zeros and a mutex.
 */
struct mpiio_freshness {
    pthread_mutex_t lock;
    struct timespec mtime, ctime; /* lock */
    int64_t size;                 /* lock */
    int64_t seen;                 /* when this state was first seen, mpiio_clock(); lock */
    bool stood;                   /* pages were dropped when it had stood for a while; lock */
};

/*
 * Has this host see what others wrote to the file and closed before: opens the file again through
 * fd, asks the server for its state, and drops the host's pages unless that state is old and they
 * were dropped since. Always drops them with MPIIO_COHERENCE_NONE. Returns 0 or a negative errno.
 * Thread-safe.
 */
int mpiio_freshness_renew(struct mpiio_freshness *freshness, int fd,
                          enum mpiio_coherence coherence);

#endif
