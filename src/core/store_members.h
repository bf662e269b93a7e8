/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_STORE_MEMBERS_H
#define MPIIO_STORE_MEMBERS_H

#include <stdbool.h>

#include "core/file/file.h"
#include "core/members/assembled.h"
#include "store.h"

/* The files of stores: a single file, or one that is assembled from members. Not installed. */

/* Returns true if the store is assembled from members. */
bool mpiio_store_has_members(const struct mpiio_store *store);

/*
 * Returns the store's file, borrowed, for the functions of file/file.h; and, if it is assembled,
 * for those of members/assembled.h. Reads and writes of it bypass the store's cache.
 */
struct mpiio_file *mpiio_store_file(const struct mpiio_store *store);

#endif
