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

/* atomic_change.c: atomic mode, on or off, for this node, or for all of them together. */

/* Before the mount serves: atomic mode is on. 0 or a negative errno: -EOPNOTSUPP without locks. */
int fs_atomic_start(struct fs_session *session);

/* Answers the request to set the mode to value, on all nodes. For fs_jobs_run. */
void fs_atomic_set(struct fs_session *session, struct fs_job *job);

/* The peers' on_prepare and on_settled. */
void fs_atomic_on_prepare(void *session, uint64_t change, bool value);
void fs_atomic_on_settled(void *session, uint64_t change, bool value, bool committed);

/* unmount.c: unmounting this node, and all of them. */

/* Answers the request to unmount all nodes, with value: whatever is lost. For fs_jobs_run. */
void fs_unmount_all(struct fs_session *session, struct fs_job *job);

/* Returns a line about what the last attempt to unmount all nodes left unsaved, which the caller
   frees; NULL if that is nothing. */
char *fs_unmount_unsaved(struct fs_jobs *control);

/* The peers' on_unmount: unmounts this node, if what it holds can be stored. */
void fs_unmount_on_unmount(void *session, bool force);

#endif
