/* SPDX-License-Identifier: MIT */
/*
 * What may never come back is done by a child, in a session of its own, without terminal or
 * descriptors, but for a pipe to answer through and one that it is given. Who waits for
 * it waits so long and no longer: a child in the kernel's hands (state D) is left there. The
 * functions are for one thread.
 */
#ifndef MPIIO_MOUNTS_CHILD_H
#define MPIIO_MOUNTS_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct mounts_child {
    pid_t pid;
    int process; /* the same, as a descriptor */
    int answer;  /* the end of the pipe to read from */
};

/* For ever, as a limit in ms. */
#define MOUNTS_NO_LIMIT (-1)

/*
 * Starts a child that calls work(data, out), and ends with what it returns (0-255). It has keep (or
 * -1) of all descriptors. 0 or a negative errno.
 */
int mounts_child_start(struct mounts_child *child, int (*work)(void *data, int out), void *data,
                       int keep);

/*
 * Reads its answer, size bytes at most, and waits for its end: limit ms at most. Returns how it
 * ended (128 where a signal ended it), or -ETIMEDOUT: it has been killed, and may be there still.
 * In any case child is no more to be used.
 */
int mounts_child_finish(struct mounts_child *child, char *answer, size_t size, size_t *length,
                        int limit);

/* Raises the limit of descriptors, as far as the system allows, for that many children at once. */
void mounts_child_make_room(size_t children);

/* Kills the child, and does not wait for its end. child must not be used after this. */
void mounts_child_abandon(struct mounts_child *child);

/*
 * Reaps the children that were given up, by any of these functions, and have ended since. Each
 * start of a child does so, too.
 */
void mounts_child_reap(void);

/* True once it has ended; waits for ms at most. */
bool mounts_child_ends_within(const struct mounts_child *child, int ms);

/*
 * For work: becomes another program, which is looked for along PATH, and whose output goes to out.
 * Returns a status to end with where there is none.
 */
int mounts_child_exec(const char *const *argv, int out);

/* Milliseconds of a clock that nobody sets. */
long long mounts_now(void);

#endif
