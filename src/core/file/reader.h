/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_READER_H
#define MPIIO_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "viewspec/map.h"

/*
 * Who may have bytes of the file at hand, so that the file need not be read: the first member of a
 * structure of its own.
 */
struct mpiio_reader {
    /*
     * Puts the bytes at positions [position, position + length) of map into buffer: true. They are
     * what the file had at some moment after the call began, or what its times and its length
     * showed no change of since. False: it has not all of them, buffer may hold anything, and the
     * file is read. Thread-safe.
     */
    bool (*read)(struct mpiio_reader *reader, const struct vs_map *map, int64_t position,
                 size_t length, void *buffer);
};

#endif
