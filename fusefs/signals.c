/* SPDX-License-Identifier: MIT */
#include "mount.h"

#include <signal.h>
#include <string.h>

#include "core/base/thread.h"
#include "fusefs/kernel/sync.h"
#include "session.h"

/* Ends the mount on a signal, after all written data is stored. */

static void fill_signals(sigset_t *signals)
{
    sigemptyset(signals);
    sigaddset(signals, SIGTERM);
    sigaddset(signals, SIGINT);
    sigaddset(signals, SIGHUP);
}

static void *work(void *data)
{
    struct fs_signals *stop = data;
    struct fs_session *session = stop->session;
    int error = fs_sync_all(session);

    if (error != 0)
        fs_log_line(&session->log, MPIIO_LOG_ERROR, "not all is stored: %s", strerror(-error));
    /* Release writers that wait for space in the cache, because none will become free. */
    mpiio_cache_stop(session->cache);
    /* The notifier may wait for pages that are locked for reads that no worker has taken yet. */
    fs_fifo_drain(&session->notifier.fifo);
    fs_workers_end(&session->workers);
    return NULL;
}

/* Logs why the daemon ignores the signal. Only SIGKILL may lose data or break up the nodes. */
static void tell(struct fs_session *session, bool over)
{
    const char *state = over && fs_cluster_is_on(&session->cluster)
                            ? "unmounted, and waiting for the other nodes to be"
                            : "still storing what was written";

    fs_log_line(&session->log, MPIIO_LOG_WARNING,
                "%s: SIGKILL would lose what is not stored, %lld bytes held here", state,
                (long long)fs_unsaved(session));
}

static void *listen(void *data)
{
    struct fs_signals *stop = data;
    sigset_t signals;
    int number;

    fill_signals(&signals);
    while (sigwait(&signals, &number) == 0 && !atomic_load(&stop->ended)) {
        bool first, over;

        pthread_mutex_lock(&stop->lock);
        over = stop->over;
        first = !over && !stop->working && mpiio_thread_start(&stop->worker, work, stop) == 0;
        stop->working = stop->working || first;
        pthread_mutex_unlock(&stop->lock);
        if (!first)
            tell(stop->session, over);
    }
    return NULL;
}

int fs_signals_start(struct fs_signals *stop, struct fs_session *session)
{
    sigset_t signals;
    int error;

    *stop = (struct fs_signals){.session = session};
    pthread_mutex_init(&stop->lock, NULL);
    fill_signals(&signals);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    error = mpiio_thread_start(&stop->listener, listen, stop);
    if (error != 0)
        pthread_mutex_destroy(&stop->lock);
    return error;
}

void fs_signals_over(struct fs_signals *stop)
{
    bool working;

    pthread_mutex_lock(&stop->lock);
    stop->over = true;
    working = stop->working;
    pthread_mutex_unlock(&stop->lock);
    if (working)
        pthread_join(stop->worker, NULL);
}

void fs_signals_end(struct fs_signals *stop)
{
    atomic_store(&stop->ended, true);
    pthread_kill(stop->listener, SIGTERM);
    pthread_join(stop->listener, NULL);
    pthread_mutex_destroy(&stop->lock);
}
