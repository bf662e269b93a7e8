/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_RANGE_H
#define MPIIO_RANGE_H

#include <stdint.h>

/* A part of an image of the file: bytes [start, start + length) of it, length > 0. */
struct mpiio_range {
    int64_t start;
    int64_t length;
};

#endif
