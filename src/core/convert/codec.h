/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_CODEC_H
#define MPIIO_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/conversion.h"
#include "viewspec/element.h"

/*
 * The conversion of a view's slice: maps slice offsets to positions, and converts memory of whole
 * elements. No I/O. A codec is immutable. All functions are local and thread-safe.
 */

/* The maximum size of an element in native representation, and in the file. */
#define MPIIO_ELEMENT_NATIVE 32
#define MPIIO_ELEMENT_FILE   (64 << 10)

struct mpiio_codec {
    const struct vs_view *view; /* borrowed */
    /*
     * All elements are of one type, and conversion only reorders their bytes. So slice offsets are
     * positions, conversions never fail, and they may be done in place.
     */
    bool plain;
    bool uniform;                          /* all elements are of one type */
    struct mpiio_conversion conversions[]; /* one if uniform, else by vs_basic_number */
};

struct mpiio_element {
    const struct mpiio_conversion *conversion;
    int64_t offset; /* slice offset of its first byte */
    int64_t position;
};

/*
 * Creates the codec of view, which is borrowed and must outlive it. Returns 0, -ENOTSUP if the
 * elements cannot be converted, or -ENOMEM. The caller frees it with free().
 */
int mpiio_codec_new(const struct vs_view *view, enum mpiio_narrow narrow,
                    struct mpiio_codec **codec);

/* Returns the element that contains the slice byte at offset, which has a position. */
struct mpiio_element mpiio_codec_element(const struct mpiio_codec *codec, int64_t offset);

/* Returns the element that contains the byte at position, 0 <= position < the map's limit. */
struct mpiio_element mpiio_codec_element_at(const struct mpiio_codec *codec, int64_t position);

/*
 * Sets *position and *length to the range of positions of the elements that contain the slice bytes
 * [offset, end), which have positions. offset < end.
 */
void mpiio_codec_span(const struct mpiio_codec *codec, int64_t offset, int64_t end,
                      int64_t *position, int64_t *length);

/*
 * Converts the slice bytes [offset, offset + length), whose first and last elements may be partial,
 * to native. file has size bytes, from the first element on. Returns the number of slice bytes
 * converted. That is less than length if file ends earlier (*error is 0), or if an element cannot
 * be converted (*error is negative).
 */
size_t mpiio_codec_decode(const struct mpiio_codec *codec, int64_t offset, size_t length,
                          void *native, const void *file, size_t size, int *error);

/*
 * Converts the slice bytes [offset, offset + length), which are whole elements, from native to
 * file. Returns 0 or a negative errno. Sets *bytewise to true if all conversions only reordered
 * bytes.
 */
int mpiio_codec_encode(const struct mpiio_codec *codec, int64_t offset, size_t length, void *file,
                       const void *native, bool *bytewise);

#endif
