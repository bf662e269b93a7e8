/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_ASSEMBLED_H
#define MPIIO_ASSEMBLED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "core/file/file.h"
#include "core/member_place.h"
#include "identity.h"
#include "viewspec/members/members.h"

/* The values that holes of an assembled file read as. Immutable once made. If the struct is zeroed,
   holes read as zeros. */
struct mpiio_fills {
    struct vs_fill *list; /* owned */
    size_t count;
};

/*
 * Many files as one: a file whose bytes are those of members, each at its place in the whole and
 * in its own file. It is read and written through the plans of its members (plan.h), which change
 * only the bytes that are given, so that what holds for a file holds for it: nothing is read to be
 * written back, and what is acknowledged is in the members.
 *
 * Its length, and how much each member holds, are those when it was assembled. A member that has
 * become shorter since then gives -EIO where it lacks bytes. A member whose path has come to name
 * another file (identity.h) is not opened: -ESTALE. One that was missing is never opened.
 */

/* How members are assembled. */
enum mpiio_assemble {
    MPIIO_ASSEMBLE_WRITABLE = 1,
    MPIIO_ASSEMBLE_CREATE = 2, /* create missing members (assembled_private.h) */
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

/* Returns a digest of the lengths of the members, which distinguishes two assemblies of one spec.
   Local, thread-safe. */
uint64_t mpiio_assembled_digest(const struct mpiio_file *file);

/* Returns the number of bytes that a member holds. Does not look at the file of a member with none.
   Local, thread-safe. */
int64_t mpiio_assembled_held(const struct mpiio_file *file, int64_t member);

/* Like mpiio_member_open_path (table.h), for a member that holds something. */
int mpiio_assembled_open_path(const struct mpiio_file *file, int64_t member);

/*
 * Returns a hash of the members' identities (identity.h) and of how many bytes each holds. It is
 * the same in all processes of one machine. Local, thread-safe.
 */
uint64_t mpiio_assembled_identity(const struct mpiio_file *file);

/* Like mpiio_member_find_twins (identity.h), for the members. */
int mpiio_assembled_find_twins(const struct mpiio_file *file, struct mpiio_member_twins *twins);

/*
 * Sets a function that is called as replaced(argument, member, path) when a member's path is found
 * to name another file than when the members were assembled: once for each member, by any thread.
 * Local; to be called before the file is used by several threads.
 */
void mpiio_assembled_on_replaced(struct mpiio_file *file,
                                 void (*replaced)(void *argument, int64_t member, const char *path),
                                 void *argument);

/* Returns how many writes to members this process has finished. Thread-safe. */
uint64_t mpiio_assembled_writes(const struct mpiio_file *file);

/* Returns a digest of the lengths and times of all members, which distinguishes two states of them.
   Sets times to the newest modification and the newest change of any member. Looks at each member
   that holds something. Local, thread-safe. */
uint64_t mpiio_assembled_state(const struct mpiio_file *file, struct timespec times[2]);

/*
 * Finds the byte at displacement, 0 <= displacement < the length of the whole. file is one of
 * mpiio_assemble. 0 or a negative errno. Thread-safe.
 */
int mpiio_assembled_find(struct mpiio_file *file, int64_t displacement,
                         struct mpiio_member_place *place);

/*
 * Opens all members, each with a descriptor, for as long as the file exists. Returns 0, -ESTALE if
 * a member is not the file that it was when they were assembled, or the error of open(2). Not to be
 * called twice. Sets *grain to the least read, in bytes of the whole, that asks each member for as
 * much as a call is worth; 0 if runs are that long.
 */
int mpiio_assembled_hold(struct mpiio_file *file, int64_t *grain);

/* The rights to an assembled file are those that each of its members grants, to the extent that the
   owner, group and mode of one file can express them. Local, thread-safe. */

/* The maximal number of members whose rights are examined for a caller. */
#define MPIIO_MEMBERS_JUDGED 256

/*
 * Takes away from the mode in st, which is of its owner and group, what somebody whom it allows it
 * may not be allowed by another member.
 */
void mpiio_members_restrict(struct stat *st, const struct stat *member);

/*
 * The first member that holds something and has an access control list which says more than its
 * mode; -1: none has. file is one of mpiio_assemble.
 */
int64_t mpiio_members_find_list(const struct mpiio_file *file);

#endif
