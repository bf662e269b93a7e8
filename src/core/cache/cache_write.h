/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_CACHE_WRITE_H
#define MPIIO_CACHE_WRITE_H

#include "cache.h"

/* Writing to the active generation. */

/*
 * Copies a transfer's bytes to the active generation, like mpiio_write_runs. After
 * mpiio_cache_write_through it is mpiio_write_runs. Errors are -ENOMEM and, by transfer->put:
 *
 * WAIT waits while dirty_max or more is used. -EIO if it would have to wait after mpiio_cache_stop.
 *
 * NOW never waits for room. The caller holds locks of the file, which a flush may have to wait for.
 * -ENOBUFS without room; the caller releases its locks and calls mpiio_cache_await before it
 * retries.
 *
 * MERGED is for a value that was read and changed in part, while others, also on other nodes, may
 * change other parts of it. The caller has locked it against them since before it read the value.
 * The value goes to the file at once: from the active generation it would be stored over what they
 * write until then. But in a block where some of its bytes are dirty, all of them go to the active
 * generation: the dirty ones would be stored over them. Never waits for room. -EINPROGRESS if bytes
 * of the value are frozen. Nothing is put then; the caller releases its locks, calls
 * mpiio_cache_await, and reads again.
 */
void mpiio_cache_write(struct mpiio_source *source, struct mpiio_transfer *transfer);

/*
 * Waits after such an error: for room after -ENOBUFS, or until the frozen generation is resolved
 * after -EINPROGRESS. The caller holds no lock of the file. Returns 0 to retry; -EIO after
 * mpiio_cache_stop; any other error as it is, at once.
 */
int mpiio_cache_await(struct mpiio_source *source, int error);

#endif
