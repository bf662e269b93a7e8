/* SPDX-License-Identifier: MIT */
#include "jobs.h"

#include <errno.h>
#include <string.h>

#include "core/store_layers.h"
#include "fusefs/kernel/sync.h"

/* Changes atomic mode on this node, or on all nodes together. */

/* The time limit for all nodes to agree, in ms. */
#define CHANGE_TIMEOUT 30000

static void set_mode(struct fs_session *session, bool on)
{
    atomic_store(&session->atomic.on, on);
    if (session->cache != NULL)
        mpiio_store_use_cache(session->store, on ? NULL : session->cache);
    atomic_fetch_add(&session->flusher.changes, 1);
}

static int get_locks(struct fs_session *session)
{
    const struct mpiio_file *file = mpiio_store_file(session->store);

    return fs_atomic_get_locks(&session->atomic, file->lock_fd, file->lock_base,
                               session->read_only == 0);
}

int fs_atomic_start(struct fs_session *session)
{
    int error;

    if (!session->options->atomic && !vs_spec_atomic(session->spec))
        return 0;
    error = get_locks(session);
    if (error == 0)
        set_mode(session, true);
    return error == 0 ? 0
                      : fs_fail(session->options, 1, "%s: atomic mode: %s", session->file,
                                error == -EOPNOTSUPP ? "the filesystem has no file locks"
                                                     : strerror(-error));
}

static int prepare(struct fs_session *session, uint64_t change, bool value)
{
    bool dirty = !mpiio_cache_is_empty(session->cache);
    int error = value ? get_locks(session) : 0;

    if (error == 0 && dirty)
        error = -EBUSY;
    return error != 0 ? error : fs_atomic_close_door(&session->atomic, change);
}

static void vote(struct fs_session *session, struct fs_job *job)
{
    mpiio_peers_vote(session->cluster.peers, job->number,
                     prepare(session, job->number, job->value));
}

static void vote_later(struct fs_session *session, struct fs_job *job)
{
    fs_atomic_await_releases(&session->atomic);
    vote(session, job);
}

/* Does not wait for releases during this node's own call, which has waited for them already. */
void fs_atomic_on_prepare(void *data, uint64_t change, bool value)
{
    struct fs_session *session = data;
    int error = fs_jobs_run(&session->jobs, &(struct fs_job){.run = vote_later,
                                                             .meanwhile = vote,
                                                             .during = FS_CALL_CHANGE,
                                                             .number = change,
                                                             .value = value});

    if (error != 0)
        mpiio_peers_vote(session->cluster.peers, change, error);
}

void fs_atomic_on_settled(void *data, uint64_t change, bool value, bool committed)
{
    struct fs_session *session = data;

    if (committed) {
        set_mode(session, value);
        fs_log_line(&session->log, MPIIO_LOG_INFO, "atomic mode is %s", value ? "on" : "off");
    }
    fs_atomic_open_door(&session->atomic, change);
}

static int change_here(struct fs_session *session, bool value)
{
    int error = prepare(session, UINT64_MAX, value);

    if (error == 0) {
        set_mode(session, value);
        fs_atomic_open_door(&session->atomic, UINT64_MAX);
    }
    return error;
}

/* Changes the mode on all nodes. First has all nodes store their data in an epoch of their own. */
static int change_everywhere(struct fs_session *session, bool value)
{
    int error = fs_flusher_wait(&session->flusher, true);

    if (error != 0)
        return error;
    fs_jobs_call(&session->jobs, FS_CALL_CHANGE);
    error = mpiio_peers_set_atomicity(session->cluster.peers, value, CHANGE_TIMEOUT);
    fs_jobs_call(&session->jobs, FS_CALL_NONE);
    return error == -ENOTCONN ? -EBUSY : error;
}

void fs_atomic_set(struct fs_session *session, struct fs_job *job)
{
    int error = 0;

    if (job->value != fs_atomic_is_on(&session->atomic)) {
        fs_atomic_await_releases(&session->atomic);
        error = fs_sync_all(session);
        if (error == 0)
            error = fs_cluster_is_on(&session->cluster) ? change_everywhere(session, job->value)
                                                        : change_here(session, job->value);
    }
    fuse_reply_err(job->request, -error);
}
