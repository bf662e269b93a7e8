/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_SOURCE_H
#define MPIIO_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/counters.h"
#include "viewspec/map.h"

/* A part of an image of the file: its bytes [start, start + length), length > 0. */
struct mpiio_range {
    int64_t start;
    int64_t length;
};

/* The ways in which write-back treats a write (cache.h). The file treats all alike. */
enum mpiio_put {
    MPIIO_PUT_WAIT,   /* waits for room */
    MPIIO_PUT_NOW,    /* never waits, because the caller holds locks of the file */
    MPIIO_PUT_MERGED, /* never waits, for an element that was read and changed in part */
};

/*
 * A request on its way down the layers of the data path, and its result on the way back. It belongs
 * to one call, and so to one thread.
 */
struct mpiio_transfer {
    const struct vs_map *map;
    int64_t position;            /* the bytes at positions [position, position + length) of map */
    size_t length;               /* > 0; all positions lie below the map's limit */
    char *buffer;                /* their packed bytes; a write only reads them */
    struct mpiio_counters *done; /* the caller's own; each layer adds to them */
    uint64_t writer;             /* of a write: the slice that gets errors of write-back */
    enum mpiio_put put;          /* of a write */
    bool locked; /* of a write: an access (atomic mode) has already locked the elements */
    const struct mpiio_range *ranges; /* instead of a map (file.h): parts of buffer, whose
                                         byte 0 belongs at displacement position */
    size_t count;                     /* of ranges */

    /* Results. */
    size_t bytes; /* number of packed bytes moved, from the first on without a gap */
    int error;    /* why bytes < length: a negative errno; 0: end of file, or unknown */
    int64_t end;  /* of a read: lowest displacement at which the file was seen to end; INT64_MAX:
                     none */
};

/* Removes the first bytes from a transfer. */
static inline void mpiio_transfer_pass(struct mpiio_transfer *transfer, size_t bytes)
{
    transfer->position += (int64_t)bytes;
    transfer->buffer += bytes;
    transfer->length -= bytes;
}

/*
 * A layer of the data path: the shared file (file.h), or write-back over it (cache.h). It is the
 * first member of the layer's own structure. Callers use the uppermost layer, and each layer calls
 * the next one. All functions are thread-safe.
 */
struct mpiio_source {
    const struct mpiio_source_ops *ops;
};

struct mpiio_source_ops {
    /* Like mpiio_read_runs and mpiio_write_runs (file.h). */
    void (*read_runs)(struct mpiio_source *source, struct mpiio_transfer *transfer);
    void (*write_runs)(struct mpiio_source *source, struct mpiio_transfer *transfer);

    /* Returns the current size in bytes, or a negative errno. */
    int64_t (*size)(struct mpiio_source *source);

    /* Finds data or a hole, like lseek(2). Returns a displacement or a negative errno, -EINVAL
       if it cannot distinguish them. */
    int64_t (*seek)(struct mpiio_source *source, int64_t displacement, int whence);

    /* Waits after an error of a write that does not wait itself (mpiio_cache_await). NULL: never.
     */
    int (*await)(struct mpiio_source *source, int error);
};

/*
 * A source that may have bytes of the file in memory, so that the file need not be read. It is the
 * first member of the source's own structure.
 */
struct mpiio_reader {
    /*
     * Copies a transfer's bytes to its buffer and returns true. They are the bytes of the file at
     * some time after the call began, or at an earlier time since which the file's times and length
     * have not changed. Returns false if it lacks some of them. Then the contents of the buffer are
     * undefined, and the caller reads the file. Thread-safe.
     */
    bool (*read)(struct mpiio_reader *reader, const struct mpiio_transfer *transfer);
};

#endif
