/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_SLICE_ACCESS_H
#define MPIIO_SLICE_ACCESS_H

#include "core/file/exclusion.h"
#include "slice.h"

/*
 * Slices that many users share through one process, as in the daemon: functions in addition to
 * slice.h. Only slice.h is installed.
 *
 * If the slice's store has write-back (cache.h), the bytes of mpiio_slice_write are acknowledged,
 * and visible to reads of all slices of the store, before they are in the file. Then
 * mpiio_cache_error reports an error of the file instead. The call may wait for room, and holds no
 * lock of the file. An element that is written in part and needs its other bytes from the file is
 * written to the file at once, so that parts from several stores are kept. Only if bytes of it are
 * dirty, it is changed in the cache; such a write waits while they are being stored.
 */

/*
 * Sets the number by which write-back reports errors of the slice (mpiio_cache_error). The default
 * is 0. Slices with one id count as one. Call before the slice is used.
 */
void mpiio_slice_set_id(struct mpiio_slice *slice, uint64_t id);

/*
 * Returns true if each byte of the slice has its own byte in the file. Then only the file is
 * required to read the slice, or to write it in part.
 */
bool mpiio_slice_is_bytewise(const struct mpiio_slice *slice);

/* Returns the number of etypes that fit into the slice's view, and into INT64_MAX bytes. */
int64_t mpiio_slice_etypes(const struct mpiio_slice *slice);

/* Returns true if other, a slice of the same store, shows or may show bytes of the file that are at
   the bytes [offset, offset + length) of slice (exclusion.h). Local, thread-safe. */
bool mpiio_slice_shares(const struct mpiio_slice *slice, int64_t offset, int64_t length,
                        const struct mpiio_slice *other);

/*
 * Begins an access to the slice's bytes [offset, offset + length) and all elements that contain
 * them, like mpiio_exclusion_begin (exclusion.h). End it by mpiio_exclusion_end before the slice is
 * freed. Local, thread-safe.
 */
int mpiio_slice_access(struct mpiio_slice *slice, struct mpiio_exclusion *accesses, int64_t offset,
                       int64_t length, bool writes, struct mpiio_access *access);

/* Returns the file of the slice's store, borrowed. */
struct mpiio_file *mpiio_slice_file(const struct mpiio_slice *slice);

/*
 * mpiio_slice_write and mpiio_slice_append within an access that has begun. The access has locked
 * the elements in the file, so a second lock would wait for the first. access may be NULL: there is
 * none. Thread-safe.
 */
ssize_t mpiio_slice_write_in(struct mpiio_slice *slice, const void *buffer, size_t length,
                             int64_t offset, const struct mpiio_access *access);
ssize_t mpiio_slice_append_in(struct mpiio_slice *slice, const void *buffer, size_t length,
                              int64_t *offset, const struct mpiio_access *access);

#endif
