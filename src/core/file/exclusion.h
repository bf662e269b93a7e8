/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_EXCLUSION_H
#define MPIIO_EXCLUSION_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "file_lock.h"
#include "viewspec/map.h"

/*
 * Atomic mode (MPI 3.1, 13.6.1): reads and writes of the file that exclude each other. Two accesses
 * of this process do so exactly where they share a byte of the file and one of them writes. Other
 * processes are excluded by locks of the file (file_lock.h), which reach from an access's first
 * byte to its last.
 *
 * Accesses of this process that share no byte do not wait for each other, though their locks
 * overlap: they hold one together. Who waits for a lock of the file holds none, so there is no
 * deadlock between processes.
 */
struct mpiio_exclusion {
    struct mpiio_file_locks locks;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct mpiio_access *first, *last;      /* in the order that they came; lock: lock */
    struct mpiio_shared_lock *shared_locks; /* what is locked; lock: lock */
    uint64_t calls;                         /* lock: lock */
    uint64_t waits;                         /* of those, for others; lock: lock */
    uint64_t lock_waits;                    /* of those, for other processes; lock: lock */
};

/* One that is under way. */
struct mpiio_access {
    const struct vs_map *map; /* NULL: all bytes of the range */
    int64_t position, length;
    int64_t start, end; /* the range of the file that it lies in */
    bool writes;
    unsigned blockers; /* older ones that it has to wait for; lock: the accesses' */
    struct mpiio_shared_lock *shared_lock;
    struct mpiio_access *next; /* lock: the accesses' */
};

/*
 * Over the file fd, which is borrowed and outlives it; base as in file_lock.h. -EOPNOTSUPP where
 * the filesystem has no locks; another negative errno; 0. Local.
 */
int mpiio_exclusion_init(struct mpiio_exclusion *accesses, int fd, int64_t base, bool writable);

/* No access may be under way. */
void mpiio_exclusion_destroy(struct mpiio_exclusion *accesses);

/*
 * Waits until the positions [position, position + length) of map may be read, or written; with map
 * NULL, these bytes of the file, length INT64_MAX - position: all from there on. The map outlives
 * the access, which is the caller's, until mpiio_exclusion_end. 0, or a negative errno of
 * file_lock.h, and then there is nothing to be ended. The thread that begins an access ends it, and
 * has no other one meanwhile. Thread-safe.
 */
int mpiio_exclusion_begin(struct mpiio_exclusion *accesses, const struct vs_map *map,
                          int64_t position, int64_t length, bool writes,
                          struct mpiio_access *access);
void mpiio_exclusion_end(struct mpiio_exclusion *accesses, struct mpiio_access *access);

/*
 * Whether other holds a byte of the file that is at the positions [position, position + length) of
 * map, or, where that takes more than one walk to tell, may hold one. Local, thread-safe.
 */
bool mpiio_exclusion_meets(const struct vs_map *map, int64_t position, int64_t length,
                           const struct vs_map *other);

struct mpiio_exclusion_stats {
    uint64_t calls, waits, lock_waits; /* see above */
};

/* Thread-safe. */
void mpiio_exclusion_stats(struct mpiio_exclusion *accesses, struct mpiio_exclusion_stats *stats);

#endif
