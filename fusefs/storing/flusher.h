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

#include "nodes.h"

struct fs_session;
struct fs_handle;
struct fs_waiter;
struct mpiio_store;

/* The result of a flush for its waiters. Negative errnos, or 0. */
struct fs_flushed {
    int error;  /* of the flush as a whole: the sync to the device failed */
    int blocks; /* the first error of this node's data, which is kept and retried */
};

/* Answers the waiter and frees it. Called once, by the flusher's thread or by fs_flush_first. */
typedef void fs_flushed_to(struct fs_session *session, struct fs_waiter *waiter,
                           const struct fs_flushed *flushed);

/*
 * A request that waits for a flush. Allocated by the caller; the flusher owns it after
 * fs_flusher_hand_over.
 */
struct fs_waiter {
    fs_flushed_to *done;
    bool sync; /* waits for a sync to the storage device */

    /* Set by the caller. */
    bool data_only; /* as fdatasync(2), if the mount has no flusher */
    fuse_req_t request;
    fuse_ino_t inode;
    struct fs_handle *handle;
    off_t offset;
    size_t size;
    int torn; /* the result of fs_store_partial */
    struct timespec times[2];

    /* Set by the flusher. */
    struct fs_waiter *next;
    uint64_t after; /* any later epoch satisfies it */
};

/* An epoch that has begun, or has finished. */
struct fs_epoch {
    bool due; /* the flusher's thread has not handled it yet */
    uint64_t number;
    bool sync;
    int error;
};

/*
 * flusher.c: the thread that stores the data of write-back. It does so in epochs with the other
 * nodes. It stores by itself on a single node, and after another node has failed. It wakes up for
 * waiters, when dirty_max is reached, and when data has been dirty for flush_interval. It never
 * waits for the kernel, and so not for any request.
 */
struct fs_flusher {
    struct fs_session *session; /* borrowed */
    pthread_t thread;
    bool started;
    int wake; /* an eventfd; -1: this mount has no flusher */

    atomic_uint_fast64_t writes; /* number of writes through this node; counted before the answer */
    atomic_uint_fast64_t changes; /* number of changes of the data that can be read here */
    atomic_bool own;              /* this daemon has changed the file itself since the last sync */
    atomic_bool armed;            /* the timer runs, or is about to run */
    atomic_uint_fast64_t written_at; /* time of the last write, in ns of CLOCK_REALTIME */

    pthread_mutex_t lock;
    pthread_cond_t done;
    struct fs_waiter *first, **end; /* end: where the next waiter is appended; lock: lock */
    size_t pending;                 /* number of unanswered waiters; lock: lock */
    bool closed;                    /* accepts no more waiters; lock: lock */
    bool stop;                      /* lock: lock */
    bool alone;                     /* this node stores by itself; lock: lock */
    bool asked;                     /* write-back needs space; lock: lock */
    struct fs_epoch begun;          /* the epoch to run; lock: lock */
    struct fs_epoch over;           /* the epoch that all nodes have finished; lock: lock */
    uint64_t flushed, synced;       /* writes that are in the file, or on the device; lock: lock */
    uint64_t epochs;                /* number of the last finished epoch; lock: lock */

    uint64_t taken;          /* writes included in the current flush; the thread's */
    struct fs_stored stored; /* result of the current flush; the thread's */
    bool aged;               /* data has been dirty for flush_interval; the thread's */
};

/* Initializes the flusher without its thread. Returns 0 or a negative errno. */
int fs_flusher_init(struct fs_flusher *flusher, struct fs_session *session);
void fs_flusher_free(struct fs_flusher *flusher);

/*
 * Start starts the thread (call it after any fork), and returns 0 or a negative errno. Stop ends
 * the thread; call it after fs_flusher_finish.
 */
int fs_flusher_start(struct fs_flusher *flusher);
void fs_flusher_stop(struct fs_flusher *flusher);

/* Returns true if the mount has a flusher. */
static inline bool fs_flusher_is_on(const struct fs_flusher *flusher)
{
    return flusher->wake >= 0;
}

/* The functions below are thread-safe. */

/* Counts a write whose bytes can be read from now on. Call it before the writer is answered. */
void fs_flusher_wrote(struct fs_flusher *flusher);

/* Counts a change of the file's size or of its allocated space, which the next sync must store. */
void fs_flusher_grew(struct fs_flusher *flusher);

/* Sets the times of file to the time of the last write while that write is not in the file yet. */
void fs_flusher_times(struct fs_flusher *flusher, struct stat *file);

/* Returns true if all writes on this node so far are in the file, or with sync on the device. */
bool fs_flusher_is_clean(struct fs_flusher *flusher, bool sync);

/* Returns the number of the last epoch that all nodes have finished; 0: none. */
uint64_t fs_flusher_epochs(struct fs_flusher *flusher);

/*
 * Returns false while an epoch changes the file: from the time when this node learns of the epoch,
 * before any home stores, until all nodes have finished it. Otherwise returns true and sets *epochs
 * to the number of the last epoch, 0 if there was none. Also returns true if this node stores by
 * itself.
 */
bool fs_flusher_rests(struct fs_flusher *flusher, uint64_t *epochs);

/*
 * Takes ownership of a waiter. The waiter is answered once all data written on this node before
 * this call has been stored or has failed. Does not wait. Returns 0, or a negative errno; then the
 * caller still owns the waiter.
 */
int fs_flusher_hand_over(struct fs_flusher *flusher, struct fs_waiter *waiter);

/* Waits for a flush. Returns 0 or a negative errno. Request handlers must not call it. */
int fs_flusher_wait(struct fs_flusher *flusher, bool sync);

/* Rejects new waiters, and waits until the existing ones have been answered. */
void fs_flusher_finish(struct fs_flusher *flusher);

/*
 * Requests a flush because write-back is full. Only sets a flag, so it may be called with locks
 * held.
 */
void fs_flusher_full(void *flusher);

/*
 * Implement the peers' events (peers.h). fs_flusher_on_epoch reports that an epoch has begun,
 * before this node's engine joins it. fs_flusher_on_finished reports that all nodes have finished
 * it, and that the homes have stored. Neither waits.
 */
void fs_flusher_on_epoch(void *session, uint64_t epoch, bool sync);
void fs_flusher_on_finished(void *session, uint64_t epoch, bool sync, int error);

/* Makes this node store by itself and write through from now on. Does not wait. */
void fs_flusher_go_alone(struct fs_flusher *flusher);

/*
 * durable.c: tracks whether written data is on the storage device. All functions are thread-safe.
 */
struct fs_durable {
    struct mpiio_store *store; /* borrowed */
    bool writes;               /* the store is open for writing */
    atomic_uint failed;        /* number of failed syncs of the file to its device */
    atomic_int error;          /* errno of the last one, negative */
};

/*
 * fs_sync_file calls fsync(2) on the file itself and returns 0 or a negative errno. fs_sync_failed
 * records a failure for all handles that have written. fs_sync_file_noted does both.
 */
int fs_sync_file(struct fs_durable *durable, bool data_only);
int fs_sync_file_noted(struct fs_durable *durable, bool data_only);
void fs_sync_failed(struct fs_durable *durable, int error);

/*
 * Make each handle that has written report a failed sync. The kernel reports it only once, to the
 * first fsync. fs_sync_missed returns the error of a sync for another handle that this handle has
 * not reported yet, or 0. fs_sync_written records a write through the handle.
 */
int fs_sync_missed(struct fs_durable *durable, struct fs_handle *handle);
void fs_sync_written(struct fs_durable *durable, struct fs_handle *handle);

#endif
