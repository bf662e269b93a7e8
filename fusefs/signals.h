/* SPDX-License-Identifier: MIT */
#ifndef FS_SIGNALS_H
#define FS_SIGNALS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

struct fs_session;

/*
 * The threads that see to SIGTERM, SIGINT and SIGHUP. One waits for them. Upon the first it has
 * another one store all that is written, while the mount still serves, and then end
 * fs_workers_run. Upon more, and where nothing is mounted any more, it says in the log what the
 * daemon waits for: only SIGKILL makes it give up what it holds.
 */
struct fs_signals {
    struct fs_session *session; /* borrowed */
    pthread_t listener, worker;
    atomic_bool ended; /* no signal is waited for any more */

    pthread_mutex_t lock;
    bool working; /* the worker was started; lock: lock */
    bool over;    /* fs_workers_run has returned; lock: lock */
};

/* From the start: a peer that is gone, and a file that is too large, are told by errno. */
void fs_signals_ignore(void);

/*
 * Starts to listen, after the notifier and before fs_workers_run, from the thread that calls that:
 * the signals are blocked from here on, for good: a second one must not get between its end and the
 * unmount. 0 or a negative errno.
 */
int fs_signals_start(struct fs_signals *stop, struct fs_session *session);

/* fs_workers_run has returned: waits for the worker, before the notifier ends, and starts none any
 * more. */
void fs_signals_over(struct fs_signals *stop);

/* Ends it, when nothing is left to wait for. */
void fs_signals_end(struct fs_signals *stop);

#endif
