/* SPDX-License-Identifier: MIT */
#ifndef ENGINE_MEMBERS_H
#define ENGINE_MEMBERS_H

#include <stdbool.h>
#include <stddef.h>

#include "collective.h"
#include "cluster/engine_channel.h"
#include "core/file/file.h"
#include "viewspec/members/members.h"

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
