/* SPDX-License-Identifier: MIT */
#ifndef FROM_SUBFILING_H
#define FROM_SUBFILING_H

#include "from.h"

/*
 * HDF5 files that its subfiling driver (HDF5 1.14) has dealt to several, stripe by stripe, in turn:
 * members of the whole file. FILE.h5.subfile_INODE.config says how; it is found for FILE.h5, too.
 */
extern const struct from_format from_subfiling;

#endif
