/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_READER_H
#define MPIIO_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "viewspec/map.h"

/*
 * A source that may have bytes of the file in memory, so that the file need not be read. It is the
 * first member of the source's own structure.
 */
struct mpiio_reader {
    /*
     * Copies the bytes at positions [position, position + length) of map to buffer and returns
     * true. They are the bytes of the file at some moment after the call began, or at an earlier
     * one if its times and length show no change since. Returns false if it lacks some of them;
     * buffer may then hold anything, and the file is read. Thread-safe.
     */
    bool (*read)(struct mpiio_reader *reader, const struct vs_map *map, int64_t position,
                 size_t length, void *buffer);
};

#endif
