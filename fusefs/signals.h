/* SPDX-License-Identifier: MIT */
#ifndef FS_SIGNALS_H
#define FS_SIGNALS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

struct fs_session;

/*
 * The threads that handle SIGTERM, SIGINT and SIGHUP. The listener waits for these signals. On the
 * first one it starts the worker, which stores all written data while the mount still serves, and
 * then ends fs_workers_run. On later signals, and after the unmount, the listener logs what the
 * daemon waits for. Only SIGKILL makes the daemon discard unsaved data.
 */
struct fs_signals {
    struct fs_session *session; /* borrowed */
    pthread_t listener, worker;
    atomic_bool ended; /* the listener exits on the next signal */

    pthread_mutex_t lock;
    bool working; /* the worker was started; lock: lock */
    bool over;    /* fs_workers_run has returned; lock: lock */
};

/* Ignores SIGPIPE and SIGXFSZ at startup, so that both conditions appear as errors of calls. */
void fs_signals_ignore(void);

/*
 * Starts the listener. Call it after the notifier has started and before fs_workers_run, in the
 * same thread. Blocks the signals for good, because a second signal must not end the process
 * between fs_workers_run and the unmount. Returns 0 or a negative errno.
 */
int fs_signals_start(struct fs_signals *stop, struct fs_session *session);

/*
 * Waits for the worker, and prevents the listener from starting it later. Call it after
 * fs_workers_run has returned and before the notifier stops.
 */
void fs_signals_over(struct fs_signals *stop);

/* Stops the listener. Call it when the daemon has nothing left to wait for. */
void fs_signals_end(struct fs_signals *stop);

#endif
