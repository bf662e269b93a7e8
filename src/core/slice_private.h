/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_SLICE_PRIVATE_H
#define MPIIO_SLICE_PRIVATE_H

#include <stdbool.h>

#include "slice.h"

/*
 * What is inside a slice: for the other files of this folder only. Slice offset and position are
 * the same number here: only identical views are accepted.
 */
struct mpiio_slice {
    struct mpiio_store *store; /* borrowed */
    struct vs_view *view;      /* one reference */
    bool disjoint;             /* no byte of the file is held twice: it may be written */
};

#endif
