/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_STORE_H
#define MPIIO_STORE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>

#include "counters.h"
#include "spec.h"

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

/*
 * The shared file, through POSIX calls. Functions return 0 (or a count) or a negative errno. Any
 * number of threads may use a store at the same time.
 */
struct mpiio_store;

/*
 * Opens the file at path with flags of open(2): O_RDONLY or O_RDWR, with or without O_CREAT (and
 * O_EXCL), which creates a file with mode 0666 less the umask. Only a regular file or a block
 * device is accepted: -EISDIR for a folder, -EINVAL for other types. The caller owns the store.
 */
int mpiio_store_open(const char *path, int flags, struct mpiio_store **store);

/*
 * Opens the spec's file like mpiio_store_open, or assembles its members. For members, flags are
 * O_RDONLY or O_RDWR; O_CREAT creates missing members. Returns 0, or a negative errno, with why
 * filled if the members are the cause. The spec must outlive the store.
 */
int mpiio_store_open_spec(const struct vs_spec *spec, int flags, struct mpiio_store **store,
                          struct vs_error *why);

/* Closes and frees. No other thread may use the store. NULL is allowed. */
void mpiio_store_close(struct mpiio_store *store);

/*
 * Records that the bytes [start, end) of the file were written by other means than this store. So
 * their write-back can begin before the next sync. Thread-safe.
 */
void mpiio_store_wrote(struct mpiio_store *store, int64_t start, int64_t end);

/*
 * Waits until all data of the file that was written so far, through this store or otherwise, is on
 * the storage device: fsync(2), or fdatasync(2) with data_only. The kernel reports an error of the
 * file once per store. A file that does not support syncing (EINVAL) counts as synced. Thread-safe.
 */
int mpiio_store_sync(struct mpiio_store *store, bool data_only);

/*
 * Sets times like futimens(2): times[0] is the access time and times[1] the modification time, with
 * UTIME_NOW and UTIME_OMIT. Thread-safe.
 */
int mpiio_store_set_times(struct mpiio_store *store, const struct timespec times[2]);

/*
 * Returns the file's current size in bytes as slices show it, with all bytes written through this
 * store, or a negative errno. Thread-safe.
 */
int64_t mpiio_store_size(struct mpiio_store *store);

/* Gets the state of the file like fstat(2). st_size is the device's size for a block device. */
int mpiio_store_stat(struct mpiio_store *store, struct stat *st);

/*
 * Seeks in the file like lseek(2) with SEEK_DATA or SEEK_HOLE. Returns a displacement or a negative
 * errno. Moves the position of the descriptor, on which nothing depends. Thread-safe.
 */
int64_t mpiio_store_seek(struct mpiio_store *store, int64_t displacement, int whence);

/*
 * Returns the open descriptor, borrowed, for fstatvfs(2), fsync(2) and similar calls; -1 if the
 * file is assembled from members.
 */
int mpiio_store_fd(const struct mpiio_store *store);

/* Gets a snapshot of the counters. */
void mpiio_store_counters(const struct mpiio_store *store, struct mpiio_counters *counters);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
