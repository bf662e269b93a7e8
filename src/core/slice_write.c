/* SPDX-License-Identifier: MIT */
#include "slice_access.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "viewspec/base/integer.h"
#include "viewspec/element.h"
#include "slice_private.h"

/* Writing slices, and extending their file. */

/* Gaps of the file up to this size are allocated together with their surroundings, because a
   separate call costs more. */
#define SMALL_GAP (64 << 10)

/* The number of bytes between gaps that are collected and written at once. */
#define CHUNK ((int64_t)1 << 20)

/* The number of bytes of the file that are allocated in one call. */
#define LONG_SPAN ((int64_t)1 << 30)

/* The maximum number of runs that are allocated one by one if they do not ascend: about a
   second's work. */
#define MAX_BATCHES ((int64_t)16 << 20)

/*
 * Returns the smallest size of the file with which the slice has at least bytes > 0 packed bytes.
 * It reaches the end of the etype that contains the last one. Returns -EFBIG if there is none.
 */
static int64_t needed_size(const struct mpiio_slice *slice, int64_t bytes)
{
    const struct vs_map *map = vs_view_map(slice->view);
    const struct vs_map_facts *facts = vs_map_facts(map);
    const struct vs_view_facts *view = vs_view_facts(slice->view);
    int64_t last;

    if (bytes > slice->limit)
        return -EFBIG;
    /* The limit is a multiple of the etype. */
    last = (bytes - 1) / view->etype_size * view->etype_file_size + (view->etype_file_size - 1);
    if (facts->disjoint && facts->monotonic) {
        int64_t displacement = vs_map_displacement(map, last);

        return displacement < 0 || displacement == INT64_MAX ? -EFBIG : displacement + 1;
    }
    /* Earlier bytes may lie after the last one, so the size of the slice decides. */
    if (vs_view_positions(slice->view, INT64_MAX) <= last)
        return -EFBIG;
    return VS_FIRST(size, 0, INT64_MAX, vs_view_positions(slice->view, size) > last);
}

/*
 * Extends the file to the end of the last etype after bytes of the slice were written up to end, so
 * that they can be read back. Returns how many of the bytes from offset on can be, or a negative
 * errno if none can.
 */
static int64_t complete_write(struct mpiio_slice *slice, int64_t offset, int64_t end)
{
    int64_t etype = vs_view_facts(slice->view)->etype_size;
    /* A part of a converted element may end before its last byte in the file. */
    bool whole = end % etype == 0 &&
                 (slice->codec == NULL || (end - offset >= etype && slice->partial.count == 0));
    const struct vs_map_facts *facts = vs_map_facts(vs_view_map(slice->view));
    int64_t needed, size, shown;
    int error;

    if (whole && facts->disjoint && facts->monotonic)
        return end - offset;
    size = mpiio_store_size(slice->store);
    if (size >= 0 && vs_view_packed_size(slice->view, size) >= end)
        return end - offset;
    needed = needed_size(slice, end);
    if (needed < 0 || size < 0)
        return needed < 0 ? needed : size;
    if (size >= needed)
        return end - offset;
    error = slice->store->file->ops->grow(slice->store->file, needed);
    if (error == 0)
        return end - offset;
    size = mpiio_store_size(slice->store);
    shown = size < 0 ? size : vs_view_packed_size(slice->view, size);
    if (shown > end)
        shown = end;
    return shown > offset ? shown - offset : error;
}

/*
 * Shortens a transfer to the bytes that exist in a file of fixed length, because a cache must not
 * keep bytes that can never be stored. Returns 0, or a negative errno if none exist.
 */
static int admit_write(struct mpiio_slice *slice, struct mpiio_transfer *transfer)
{
    int64_t offset = transfer->position, start = offset;
    int64_t end = offset + (int64_t)transfer->length, size = mpiio_store_size(slice->store);
    struct mpiio_transfer places = *transfer;

    size = size < 0 ? size : vs_view_packed_size(slice->view, size);
    if (offset >= size)
        return size < 0 ? (int)size : -EFBIG;
    end = end < size ? end : size;
    transfer->length = (size_t)(end - offset);
    mpiio_slice_positions(slice, &start, &end);
    places.position = start;
    places.length = (size_t)(end - start);
    slice->store->file->ops->admit(slice->store->file, &places);
    if (places.bytes == places.length)
        return 0;
    /* Stop before the element that does not exist as a whole. */
    end = vs_elements_offset(slice->view, start + (int64_t)places.bytes);
    transfer->length = end > offset ? (size_t)(end - offset) : 0;
    return transfer->length > 0 ? 0 : places.error;
}

/* Writes a transfer whose positions are packed offsets (vs_view_gaps). Inline, because each call
   between a request and the copy takes time. */
static inline ssize_t write_packed(struct mpiio_slice *slice, struct mpiio_transfer *transfer)
{
    int64_t offset = transfer->position;

    if (offset >= slice->limit)
        return -EFBIG;
    if ((int64_t)transfer->length > slice->limit - offset)
        transfer->length = (size_t)(slice->limit - offset);
    if (mpiio_file_is_fixed(slice->store->file)) {
        int error = admit_write(slice, transfer);

        if (error != 0)
            return error;
    }
    if (slice->codec != NULL)
        mpiio_convert_write(slice, transfer);
    else
        mpiio_store_write(slice->store, transfer);
    return transfer->bytes == 0 ? transfer->error
                                : complete_write(slice, offset, offset + (int64_t)transfer->bytes);
}

/* Returns how many of the packed bytes [start, end) are written in one call: whole etypes, if there
   are any. */
static int64_t chunk_of(const struct mpiio_slice *slice, int64_t start, int64_t end)
{
    int64_t etype = vs_view_facts(slice->view)->etype_size;

    if (end - start <= CHUNK)
        return end - start;
    return CHUNK > etype ? CHUNK - (start + CHUNK) % etype : CHUNK;
}

/* Collects the bytes that belong in the file, and writes them. Gaps stay zeros. */
static ssize_t write_with_gaps(struct mpiio_slice *slice, const struct mpiio_transfer *transfer)
{
    const struct vs_view *view = slice->view;
    int64_t offset = transfer->position, behind = vs_view_end(view, slice->limit), start, at, end;
    size_t length = transfer->length;
    ssize_t put = 0;
    char *packed;

    if (offset >= behind)
        return -EFBIG;
    if ((int64_t)length > behind - offset)
        length = (size_t)(behind - offset);
    if (!mpiio_gaps_are_clear(view, offset, length, transfer->buffer))
        return -EPERM;
    start = at = vs_view_packed(view, offset);
    end = vs_view_packed(view, offset + (int64_t)length);
    packed = malloc((size_t)(end - start < CHUNK ? end - start : CHUNK) + 1);
    if (packed == NULL)
        return -ENOMEM;
    while (at < end) {
        struct mpiio_transfer part = *transfer;
        int64_t count = chunk_of(slice, at, end);

        mpiio_gaps_collect(view, offset, transfer->buffer, at, (size_t)count, packed);
        part.position = at;
        part.length = (size_t)count;
        part.buffer = packed;
        put = write_packed(slice, &part);
        at += put > 0 ? put : 0;
        if (put < count)
            break;
    }
    free(packed);
    if (at == end)
        return (ssize_t)length;
    return at > start ? vs_view_offset(view, at) - offset : put;
}

static ssize_t write_range(struct mpiio_slice *slice, struct mpiio_transfer *transfer)
{
    if (!slice->store->file->writable)
        return -EBADF;
    if (transfer->position < 0 || !slice->disjoint)
        return -EINVAL;
    if (transfer->length == 0)
        return 0;
    if (transfer->length > SSIZE_MAX)
        transfer->length = SSIZE_MAX;
    return vs_view_gaps(slice->view) != NULL ? write_with_gaps(slice, transfer)
                                             : write_packed(slice, transfer);
}

ssize_t mpiio_slice_write_in(struct mpiio_slice *slice, const void *buffer, size_t length,
                             int64_t offset, const struct mpiio_access *access)
{
    struct mpiio_counters done = {.slice_writes = 1};
    struct mpiio_transfer transfer = mpiio_slice_transfer(slice, offset, length, buffer, &done);
    ssize_t bytes;

    transfer.locked = access != NULL;
    bytes = write_range(slice, &transfer);
    if (bytes > 0)
        done.slice_write_bytes = (uint64_t)bytes;
    mpiio_file_count(slice->store->file, &done);
    return bytes;
}

ssize_t mpiio_slice_append_in(struct mpiio_slice *slice, const void *buffer, size_t length,
                              int64_t *offset, const struct mpiio_access *access)
{
    ssize_t bytes;

    pthread_mutex_lock(&slice->store->append_lock);
    *offset = mpiio_slice_size(slice);
    bytes = *offset < 0 ? *offset : mpiio_slice_write_in(slice, buffer, length, *offset, access);
    pthread_mutex_unlock(&slice->store->append_lock);
    return bytes;
}

ssize_t mpiio_slice_write(struct mpiio_slice *slice, const void *buffer, size_t length,
                          int64_t offset)
{
    return mpiio_slice_write_in(slice, buffer, length, offset, NULL);
}

ssize_t mpiio_slice_append(struct mpiio_slice *slice, const void *buffer, size_t length,
                           int64_t *offset)
{
    return mpiio_slice_append_in(slice, buffer, length, offset, NULL);
}

/* Returns the number of packed bytes in a slice of at least size > 0 bytes. */
static int64_t packed_end(const struct mpiio_slice *slice, int64_t size)
{
    int64_t packed = vs_view_packed(slice->view, size);

    return vs_view_end(slice->view, packed) < size ? packed + 1 : packed;
}

int mpiio_slice_resize(struct mpiio_slice *slice, int64_t size)
{
    int64_t present, needed;

    if (!slice->store->file->writable)
        return -EBADF;
    present = mpiio_slice_size(slice);
    if (present < 0)
        return (int)present;
    if (size == present)
        return 0;
    if (size < present)
        return size < 0 ? -EINVAL : -EPERM;
    needed = needed_size(slice, packed_end(slice, size));
    return needed < 0 ? (int)needed : slice->store->file->ops->grow(slice->store->file, needed);
}

/* A range of the file to be allocated, built up from runs that lie near each other. */
struct span {
    int64_t start;
    int64_t end; /* 0: nothing yet */
};

static int allocate_span(struct mpiio_file *file, const struct span *span)
{
    return span->end == 0 ? 0 : file->ops->allocate(file, span->start, span->end - span->start);
}

/* Adds [start, end) to span if it is near. Otherwise allocates the span and begins a new one. Also
   allocates it once it is long, so that a full disk is reported soon. */
static int add_to_span(struct mpiio_file *file, struct span *span, int64_t start, int64_t end)
{
    int error = 0;

    if (span->end != 0 && start <= span->end + SMALL_GAP && end >= span->start - SMALL_GAP) {
        span->start = start < span->start ? start : span->start;
        span->end = end > span->end ? end : span->end;
    } else {
        error = allocate_span(file, span);
        *span = (struct span){.start = start, .end = end};
    }
    if (error == 0 && span->end - span->start >= LONG_SPAN) {
        error = allocate_span(file, span);
        *span = (struct span){0};
    }
    return error;
}

static int allocate_batch(struct mpiio_file *file, struct span *span, const struct vs_batch *batch)
{
    int64_t start = batch->displacement;
    int error = 0;

    if (batch->stride >= 0 && batch->stride - batch->length <= SMALL_GAP)
        return add_to_span(file, span, start,
                           start + (batch->count - 1) * batch->stride + batch->length);
    for (int64_t i = 0; i < batch->count && error == 0; i++)
        error = add_to_span(file, span, start + i * batch->stride,
                            start + i * batch->stride + batch->length);
    return error;
}

/*
 * Adds positions from *position on whose displacements ascend: a whole batch or, if runs are short
 * and near each other, all that lie within SMALL_GAP.
 */
static int reserve_ascending(struct mpiio_file *file, struct span *span, const struct vs_map *map,
                             int64_t *position, int64_t end)
{
    int64_t start, behind;
    struct vs_cursor cursor;
    struct vs_batch batch;

    vs_cursor_start(&cursor, map, *position, end - *position);
    if (!vs_cursor_batch(&cursor, &batch))
        return -EFBIG;
    start = batch.displacement;
    if (batch.length + (batch.count - 1) * batch.stride >= SMALL_GAP) {
        *position += batch.length * batch.count;
        return allocate_batch(file, span, &batch);
    }
    behind = start > INT64_MAX - SMALL_GAP ? end : vs_map_lower_bound(map, start + SMALL_GAP);
    *position = behind < end ? behind : end;
    return add_to_span(file, span, start, vs_map_displacement(map, *position - 1) + 1);
}

static int reserve_space(struct mpiio_slice *slice, int64_t position, int64_t end)
{
    const struct vs_map *map = vs_view_map(slice->view);
    const struct vs_map_facts *facts = vs_map_facts(map);
    bool ascends = facts->monotonic && facts->disjoint;
    struct span span = {0};
    struct vs_cursor cursor;
    struct vs_batch batch;
    int64_t batches = 0;
    int error = 0;

    vs_cursor_start(&cursor, map, position, end - position);
    while (error == 0 && (ascends ? position < end : vs_cursor_batch(&cursor, &batch))) {
        if (ascends)
            error = reserve_ascending(slice->store->file, &span, map, &position, end);
        else
            error = ++batches > MAX_BATCHES ? -EFBIG
                                            : allocate_batch(slice->store->file, &span, &batch);
    }
    return error != 0 ? error : allocate_span(slice->store->file, &span);
}

int mpiio_slice_reserve(struct mpiio_slice *slice, int64_t offset, int64_t length)
{
    int64_t end, needed, size;
    int error = 0;

    if (!slice->store->file->writable)
        return -EBADF;
    if (offset < 0 || length <= 0)
        return -EINVAL;
    if (__builtin_add_overflow(offset, length, &end))
        return -EFBIG;
    offset = vs_view_packed(slice->view, offset);
    end = packed_end(slice, end);
    needed = needed_size(slice, end);
    if (needed < 0)
        return (int)needed;
    if (offset < end) {
        mpiio_slice_positions(slice, &offset, &end);
        error = reserve_space(slice, offset, end);
    }
    if (error != 0)
        return error;
    size = mpiio_store_size(slice->store);
    if (size < 0 || size >= needed)
        return size < 0 ? (int)size : 0;
    return slice->store->file->ops->grow(slice->store->file, needed);
}

bool mpiio_slice_is_torn(const struct mpiio_slice *slice)
{
    return slice->partial.count > 0;
}

int mpiio_slice_settle(struct mpiio_slice *slice, bool last, int64_t *offset, int64_t *length)
{
    struct mpiio_counters done = {0};
    struct mpiio_partial_element partial = {.offset = -1};
    int error = 0;

    while (!(last && error != 0) &&
           mpiio_partial_next(&slice->partial, partial.offset + 1, &partial)) {
        int now = mpiio_convert_write_partial(slice, &partial, last, &done);

        if (now != 0 && error == 0) {
            error = now;
            *offset = vs_view_offset(slice->view, partial.offset);
            *length = partial.native;
        }
    }
    mpiio_file_count(slice->store->file, &done);
    return error;
}
