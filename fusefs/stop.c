/* SPDX-License-Identifier: MIT */
#include "stop.h"

#include <signal.h>
#include <string.h>

#include "loop.h"
#include "session.h"

static void fill_signals(sigset_t *signals)
{
    sigemptyset(signals);
    sigaddset(signals, SIGTERM);
    sigaddset(signals, SIGINT);
    sigaddset(signals, SIGHUP);
}

static void *work(void *data)
{
    struct fs_stop *stop = data;
    struct fs_session *session = stop->loop->session;
    sigset_t signals;
    int number, failed;

    fill_signals(&signals);
    if (sigwait(&signals, &number) != 0 || atomic_load(&stop->ended))
        return NULL;
    failed = fs_sync_all(session);
    if (failed != 0)
        fs_log_error(&session->log, "not all is stored: %s", strerror(-failed));
    /* Nor does a writer wait any more for room that does not come. */
    if (session->back != NULL)
        mpiio_back_stop(session->back);
    /* It may wait for pages that the kernel has locked for reads which nobody has taken up yet. */
    fs_notifier_finish(&session->notifier);
    fs_loop_end(stop->loop);
    return NULL;
}

int fs_stop_start(struct fs_stop *stop, struct fs_loop *loop)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigset_t signals;
    int failed;

    stop->loop = loop;
    atomic_init(&stop->ended, false);
    /* A peer that is gone, and a file that is too large, are told by errno. */
    sigaction(SIGPIPE, &ignore, NULL);
    sigaction(SIGXFSZ, &ignore, NULL);
    fill_signals(&signals);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    failed = pthread_create(&stop->thread, NULL, work, stop);
    return -failed;
}

void fs_stop_end(struct fs_stop *stop)
{
    atomic_store(&stop->ended, true);
    /* It may wait for a signal that never came. */
    pthread_kill(stop->thread, SIGTERM);
    pthread_join(stop->thread, NULL);
}
