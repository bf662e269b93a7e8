/* SPDX-License-Identifier: MIT */
#ifndef FS_VERSION_H
#define FS_VERSION_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

/*
 * What tells one state of the shared file from another, as far as its filesystem shows it.
 *
 * Two changes within one tick of the filesystem's clock leave the same times. So a version counts
 * as settled only if the file had been left alone for some ticks when it was sampled: pages that
 * were read after that moment are the file's as long as the version is the same.
 */
struct fs_version {
    int64_t size;
    struct timespec mtime, ctime;
    uint64_t changes; /* that the file's times do not show: see flusher.h */
    bool settled;
};

/*
 * The version of a file that had the attributes st some time after the moment before
 * (CLOCK_REALTIME), and changes before that. Local, thread-safe.
 */
struct fs_version fs_version_of(const struct stat *st, struct timespec before, uint64_t changes);

/* True where both are settled and the same. */
bool fs_version_same(const struct fs_version *a, const struct fs_version *b);

#endif
