/* SPDX-License-Identifier: MIT */
#ifndef FS_VERSION_H
#define FS_VERSION_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

/*
 * Tells one state of the shared file from another, as far as its filesystem shows it.
 *
 * A version is settled if every write that it shows had ended by the time it was sampled, and every
 * later one gives the file another version. Then pages that were read since are the file's as long
 * as its version is the same. The first half takes waiting for writers
 * (fusefs/storing/settling.h). The second half is known here: two changes within one tick of the
 * filesystem's clock leave the same times, so the file must have been left alone for some ticks.
 */
struct fs_version {
    int64_t size;
    struct timespec mtime, ctime;
    uint64_t changes; /* that the file's times do not show: see flusher.h */
    bool settled;
};

/*
 * Returns the version of a file that had the attributes st some time after the moment `before`
 * (CLOCK_REALTIME), and `changes` before that. It is settled as far as its times show. Local,
 * thread-safe.
 */
struct fs_version fs_version_of(const struct stat *st, struct timespec before, uint64_t changes);

/* True where both are settled and the same. */
bool fs_version_same(const struct fs_version *a, const struct fs_version *b);

#endif
