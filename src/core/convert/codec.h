/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_CODEC_H
#define MPIIO_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/conversion.h"
#include "viewspec/element.h"

/*
 * How the slice of a view is converted: which slice offset lies at which position, and memory of
 * whole elements from the one to the other. No I/O. A codec is immutable; all functions are local
 * and thread-safe.
 */

/* The most native bytes of an element, and the most in the file. */
#define MPIIO_ELEMENT_NATIVE 32
#define MPIIO_ELEMENT_FILE   (64 << 10)

struct mpiio_codec {
    const struct vs_view *view; /* borrowed */
    /*
     * All elements are of one type, and their bytes are only reordered: slice offsets are
     * positions, conversions never fail, and may be done in place.
     */
    bool plain;
    bool uniform;                          /* all elements are of one type */
    int64_t limit;                         /* slice offsets below it have a position */
    struct mpiio_conversion conversions[]; /* one if uniform, else by vs_basic_number */
};

struct mpiio_element {
    const struct mpiio_conversion *conversion;
    int64_t offset; /* slice offset of its first byte */
    int64_t position;
};

/*
 * Makes the codec of view, which is borrowed and must outlive it. -ENOTSUP where its elements
 * cannot be converted. The caller frees it with free().
 */
int mpiio_codec_new(const struct vs_view *view, enum mpiio_narrow narrow,
                    struct mpiio_codec **codec);

/* The element that holds the slice byte at offset, 0 <= offset < limit. */
struct mpiio_element mpiio_codec_element(const struct mpiio_codec *codec, int64_t offset);

/* The element that holds the byte at position, 0 <= position < the map's limit. */
struct mpiio_element mpiio_codec_element_at(const struct mpiio_codec *codec, int64_t position);

/*
 * The positions of the elements that hold the slice bytes [offset, end), 0 <= offset < end <=
 * limit: the first one, and how many from there to behind the last element.
 */
void mpiio_codec_span(const struct mpiio_codec *codec, int64_t offset, int64_t end,
                      int64_t *position, int64_t *length);

/*
 * Converts the slice bytes [offset, offset + length), whose first and last elements may be cut,
 * from size bytes of the file, which begin with the first element, to native. Returns the number of
 * slice bytes converted. It is less than length if the file's bytes end before, or if an element
 * cannot be converted: *error is then 0 or negative.
 */
size_t mpiio_codec_decode(const struct mpiio_codec *codec, int64_t offset, size_t length,
                          void *native, const void *file, size_t size, int *error);

/*
 * Converts the slice bytes [offset, offset + length), whole elements, from native to file. 0 or a
 * negative errno; bytewise tells whether the bytes of all elements were just reordered.
 */
int mpiio_codec_encode(const struct mpiio_codec *codec, int64_t offset, size_t length, void *file,
                       const void *native, bool *bytewise);

#endif
