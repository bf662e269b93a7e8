/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_ASSEMBLED_HOLD_H
#define MPIIO_ASSEMBLED_HOLD_H

#include "core/file/file.h"

/*
 * Opens all members, for as long as the file is there: a descriptor each. Returns 0; -ESTALE where
 * one is not the file that it was when they were assembled; or what open(2) says. Not to be called
 * twice. grain gets the least read, in bytes of the whole, that asks each member for as much as a
 * call is worth: 0 where runs are that long.
 */
int mpiio_assembled_hold(struct mpiio_file *file, int64_t *grain);

#endif
