/* SPDX-License-Identifier: MIT */
#include "sync.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/store_members.h"
#include "fusefs/storing/flusher.h"

int fs_version_now(struct fs_session *session, struct fs_version *version)
{
    uint64_t changes = atomic_load(&session->flusher.changes);
    int error;

    error = mpiio_store_refresh(session->store);
    fs_pool_look_again(&session->pool); /* after the refresh, because a reader may look at once */
    /* On a filesystem that is not local, waiting would cost each call 50 ms. */
    if (error == 0)
        error = fs_settling_sample(&session->settling, version,
                                   mpiio_store_is_coherent(session->store));
    version->changes = changes;
    /* If a flush has ended meanwhile, the attributes may not show its changes yet. */
    if (changes != atomic_load(&session->flusher.changes))
        version->settled = false;
    return error;
}

/*
 * Stores everything written through this node on the device. Waits for other nodes. Returns 0 or a
 * negative errno.
 */
static int flush_all(struct fs_session *session)
{
    struct fs_flusher *flusher = &session->flusher;

    if (!fs_flusher_is_on(flusher))
        return fs_sync_file_noted(&session->durable, false);
    return fs_flusher_is_clean(flusher, true) ? 0 : fs_flusher_wait(flusher, true);
}

/*
 * Returns true if the waiter needs no flush. In atomic mode, data written through a handle is in
 * the file already, although it is not counted as flushed. Times still go by that count.
 */
static bool is_stored(struct fs_session *session, const struct fs_waiter *waiter)
{
    struct fs_flusher *flusher = &session->flusher;

    return !fs_flusher_is_on(flusher) || fs_flusher_is_clean(flusher, waiter->sync) ||
           (waiter->handle != NULL && !waiter->sync && fs_atomic_is_on(&session->atomic));
}

int fs_flush_first(struct fs_session *session, struct fs_waiter *waiter)
{
    struct fs_flushed flushed = {0};
    struct fs_waiter *copy;
    int error;

    if (waiter->handle != NULL) {
        /* The filesystem's client may delay sending data. Sync it, so that other hosts see it. */
        waiter->sync = waiter->sync || !mpiio_store_is_coherent(session->store);
        fs_store_unwritten(session);
        waiter->torn = fs_store_partial(session, waiter->handle->slice);
    }
    copy = malloc(sizeof(*copy));
    if (copy == NULL)
        return -ENOMEM;
    *copy = *waiter;
    if (!is_stored(session, waiter)) {
        error = fs_flusher_hand_over(&session->flusher, copy);
        if (error != 0)
            free(copy);
        return error;
    }
    if (waiter->sync && !fs_flusher_is_on(&session->flusher))
        flushed.error = fs_sync_file_noted(&session->durable, waiter->data_only);
    copy->done(session, copy, &flushed);
    return 0;
}

int fs_flush_error(struct fs_session *session, const struct fs_handle *handle)
{
    return mpiio_cache_error(session->cache, handle->slice->data);
}

int fs_sync_reported(struct fs_session *session, const struct fs_waiter *waiter,
                     const struct fs_flushed *flushed)
{
    struct fs_handle *handle = waiter->handle;
    int missed = fs_sync_missed(&session->durable, handle);
    int error = flushed->error != 0 ? flushed->error : waiter->torn;

    if (error == 0)
        error = missed;
    if (error == 0)
        error = fs_unwritten_error(&session->unwritten, handle->slice->data);
    if (error == 0)
        error = fs_flush_error(session, handle);
    if (error == 0)
        atomic_store(&handle->unsynced,
                     handle->past_daemon || (handle->rights & MPIIO_GRANT_WRITE) != 0);
    return error;
}

/*
 * Makes the kernel send the dirty pages of all slices open for writing, and stores their partial
 * elements. Waits for requests that other threads answer. Returns 0 or a negative errno.
 */
static int send_pages(struct fs_session *session)
{
    struct fs_slice **list;
    int64_t count = fs_slices_written(&session->slices, &list);
    int error = 0;

    for (int64_t i = 0; i < count; i++) {
        fuse_ino_t inode = fs_slices_inode_open(&session->slices, list[i]);
        int torn;

        fs_drop_pages(session, &(struct fs_drop){.slice = list[i], .inode = inode});
        torn = fs_store_partial(session, list[i]);
        error = error != 0 ? error : torn;
        fs_slices_put(&session->slices, list[i]);
    }
    free(list);
    return count < 0 ? (int)count : error;
}

int fs_sync_all(struct fs_session *session)
{
    int error = send_pages(session);
    int synced, lost;

    fs_store_unwritten(session);
    synced = flush_all(session);
    if (error == 0)
        error = synced;
    if (fs_unwritten_bytes(&session->unwritten, &lost) != 0 && error == 0)
        error = lost;
    return error;
}

int64_t fs_unsaved(struct fs_session *session)
{
    struct mpiio_ordered_stats ordered = {0};
    struct mpiio_cache_stats stats;
    int error;

    mpiio_cache_get_stats(session->cache, &stats);
    if (session->ordered != NULL)
        mpiio_ordered_get_stats(session->ordered, &ordered);
    return stats.dirty_bytes + (int64_t)fs_unwritten_bytes(&session->unwritten, &error) +
           ordered.waiting + ordered.lost;
}

/*
 * The interval at which a forced sync is checked, in ms. The margin exceeds the time that nodes
 * take to notice the failure of one; in ms.
 */
#define FORCED_INTERVAL 100
#define FORCED_MARGIN   3000

/* A forced sync. If its caller has stopped waiting, the thread that finishes it frees it. */
struct forced {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool over, left; /* lock: lock */
    int error;       /* lock: lock */
};

static void forced_free(struct forced *forced)
{
    pthread_cond_destroy(&forced->changed);
    pthread_mutex_destroy(&forced->lock);
    free(forced);
}

static struct forced *forced_new(void)
{
    struct forced *forced = calloc(1, sizeof(*forced));

    if (forced == NULL)
        return NULL;
    pthread_mutex_init(&forced->lock, NULL);
    pthread_cond_init(&forced->changed, NULL);
    return forced;
}

static void forced_run(struct fs_session *session, struct fs_job *job)
{
    struct forced *forced = job->data;
    int error = fs_sync_all(session);
    bool left;

    pthread_mutex_lock(&forced->lock);
    forced->error = error;
    forced->over = true;
    left = forced->left;
    pthread_cond_signal(&forced->changed);
    pthread_mutex_unlock(&forced->lock);
    if (left)
        forced_free(forced);
}

/* Returns a number that changes whenever data is stored. */
static uint64_t forced_progress(struct fs_session *session)
{
    struct mpiio_progress engine = {0};

    if (session->cluster.progress != NULL)
        mpiio_progress_read(session->cluster.progress, &engine);
    return engine.count + fs_flusher_epochs(&session->flusher) - (uint64_t)fs_unsaved(session);
}

/* Waits briefly. Returns true if the sync has finished. */
static bool forced_is_over(struct forced *forced)
{
    bool over;

    pthread_mutex_lock(&forced->lock);
    if (!forced->over)
        mpiio_wait_until(&forced->changed, &forced->lock, mpiio_clock() + FORCED_INTERVAL);
    over = forced->over;
    pthread_mutex_unlock(&forced->lock);
    return over;
}

/* Waits for the sync. Returns false if there is no progress for patience ms. */
static bool forced_wait(struct fs_session *session, struct forced *forced, int patience)
{
    uint64_t before = forced_progress(session), now;
    int64_t since = mpiio_clock();

    while (!forced_is_over(forced)) {
        now = forced_progress(session);
        if (now != before)
            since = mpiio_clock();
        before = now;
        if (mpiio_clock() - since >= patience)
            return false;
    }
    return true;
}

static int forced_patience(const struct fs_session *session, int times)
{
    return times * session->options->peer_timeout + FORCED_MARGIN;
}

int fs_forced_limit(const struct fs_session *session)
{
    return forced_patience(session, 1) + forced_patience(session, 2);
}

int fs_forced_sync(struct fs_session *session)
{
    struct forced *forced = forced_new();
    int error = -ENOMEM;
    bool over;

    if (forced != NULL)
        error = fs_jobs_run(&session->jobs,
                            &(struct fs_job){.run = forced_run, .apart = true, .data = forced});
    if (error != 0) {
        if (forced != NULL)
            forced_free(forced);
        return error;
    }
    if (!forced_wait(session, forced, forced_patience(session, 1))) {
        fs_cluster_engine_lost(session, "is unmounted by force, and a flush does not come further");
        forced_wait(session, forced, forced_patience(session, 2));
    }
    pthread_mutex_lock(&forced->lock);
    over = forced->over;
    error = over ? forced->error : -ETIMEDOUT;
    forced->left = !over;
    pthread_mutex_unlock(&forced->lock);
    if (over)
        forced_free(forced);
    return error;
}
