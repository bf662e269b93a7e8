/* SPDX-License-Identifier: MIT */
#ifndef FS_WORKERS_H
#define FS_WORKERS_H

#define FUSE_USE_VERSION 314
#include <fuse3/fuse_lowlevel.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

struct fs_worker;

/*
 * The threads that take the kernel's requests and answer them. libfuse's own loop ends by
 * cancelling its threads, and a request that one of them has just taken is lost with it: its page
 * stays locked, and whoever waits for it waits for ever. Here a thread ends between two requests.
 */
struct fs_workers {
    struct fuse_session *fuse; /* borrowed */
    unsigned most;             /* threads at once */

    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct fs_worker *all;       /* workers that were started; lock: lock */
    unsigned count;              /* number of workers that have not exited; lock: lock */
    unsigned idle;               /* number of workers that wait for a request; lock: lock */
    unsigned paused;             /* number that wait for something but the kernel; lock: lock */
    atomic_bool stop;            /* no more requests are to be taken; set with the lock */
    int error;                   /* a negative errno that a worker met; lock: lock */
    void (*on_stop)(void *data); /* NULL: none */
    void *stop_data;
};

/* Sets up at most so many threads for a session that is mounted; fs_workers_free gives back what
   that takes. */
void fs_workers_init(struct fs_workers *workers, struct fuse_session *fuse, unsigned most);
void fs_workers_free(struct fs_workers *workers);

/* Before fs_workers_run: from then on, function is called when no more requests are to be taken, so
   that who waits in one comes to an end. */
void fs_workers_on_stop(struct fs_workers *workers, void (*function)(void *data), void *data);

/*
 * Serves until fs_workers_end or an unmount, with as many threads as are needed at once, up to the
 * most. Each request that was taken is answered when this returns: 0, or a
 * negative errno. Once only.
 */
int fs_workers_run(struct fs_workers *workers);

/*
 * Around what a worker waits for in a request that others, who may need this mount, must give it:
 * it does not count among the threads at most then. Of other threads' waits nothing is noted, also
 * before init and after free. Thread-safe.
 */
void fs_workers_pause(struct fs_workers *workers);
void fs_workers_resume(struct fs_workers *workers);

/* Either, for those who tell when they begin to wait and when it is over. */
void fs_workers_waits(void *workers, bool waits);

/* Has fs_workers_run return. Does not wait for it; thread-safe, between init and free. */
void fs_workers_end(struct fs_workers *workers);

#endif
