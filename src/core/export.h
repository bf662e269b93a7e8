/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_EXPORT_H
#define MPIIO_EXPORT_H

#include <sys/types.h>

#include "slice.h"
#include "viewspec/export/export.h"

/*
 * Reads files for other programs (viewspec/export/export.h): text and values of the shared file.
 * Not installed. Functions are local and thread-safe, except mpiio_export_close.
 */
struct mpiio_export;

/*
 * Opens a file. Takes the ownership of its pieces, also on failure. Borrows store, which must
 * outlive the file. Returns 0 or a negative errno.
 */
int mpiio_export_open(struct mpiio_store *store, struct vs_export *file,
                      struct mpiio_export **export);

/* Closes a file. NULL is allowed. No other thread may use it. */
void mpiio_export_close(struct mpiio_export *export);

/*
 * Reads up to size bytes from offset. Returns their number, which is less only at the end of the
 * file, or a negative errno. Values that the shared file does not hold yet read as zeros.
 */
ssize_t mpiio_export_read(struct mpiio_export *export, char *buffer, size_t size, off_t offset);

#endif
