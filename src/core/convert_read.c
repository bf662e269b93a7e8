/* SPDX-License-Identifier: MIT */
#include "convert_read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * Bytes that are converted while they are in a core's cache. Measured, for swapped doubles in calls
 * of 1 MiB: 64 to 1024 KiB are alike.
 */
#define CHUNK ((size_t)256 << 10)

struct converted_read {
    struct mpiio_slice *slice;
    struct mpiio_read_result *fetched; /* bytes: those converted so far */
    struct mpiio_counters *done;
    bool stopped;
};

/* fetched tells what came of a part: the file's end, or an error, ends the whole. */
static void take(struct converted_read *reading, const struct mpiio_read_result *part,
                 size_t wanted)
{
    if (part->end < reading->fetched->end)
        reading->fetched->end = part->end;
    if (part->bytes < wanted) {
        reading->fetched->error = part->error;
        reading->stopped = true;
    }
}

static void fail(struct converted_read *reading, int error)
{
    reading->fetched->error = error;
    reading->stopped = true;
}

/* Whole elements, whose bytes are reordered where they are to be. */
static void in_place(struct converted_read *reading, int64_t offset, size_t length, void *buffer)
{
    struct mpiio_slice *slice = reading->slice;
    const struct mpiio_conversion *conversion = &slice->codec->conversions[0];
    struct mpiio_read_result part;
    size_t count;
    int error;

    mpiio_slice_read_positions(slice, offset, length, buffer, &part, reading->done);
    take(reading, &part, length);
    count = part.bytes / conversion->native;
    error = mpiio_to_native(conversion, buffer, buffer, count);
    if (error != 0)
        fail(reading, error);
    else
        reading->fetched->bytes += count * conversion->native;
}

/* The positions of the elements that hold a part of the slice. */
struct span {
    int64_t position;
    int64_t length;
};

static struct span span_of(const struct mpiio_codec *codec, int64_t offset, size_t length)
{
    struct span span;

    mpiio_codec_span(codec, offset, offset + (int64_t)length, &span.position, &span.length);
    return span;
}

/* As much of length bytes, an element at least, as fits into a chunk. */
static size_t fit(const struct mpiio_codec *codec, int64_t offset, size_t length, struct span *span)
{
    length = length < CHUNK ? length : CHUNK;
    *span = span_of(codec, offset, length);
    while (span->length > (int64_t)CHUNK) {
        struct mpiio_element middle;

        length = (length + 1) / 2;
        /* Not to convert an element twice. */
        middle = mpiio_codec_element(codec, offset + (int64_t)length);
        if (middle.offset > offset)
            length = (size_t)(middle.offset - offset);
        *span = span_of(codec, offset, length);
    }
    return length;
}

/* From memory of its own: the file's elements have other sizes, or are cut. */
static size_t apart(struct converted_read *reading, int64_t offset, size_t length, void *buffer)
{
    struct mpiio_slice *slice = reading->slice;
    struct mpiio_read_result part;
    struct span span;
    void *file;
    int error;

    length = fit(slice->codec, offset, length, &span);
    file = malloc((size_t)span.length);
    if (file == NULL) {
        fail(reading, -ENOMEM);
        return length;
    }
    mpiio_slice_read_positions(slice, span.position, (size_t)span.length, file, &part,
                               reading->done);
    take(reading, &part, (size_t)span.length);
    reading->fetched->bytes +=
        mpiio_codec_decode(slice->codec, offset, length, buffer, file, part.bytes, &error);
    if (error != 0)
        fail(reading, error);
    free(file);
    return length;
}

/* How many of length bytes, from offset on, are whole elements of a chunk; 0: an element is cut. */
static size_t whole(const struct mpiio_codec *codec, int64_t offset, size_t length)
{
    size_t native = codec->conversions[0].native;

    if (offset % (int64_t)native != 0)
        return 0;
    return (length < CHUNK ? length : CHUNK) / native * native;
}

/* To the end of the element that is cut. */
static size_t cut(const struct mpiio_codec *codec, int64_t offset, size_t length)
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
    struct mpiio_read_result fetched;

    mpiio_slice_read_positions(slice, element->position, conversion->file, file, &fetched, done);
    if (fetched.error != 0)
        return fetched.error;
    /* Behind the end the file is zeros to be. */
    memset((char *)file + fetched.bytes, 0, conversion->file - fetched.bytes);
    *readable = mpiio_to_native(conversion, native, file, 1) == 0;
    if (!*readable)
        memset(native, 0, conversion->native);
    return 0;
}

/* Whether a partial element is still what is to be seen: where it was stored, the file has it. */
static bool stands(void *argument, const struct mpiio_partial_element *partial)
{
    struct converted_read *reading = argument;
    struct mpiio_element element = mpiio_codec_element(reading->slice->codec, partial->offset);
    unsigned char native[MPIIO_ELEMENT_NATIVE];
    bool readable, same = false;
    void *file;

    if (!partial->stored)
        return true;
    file = malloc(element.conversion->file);
    if (file != NULL && mpiio_convert_read_element(reading->slice, &element, file, native,
                                                   &readable, reading->done) == 0)
        same = memcmp(native, partial->there, partial->native) == 0;
    free(file);
    return same;
}

void mpiio_convert_read(struct mpiio_slice *slice, int64_t offset, size_t length, void *buffer,
                        struct mpiio_read_result *fetched, struct mpiio_counters *done)
{
    const struct mpiio_codec *codec = slice->codec;
    struct converted_read reading = {.slice = slice, .fetched = fetched, .done = done};
    bool held = mpiio_partial_hold(&slice->partial);

    *fetched = (struct mpiio_read_result){.end = INT64_MAX};
    for (size_t have = 0; have < length && !reading.stopped;) {
        int64_t at = offset + (int64_t)have;
        size_t part = codec->plain ? whole(codec, at, length - have) : 0;

        if (part > 0)
            in_place(&reading, at, part, (char *)buffer + have);
        else
            part = apart(&reading, at, codec->plain ? cut(codec, at, length - have) : length - have,
                         (char *)buffer + have);
        have += part;
    }
    if (held) {
        mpiio_partial_overlay(&slice->partial, offset, fetched->bytes, buffer, stands, &reading);
        mpiio_partial_let(&slice->partial);
    }
}
