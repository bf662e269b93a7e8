/* SPDX-License-Identifier: MIT */
#ifndef ENGINE_FILE_H
#define ENGINE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mpi.h>

#include "collective.h"
#include "fence.h"
#include "cluster/engine_channel.h"
#include "core/file/write_plan.h"
#include "core/file/file.h"

/* The shared file as all engines have it open: through MPI-IO, POSIX calls, or both. */
struct engine_file {
    MPI_File mpi;             /* for long runs; MPI_FILE_NULL: they go to posix */
    struct mpiio_file *posix; /* for short runs; NULL: they go to mpi */
    struct vs_spec *members;  /* that posix is assembled from, and mpi cannot be; NULL: one file */
    struct engine_fence fence;
};

/*
 * Opens the file as hello says; collective. The same way is taken on all nodes: MPI-IO
 * alone where one of them asks for it, or has the file on a filesystem that is not known to be
 * local. One that is assembled from members is written by POSIX calls. No path opens nothing; then
 * no node may have one. On failure, on every node, a reason for people is in text where this node
 * knows one, else text is empty; -1 is returned, nothing is open.
 */
int engine_file_open(struct engine_file *file, struct engine_collective *group,
                     const struct mpiio_message_hello *hello, char *text, size_t size);

/* Sets up what each store needs (fence.h); before the first. lease and daemon are borrowed. Local.
 */
void engine_file_fence(struct engine_file *file, const char *path, const struct mpiio_lease *lease,
                       const struct mpiio_channel *daemon);

/* Closes; collective. */
void engine_file_close(struct engine_file *file);

/*
 * The hints that MPI-IO uses, as MPI_File_get_info gives them: as many as a message holds. Their
 * texts are the caller's, to free together with free(*texts), NULL where there are none. Local.
 */
void engine_file_hints(const struct engine_file *file, struct mpiio_hints *hints, char **texts);

/*
 * How the file is dealt to servers, in engine_stripes_of's words: as MPI-IO says, which asks the
 * filesystem where it knows how to, or else as the spec says, whose hints are given. 0: nobody
 * says. Local.
 */
void engine_file_striping(const struct engine_file *file, const struct mpiio_hints *given,
                          int64_t *unit, int64_t *factor);

/* Whether long runs are to be written by engine_file_write_all; the same on all nodes. */
bool engine_file_is_collective(const struct engine_file *file);

/*
 * Writes length bytes (< 2^31) at displacement, together with the other nodes, each its own; length
 * 0 joins. Collective. 0 or a negative errno, this node's own.
 */
int engine_file_write_all(struct engine_file *file, const void *memory, size_t length,
                          int64_t displacement, struct mpiio_epoch_counters *counters);

/*
 * Writes ranges of an image of the file: see mpiio_write_ranges, also for what is returned. Local:
 * the nodes need not call it together.
 */
int64_t engine_file_write(struct engine_file *file, const char *image, int64_t displacement,
                          const struct mpiio_range *ranges, size_t count, int *error,
                          struct mpiio_epoch_counters *counters);

/*
 * MPI_File_sync, or fsync(2): what all nodes have written is on the storage device. Collective.
 * 0 or a negative errno, this node's own.
 */
int engine_file_sync(struct engine_file *file);

#endif
