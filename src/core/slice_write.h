/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_SLICE_WRITE_H
#define MPIIO_SLICE_WRITE_H

#include "core/file/exclusion.h"
#include "slice.h"

/*
 * mpiio_slice_write and mpiio_slice_append within an access that has begun, by which the elements
 * are locked in the file: a second lock would wait for the first. NULL: there is none. Thread-safe.
 */
ssize_t mpiio_slice_write_in(struct mpiio_slice *slice, const void *buffer, size_t length,
                             int64_t offset, const struct mpiio_access *access);
ssize_t mpiio_slice_append_in(struct mpiio_slice *slice, const void *buffer, size_t length,
                              int64_t *offset, const struct mpiio_access *access);

#endif
