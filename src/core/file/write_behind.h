/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_WRITE_BEHIND_H
#define MPIIO_WRITE_BEHIND_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "window.h"

/*
 * Write-behind: sends blocks of the file that were filled completely, by any number of writers, to
 * the device while others are being filled. So an fsync at the end has little left to do. Other
 * blocks are left to the kernel: bytes of other slices may come soon, and the block would be stored
 * twice. A block that is filled repeatedly is sent once until the next fsync. Only timing is
 * affected: a wrong guess costs time.
 */
#define MPIIO_WRITE_BEHIND_BLOCK ((int64_t)4 << 20)
#define MPIIO_WRITE_BEHIND_COUNT 64

struct mpiio_write_behind {
    struct mpiio_windows *windows; /* borrowed */
    int fd;                        /* of the file, borrowed */
    bool off;                      /* leave everything to the kernel; set before the file is used */
    pthread_mutex_t lock;          /* held for counting, never during a system call */
    pthread_cond_t wake;           /* for the thread: there is work, or it must exit; with lock */
    pthread_t thread;
    bool running;                            /* thread was started; guarded by lock */
    bool stopping;                           /* guarded by lock */
    int queued;                              /* number of full blocks; guarded by lock */
    int64_t queue[MPIIO_WRITE_BEHIND_COUNT]; /* their numbers; guarded by lock */
    struct mpiio_filling {
        /* number of the block: its displacement divided by its size; guarded by lock */
        int64_t number;
        int64_t bytes; /* written to it so far; 0: not in use; -1: full; guarded by lock */
    } filling[MPIIO_WRITE_BEHIND_COUNT];
};

/*
 * Initializes without written data for the file that is open as fd and mapped by windows, both
 * borrowed.
 */
void mpiio_write_behind_init(struct mpiio_write_behind *behind, int fd,
                             struct mpiio_windows *windows);

/* Ends the thread if there is one. No other thread may use it. */
void mpiio_write_behind_destroy(struct mpiio_write_behind *behind);

/*
 * Records that bytes, spread evenly, were written to [start, end) of the file. A thread, started on
 * first use, writes back the blocks that this fills. Thread-safe.
 */
void mpiio_write_behind_wrote(struct mpiio_write_behind *behind, int64_t start, int64_t end,
                              int64_t bytes);

/* Records that the file will be synced: blocks that are filled again are sent again. Thread-safe.
 */
void mpiio_write_behind_synced(struct mpiio_write_behind *behind);

#endif
