/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_FRESHNESS_H
#define MPIIO_FRESHNESS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "core/base/filesystem.h"

/* A state of the file is old after this many ms: a later write then leaves other times. */
#define MPIIO_FRESHNESS_AGE 40

/*
 * The last state of the file that this host has seen, and whether its pages were dropped after that
 * state was old. Initialise the mutex, and all else with zeros.
 */
struct mpiio_freshness {
    pthread_mutex_t lock;
    struct statx_timestamp mtime, ctime; /* lock */
    int64_t size;                        /* lock */
    int64_t seen;                        /* when this state was first seen, mpiio_clock(); lock */
    bool stood;                          /* the pages were dropped when the state was old; lock */
};

/*
 * Makes this host see what others wrote and closed before this call. Opens the file again through
 * fd, asks the server for its state, and drops the host's pages unless the state is old and they
 * have been dropped since. With MPIIO_COHERENCE_NONE it always drops them. Returns 0 or a negative
 * errno. Thread-safe.
 */
int mpiio_freshness_renew(struct mpiio_freshness *freshness, int fd,
                          enum mpiio_coherence coherence);

#endif
