/* SPDX-License-Identifier: MIT */
#ifndef FS_FLUSHER_H
#define FS_FLUSHER_H

#define FUSE_USE_VERSION 314
#include <fuse3/fuse_lowlevel.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <time.h>

#include "engine_client.h"

struct fs_session;
struct fs_handle;
struct fs_waiter;

/* What became of a flush, for those who waited for it. Negative errnos, or 0. */
struct fs_flushed {
    int error;  /* of the flush as a whole: the file could not be stored on its device */
    int blocks; /* the first error of this node's data; it is kept, to be tried again */
};

/* Called once, by the flusher's thread if not by fs_flush_first: answers, and frees the waiter. */
typedef void fs_flushed_to(struct fs_session *session, struct fs_waiter *waiter,
                           const struct fs_flushed *flushed);

/* Who waits for a flush: new memory, the flusher's once it is taken over. */
struct fs_waiter {
    fs_flushed_to *done;
    bool sync; /* to the storage device */

    /* The user's. */
    bool data_only; /* as fdatasync(2), where there is no flusher */
    fuse_req_t request;
    fuse_ino_t inode;
    struct fs_handle *handle;
    off_t offset;
    size_t size;
    int torn; /* what fs_store_partial said */
    struct timespec times[2];

    /* The flusher's. */
    struct fs_waiter *next;
    uint64_t after; /* an epoch that is later is enough */
};

/* An epoch that has begun, or is over. */
struct fs_epoch {
    bool due; /* and the flusher has not seen to it */
    uint64_t number;
    bool sync;
    int error;
};

/*
 * The thread that has what write-back holds stored: in epochs with the other nodes, or by itself
 * where there are none, or none any more. It wakes for those who wait for a flush, when dirty_max
 * calls, and when something was dirty for flush_interval. It does not wait for the kernel, and so
 * not for any request.
 */
struct fs_flusher {
    struct fs_session *session; /* borrowed */
    pthread_t thread;
    bool started;
    int wake; /* an eventfd; -1: this mount has no flusher */

    atomic_uint_fast64_t writes;  /* that went through this node; each is counted when it is put */
    atomic_uint_fast64_t changes; /* those and the epochs: of what can be read here */
    atomic_bool armed;            /* the timer runs, or is about to */
    atomic_uint_fast64_t written_at; /* when the last write was, in ns of CLOCK_REALTIME */

    pthread_mutex_t lock;
    pthread_cond_t done;
    struct fs_waiter *first, *last; /* lock: lock */
    size_t pending;                 /* waiters that are not answered; lock: lock */
    bool closed;                    /* takes no more of them; lock: lock */
    bool stop;                      /* lock: lock */
    bool alone;                     /* stores by itself; lock: lock */
    bool asked;                     /* somebody wants room; lock: lock */
    struct fs_epoch begun;          /* to be run; lock: lock */
    struct fs_epoch over;           /* finished on all nodes; lock: lock */
    uint64_t flushed, synced;       /* writes that are in the file, on the device; lock: lock */
    uint64_t epochs;                /* the last that was finished; lock: lock */

    uint64_t taken;          /* writes that are in the flush under way; the thread's */
    struct fs_stored stored; /* what came of it; the thread's */
    bool aged;               /* something was dirty for flush_interval; the thread's */
    bool through;            /* write-back writes through; the thread's */
};

/* Sets it up, without its thread. 0 or a negative errno. */
int fs_flusher_init(struct fs_flusher *flusher, struct fs_session *session);
void fs_flusher_free(struct fs_flusher *flusher);

/* Starts the thread (after any fork); ends it, after fs_flusher_finish. 0 or a negative errno. */
int fs_flusher_start(struct fs_flusher *flusher);
void fs_flusher_stop(struct fs_flusher *flusher);

/* True where the mount has one. */
static inline bool fs_flusher_is_on(const struct fs_flusher *flusher)
{
    return flusher->wake >= 0;
}

/* The rest is thread-safe. */

/* Something was written, and can be read. Call it before the writer is answered. */
void fs_flusher_wrote(struct fs_flusher *flusher);

/* What can be read here has changed otherwise. */
void fs_flusher_changed(struct fs_flusher *flusher);

/* Makes the times of the file those of the last write, while that is not in the file. */
void fs_flusher_times(struct fs_flusher *flusher, struct stat *file);

/* True where all that was written on this node so far is in the file, with sync: on the device. */
bool fs_flusher_is_clean(struct fs_flusher *flusher, bool sync);

/* The last epoch that is finished on all nodes; 0: none. */
uint64_t fs_flusher_epochs(struct fs_flusher *flusher);

/*
 * Returns false while the file is being changed: from when this node hears of an epoch, before any
 * home stores, until all nodes have finished it. Otherwise returns true and sets *epochs to the
 * number of the last epoch. Without epochs it always returns true, with 0; it also returns true
 * when this node stores by itself.
 */
bool fs_flusher_rests(struct fs_flusher *flusher, uint64_t *epochs);

/*
 * Takes a waiter over, who is answered when all that was written on this node before the call is
 * dealt with. Does not wait. 0 or a negative errno: then it is still the caller's.
 */
int fs_flusher_hand_over(struct fs_flusher *flusher, struct fs_waiter *waiter);

/* Waits for a flush: 0 or a negative errno. Not for a handler of requests. */
int fs_flusher_wait(struct fs_flusher *flusher, bool sync);

/* Takes no more waiters, and returns when those that there are were answered. */
void fs_flusher_finish(struct fs_flusher *flusher);

/* Write-back has no room. Only passes it on: may be called with locks held. */
void fs_flusher_full(void *flusher);

/*
 * fs_flusher_begin notes that an epoch has begun, before this node's engine joins it.
 * fs_flusher_end notes that all nodes have finished it, and the homes have stored. Neither waits.
 */
void fs_flusher_begin(struct fs_flusher *flusher, uint64_t epoch, bool sync);
void fs_flusher_end(struct fs_flusher *flusher, uint64_t epoch, bool sync, int error);

/* From now on this node stores by itself, and writes through. Does not wait. */
void fs_flusher_go_alone(struct fs_flusher *flusher);

#endif
