/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_ASSEMBLED_HOLD_H
#define MPIIO_ASSEMBLED_HOLD_H

#include "core/file/file.h"

/*
 * Opens all members, each with a descriptor, for as long as the file exists. Returns 0, -ESTALE if
 * a member is not the file that it was when they were assembled, or the error of open(2). Not to be
 * called twice. Sets *grain to the least read, in bytes of the whole, that asks each member for as
 * much as a call is worth; 0 if runs are that long.
 */
int mpiio_assembled_hold(struct mpiio_file *file, int64_t *grain);

#endif
