/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_FILL_H
#define MPIIO_FILL_H

#include <stdbool.h>
#include <stddef.h>

#include "viewspec/members/members.h"

/* The values that holes of an assembled file read as. Immutable once made. If the struct is zeroed,
   holes read as zeros. */
struct mpiio_fills {
    struct vs_fill *list; /* owned */
    size_t count;
};

/*
 * Fills buffer with the values that length bytes of the file from displacement at read as if they
 * are holes. Thread-safe.
 */
void mpiio_fill(const struct mpiio_fills *fills, void *buffer, int64_t at, size_t length);

/* Returns true if a hole may read as a value other than zero. */
bool mpiio_fills_any(const struct mpiio_fills *fills);

#endif
