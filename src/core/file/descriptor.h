/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_DESCRIPTOR_H
#define MPIIO_DESCRIPTOR_H

#include "file.h"

/* Opens the file at path as mpiio_store_open does (store.h), as a descriptor. The caller owns the
   new file. */
int mpiio_file_open(const char *path, int flags, struct mpiio_file **file);

#endif
