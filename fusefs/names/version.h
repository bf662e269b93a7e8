/* SPDX-License-Identifier: MIT */
#ifndef FS_VERSION_H
#define FS_VERSION_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

/*
 * Distinguishes states of the shared file, by what its filesystem shows.
 *
 * A version is settled under two conditions: every write that it shows had returned when it was
 * sampled, and every later write gives the file another version. Pages that were read since are
 * valid as long as the version stays the same. For the first condition, callers wait for writers
 * (fusefs/storing/settling.h). The second one is checked here: two changes within one tick of the
 * filesystem's clock leave the same times, so the file must have been unchanged for some ticks.
 */
struct fs_version {
    int64_t size;
    struct timespec mtime, ctime;
    uint64_t changes; /* number of changes that the file's times do not show: see flusher.h */
    bool settled;
};

/*
 * Returns the version of a file that had the attributes st some time after `before`
 * (CLOCK_REALTIME), with changes set to 0. The version is settled if its times are old enough.
 * Thread-safe.
 */
struct fs_version fs_version_of(const struct stat *st, struct timespec before);

/* Returns true if both are settled and equal. */
bool fs_version_same(const struct fs_version *a, const struct fs_version *b);

#endif
