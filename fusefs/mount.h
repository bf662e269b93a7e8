/* SPDX-License-Identifier: MIT */
#ifndef FS_MOUNT_H
#define FS_MOUNT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

/* The life of a mount: open, serve, close. */

struct fs_options;
struct fs_session;

/*
 * mount.c: loads the spec, checks its views, opens the shared file and checks the mount point. Does
 * not mount yet. Returns an exit status: 0, or 1 or 2 after one line on stderr. The caller calls
 * fs_mount_close in either case.
 */
int fs_mount_open(struct fs_session *session, const struct fs_options *options);

void fs_mount_close(struct fs_session *session);

/*
 * places.c: refuses a mount point that would hide a file that the mount uses. If members were
 * hidden, the daemon would wait for itself to look them up. If the spec, the file or the log were
 * hidden, users could not reach them. Returns 0, or 1 after one line on stderr. Call it once the
 * spec is known, and before mounting.
 */
int fs_places_check(struct fs_session *session);

/*
 * places.c: checks the mount point, and sets session->mountpoint to its real path. A descriptor
 * ("/dev/fd/N") must be an open /dev/fuse. Returns 0, or 1 after one line on stderr. Call it before
 * mounting.
 */
int fs_places_mountpoint(struct fs_session *session);

/*
 * serve.c: mounts, and serves until the mount ends. With -F it serves in this process. Otherwise it
 * serves in a child, and this process returns as soon as the child serves. Returns an exit status,
 * 1 after one line on stderr.
 */
int fs_session_run(struct fs_session *session);

/*
 * signals.c: the threads that handle SIGTERM, SIGINT and SIGHUP. The listener waits for these
 * signals. On the first one it starts the worker, which stores all written data while the mount
 * still serves, and then ends fs_workers_run. On later signals, and after the unmount, the listener
 * logs what the daemon waits for. Only SIGKILL makes the daemon discard unsaved data.
 */
struct fs_signals {
    struct fs_session *session; /* borrowed */
    pthread_t listener, worker;
    atomic_bool ended; /* the listener exits on the next signal */

    pthread_mutex_t lock;
    bool working; /* the worker was started; lock: lock */
    bool over;    /* fs_workers_run has returned; lock: lock */
};

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
