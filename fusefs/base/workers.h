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
 * The threads that take the kernel's requests and answer them. libfuse's own loop cancels its
 * threads at the end. A request that a thread has just received is then lost: its page stays
 * locked, and a process that waits for the page waits forever. These threads exit only between two
 * requests.
 */
struct fs_workers {
    struct fuse_session *fuse; /* borrowed */
    unsigned most;             /* maximum number of threads that are not paused */

    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct fs_worker *all; /* workers that were started; lock: lock */
    unsigned count;        /* number of workers that have not exited; lock: lock */
    unsigned idle;         /* number of workers that wait for a request; lock: lock */
    unsigned paused;       /* workers that wait for something other than a request; lock: lock */
    atomic_bool stop;      /* no more requests are taken; set with the lock held */
    int error;             /* a negative errno that a worker encountered; lock: lock */
};

/* Prepares up to `most` threads for a mounted session. Call fs_workers_free in the end. */
void fs_workers_init(struct fs_workers *workers, struct fuse_session *fuse, unsigned most);
void fs_workers_free(struct fs_workers *workers);

/*
 * Serves until fs_workers_end or an unmount. Starts threads as needed, up to the maximum. Calls
 * on_stop(data) once no more requests are taken, so that it can end waits inside requests; NULL:
 * none. All requests that were taken have been answered when this returns. Returns 0 or a negative
 * errno. Call it only once.
 */
int fs_workers_run(struct fs_workers *workers, void (*on_stop)(void *data), void *data);

/*
 * Brackets a wait inside a request for something that only another request to this mount may
 * provide. A paused worker does not count against the maximum. Outside worker threads both do
 * nothing, even before init and after free. Thread-safe.
 */
void fs_workers_pause(struct fs_workers *workers);
void fs_workers_resume(struct fs_workers *workers);

/* Calls pause or resume, for callbacks that report both the begin and the end of a wait. */
void fs_workers_waits(void *workers, bool waits);

/* Makes fs_workers_run return, but does not wait for that. Thread-safe between init and free. */
void fs_workers_end(struct fs_workers *workers);

#endif
