/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_SLICE_PRIVATE_H
#define MPIIO_SLICE_PRIVATE_H

#include "core/convert/codec.h"
#include "slice_access.h"
#include "spec.h"
#include "store_private.h"

/*
 * Partial elements: elements that are written piece by piece and whose bytes so far form no value
 * that the file can represent, or another value there. The written bytes are kept here until the
 * rest arrives. An element that has been stored, though not exactly, is never stored again. It
 * stays, visible and ready to be completed, as long as the file has what was stored. Offsets are
 * slice offsets. All functions are thread-safe.
 */
#define MPIIO_PARTIAL_MAX 4096

struct mpiio_partial_element {
    int64_t offset;
    uint32_t written; /* bit i: byte i was written */
    uint8_t native;   /* bytes of the element */
    bool stored;      /* not written to since it was stored */
    unsigned char bytes[MPIIO_ELEMENT_NATIVE];
    /* if stored: the native bytes that the file had after that */
    unsigned char there[MPIIO_ELEMENT_NATIVE];
};

/* In an empty table, everything is zero except the mutex, which is initialized. */
struct mpiio_partial {
    pthread_mutex_t lock;
    /* changed with lock held; read without it to see if there are any */
    atomic_size_t count;
    size_t room;                        /* of list; guarded by lock */
    struct mpiio_partial_element *list; /* by ascending offset; guarded by lock */
};

/* Finds the first element that begins at or after offset. Returns false if there is none. */
bool mpiio_partial_next(struct mpiio_partial *partial, int64_t offset,
                        struct mpiio_partial_element *element);

/* Adds an element, or replaces the one at its offset. Returns 0, or -ENOMEM, also if the table
   is full. */
int mpiio_partial_put(struct mpiio_partial *partial, const struct mpiio_partial_element *element);

/* Drops the elements that begin in [start, end). */
void mpiio_partial_drop(struct mpiio_partial *partial, int64_t start, int64_t end);

/* The internals of a slice, for the other sources of this directory only. */
struct mpiio_slice {
    struct mpiio_store *store; /* borrowed */
    struct vs_view *view;      /* one reference */
    uint64_t id;               /* for write-back */
    bool disjoint;             /* the view has no byte of the file twice: it may be written */
    int64_t limit;             /* slice offsets below it have a position */
    struct mpiio_codec *codec; /* NULL: slice offsets are positions, without conversion */
    struct mpiio_partial partial;
};

/* Replaces the range [*offset, *end) of slice offsets, which is not empty, by the positions of
   the elements that contain it. */
static inline void mpiio_slice_positions(const struct mpiio_slice *slice, int64_t *offset,
                                         int64_t *end)
{
    int64_t length;

    if (slice->codec == NULL)
        return;
    mpiio_codec_span(slice->codec, *offset, *end, offset, &length);
    *end = *offset + length;
}

/* Returns a transfer of packed bytes of the slice from position, or slice offset, on. */
static inline struct mpiio_transfer mpiio_slice_transfer(const struct mpiio_slice *slice,
                                                         int64_t position, size_t length,
                                                         const void *buffer,
                                                         struct mpiio_counters *done)
{
    return (struct mpiio_transfer){.map = vs_view_map(slice->view),
                                   .position = position,
                                   .length = length,
                                   .buffer = (char *)buffer,
                                   .done = done,
                                   .writer = slice->id};
}

/*
 * Gaps of a slice, from the buftype of its view (viewspec(5)): zeros that are not in the file. The
 * file's bytes are read and written packed, by packed offsets (vs_view_gaps). These functions move
 * them to their slice offsets and back. All functions are local and thread-safe, for views with
 * gaps only. Ranges are slice offsets below the end of the last tile.
 */

/*
 * Spreads packed bytes. The packed bytes [start, start + count) are at the end of a buffer of
 * length bytes, for the slice from offset on. Moves them to their positions and clears the gaps.
 */
void mpiio_gaps_spread(const struct vs_view *view, int64_t offset, size_t length, int64_t start,
                       size_t count, char *buffer);

/* The inverse: copies the packed bytes [start, start + count) from a buffer to packed. */
void mpiio_gaps_collect(const struct vs_view *view, int64_t offset, const char *buffer,
                        int64_t start, size_t count, char *packed);

/* Returns true if all gaps of the buffer, which has length bytes of the slice beginning at offset,
   are zeros. */
bool mpiio_gaps_are_clear(const struct vs_view *view, int64_t offset, size_t length,
                          const char *buffer);

/*
 * Reads a transfer of slice offsets, which lie below the slice's limit, and converts the bytes to
 * native: mpiio_read_runs for slices that have a codec. While the slice has partial elements, a
 * lock excludes threads that store them. Otherwise no lock is held during I/O. Local, thread-safe.
 */
void mpiio_convert_read(struct mpiio_slice *slice, struct mpiio_transfer *transfer);

/*
 * Reads one element of the file into file, with zeros after the file's end, and converts it into
 * native. If it cannot be converted, sets *readable to false and native to zeros. Returns 0 or a
 * negative errno. Uses no partial element and takes no lock. Local, thread-safe.
 */
int mpiio_convert_read_element(struct mpiio_slice *slice, const struct mpiio_element *element,
                               void *file, unsigned char *native, bool *readable,
                               struct mpiio_counters *done);

/*
 * Converts native bytes and stores them: mpiio_write_runs for slices that have a codec.
 *
 * If the bytes of an element are only reordered, each native byte is stored separately. So parts of
 * elements are stored as they arrive. An element of another kind that is written in part is read,
 * changed and written back, one at a time. A lock excludes writers of whole elements through this
 * or another store, and programs that use fcntl(2) locks. The element bypasses write-back, unless
 * bytes of it are dirty there (cache.h), because other stores may change other parts of it. An
 * element without a value in the file yet is kept with the slice's partial elements until it has
 * one.
 *
 * No thread waits for room or for a flush while it holds one of these locks. A flush may need the
 * same lock, because MPI-IO locks the bytes that it writes on some filesystems.
 */

/*
 * Writes a transfer of slice offsets, which lie below the slice's limit, like mpiio_write_runs. Its
 * bytes count written and kept ones. A call of up to MPIIO_CONVERT_WRITE_WHOLE bytes converts all
 * whole elements before it stores the first. If one cannot be converted, the file does not change.
 * Local, thread-safe.
 */
#define MPIIO_CONVERT_WRITE_WHOLE (4 << 20)

void mpiio_convert_write(struct mpiio_slice *slice, struct mpiio_transfer *transfer);

/*
 * Stores a partial element, with the file's bytes where none were written, if it then has a value
 * in the file. Drops the element if it reads back exactly, or if last. Returns 0 or a negative
 * errno. Local, thread-safe.
 */
int mpiio_convert_write_partial(struct mpiio_slice *slice,
                                const struct mpiio_partial_element *partial, bool last,
                                struct mpiio_counters *done);

#endif
