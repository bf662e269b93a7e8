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
 * The state of atomic mode. While the mode is on, neither the kernel nor write-back caches a slice,
 * and each read or write excludes others (exclusion.h). An open handle keeps the mode it was opened
 * in, so the mode changes only while no slice is open.
 */
struct fs_atomic {
    struct fs_workers *workers; /* borrowed */
    struct mpiio_exclusion accesses;
    bool has_locks; /* accesses is initialized; set before the mode is first on, never reset */
    atomic_bool on;

    pthread_mutex_t lock;
    pthread_cond_t changed; /* a change was settled, or the last open slice was closed */
    unsigned open;          /* number of open slices; lock: lock */
    bool changing;          /* opens wait until the change is settled; lock: lock */
    uint64_t settled;       /* the number of the last settled change; lock: lock */
};

void fs_atomic_init(struct fs_atomic *atomic, struct fs_workers *workers);
void fs_atomic_free(struct fs_atomic *atomic);

/* The rest is thread-safe. */

bool fs_atomic_is_on(const struct fs_atomic *atomic);

/*
 * Call enter before a slice is opened and leave after it is closed. Enter waits for a pending
 * change.
 */
void fs_atomic_enter(struct fs_atomic *atomic);
void fs_atomic_leave(struct fs_atomic *atomic);

/*
 * Brackets a read or write of an open slice. In atomic mode, begin waits until no conflicting
 * access is active. For a read or an append it then refreshes the file, so that the caller sees
 * what other clients wrote. If the mode is off, it sets *access to NULL; otherwise *access must
 * point to the caller's memory. An append passes offset -1 and excludes all other accesses. Returns
 * 0 or a negative errno; after an error, do not call end.
 */
int fs_atomic_begin(struct fs_atomic *atomic, struct mpiio_slice *slice, int64_t offset,
                    int64_t length, bool writes, struct mpiio_access **access);
void fs_atomic_end(struct fs_atomic *atomic, struct mpiio_access *access);

/*
 * Ends the access of a write whose result is put. Publishes the written bytes to other clients
 * before it admits other accesses. Returns put, or a negative errno if publishing failed.
 */
ssize_t fs_atomic_end_write(struct fs_atomic *atomic, struct mpiio_slice *slice,
                            struct mpiio_access *access, ssize_t put);

/*
 * Initializes the locks of the file fd, unless they are already. The locks begin at base
 * (exclusion.h). Returns 0 or a negative errno: -EOPNOTSUPP if the filesystem has no locks.
 */
int fs_atomic_get_locks(struct fs_atomic *atomic, int fd, int64_t base, bool writable);

/*
 * Close blocks opens of slices until open_door settles the change of that number. UINT64_MAX stands
 * for a change of this node alone. Close returns 0, or -EBUSY if a slice is open or another change
 * is in progress. It ignores a change that is already settled.
 */
int fs_atomic_close_door(struct fs_atomic *atomic, uint64_t change);
void fs_atomic_open_door(struct fs_atomic *atomic, uint64_t change);

/*
 * Waits up to 1 s for the slices to be released, because a closed slice seems open until the kernel
 * sends its release.
 */
void fs_atomic_await_releases(struct fs_atomic *atomic);

#endif
