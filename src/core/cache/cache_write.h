/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_CACHE_WRITE_H
#define MPIIO_CACHE_WRITE_H

#include "cache.h"

/* Writing to the active generation. */

/*
 * As mpiio_write_runs: copies the bytes to the active generation. Written through
 * (mpiio_cache_write_through), it is mpiio_write_runs. -ENOMEM, or by transfer->put:
 *
 * WAIT waits while dirty_max or more is used. -EIO where it would have to and mpiio_cache_stop was
 * called.
 *
 * NOW is for one that holds locks of the file, which who stores what is dirty may have to wait for:
 * it never waits for room. -ENOBUFS where there is none; mpiio_cache_await before the next try.
 *
 * MERGED is for a value that was read, changed in part and is to be written back, while others, on
 * other nodes too, may do so with other parts of it. The caller has it locked against them since
 * before it was read. It goes to the file at once: in the active generation it would be stored over
 * what they write until then. But where bytes of it are dirty in a block, all of it that lies there
 * goes to the active generation, as they would be stored over it. Never waits for room.
 * -EINPROGRESS where bytes of it are frozen: none is put; mpiio_cache_await, and begin again with
 * reading.
 */
void mpiio_cache_write(struct mpiio_source *source, struct mpiio_transfer *transfer);

/*
 * Waits for what error, of the above, says is missing: room, or that what is frozen now is
 * resolved. The caller holds no lock of the file. 0: try again; -EIO after mpiio_cache_stop; any
 * other error comes back as it is, at once.
 */
int mpiio_cache_await(struct mpiio_source *source, int error);

#endif
