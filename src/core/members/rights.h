/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_MEMBERS_RIGHTS_H
#define MPIIO_MEMBERS_RIGHTS_H

#include <stdint.h>
#include <sys/stat.h>

#include "core/file/file.h"

/*
 * Who may do what with an assembled file: what he may do with each of its members, as far as owner,
 * group and mode of one file can say that. Local, thread-safe.
 */

/* So many members at most are looked at for the rights of a caller. */
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
