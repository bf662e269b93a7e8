/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_MEMBER_PLACE_H
#define MPIIO_MEMBER_PLACE_H

#include <stdint.h>

/* The location of a byte of an assembled file. */
struct mpiio_member_place {
    int64_t member;       /* -1: in a hole */
    int64_t displacement; /* in the member's file */
    int64_t length;       /* bytes from there on that are contiguous in both, or in the hole */
};

/* Two members whose paths name one file, by number, first < second. */
struct mpiio_member_twins {
    int64_t first, second;
};

#endif
