/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_FILE_LOCK_H
#define MPIIO_FILE_LOCK_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

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

#endif
