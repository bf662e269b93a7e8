/* SPDX-License-Identifier: MIT */
#include "stop.h"

#include <signal.h>
#include <string.h>
#include <time.h>

#include "session.h"

/* Wakes the main thread from its wait; it has no other use. */
#define WAKE_SIGNAL SIGUSR1
/* Between two calls to wake up, in ns: the first may come just before the wait. */
#define WAKE_PAUSE 10000000

static void ignore_wake(int number)
{
    (void)number;
}

static void fill_signals(sigset_t *signals)
{
    sigemptyset(signals);
    sigaddset(signals, SIGTERM);
    sigaddset(signals, SIGINT);
    sigaddset(signals, SIGHUP);
}

static void *work(void *data)
{
    const struct timespec pause = {.tv_nsec = WAKE_PAUSE};
    struct fs_stop *stop = data;
    struct fs_session *session = stop->session;
    sigset_t signals;
    int number, failed;

    fill_signals(&signals);
    if (sigwait(&signals, &number) != 0)
        return NULL;
    if (!atomic_load(&stop->ended)) {
        failed = fs_sync_all(session);
        if (failed != 0)
            fs_log_error(&session->log, "not all is stored: %s", strerror(-failed));
        fuse_session_exit(session->fuse);
    }
    while (!atomic_load(&stop->ended)) {
        pthread_kill(stop->main, WAKE_SIGNAL);
        nanosleep(&pause, NULL);
    }
    return NULL;
}

int fs_stop_start(struct fs_stop *stop, struct fs_session *session)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    struct sigaction wake = {.sa_handler = ignore_wake};
    sigset_t signals;
    int failed;

    stop->session = session;
    stop->main = pthread_self();
    atomic_init(&stop->ended, false);
    /* A peer that is gone, and a file that is too large, are told by errno. */
    sigaction(SIGPIPE, &ignore, NULL);
    sigaction(SIGXFSZ, &ignore, NULL);
    sigaction(WAKE_SIGNAL, &wake, NULL);
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
