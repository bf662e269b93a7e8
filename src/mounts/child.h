/* SPDX-License-Identifier: MIT */
/*
 * Children for calls that may never return. A child has a session of its own and no terminal. Its
 * only descriptors are a pipe for the answer and one that the caller chooses. The caller waits for
 * a limited time: a child that is stuck in the kernel (state D) is left behind. The functions are
 * not thread-safe.
 */
#ifndef MPIIO_MOUNTS_CHILD_H
#define MPIIO_MOUNTS_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct mounts_child {
    pid_t pid;
    int process; /* a pidfd of pid */
    int answer;  /* the read end of the pipe */
};

/* A limit in ms that stands for no limit. */
#define MOUNTS_NO_LIMIT (-1)

/*
 * Starts a child that calls work(data, out) and exits with its result (0-255). It inherits only the
 * descriptor keep (or none, if -1). Sets SIGCHLD to its default action. Returns 0 or a negative
 * errno.
 */
int mounts_child_start(struct mounts_child *child, int (*work)(void *data, int out), void *data,
                       int keep);

/*
 * Reads the child's answer, size bytes at most, and waits until it has exited: limit ms at most.
 * Returns its exit status (128 if a signal ended it), or -ETIMEDOUT: it has been killed, but may
 * still exist. In either case child must not be used again.
 */
int mounts_child_finish(struct mounts_child *child, char *answer, size_t size, size_t *length,
                        int limit);

/* Raises the limit of open descriptors for that many concurrent children, as the system permits. */
void mounts_child_make_room(size_t children);

/* Kills the child without waiting until it has exited. child must not be used again. */
void mounts_child_abandon(struct mounts_child *child);

/*
 * Reaps children that these functions have given up and that have exited since. Each start of a
 * child does so, too.
 */
void mounts_child_reap(void);

/* Returns true once the process of that pidfd has exited. Waits for ms at most. */
bool mounts_process_ends_within(int process, int ms);

/*
 * Executes another program from the PATH, whose output goes to out. It can be the work of a child,
 * or be called there. data is the array of its arguments, with NULL at its end. Returns an exit
 * status if that fails.
 */
int mounts_child_exec(void *data, int out);

/* Returns the time of the monotonic clock in milliseconds. */
long long mounts_now(void);

#endif
