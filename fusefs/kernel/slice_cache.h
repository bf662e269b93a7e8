/* SPDX-License-Identifier: MIT */
#ifndef FS_SLICE_CACHE_H
#define FS_SLICE_CACHE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "fusefs/names/slices.h"

struct fs_session;

/*
 * Copies of slices, in memory of large pages, that the kernel reads by itself (passthrough.h): a
 * slice that is opened again is read at the speed of any file in memory. A copy is made when its
 * slice is opened for the second time, and made anew when one is opened and the file has changed.
 * Only for mounts that write nothing.
 *
 * The kernel reads a slice either way, not both at once: while a slice is open, all who open it
 * have it as the first of them. Thread-safe where nothing else is said.
 */
struct fs_slice_cache {
    struct fs_session *session; /* borrowed */
    fs_slice_read *read;
    int folder; /* of a filesystem in memory that is mounted nowhere; -1: there are no copies */

    pthread_mutex_t lock;  /* of what follows */
    struct fs_copy *first; /* the one used last comes first */
    int64_t used;          /* bytes of copies, and of those that are being made */
    uint64_t fills;        /* how often one was made, or made anew */
};

/* What is known of a slice: how often it was opened, and by whom it is; its copy, if it has one. */
struct fs_copy;

/*
 * Sets the cache up where the option says so and the mount is one for it. Why it is not possible
 * is logged. Not thread-safe; stop is due in any case, when no request is under way.
 */
void fs_slice_cache_start(struct fs_slice_cache *cache, struct fs_session *session,
                          fs_slice_read *read);
void fs_slice_cache_stop(struct fs_slice_cache *cache);

/*
 * A slice is opened. Copy is set to what fs_slice_cache_close needs, or NULL, and id to the copy's
 * by which the kernel reads it (fs_open_answer_next), or 0: it asks the daemon. 0, or a negative
 * errno where a copy that others have open cannot be made anew.
 */
int fs_slice_cache_open(struct fs_slice_cache *cache, struct fs_slice *slice, struct fs_copy **copy,
                        int *id);

/* The bytes of all copies, and how often one was made or made anew. */
void fs_slice_cache_stats(struct fs_slice_cache *cache, int64_t *bytes, uint64_t *fills);

/* What was opened so is closed. copy may be NULL. */
void fs_slice_cache_close(struct fs_slice_cache *cache, struct fs_copy *copy, int id);

#endif
