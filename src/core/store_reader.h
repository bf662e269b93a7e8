/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_STORE_READER_H
#define MPIIO_STORE_READER_H

#include <stddef.h>
#include <stdint.h>

#include "core/file/reader.h"
#include "store.h"

/* A reader under a store (file/reader.h): for whoever owns both. Not installed. */

/* Has the store's slices ask reader first, which is borrowed. Once, before they are used. */
void mpiio_store_set_reader(struct mpiio_store *store, struct mpiio_reader *reader);

/*
 * For the reader: length bytes of the file itself at displacement, by pread(2), none ahead of them,
 * counted as the store's. How many there are, or a negative errno. Thread-safe.
 */
int64_t mpiio_store_read_file(struct mpiio_store *store, void *buffer, size_t length,
                              int64_t displacement);

#endif
