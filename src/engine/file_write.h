/* SPDX-License-Identifier: MIT */
#ifndef ENGINE_FILE_WRITE_H
#define ENGINE_FILE_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cluster/engine_channel.h"
#include "core/file/source.h"

/*
 * Everything that homes write to the shared file. file.h implements it; tests/scale has its own
 * implementation. Each write waits for the node's lease (file.h).
 */
struct engine_file;

/* Returns true if long runs must be written by engine_file_write_all. The same on all nodes. */
bool engine_file_is_collective(const struct engine_file *file);

/*
 * Writes length bytes (< 2^31) at displacement while the other nodes write theirs; length 0 only
 * takes part. Collective. Returns 0 or a negative errno of this node.
 */
int engine_file_write_all(struct engine_file *file, const void *memory, size_t length,
                          int64_t displacement, struct mpiio_epoch_counters *counters);

/*
 * Writes a transfer's ranges and updates counters: see mpiio_write_ranges
 * (core/file/file.h). Independent: the other nodes need not call it.
 */
void engine_file_write(struct engine_file *file, struct mpiio_transfer *transfer,
                       struct mpiio_epoch_counters *counters);

/*
 * Calls MPI_File_sync or fsync(2): everything that all nodes have written reaches the storage
 * device. Collective. Returns 0 or a negative errno of this node.
 */
int engine_file_sync(struct engine_file *file);

/*
 * Returns the negative errno for an MPI error code: by its class, as in the table of viewspec(5),
 * or by its text if the class is too general. Returns 0 for MPI_SUCCESS. Local.
 */
int engine_error(int mpi_error);

#endif
