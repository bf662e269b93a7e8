/* SPDX-License-Identifier: MIT */
#ifndef FS_ATOMIC_GATE_H
#define FS_ATOMIC_GATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/file/exclusion.h"
#include "core/slice_access.h"
#include "workers.h"

/*
 * Atomic mode: nothing of a slice is cached, neither by the kernel nor by write-back, and each read
 * or write excludes others (exclusion.h). What is open stays as it was opened, so the mode changes
 * only while no slice is open.
 */
struct fs_atomic {
    struct fs_workers *workers; /* borrowed */
    struct mpiio_exclusion accesses;
    bool has_locks; /* accesses is set up; set before the mode is on, never taken back */
    atomic_bool on;

    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned open;    /* slices that are open; lock: lock */
    bool changing;    /* no slice is to be opened; lock: lock */
    uint64_t settled; /* the last change that was; lock: lock */
};

void fs_atomic_init(struct fs_atomic *atomic, struct fs_workers *workers);
void fs_atomic_free(struct fs_atomic *atomic);

/* The rest is thread-safe. */

bool fs_atomic_is_on(const struct fs_atomic *atomic);

/* Around the time that a slice is open. Enter waits while the mode is being changed. */
void fs_atomic_enter(struct fs_atomic *atomic);
void fs_atomic_leave(struct fs_atomic *atomic);

/*
 * Around a read or write of a slice that is open: in atomic mode, waits until that may be done, and
 * refreshes the file for a read or an append, so that it sees what other clients wrote before. Sets
 * access to the caller's memory, or to NULL if the mode is off and no lock is needed.
 * Returns 0, or a negative errno, and then there is nothing to be ended.
 * For an append, offset is -1: it excludes all others.
 */
int fs_atomic_begin(struct fs_atomic *atomic, struct mpiio_slice *slice, int64_t offset,
                    int64_t length, bool writes, struct mpiio_access **access);
void fs_atomic_end(struct fs_atomic *atomic, struct mpiio_access *access);

/*
 * Ends the access of a write, whose result is put. Before others are admitted, what was written is
 * sent to where other clients see it. Returns put, or a negative errno if that failed.
 */
ssize_t fs_atomic_end_write(struct fs_atomic *atomic, struct mpiio_slice *slice,
                            struct mpiio_access *access, ssize_t put);

/*
 * Once: sets up the locks of the file fd, which begin at base (file_lock.h). 0 or a negative errno:
 * -EOPNOTSUPP without locks.
 */
int fs_atomic_get_locks(struct fs_atomic *atomic, int fd, int64_t base, bool writable);

/*
 * Has no slice opened until the change, of that number, is settled, which opens the door again;
 * UINT64_MAX: a change of this node alone. -EBUSY where a slice is open, or another change under
 * way.
 */
int fs_atomic_close_door(struct fs_atomic *atomic, uint64_t change);
void fs_atomic_open_door(struct fs_atomic *atomic, uint64_t change);

/* Slices that were closed may seem open for a moment: waits that long. */
void fs_atomic_await_releases(struct fs_atomic *atomic);

#endif
