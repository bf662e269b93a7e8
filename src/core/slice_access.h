/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_SLICE_ACCESS_H
#define MPIIO_SLICE_ACCESS_H

#include "core/file/exclusion.h"
#include "slice.h"

/*
 * Slices that many use at once through one process, as the daemon's are: what it asks of them
 * beyond slice.h, which alone is installed.
 *
 * Where the slice's store writes back (cache.h), the bytes of mpiio_slice_write are acknowledged,
 * and seen by reads of all slices of the store, before they are in the file. An error of the file
 * is then told by mpiio_cache_error instead, the call may wait for room, and it holds no lock of
 * the file. An element that is written in part and needs its other bytes from the file is written
 * back to the file at once, so that parts from several stores stay; but what is dirty of it is
 * changed where it is, and such a write waits while it is being stored.
 */

/*
 * Gives the slice the number by which write-back tells of its errors (mpiio_cache_error). It is
 * 0 before. Slices with one id count as one. To be called before the slice is used.
 */
void mpiio_slice_set_id(struct mpiio_slice *slice, uint64_t id);

/*
 * True where each byte of the slice has a place of its own in the file: nothing but the file needs
 * to be known to read it, or to write it in part.
 */
bool mpiio_slice_is_bytewise(const struct mpiio_slice *slice);

/* Returns true if other, a slice of the same store, shows or may show bytes of the file that are at
   the bytes [offset, offset + length) of slice (exclusion.h). Local, thread-safe. */
bool mpiio_slice_shares(const struct mpiio_slice *slice, int64_t offset, int64_t length,
                        const struct mpiio_slice *other);

/*
 * Begins an access to the slice's bytes [offset, offset + length), as mpiio_exclusion_begin
 * (exclusion.h) does, and to all of the elements that these are in; mpiio_exclusion_end ends it,
 * before the slice is freed. Local, thread-safe.
 */
int mpiio_slice_access(struct mpiio_slice *slice, struct mpiio_exclusion *accesses, int64_t offset,
                       int64_t length, bool writes, struct mpiio_access *access);

/* Like mpiio_file_refresh and mpiio_file_publish (file/file.h), of the slice's file. Thread-safe.
 */
int mpiio_slice_refresh(struct mpiio_slice *slice);
int mpiio_slice_publish(struct mpiio_slice *slice);

/*
 * mpiio_slice_write and mpiio_slice_append within an access that has begun, by which the elements
 * are locked in the file: a second lock would wait for the first. NULL: there is none. Thread-safe.
 */
ssize_t mpiio_slice_write_in(struct mpiio_slice *slice, const void *buffer, size_t length,
                             int64_t offset, const struct mpiio_access *access);
ssize_t mpiio_slice_append_in(struct mpiio_slice *slice, const void *buffer, size_t length,
                              int64_t *offset, const struct mpiio_access *access);

#endif
