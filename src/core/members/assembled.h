/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_ASSEMBLED_H
#define MPIIO_ASSEMBLED_H

#include <stdbool.h>

#include "core/file/file.h"
#include "fill.h"
#include "twins.h"
#include "viewspec/members/members.h"

/*
 * Many files as one: a file whose bytes are those of members, each at its place in the whole and
 * in its own file. It is read and written through the plans of its members (read_plan.h,
 * write_plan.h), which change only the bytes that are given, so that what holds for a file holds
 * for it: nothing is read to be written back, and what is acknowledged is in the members.
 *
 * Its length, and how much each member holds, are those when it was assembled. A member that has
 * become shorter since then gives -EIO where it lacks bytes. A member whose path has come to name
 * another file (identity.h) is not opened: -ESTALE. One that was missing is never opened.
 */

/* How members are assembled. */
enum mpiio_assemble {
    MPIIO_ASSEMBLE_WRITABLE = 1,
    MPIIO_ASSEMBLE_CREATE = 2, /* create missing members (create.h) */
};

/*
 * Assembles the members, which are borrowed. Checks that they exist, fit together, and can be
 * opened according to how (values of enum mpiio_assemble). Returns 0, or a negative errno with why
 * filled; its text names the first bad member. Returns -EROFS if the file shall be writable, but
 * members may overlap or two of them are one file. Takes ownership of fills.list, also on error.
 * The caller owns the new file.
 */
int mpiio_assemble(const struct vs_members *members, unsigned how, struct mpiio_fills fills,
                   struct mpiio_file **file, struct vs_error *why);

/*
 * What tells apart two assemblies of one spec: how many bytes each member holds. Local,
 * thread-safe.
 */
uint64_t mpiio_assembled_digest(const struct mpiio_file *file);

/* How many bytes a member holds; of one with none the file is not looked at. Likewise. */
int64_t mpiio_assembled_held(const struct mpiio_file *file, int64_t member);

/* Like mpiio_member_open_path (table.h), for a member that holds something. */
int mpiio_assembled_open_path(const struct mpiio_file *file, int64_t member);

/*
 * Returns a hash of the members' identities (identity.h) and of how many bytes each holds. It is
 * the same in all processes of one machine. Local, thread-safe.
 */
uint64_t mpiio_assembled_identity(const struct mpiio_file *file);

/* Like mpiio_member_find_twins (twins.h), for the members. */
int mpiio_assembled_find_twins(const struct mpiio_file *file, struct mpiio_member_twins *twins);

/*
 * Sets a function that is called as replaced(argument, member, path) when a member's path is found
 * to name another file than when the members were assembled: once for each member, by any thread.
 * Local; to be called before the file is used by several threads.
 */
void mpiio_assembled_on_replaced(struct mpiio_file *file,
                                 void (*replaced)(void *argument, int64_t member, const char *path),
                                 void *argument);

/* How many writes to members are over, by this process. Thread-safe. */
uint64_t mpiio_assembled_writes(const struct mpiio_file *file);

/*
 * What tells apart two states of the members, as far as their lengths and times do: a digest of
 * those of all, and in times the newest modification and the newest change of one. Looks at each
 * member that holds something. Local, thread-safe.
 */
uint64_t mpiio_assembled_state(const struct mpiio_file *file, struct timespec times[2]);

#endif
