/* SPDX-License-Identifier: MIT */
#ifndef FS_JOBS_H
#define FS_JOBS_H

#define FUSE_USE_VERSION 314
#include <fuse3/fuse_lowlevel.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "fusefs/base/fifo.h"

struct fs_session;

/*
 * The kind of call to the peers that a job makes. Such a call waits for all nodes, including this
 * one.
 */
enum fs_call { FS_CALL_NONE, FS_CALL_CHANGE, FS_CALL_UNMOUNT };

/*
 * The thread for slow operations of all nodes together: unmounting, and changing the atomicity.
 * Neither a request handler nor the thread of the peers may wait for them.
 */
struct fs_jobs {
    struct fs_session *session; /* borrowed */
    struct fs_fifo fifo;        /* the queue of jobs */

    pthread_mutex_t lock; /* acquired before the fifo's lock */
    pthread_cond_t changed;
    bool stop;            /* lock: lock */
    int apart;            /* number of jobs that run in threads of their own; lock: lock */
    int calls;            /* number of jobs inside a call; lock: lock */
    enum fs_call call;    /* the highest kind while calls are active; lock: lock */
    atomic_bool unmounts; /* another node has asked this node to unmount */
    atomic_bool forced;   /* unmounting by force */
    bool last;            /* this node unmounted the others and comes last; lock: lock */
    uint64_t syncs;       /* number of forced syncs so far; lock: lock */
    uint64_t synced;      /* number of the latest one that has ended; lock: lock */
    int sync_error;       /* its result; lock: lock */
    /* what the last attempt to unmount all nodes left unsaved, in words; NULL: nothing; lock: lock
     */
    char *unsaved;
};

/*
 * A job. While a call of this node waits for all nodes, the node's own part in that call cannot
 * wait for the queue. So during a call of kind `during` or higher, meanwhile runs instead of run.
 */
struct fs_job {
    struct fs_task task;                                         /* must be the first member */
    struct fs_jobs *jobs;                                        /* set by fs_jobs_run */
    void (*run)(struct fs_session *session, struct fs_job *job); /* does not free job */
    void (*meanwhile)(struct fs_session *session, struct fs_job *job); /* same; NULL: run */
    enum fs_call during;
    bool apart;         /* runs in a thread of its own, without waiting for earlier jobs */
    fuse_req_t request; /* the request that run answers; or NULL */
    uint64_t number;
    bool value;
};

/* Init does not start the fifo's thread. Stop waits for all jobs, and ends the thread. */
void fs_jobs_init(struct fs_jobs *jobs, struct fs_session *session);
void fs_jobs_stop(struct fs_jobs *jobs);
void fs_jobs_free(struct fs_jobs *jobs);

/*
 * Queues a copy of job, or calls its meanwhile function at once. Returns 0, or a negative errno if
 * it did neither. Thread-safe.
 */
int fs_jobs_run(struct fs_jobs *jobs, const struct fs_job *job);

/*
 * Announces that a job is about to make a call, or has finished it (FS_CALL_NONE). Runs the
 * meanwhile functions of queued jobs that are due.
 */
void fs_jobs_call(struct fs_jobs *jobs, enum fs_call call);

/* atomic_change.c: turns atomic mode on or off, on this node or on all of them together. */

/*
 * Turns atomic mode on before the mount serves if the options or the spec ask for it. Returns an
 * exit status: 0, or 1 after one line on stderr.
 */
int fs_atomic_start(struct fs_session *session);

/* Sets the mode to job->value on all nodes, and answers the request. For fs_jobs_run. */
void fs_atomic_set(struct fs_session *session, struct fs_job *job);

/* Implement the peers' events on_prepare and on_settled. */
void fs_atomic_on_prepare(void *session, uint64_t change, bool value);
void fs_atomic_on_settled(void *session, uint64_t change, bool value, bool committed);

/* unmount.c: unmounts this node, or all of them. */

/*
 * Unmounts all nodes, and answers the request. With job->value it unmounts by force, even if data
 * is lost. For fs_jobs_run.
 */
void fs_unmount_all(struct fs_session *session, struct fs_job *job);

/*
 * Implements the peers' event on_unmount: unmounts this node if its data can be stored, or by
 * force.
 */
void fs_unmount_on_unmount(void *session, bool force);

/*
 * removal.c: the mount option delete_on_close (MPI_MODE_DELETE_ON_CLOSE, MPI 3.1, 13.2.1) removes
 * the shared file when the last node is unmounted. Without the option these functions do nothing.
 */

/* The folder and the name of the file to be removed, held since the mount began. */
struct fs_removal {
    const char *name; /* its name in the folder, a part of session->file; NULL: nothing is held */
    int folder;       /* an O_PATH descriptor */
};

/*
 * Checks that the open file can be removed later, and opens its folder. The removal does not look
 * up the path again, because it may lead elsewhere by then. Returns an exit status: 0, or 1 after a
 * line on stderr.
 */
int fs_removal_prepare(struct fs_session *session);

/* Releases what fs_removal_prepare holds. The struct may be all zeros. */
void fs_removal_free(struct fs_removal *removal);

/*
 * Removes the file if this node unmounts last, and otherwise leaves that to the last node. Logs the
 * reason if the file stays. Call it once this node is unmounted and has stored its data. error is
 * the result of serving the mount: 0 or a negative errno.
 */
void fs_removal_end(struct fs_session *session, int error);

#endif
