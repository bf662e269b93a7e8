/* SPDX-License-Identifier: MIT */
#ifndef FS_STOP_H
#define FS_STOP_H

#include <pthread.h>
#include <stdatomic.h>

struct fs_loop;

/*
 * The thread that waits for SIGTERM, SIGINT and SIGHUP. Upon one it has all that is written stored
 * while the mount still serves, and then ends the loop of the main thread.
 */
struct fs_stop {
    struct fs_loop *loop; /* borrowed */
    pthread_t thread;
    atomic_bool ended; /* the loop has ended */
};

/*
 * Starts the thread, after the notifier and before the loop, from the thread that runs the loop:
 * the signals are blocked from here on, for good: a second one must not get between the end of the
 * loop and the unmount. 0 or a negative errno.
 */
int fs_stop_start(struct fs_stop *stop, struct fs_loop *loop);

/* Ends the thread, after the loop and before the notifier. */
void fs_stop_end(struct fs_stop *stop);

#endif
