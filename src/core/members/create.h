/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_MEMBERS_CREATE_H
#define MPIIO_MEMBERS_CREATE_H

#include "viewspec/map/assembly.h"
#include "viewspec/members/members.h"

/*
 * Makes the members that are missing, of which places, which are finished, have no bytes. Each is a
 * hole, with mode 0666 less the umask, and appears with its length: as long as the data is that the
 * whole, which places know of, has of it; where "local" is a part of an array, whole arrays. How
 * many were missing, also where others have made them meanwhile; or a negative errno with why
 * filled: -EINVAL where the view of one does not say how long the whole is.
 */
int64_t mpiio_members_create(const struct vs_members *members, const struct vs_assembly *places,
                             struct vs_error *why);

#endif
