/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_EXCLUSION_H
#define MPIIO_EXCLUSION_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "viewspec/map.h"

/*
 * Locks of byte ranges of a file by open file descriptions (F_OFD_SETLKW). They exclude threads of
 * this process, other daemons, and programs that use fcntl(2) locks, such as MPI programs in atomic
 * mode. Locks of one description do not exclude each other, so each lock has its own description. A
 * few are kept open for later locks.
 */
#define MPIIO_LOCKS_KEPT 16

struct mpiio_file_locks {
    int fd;                            /* of the file; borrowed; -1: locking is not possible */
    int64_t base;                      /* added to the displacements of locks */
    bool writable;                     /* locks may be exclusive */
    pthread_mutex_t lock;              /* never held during a system call */
    int kept;                          /* guarded by lock */
    int description[MPIIO_LOCKS_KEPT]; /* open and without locks; guarded by lock */
};

/* A lock that is held by the caller. */
struct mpiio_lock {
    int description;
    int64_t base; /* added to its displacements */
};

/*
 * Initializes without locks over fd, which is borrowed and open for reading; with writable, also
 * for writing. base is 0 or 2^61. With 2^61, locks lie between 2^61 and 2^62, and all bytes from
 * 2^61 on count as one. Local.
 */
void mpiio_file_locks_init(struct mpiio_file_locks *locks, int fd, int64_t base, bool writable);

/* Closes all descriptions. No lock may be held, and no other thread may use locks. Local. */
void mpiio_file_locks_destroy(struct mpiio_file_locks *locks);

/*
 * Waits until [start, end) of the file, 0 <= start < end, is locked: exclusively, or shared with
 * other shared locks. end INT64_MAX means all bytes from start on. The caller owns the lock; any
 * thread may release it. Signals do not end the wait, and deadlocks are not detected: a caller that
 * holds a lock must not wait for another one. Errors: -EOPNOTSUPP if the filesystem has no locks,
 * -EBADF for an exclusive lock of a file that is not writable, -EMFILE, ... Thread-safe.
 */
int mpiio_file_lock_acquire(struct mpiio_file_locks *locks, int64_t start, int64_t end,
                            bool exclusive, struct mpiio_lock *lock);

/* Locks without waiting. Returns -EAGAIN if others have conflicting locks. Thread-safe. */
int mpiio_file_lock_try(struct mpiio_file_locks *locks, int64_t start, int64_t end, bool exclusive,
                        struct mpiio_lock *lock);

/*
 * Extends a lock to [start, end) if that is possible at once; else returns -EAGAIN. Thread-safe,
 * one call per lock at a time.
 */
int mpiio_file_lock_extend(struct mpiio_lock *lock, int64_t start, int64_t end, bool exclusive);

/* Releases a lock. Thread-safe. */
void mpiio_file_lock_release(struct mpiio_file_locks *locks, struct mpiio_lock *lock);

struct mpiio_exclusion_stats {
    uint64_t calls;      /* accesses */
    uint64_t waits;      /* accesses that waited for others */
    uint64_t lock_waits; /* accesses that waited for other processes */
};

/*
 * Atomic mode (MPI 3.1, 13.6.1): reads and writes of the file that exclude each other. Two accesses
 * of this process exclude each other if one of them writes and they share a byte of the file. They
 * also do if one walk over their maps cannot decide whether they share one (mpiio_exclusion_meets).
 * Locks of the file exclude other processes. A lock reaches from an access's first byte to its
 * last.
 *
 * Accesses of this process that are known to share no byte do not wait for each other although
 * their locks overlap: they share one lock. An access that waits for a lock of the file holds none,
 * so processes cannot deadlock.
 */
struct mpiio_exclusion {
    struct mpiio_file_locks locks;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    TAILQ_HEAD(, mpiio_access) list;             /* in order of arrival; guarded by lock */
    LIST_HEAD(, mpiio_shared_lock) shared_locks; /* locks that are held; guarded by lock */
    struct mpiio_exclusion_stats stats;          /* guarded by lock */
};

/* An access in progress. */
struct mpiio_access {
    const struct vs_map *map; /* NULL: all bytes of the range */
    int64_t position, length;
    int64_t start, end; /* its range of the file */
    bool writes;
    unsigned blockers; /* number of older accesses to wait for; guarded by the accesses' lock */
    struct mpiio_shared_lock *shared_lock;
    TAILQ_ENTRY(mpiio_access) entry; /* guarded by the accesses' lock */
};

/*
 * Initializes accesses of the file fd, which is borrowed and must stay open. base is as in
 * mpiio_file_locks_init. Returns 0, -EOPNOTSUPP if the filesystem has no locks, or another negative
 * errno. Local.
 */
int mpiio_exclusion_init(struct mpiio_exclusion *accesses, int fd, int64_t base, bool writable);

/* Frees the locks. No access may be in progress. */
void mpiio_exclusion_destroy(struct mpiio_exclusion *accesses);

/*
 * Begins an access: waits until the positions [position, position + length) of map may be read or
 * written. If map is NULL, these are bytes of the file, and length INT64_MAX - position means all
 * bytes from position on. The caller owns access; map must stay valid until mpiio_exclusion_end.
 * Returns 0, or a negative errno of mpiio_file_lock_acquire; then the access has not begun. The
 * thread that begins an access must end it, and must not begin another one before that.
 * Thread-safe.
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

/* Gets the counters. Thread-safe. */
void mpiio_exclusion_stats(struct mpiio_exclusion *accesses, struct mpiio_exclusion_stats *stats);

#endif
