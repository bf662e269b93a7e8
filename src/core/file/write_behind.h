/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_WRITE_BEHIND_H
#define MPIIO_WRITE_BEHIND_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "window.h"

/*
 * Writing back behind the writers: blocks of the file that have been filled as a whole, by however
 * many writers, go to the device while others are being filled, so that an fsync at the end finds
 * little left to do. A block that has not is left to the kernel: it may be that other slices'
 * bytes come soon, and it would be stored twice. One that is filled again and again goes there once
 * until the next fsync. This is all about when: a wrong guess costs time.
 */
#define MPIIO_WRITE_BEHIND_BLOCK ((int64_t)4 << 20)
#define MPIIO_WRITE_BEHIND_COUNT 64

struct mpiio_write_behind {
    struct mpiio_windows *windows; /* borrowed */
    int fd;                        /* of the file, borrowed */
    bool off;                      /* all is left to the kernel; set before the file is used */
    pthread_mutex_t lock;          /* held to count, never during a system call */
    pthread_cond_t wake;           /* of the thread: there is work, or it is to end; with lock */
    pthread_t thread;
    bool running;                            /* thread was started; guarded by lock */
    bool stopping;                           /* guarded by lock */
    int queued;                              /* blocks that are full; guarded by lock */
    int64_t queue[MPIIO_WRITE_BEHIND_COUNT]; /* their numbers; guarded by lock */
    struct mpiio_filling {
        int64_t number; /* of the block: its displacement by its size; guarded by lock */
        int64_t bytes;  /* written to it so far; 0: not in use; -1: full; guarded by lock */
    } filling[MPIIO_WRITE_BEHIND_COUNT];
};

/*
 * Starts with nothing written to the file that is open as fd and mapped by windows, both borrowed.
 * 0 or a negative errno.
 */
int mpiio_write_behind_init(struct mpiio_write_behind *behind, int fd,
                            struct mpiio_windows *windows);

/* Ends the thread, where there is one. No other thread may use it any more. */
void mpiio_write_behind_destroy(struct mpiio_write_behind *behind);

/*
 * Notes that bytes, spread evenly, were written to [start, end) of the file, and has a thread,
 * which is started when there is first something to do, write back the blocks that are full by
 * that. Thread-safe.
 */
void mpiio_write_behind_wrote(struct mpiio_write_behind *behind, int64_t start, int64_t end,
                              int64_t bytes);

/* Notes that the file is to be synced: blocks that are filled again then go again. Thread-safe. */
void mpiio_write_behind_synced(struct mpiio_write_behind *behind);

#endif
