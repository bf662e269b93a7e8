/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_MEMBER_TWINS_H
#define MPIIO_MEMBER_TWINS_H

#include "core/member_place.h"
#include "identity.h"

/*
 * Finds two of the count members whose files are one, the pair with the lowest second. Members
 * without a file are left out. Returns 1; 0 if all files are different; or -ENOMEM. Local,
 * thread-safe.
 */
int mpiio_member_find_twins(const struct mpiio_member_identity *identities, int64_t count,
                            struct mpiio_member_twins *twins);

#endif
