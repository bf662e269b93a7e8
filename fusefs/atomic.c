/* SPDX-License-Identifier: MIT */
#include "atomic.h"

#include <errno.h>
#include <time.h>

#include "session.h"

/* For all nodes to agree, in ms. */
#define CHANGE_TIMEOUT 30000
/* The kernel does not wait for a release: for those that may be under way, in steps of ns. */
#define RELEASE_PAUSE 10000000
#define RELEASE_STEPS 20

void fs_atomic_init(struct fs_atomic *atomic)
{
    *atomic = (struct fs_atomic){0};
    pthread_mutex_init(&atomic->lock, NULL);
    pthread_cond_init(&atomic->changed, NULL);
}

void fs_atomic_free(struct fs_atomic *atomic)
{
    if (atomic->has_locks)
        mpiio_accesses_destroy(&atomic->accesses);
    pthread_cond_destroy(&atomic->changed);
    pthread_mutex_destroy(&atomic->lock);
}

bool fs_atomic_is_on(const struct fs_atomic *atomic)
{
    return atomic_load(&atomic->on);
}

void fs_atomic_enter(struct fs_atomic *atomic)
{
    pthread_mutex_lock(&atomic->lock);
    while (atomic->changing)
        pthread_cond_wait(&atomic->changed, &atomic->lock);
    atomic->open++;
    pthread_mutex_unlock(&atomic->lock);
}

void fs_atomic_leave(struct fs_atomic *atomic)
{
    pthread_mutex_lock(&atomic->lock);
    atomic->open--;
    pthread_mutex_unlock(&atomic->lock);
}

int fs_atomic_begin(struct fs_session *session, struct fs_slice *slice, int64_t offset,
                    int64_t length, bool writes, struct mpiio_access *access)
{
    struct mpiio_accesses *accesses = &session->atomic.accesses;
    int failed;

    if (!fs_atomic_is_on(&session->atomic))
        return 0;
    fs_loop_pause(&session->loop);
    failed = offset < 0
                 ? mpiio_access_begin(accesses, NULL, 0, INT64_MAX, writes, access)
                 : mpiio_slice_access(slice->slice, accesses, offset, length, writes, access);
    fs_loop_resume(&session->loop);
    return failed;
}

void fs_atomic_end(struct fs_session *session, struct mpiio_access *access)
{
    if (fs_atomic_is_on(&session->atomic))
        mpiio_access_end(&session->atomic.accesses, access);
}

/* Changing the mode. */

/* Once: sets up the locks. */
static int get_locks(struct fs_session *session)
{
    struct fs_atomic *atomic = &session->atomic;
    int failed = 0;

    pthread_mutex_lock(&atomic->lock);
    if (!atomic->has_locks)
        failed = mpiio_accesses_init(&atomic->accesses, mpiio_store_fd(session->store),
                                     session->read_only == 0);
    if (failed == 0)
        atomic->has_locks = true;
    pthread_mutex_unlock(&atomic->lock);
    return failed;
}

static void set_mode(struct fs_session *session, bool on)
{
    atomic_store(&session->atomic.on, on);
    if (session->back != NULL)
        mpiio_store_use_cache(session->store, on ? NULL : session->back);
    fs_flusher_changed(&session->flusher);
}

int fs_atomic_start(struct fs_session *session)
{
    int failed = get_locks(session);

    if (failed == 0)
        set_mode(session, true);
    return failed;
}

/*
 * Has no slice opened until the change, of that number, is settled. -EBUSY where one is, or where
 * something is not stored.
 */
static int close_door(struct fs_session *session, uint64_t change)
{
    struct fs_atomic *atomic = &session->atomic;
    bool dirty = session->back != NULL && !mpiio_back_is_empty(session->back);
    int failed = 0;

    pthread_mutex_lock(&atomic->lock);
    if (atomic->open > 0 || atomic->changing || dirty)
        failed = -EBUSY;
    else if (change > atomic->settled)
        atomic->changing = true;
    pthread_mutex_unlock(&atomic->lock);
    return failed;
}

static void open_door(struct fs_atomic *atomic, uint64_t change)
{
    pthread_mutex_lock(&atomic->lock);
    atomic->changing = false;
    if (change != UINT64_MAX)
        atomic->settled = change;
    pthread_cond_broadcast(&atomic->changed);
    pthread_mutex_unlock(&atomic->lock);
}

/* Slices that were closed may seem open for a moment. */
static void await_releases(struct fs_atomic *atomic)
{
    const struct timespec pause = {.tv_nsec = RELEASE_PAUSE};
    bool open = true;

    for (int i = 0; i < RELEASE_STEPS && open; i++) {
        if (i > 0)
            nanosleep(&pause, NULL);
        pthread_mutex_lock(&atomic->lock);
        open = atomic->open > 0;
        pthread_mutex_unlock(&atomic->lock);
    }
}

static int prepare(struct fs_session *session, uint64_t change, bool value)
{
    int failed = value ? get_locks(session) : 0;

    return failed != 0 ? failed : close_door(session, change);
}

static void vote(struct fs_session *session, struct fs_job *job)
{
    mpiio_peers_vote(session->cluster.peers, job->number,
                     prepare(session, job->number, job->value));
}

static void vote_later(struct fs_session *session, struct fs_job *job)
{
    await_releases(&session->atomic);
    vote(session, job);
}

/* The node that asked for it has waited for its own slices before. */
void fs_atomic_on_prepare(void *data, uint64_t change, bool value)
{
    struct fs_session *session = data;
    int failed = fs_control_run(&session->control, &(struct fs_job){.run = vote_later,
                                                                    .meanwhile = vote,
                                                                    .during = FS_CALL_CHANGE,
                                                                    .number = change,
                                                                    .value = value});

    if (failed != 0)
        mpiio_peers_vote(session->cluster.peers, change, failed);
}

void fs_atomic_on_settled(void *data, uint64_t change, bool value, bool committed)
{
    struct fs_session *session = data;

    if (committed) {
        set_mode(session, value);
        fs_log_error(&session->log, "atomic mode is %s", value ? "on" : "off");
    }
    open_door(&session->atomic, change);
}

static int change_here(struct fs_session *session, bool value)
{
    int failed = prepare(session, UINT64_MAX, value);

    if (failed == 0) {
        set_mode(session, value);
        open_door(&session->atomic, UINT64_MAX);
    }
    return failed;
}

/* Other nodes may hold something, too: they store it in an epoch of their own. */
static int change_everywhere(struct fs_session *session, bool value)
{
    int failed = fs_flusher_wait(&session->flusher, true);

    if (failed != 0)
        return failed;
    fs_control_call(&session->control, FS_CALL_CHANGE);
    failed = mpiio_peers_set_atomicity(session->cluster.peers, value, CHANGE_TIMEOUT);
    fs_control_call(&session->control, FS_CALL_NONE);
    return failed == -ENOTCONN ? -EBUSY : failed;
}

void fs_atomic_set(struct fs_session *session, struct fs_job *job)
{
    int failed = 0;

    if (job->value != fs_atomic_is_on(&session->atomic)) {
        await_releases(&session->atomic);
        failed = fs_sync_all(session);
        if (failed == 0)
            failed = fs_cluster_is_on(&session->cluster) ? change_everywhere(session, job->value)
                                                         : change_here(session, job->value);
    }
    fuse_reply_err(job->request, -failed);
}
