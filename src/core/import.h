/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_IMPORT_H
#define MPIIO_IMPORT_H

#include "fetch.h"
#include "slice_private.h"

/*
 * Reads the slice bytes [offset, offset + length), which lie below the slice's limit, and converts
 * them to native: mpiio_fetch for slices that have a codec. fetched->bytes counts slice bytes.
 * Where the slice has torn elements it waits for those who store them, and they for it; else it
 * holds no lock during I/O. Local, thread-safe.
 */
void mpiio_import(struct mpiio_slice *slice, int64_t offset, size_t length, void *buffer,
                  struct mpiio_fetched *fetched, struct mpiio_counters *done);

#endif
