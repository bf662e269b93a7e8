/* SPDX-License-Identifier: MIT */
#ifndef FS_SETTLING_H
#define FS_SETTLING_H

#include <pthread.h>
#include <stdbool.h>

#include "fusefs/base/fifo.h"
#include "fusefs/names/version.h"

struct fs_flusher;
struct fs_workers;
struct mpiio_store;

/*
 * Decides when a version of the shared file has settled, so that pages and blocks read from then on
 * may be kept for it. Every write that the version shows must have ended. Attributes do not tell
 * that, because write(2) changes the times when it begins. So a thread waits once for the writers
 * of each version, and remembers the versions whose writers have returned (src/DESIGN.md, "When a
 * version of the file has settled").
 */
struct fs_settling {
    struct mpiio_store *store; /* borrowed, as the next two; set once it is open */
    struct fs_flusher *flusher;
    struct fs_workers *workers;
    struct fs_fifo fifo; /* the thread; its only task is this structure's own */
    struct fs_task task;

    pthread_mutex_t lock;
    pthread_cond_t changed;      /* signals the end of a wait */
    bool waiting;                /* the thread waits for the writers of wanted; lock */
    int64_t give_up;             /* time at which requests stop waiting, by mpiio_clock; lock */
    struct fs_version wanted;    /* lock */
    struct fs_version passed[2]; /* versions whose writers have returned; lock. Two, because an
                                    assembled file's versions are sampled in two ways */
    unsigned next;               /* index of the entry to replace next; lock */
};

/* Initializes self without starting the fifo's thread. */
void fs_settling_init(struct fs_settling *self, struct fs_flusher *flusher,
                      struct fs_workers *workers);

/* Frees the resources of self. The fifo's thread must have ended. */
void fs_settling_free(struct fs_settling *self);

/* The functions below are thread-safe. */

/*
 * Samples the file's version, with changes set to 0. The version is settled only if its times allow
 * that, no flush of all nodes is in progress, and all writes that it shows have ended. With waits,
 * waits for such writes, for at most a tenth of a second. Returns 0 or a negative errno.
 */
int fs_settling_sample(struct fs_settling *self, struct fs_version *version, bool waits);

/*
 * Returns true if all calls of write(2) that set the times of version, or earlier ones, have
 * returned. version was sampled before this call. Returns false while that is unknown, or while the
 * times do not allow the version to settle; it must then not count as settled. Without waits,
 * starts the check in the background and returns at once. With waits, waits for the check, for at
 * most a tenth of a second. Writers on other hosts cannot be waited for. If the filesystem is not
 * local, the check instead lets 50 ms pass and refreshes this host's pages.
 */
bool fs_settling_await(struct fs_settling *self, const struct fs_version *version, bool waits);

#endif
