/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_ASSEMBLED_FIND_H
#define MPIIO_ASSEMBLED_FIND_H

#include "core/file/file.h"
#include "core/member_place.h"

/*
 * Finds the byte at displacement, 0 <= displacement < the length of the whole. file is one of
 * mpiio_assemble. 0 or a negative errno. Thread-safe.
 */
int mpiio_assembled_find(struct mpiio_file *file, int64_t displacement,
                         struct mpiio_member_place *place);

#endif
