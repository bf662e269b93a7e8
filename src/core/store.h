/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_STORE_H
#define MPIIO_STORE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>

#include "counters.h"

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

/*
 * The shared file, through POSIX calls. Functions return 0 (or a count) or a negative errno.
 * A store may be used by any number of threads at once.
 */
struct mpiio_store;

/*
 * Opens the file at path with open(2) flags: O_RDONLY, or O_RDWR, with or without O_CREAT, which
 * makes a file of mode 0666 less the umask (and O_EXCL). Only a regular file or a block
 * device is accepted: -EISDIR for a folder, -EINVAL for the rest. The new store is the caller's.
 */
int mpiio_store_open(const char *path, int flags, struct mpiio_store **store);

/* Closes and frees. No other thread may use the store. NULL is allowed. */
void mpiio_store_close(struct mpiio_store *store);

/*
 * Notes that the bytes [start, end) of the file were written by other means than this store, so
 * that they are on their way to the device before the next sync. Thread-safe.
 */
void mpiio_store_wrote(struct mpiio_store *store, int64_t start, int64_t end);

/*
 * Waits until all data of the file that was written so far, through this store or otherwise, is on
 * the storage device: fsync(2), or fdatasync(2) with data_only. An error is the file's, and the
 * kernel tells it once a store. A file that cannot be synced (EINVAL) need not be. Thread-safe.
 */
int mpiio_store_sync(struct mpiio_store *store, bool data_only);

/*
 * futimens(2) of the file: times[0] is the access, times[1] the modification time, with UTIME_NOW
 * and UTIME_OMIT. Thread-safe.
 */
int mpiio_store_set_times(struct mpiio_store *store, const struct timespec times[2]);

/* fstat(2) of the file. st_size is the device's size for a block device. */
int mpiio_store_stat(struct mpiio_store *store, struct stat *st);

/*
 * lseek(2) of the file for SEEK_DATA or SEEK_HOLE: a displacement or a negative errno. Its
 * descriptor's own position moves: nothing depends on it. Thread-safe.
 */
int64_t mpiio_store_seek(struct mpiio_store *store, int64_t displacement, int whence);

/*
 * The open descriptor, borrowed, for fstatvfs(2), fsync(2) and the like; -1 where the file is
 * assembled from members.
 */
int mpiio_store_fd(const struct mpiio_store *store);

/* A snapshot of the counters. */
void mpiio_store_counters(const struct mpiio_store *store, struct mpiio_counters *counters);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
