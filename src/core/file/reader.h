/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_READER_H
#define MPIIO_READER_H

#include "source.h"

/*
 * A source that may have bytes of the file in memory, so that the file need not be read. It is the
 * first member of the source's own structure.
 */
struct mpiio_reader {
    /*
     * Copies a transfer's bytes to its buffer and returns true. They are the bytes of the file at
     * some moment after the call began, or at an earlier one. In that case the file's times and
     * length show no change since. Returns false if it lacks some of them; the buffer may then hold
     * anything, and the file is read. Thread-safe.
     */
    bool (*read)(struct mpiio_reader *reader, const struct mpiio_transfer *transfer);
};

#endif
