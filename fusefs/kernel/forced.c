/* SPDX-License-Identifier: MIT */
#include "forced.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "core/base/clock.h"
#include "fusefs/session.h"
#include "sync.h"

/* ms: looked at so often; and more than nodes take to notice what has become of one. */
#define INTERVAL 100
#define MARGIN   3000

/* A sync that is waited for, or not any more: then who is through with it frees it. */
struct sync {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool over, left; /* lock: lock */
    int error;       /* lock: lock */
};

static void free_sync(struct sync *sync)
{
    pthread_cond_destroy(&sync->changed);
    pthread_mutex_destroy(&sync->lock);
    free(sync);
}

static struct sync *new_sync(void)
{
    struct sync *sync = calloc(1, sizeof(*sync));

    if (sync == NULL)
        return NULL;
    pthread_mutex_init(&sync->lock, NULL);
    pthread_cond_init(&sync->changed, NULL);
    return sync;
}

static void run_sync(struct fs_session *session, struct fs_job *job)
{
    struct sync *sync = job->data;
    int error = fs_sync_all(session);
    bool left;

    pthread_mutex_lock(&sync->lock);
    sync->error = error;
    sync->over = true;
    left = sync->left;
    pthread_cond_signal(&sync->changed);
    pthread_mutex_unlock(&sync->lock);
    if (left)
        free_sync(sync);
}

/* Changes with whatever is stored. */
static uint64_t progress_of(struct fs_session *session)
{
    struct mpiio_progress engine = {0};

    if (session->cluster.progress != NULL)
        mpiio_progress_read(session->cluster.progress, &engine);
    return engine.count + fs_flusher_epochs(&session->flusher) - (uint64_t)fs_unsaved(session);
}

/* Waits until it is over, for a moment. */
static bool is_over(struct sync *sync)
{
    bool over;

    pthread_mutex_lock(&sync->lock);
    if (!sync->over)
        mpiio_wait_until(&sync->changed, &sync->lock, mpiio_clock() + INTERVAL);
    over = sync->over;
    pthread_mutex_unlock(&sync->lock);
    return over;
}

/* True once it is over, false where nothing has gone on for patience ms. */
static bool wait_while_it_goes_on(struct fs_session *session, struct sync *sync, int patience)
{
    uint64_t before = progress_of(session), now;
    int64_t since = mpiio_clock();

    while (!is_over(sync)) {
        now = progress_of(session);
        if (now != before)
            since = mpiio_clock();
        before = now;
        if (mpiio_clock() - since >= patience)
            return false;
    }
    return true;
}

static int patience(const struct fs_session *session, int times)
{
    return times * session->options->peer_timeout + MARGIN;
}

int fs_forced_limit(const struct fs_session *session)
{
    return patience(session, 1) + patience(session, 2);
}

int fs_forced_sync(struct fs_session *session)
{
    struct sync *sync = new_sync();
    int error = -ENOMEM;
    bool over;

    if (sync != NULL)
        error = fs_jobs_run(&session->jobs,
                            &(struct fs_job){.run = run_sync, .apart = true, .data = sync});
    if (error != 0) {
        if (sync != NULL)
            free_sync(sync);
        return error;
    }
    if (!wait_while_it_goes_on(session, sync, patience(session, 1))) {
        fs_cluster_engine_lost(session, "is unmounted by force, and a flush does not come further");
        wait_while_it_goes_on(session, sync, patience(session, 2));
    }
    pthread_mutex_lock(&sync->lock);
    over = sync->over;
    error = over ? sync->error : -ETIMEDOUT;
    sync->left = !over;
    pthread_mutex_unlock(&sync->lock);
    if (over)
        free_sync(sync);
    return error;
}
