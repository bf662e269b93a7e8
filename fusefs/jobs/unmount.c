/* SPDX-License-Identifier: MIT */
#include "jobs.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/thread.h"
#include "fusefs/kernel/sync.h"

/* Unmounts this node, or all of them. */

extern char **environ;

/* The time limit for all nodes to store their data and to unmount, in ms. Practically unlimited. */
#define UNMOUNT_TIMEOUT (24 * 3600 * 1000)
/*
 * The interval at which a forced sync is checked, and a margin that exceeds the time in which nodes
 * notice the failure of one; in ms.
 */
#define SYNC_INTERVAL 100
#define SYNC_MARGIN   3000
/* In a forced unmount, the time added to the limit within which another node stores, in ms. */
#define FORCED_MARGIN 5000
/* The number of attempts to unmount a busy mount, 20 ms apart. */
#define BUSY_TRIES 100

/* Records its result unless a later sync has ended, which has also stored what this one should
   store. */
static void run_sync(struct fs_session *session, struct fs_job *job)
{
    struct fs_jobs *jobs = &session->jobs;
    int error = fs_sync_all(session);

    pthread_mutex_lock(&jobs->lock);
    if (job->number > jobs->synced) {
        jobs->synced = job->number;
        jobs->sync_error = error;
    }
    pthread_cond_broadcast(&jobs->changed);
    pthread_mutex_unlock(&jobs->lock);
}

/* Returns a number that changes whenever data is stored. */
static uint64_t sync_progress(struct fs_session *session)
{
    struct mpiio_progress engine = {0};

    if (session->cluster.progress != NULL)
        mpiio_progress_read(session->cluster.progress, &engine);
    return engine.count + fs_flusher_epochs(&session->flusher) - (uint64_t)fs_unsaved(session);
}

/* Waits for the sync of that number. Returns false if there is no progress for patience ms. */
static bool await_sync(struct fs_session *session, uint64_t number, int patience)
{
    struct fs_jobs *jobs = &session->jobs;
    uint64_t before = sync_progress(session), now;
    int64_t since = mpiio_clock();
    bool over = false;

    while (!over && mpiio_clock() - since < patience) {
        pthread_mutex_lock(&jobs->lock);
        if (jobs->synced < number)
            mpiio_wait_until(&jobs->changed, &jobs->lock, mpiio_clock() + SYNC_INTERVAL);
        over = jobs->synced >= number;
        pthread_mutex_unlock(&jobs->lock);
        now = sync_progress(session);
        if (now != before)
            since = mpiio_clock();
        before = now;
    }
    return over;
}

/* Returns the time without progress after which a forced sync gives up, in ms: times peer_timeout,
   and a margin. */
static int sync_patience(const struct fs_session *session, int times)
{
    return times * session->options->peer_timeout + SYNC_MARGIN;
}

/*
 * Like fs_sync_all, but gives up without progress. Waits as long as this node or its engine stores
 * data. If neither does for peer_timeout plus 3 s, declares the engine lost, so that this node
 * stores by itself. If that makes no progress for twice peer_timeout plus 3 s, returns -ETIMEDOUT;
 * the sync then continues in the background.
 */
static int sync_by_force(struct fs_session *session)
{
    struct fs_jobs *jobs = &session->jobs;
    uint64_t number = MPIIO_LOCKED(&jobs->lock, ++jobs->syncs);
    int error =
        fs_jobs_run(jobs, &(struct fs_job){.run = run_sync, .apart = true, .number = number});

    if (error != 0)
        return error;
    if (!await_sync(session, number, sync_patience(session, 1))) {
        fs_cluster_engine_lost(session, "is unmounted by force, and a flush does not come further");
        await_sync(session, number, sync_patience(session, 2));
    }
    return MPIIO_LOCKED(&jobs->lock, jobs->synced >= number ? jobs->sync_error : -ETIMEDOUT);
}

/* Stores everything before this node is unmounted. Returns 0 or a negative errno. */
static int sync_first(struct fs_session *session, bool force)
{
    int error = force ? sync_by_force(session) : fs_sync_all(session);

    if (force)
        atomic_store(&session->jobs.forced, true);
    return error;
}

/*
 * Unmounts by the system call as root, else by fusermount3. Returns 0, -EBUSY or another negative
 * errno, or -EINVAL if the mount is no longer there (a mount beneath it is left alone).
 */
static int unmount(const struct fs_session *session, bool force)
{
    const char *arguments[] = {"fusermount3", force ? "-uqz" : "-uq", "--", session->mountpoint,
                               NULL};
    pid_t child;
    int error, status;

    if (fs_device_at(session->mountpoint) != session->device)
        return force ? 0 : -EINVAL;
    if (geteuid() == 0)
        return umount2(session->mountpoint, UMOUNT_NOFOLLOW | (force ? MNT_DETACH : 0)) == 0
                   ? 0
                   : -errno;
    error = posix_spawnp(&child, arguments[0], NULL, NULL, (char *const *)arguments, environ);
    if (error != 0)
        return -error;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return -errno;
    return status == 0 ? 0 : -EBUSY;
}

/* Describes what keeps this node from being unmounted, for messages. */
static void describe(struct fs_session *session, int error, char *text, size_t size)
{
    if (error == -EBUSY || error == -EINVAL) {
        /* umount -l has detached the mount, so the mount point is no longer one. */
        snprintf(text, size, "%s: %s%s", session->mountpoint, strerror(EBUSY),
                 error == -EINVAL ? " (though unmounted lazily)" : "");
        return;
    }
    snprintf(text, size, "%s: not all is stored: %s (%lld bytes)", session->mountpoint,
             strerror(-error), (long long)fs_unsaved(session));
}

/* Returns true if the job unmounts all nodes. */
static bool is_all(const void *data, const struct fs_task *task)
{
    (void)data;
    return ((const struct fs_job *)task)->run == fs_unmount_all;
}

/* Returns -EBUSY to try again, 0 if this node is unmounted, or -EINPROGRESS if it comes last. */
static int why_busy(struct fs_session *session)
{
    struct fs_jobs *jobs = &session->jobs;
    int why = -EBUSY;

    pthread_mutex_lock(&jobs->lock);
    /* The kernel sends no more requests, although the jobs have not ended yet. */
    if (jobs->stop || atomic_load(&session->workers.stop))
        why = 0;
    else if (fs_fifo_has(&jobs->fifo, is_all, NULL))
        why = -EINPROGRESS;
    pthread_mutex_unlock(&jobs->lock);
    return why;
}

/*
 * Unmounts, and retries for a while if the mount is busy. It may be in use by an mpiio-umount that
 * has just started here, or whose request has just been answered.
 */
static int unmount_idle(struct fs_session *session, bool force)
{
    const struct timespec pause = {.tv_nsec = 20 * 1000000};
    int error = unmount(session, force);

    for (int i = 0; i < BUSY_TRIES && (error == -EBUSY || error == -EINVAL); i++) {
        int why = why_busy(session);

        if (why != -EBUSY)
            return why;
        nanosleep(&pause, NULL);
        error = unmount(session, force);
    }
    return error;
}

static void unmount_node(struct fs_session *session, struct fs_job *job)
{
    char text[512];
    int error = sync_first(session, job->value);

    atomic_store(&session->jobs.unmounts, true);
    if (error == 0 || job->value)
        error = unmount_idle(session, job->value);
    if (error == 0) {
        /* Do not wait for processes that still have files open. */
        if (job->value)
            kill(getpid(), SIGTERM);
        return;
    }
    atomic_store(&session->jobs.unmounts, false);
    describe(session, error, text, sizeof(text));
    mpiio_peers_unmounted(session->cluster.peers, error, text);
}

/*
 * Reports that this node unmounts last. The user unmounts it after the call has returned; its data
 * is stored by then. Until then it remains one of the nodes, as it must if another node stays
 * mounted.
 */
static void say_last(struct fs_session *session, struct fs_job *job)
{
    (void)job;
    mpiio_peers_unmounted(session->cluster.peers, -EINPROGRESS, NULL);
}

void fs_unmount_on_unmount(void *data, bool force)
{
    struct fs_session *session = data;
    int error = fs_jobs_run(&session->jobs, &(struct fs_job){.run = unmount_node,
                                                             .meanwhile = say_last,
                                                             .during = FS_CALL_UNMOUNT,
                                                             .apart = force,
                                                             .value = force});

    if (error != 0)
        mpiio_peers_unmounted(session->cluster.peers, error, strerror(-error));
}

void fs_unmount_all(struct fs_session *session, struct fs_job *job)
{
    struct fs_jobs *jobs = &session->jobs;
    char *unsaved = NULL;
    char text[512];
    int forced = sync_patience(session, 1) + sync_patience(session, 2) + FORCED_MARGIN;
    int timeout = job->value ? forced : UNMOUNT_TIMEOUT;
    int error = sync_first(session, job->value);

    if (error != 0) {
        describe(session, error, text, sizeof(text));
        unsaved = strdup(text);
    }
    if (error == 0 || job->value) {
        free(unsaved);
        fs_jobs_call(jobs, FS_CALL_UNMOUNT);
        error = mpiio_peers_unmount_all(session->cluster.peers, job->value, timeout, &unsaved);
        fs_jobs_call(jobs, FS_CALL_NONE);
    }
    pthread_mutex_lock(&jobs->lock);
    free(jobs->unsaved);
    jobs->unsaved = unsaved;
    jobs->last = error == 0;
    pthread_mutex_unlock(&jobs->lock);
    fuse_reply_err(job->request, -error);
}
