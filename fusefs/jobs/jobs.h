/* SPDX-License-Identifier: MIT */
#ifndef FS_JOBS_H
#define FS_JOBS_H

#define FUSE_USE_VERSION 314
#include <fuse3/fuse_lowlevel.h>
#include <stdbool.h>
#include <stdint.h>

#include "fusefs/base/fifo.h"

struct fs_session;

/* A job's call to the peers that waits for all nodes, this one among them. */
enum fs_call { FS_CALL_NONE, FS_CALL_CHANGE, FS_CALL_UNMOUNT };

/*
 * The thread for what all nodes do together and what takes time: unmounting, and changing the
 * atomicity. No handler of requests, and not the thread of the peers, may wait for that.
 */
struct fs_jobs {
    struct fs_session *session; /* borrowed */
    struct fs_fifo fifo;        /* of jobs */

    pthread_mutex_t lock; /* before the fifo's */
    pthread_cond_t left;
    bool stop;         /* lock: lock */
    int apart;         /* jobs with a thread of their own; lock: lock */
    int calls;         /* jobs that call; lock: lock */
    enum fs_call call; /* what one of them waits for; lock: lock */
    bool unmounts;     /* this node is to be unmounted; lock: lock */
    bool last;         /* the others were unmounted from here: it comes last; lock: lock */
    char *unsaved;     /* what the last attempt to unmount all nodes left; lock: lock */
};

/*
 * What is to be done. What this node has to do for a call of its own cannot wait until that is
 * over: during one, of that kind or a later one, meanwhile is done instead.
 */
struct fs_job {
    struct fs_task task;                                               /* the first member */
    struct fs_jobs *jobs;                                              /* set by fs_jobs_run */
    void (*run)(struct fs_session *session, struct fs_job *job);       /* does not free it */
    void (*meanwhile)(struct fs_session *session, struct fs_job *job); /* the same; or NULL */
    enum fs_call during;
    bool apart;         /* has a thread of its own: it is not to wait for those before it */
    fuse_req_t request; /* to be answered by run; or NULL */
    void *data;
    uint64_t number;
    bool value;
};

/* Sets it up, without the fifo's thread; stop ends that, once all jobs are done. */
void fs_jobs_init(struct fs_jobs *jobs, struct fs_session *session);
void fs_jobs_stop(struct fs_jobs *jobs);
void fs_jobs_free(struct fs_jobs *jobs);

/*
 * Hands a copy of job over, or does what it is to do meanwhile. 0, or a negative errno, and then
 * nothing was. Thread-safe.
 */
int fs_jobs_run(struct fs_jobs *jobs, const struct fs_job *job);

/* A job is about to call; FS_CALL_NONE: it has. What came before and is due meanwhile is done. */
void fs_jobs_call(struct fs_jobs *jobs, enum fs_call call);

#endif
