/* SPDX-License-Identifier: MIT */
#ifndef ENGINE_FILE_WRITE_H
#define ENGINE_FILE_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cluster/engine_channel.h"
#include "core/file/source.h"

/*
 * Storing: all that homes do to the shared file. What is behind it is file.h's affair; tests/scale
 * has a file of its own. Each write waits for the node's lease (fence.h).
 */
struct engine_file;

/* Whether long runs are to be written by engine_file_write_all; the same on all nodes. */
bool engine_file_is_collective(const struct engine_file *file);

/*
 * Writes length bytes (< 2^31) at displacement, together with the other nodes, each its own; length
 * 0 joins. Collective. 0 or a negative errno, this node's own.
 */
int engine_file_write_all(struct engine_file *file, const void *memory, size_t length,
                          int64_t displacement, struct mpiio_epoch_counters *counters);

/*
 * Writes a transfer's ranges, with counts of its own: see mpiio_write_ranges (plan.h). Local:
 * the nodes need not call it together.
 */
void engine_file_write(struct engine_file *file, struct mpiio_transfer *transfer,
                       struct mpiio_epoch_counters *counters);

/*
 * MPI_File_sync, or fsync(2): what all nodes have written is on the storage device. Collective.
 * 0 or a negative errno, this node's own.
 */
int engine_file_sync(struct engine_file *file);

/*
 * The negative errno that stands for an error code of MPI: by its class, as in the table of
 * viewspec(5), and where that says little by its text. 0 for MPI_SUCCESS. Local.
 */
int engine_error(int mpi_error);

#endif
