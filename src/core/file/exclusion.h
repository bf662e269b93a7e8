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
 * of this process exclude each other if one of them writes and they share a byte of the file. They
 * also do if one walk over their maps cannot decide whether they share one (mpiio_exclusion_meets).
 * Locks of the file (file_lock.h) exclude other processes. A lock reaches from an access's first
 * byte to its last.
 *
 * Accesses of this process that are known to share no byte do not wait for each other although
 * their locks overlap: they share one lock. An access that waits for a lock of the file holds none,
 * so processes cannot deadlock.
 */
struct mpiio_exclusion {
    struct mpiio_file_locks locks;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct mpiio_access *first, *last;      /* in order of arrival; guarded by lock */
    struct mpiio_shared_lock *shared_locks; /* locks that are held; guarded by lock */
    uint64_t calls;                         /* accesses; guarded by lock */
    uint64_t waits;                         /* accesses that waited for others; guarded by lock */
    /* accesses that waited for other processes; guarded by lock */
    uint64_t lock_waits;
};

/* An access in progress. */
struct mpiio_access {
    const struct vs_map *map; /* NULL: all bytes of the range */
    int64_t position, length;
    int64_t start, end; /* its range of the file */
    bool writes;
    unsigned blockers; /* number of older accesses to wait for; guarded by the accesses' lock */
    struct mpiio_shared_lock *shared_lock;
    struct mpiio_access *next; /* guarded by the accesses' lock */
};

/*
 * Initializes accesses of the file fd, which is borrowed and must stay open. base is as in
 * file_lock.h. Returns 0, -EOPNOTSUPP if the filesystem has no locks, or another negative errno.
 * Local.
 */
int mpiio_exclusion_init(struct mpiio_exclusion *accesses, int fd, int64_t base, bool writable);

/* Frees the locks. No access may be in progress. */
void mpiio_exclusion_destroy(struct mpiio_exclusion *accesses);

/*
 * Begins an access: waits until the positions [position, position + length) of map may be read or
 * written. If map is NULL, these are bytes of the file, and length INT64_MAX - position means all
 * bytes from position on. The caller owns access; map must stay valid until mpiio_exclusion_end.
 * Returns 0, or a negative errno of file_lock.h; then the access has not begun. The thread that
 * begins an access must end it, and must not begin another one before that. Thread-safe.
 */
int mpiio_exclusion_begin(struct mpiio_exclusion *accesses, const struct vs_map *map,
                          int64_t position, int64_t length, bool writes,
                          struct mpiio_access *access);
void mpiio_exclusion_end(struct mpiio_exclusion *accesses, struct mpiio_access *access);

/*
 * Returns true if `other` contains a byte of the file that is at positions [position, position +
 * length) of map, or if one walk cannot decide that. Local, thread-safe.
 */
bool mpiio_exclusion_meets(const struct vs_map *map, int64_t position, int64_t length,
                           const struct vs_map *other);

struct mpiio_exclusion_stats {
    uint64_t calls, waits, lock_waits; /* as in struct mpiio_exclusion */
};

/* Gets the counters. Thread-safe. */
void mpiio_exclusion_stats(struct mpiio_exclusion *accesses, struct mpiio_exclusion_stats *stats);

#endif
