/* SPDX-License-Identifier: MIT */
#ifndef ENGINE_FILE_H
#define ENGINE_FILE_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cluster/engine_channel.h"
#include "collective.h"
#include "core/file/file.h"
#include "fence.h"
#include "viewspec/members/members.h"

/* The shared file as all engines have it open: through MPI-IO, POSIX calls, or both. What is
 * written to it goes by file_write.h. */
struct engine_file {
    MPI_File mpi;             /* for long runs; MPI_FILE_NULL: they go to posix */
    struct mpiio_file *posix; /* for short runs; NULL: they go to mpi */
    struct vs_spec *members;  /* that posix is assembled from, and mpi cannot be; NULL: one file */
    int found;                /* the file that the daemon has open (O_PATH); -1 with members */
    struct engine_fence fence;
};

/*
 * Opens the file as hello says; collective. The same way is taken on all nodes: MPI-IO
 * alone where one of them asks for it, or has the file on a filesystem that is not known to be
 * local. One that is assembled from members is written by POSIX calls. A file other than the one
 * that hello names, by device and inode, is refused. Without a path nothing is opened; then
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
 * How the file is dealt to servers, in mpiio_homes_of's words: as MPI-IO says, which asks the
 * filesystem where it knows how to, or else as the spec says, whose hints are given. 0: nobody
 * says. Local.
 */
void engine_file_striping(const struct engine_file *file, const struct mpiio_hints *given,
                          int64_t *unit, int64_t *factor);

/*
 * A file that is assembled from members (viewspec(5)), as an engine has it: MPI-IO knows no such
 * files, so it is stored by POSIX calls, to the members, whatever the way is else.
 */

/*
 * Assembles it for writing as hello says, which the daemon has done before: both must have found
 * the same. 0, with the new spec and file, the caller's; the file is closed before the spec is
 * freed. Or -1, with a reason in text. Local.
 */
int engine_members_open(const struct mpiio_message_hello *hello, struct vs_spec **spec,
                        struct mpiio_file **file, char *text, size_t size);

/*
 * Whether all nodes have the same members (same.h), each that holds something, and as much of
 * them. A digest of what each member is on this node is compared with that of node 0; where
 * filesystems are not of one machine, a member of each is looked for as same.h says, of 16 of them
 * at most. Where members are others, false on those nodes, with the first one in text. Collective.
 */
bool engine_members_same(struct engine_collective *group, const struct vs_members *members,
                         const struct mpiio_file *file, char *text, size_t size);

#endif
