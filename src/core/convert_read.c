/* SPDX-License-Identifier: MIT */
#include "slice_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/thread.h"
#include "viewspec/base/integer.h"
#include "viewspec/base/list.h"

/* Partial elements, and reading elements of the file and converting them to native. */

/* Partial elements of a slice: a table by offset. */

/*
 * Returns true if there are elements, and locks them; the caller unlocks them. A reader locks them
 * from before the file is read until they are overlaid on the result: an element that is stored in
 * between would be missing from both.
 */
static bool hold_partial(struct mpiio_partial *partial)
{
    if (atomic_load(&partial->count) == 0)
        return false;
    pthread_mutex_lock(&partial->lock);
    return true;
}

/* Returns the index of the first element at or after offset. With the lock held. */
static size_t find_element(const struct mpiio_partial *partial, int64_t offset)
{
    assert(mpiio_is_held(&partial->lock));
    return (size_t)VS_FIRST(i, 0, (int64_t)partial->count, partial->list[i].offset >= offset);
}

bool mpiio_partial_next(struct mpiio_partial *partial, int64_t offset,
                        struct mpiio_partial_element *element)
{
    bool found;
    size_t i;

    if (!hold_partial(partial))
        return false;
    i = find_element(partial, offset);
    found = i < partial->count;
    if (found)
        *element = partial->list[i];
    pthread_mutex_unlock(&partial->lock);
    return found;
}

int mpiio_partial_put(struct mpiio_partial *partial, const struct mpiio_partial_element *element)
{
    int error = 0;
    size_t i;

    pthread_mutex_lock(&partial->lock);
    i = find_element(partial, element->offset);
    if (i == partial->count || partial->list[i].offset != element->offset) {
        if (partial->count == MPIIO_PARTIAL_MAX ||
            !VS_LIST_ROOM(partial->list, partial->count, partial->room)) {
            error = -ENOMEM;
        } else {
            memmove(partial->list + i + 1, partial->list + i,
                    (partial->count - i) * sizeof(*partial->list));
            partial->count++;
        }
    }
    if (error == 0)
        partial->list[i] = *element;
    pthread_mutex_unlock(&partial->lock);
    return error;
}

void mpiio_partial_drop(struct mpiio_partial *partial, int64_t start, int64_t end)
{
    size_t first, behind;

    assert(start <= end);
    if (!hold_partial(partial))
        return;
    first = find_element(partial, start);
    behind = find_element(partial, end);
    memmove(partial->list + first, partial->list + behind,
            (partial->count - behind) * sizeof(*partial->list));
    partial->count -= behind - first;
    pthread_mutex_unlock(&partial->lock);
}

/* Reading. */

/*
 * The bytes that are converted at once, while they are in a core's cache. Measured for swapped
 * doubles in calls of 1 MiB: sizes from 64 to 1024 KiB perform alike.
 */
#define CHUNK ((size_t)256 << 10)

struct converted_read {
    struct mpiio_slice *slice;
    struct mpiio_transfer *transfer; /* by slice offsets; bytes: number converted so far */
    bool stopped;
};

static void fail_read(struct converted_read *reading, int error)
{
    reading->transfer->error = error;
    reading->stopped = true;
}

/* Reads length positions. The file's end, or an error, also ends the whole transfer. */
static size_t read_part(struct converted_read *reading, int64_t position, size_t length,
                        void *buffer)
{
    struct mpiio_transfer *whole = reading->transfer;
    struct mpiio_transfer part =
        mpiio_slice_transfer(reading->slice, position, length, buffer, whole->done);

    mpiio_store_read(reading->slice->store, &part);
    if (part.end < whole->end)
        whole->end = part.end;
    if (part.bytes < length)
        fail_read(reading, part.error);
    return part.bytes;
}

/* Reads whole elements, and reorders their bytes in place. */
static void in_place(struct converted_read *reading, int64_t offset, size_t length, void *buffer)
{
    const struct mpiio_conversion *conversion = &reading->slice->codec->conversions[0];
    size_t count = read_part(reading, offset, length, buffer) / conversion->native;
    int error = mpiio_to_native(conversion, buffer, buffer, count);

    if (error != 0)
        fail_read(reading, error);
    else
        reading->transfer->bytes += count * conversion->native;
}

/* Returns the number of bytes, at most length, whose elements fit into a chunk; at least one
   element. Sets *position and *span to the positions of these elements. */
static size_t elements_fit(const struct mpiio_codec *codec, int64_t offset, size_t length,
                           int64_t *position, int64_t *span)
{
    length = length < CHUNK ? length : CHUNK;
    mpiio_codec_span(codec, offset, offset + (int64_t)length, position, span);
    while (*span > (int64_t)CHUNK) {
        struct mpiio_element middle;

        length = (length + 1) / 2;
        /* Avoids converting an element twice. */
        middle = mpiio_codec_element(codec, offset + (int64_t)length);
        if (middle.offset > offset)
            length = (size_t)(middle.offset - offset);
        mpiio_codec_span(codec, offset, offset + (int64_t)length, position, span);
    }
    return length;
}

/* Converts from separate memory, because the file's elements have other sizes, or are partial. */
static size_t elements_apart(struct converted_read *reading, int64_t offset, size_t length,
                             void *buffer)
{
    const struct mpiio_codec *codec = reading->slice->codec;
    int64_t position, span;
    size_t bytes;
    void *file;
    int error;

    length = elements_fit(codec, offset, length, &position, &span);
    file = malloc((size_t)span);
    if (file == NULL) {
        fail_read(reading, -ENOMEM);
        return length;
    }
    bytes = read_part(reading, position, (size_t)span, file);
    reading->transfer->bytes +=
        mpiio_codec_decode(codec, offset, length, buffer, file, bytes, &error);
    if (error != 0)
        fail_read(reading, error);
    free(file);
    return length;
}

/* Returns how many of length bytes from offset form whole elements that fit into a chunk; 0 if
   the first element is partial. */
static size_t whole_elements(const struct mpiio_codec *codec, int64_t offset, size_t length)
{
    size_t native = codec->conversions[0].native;

    if (offset % (int64_t)native != 0)
        return 0;
    return (length < CHUNK ? length : CHUNK) / native * native;
}

/* Returns the number of bytes to the end of the partial element. */
static size_t cut_element(const struct mpiio_codec *codec, int64_t offset, size_t length)
{
    size_t native = codec->conversions[0].native;
    size_t rest = native - (size_t)(offset % (int64_t)native);

    return rest < length ? rest : length;
}

int mpiio_convert_read_element(struct mpiio_slice *slice, const struct mpiio_element *element,
                               void *file, unsigned char *native, bool *readable,
                               struct mpiio_counters *done)
{
    const struct mpiio_conversion *conversion = element->conversion;
    struct mpiio_transfer transfer =
        mpiio_slice_transfer(slice, element->position, conversion->file, file, done);

    mpiio_store_read(slice->store, &transfer);
    if (transfer.error != 0)
        return transfer.error;
    /* Bytes after the end of the file will be zeros. */
    memset((char *)file + transfer.bytes, 0, conversion->file - transfer.bytes);
    *readable = mpiio_to_native(conversion, native, file, 1) == 0;
    if (!*readable)
        memset(native, 0, conversion->native);
    return 0;
}

/* Returns true if a partial element must still be shown. If it is stored and the file has
   changed since, the file's element counts. */
static bool partial_stands(const struct converted_read *reading,
                           const struct mpiio_partial_element *partial)
{
    struct mpiio_element element = mpiio_codec_element(reading->slice->codec, partial->offset);
    unsigned char native[MPIIO_ELEMENT_NATIVE];
    bool readable, same = false;
    void *file;

    if (!partial->stored)
        return true;
    file = malloc(element.conversion->file);
    if (file != NULL && mpiio_convert_read_element(reading->slice, &element, file, native,
                                                   &readable, reading->transfer->done) == 0)
        same = memcmp(native, partial->there, partial->native) == 0;
    free(file);
    return same;
}

/* Overlays partial elements that stand on a transfer's bytes. With the elements locked. */
static void overlay_partial(const struct converted_read *reading)
{
    const struct mpiio_partial *partial = &reading->slice->partial;
    const struct mpiio_transfer *transfer = reading->transfer;
    int64_t offset = transfer->position, length = (int64_t)transfer->bytes;

    for (size_t i = find_element(partial, offset - MPIIO_ELEMENT_NATIVE); i < partial->count; i++) {
        const struct mpiio_partial_element *element = &partial->list[i];
        int64_t skew = element->offset - offset;

        if (skew >= length)
            break;
        if (skew + element->native <= 0 || !partial_stands(reading, element))
            continue;
        for (int64_t j = 0; j < element->native; j++)
            if ((element->written >> j & 1) && skew + j >= 0 && skew + j < length)
                transfer->buffer[skew + j] = (char)element->bytes[j];
    }
}

void mpiio_convert_read(struct mpiio_slice *slice, struct mpiio_transfer *transfer)
{
    const struct mpiio_codec *codec = slice->codec;
    struct converted_read reading = {.slice = slice, .transfer = transfer};
    bool held = hold_partial(&slice->partial);

    transfer->bytes = 0;
    transfer->error = 0;
    transfer->end = INT64_MAX;
    for (size_t have = 0; have < transfer->length && !reading.stopped;) {
        int64_t at = transfer->position + (int64_t)have;
        size_t rest = transfer->length - have;
        size_t part = codec->plain ? whole_elements(codec, at, rest) : 0;

        if (part > 0)
            in_place(&reading, at, part, transfer->buffer + have);
        else
            part = elements_apart(&reading, at, codec->plain ? cut_element(codec, at, rest) : rest,
                                  transfer->buffer + have);
        have += part;
    }
    if (held) {
        overlay_partial(&reading);
        pthread_mutex_unlock(&slice->partial.lock);
    }
}
