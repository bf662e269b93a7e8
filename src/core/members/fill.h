/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_FILL_H
#define MPIIO_FILL_H

#include <stdbool.h>
#include <stddef.h>

#include "viewspec/members/missing.h"

/* The values that holes of an assembled file read as. Immutable once made; zeroed there are none,
   and holes read as zeros. */
struct mpiio_fills {
    struct vs_fill *list; /* owned */
    size_t count;
};

/*
 * Writes to buffer the values of the holes that length bytes of the file from displacement at are.
 * Thread-safe.
 */
void mpiio_fill(const struct mpiio_fills *fills, void *buffer, int64_t at, size_t length);

/* Returns true if some hole may read as something else than zeros. */
bool mpiio_fills_any(const struct mpiio_fills *fills);

#endif
