/* SPDX-License-Identifier: MIT */
#include "export.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/convert/kernels.h"
#include "viewspec/base/integer.h"

struct mpiio_export {
    struct vs_export file;
    struct mpiio_slice *slices[]; /* by piece; NULL: it has no values */
};

int mpiio_export_open(struct mpiio_store *store, struct vs_export *file,
                      struct mpiio_export **result)
{
    struct mpiio_export *export =
        calloc(1, sizeof(*export) + file->count * sizeof(export->slices[0]));
    int error = 0;

    if (export == NULL) {
        vs_export_free(file);
        return -ENOMEM;
    }
    export->file = *file;
    *file = (struct vs_export){0};
    for (size_t i = 0; i < export->file.count && error == 0; i++) {
        struct vs_view *view = export->file.pieces[i].values.view;

        if (view)
            error =
                mpiio_slice_new(store, vs_view_ref(view), MPIIO_NARROW_REFUSE, &export->slices[i]);
    }
    if (error)
        mpiio_export_close(export);
    else
        *result = export;
    return error;
}

void mpiio_export_close(struct mpiio_export *export)
{
    if (export == NULL)
        return;
    for (size_t i = 0; i < export->file.count; i++)
        mpiio_slice_free(export->slices[i]);
    vs_export_free(&export->file);
    free(export);
}

/* Reads size bytes of a slice. What is after its end reads as zeros. Returns 0 or an error. */
static int read_slice(struct mpiio_slice *slice, char *buffer, size_t size, int64_t offset)
{
    ssize_t got = mpiio_slice_read(slice, buffer, size, offset);

    if (got < 0)
        return (int)got;
    memset(buffer + got, 0, size - (size_t)got);
    return 0;
}

/* Reads bytes of a slice whose numbers of `swap` bytes are reversed. */
static int read_swapped(struct mpiio_slice *slice, int64_t swap, char *buffer, size_t size,
                        int64_t offset)
{
    int64_t start = offset - offset % swap;
    int64_t end = (offset + (int64_t)size + swap - 1) / swap * swap;
    bool whole = start == offset && end == offset + (int64_t)size;
    size_t length = (size_t)(end - start);
    char *numbers = whole ? buffer : malloc(length);
    int error = numbers ? read_slice(slice, numbers, length, start) : -ENOMEM;

    if (error == 0)
        mpiio_swap_kernel((size_t)swap)(numbers, numbers, length / (size_t)swap);
    if (!whole && error == 0)
        memcpy(buffer, numbers + (offset - start), size);
    if (!whole)
        free(numbers);
    return error;
}

static int read_values(struct mpiio_slice *slice, const struct vs_values *values, char *buffer,
                       size_t size, int64_t offset)
{
    offset += values->offset;
    return values->swap > 1 ? read_swapped(slice, values->swap, buffer, size, offset)
                            : read_slice(slice, buffer, size, offset);
}

/* A part of a row of a padded array. */
struct part {
    int64_t length; /* its bytes in the range that is read */
    int64_t from;   /* the offset in the slice of its first byte; -1: it is padding */
    int64_t data;   /* the number of its bytes that are not padding */
};

/* Finds the part of a row that begins at byte `at` and ends before `end`. */
static struct part part_at(const struct vs_values *values, int64_t at, int64_t end)
{
    int last = values->dimensions - 1;
    int64_t width = values->padded[last] * values->element;
    int64_t filled = values->count[last] * values->element;
    int64_t row = at / width, column = at % width, source = 0, weight = 1;
    struct part part = {.length = vs_min(width - column, end - at)};

    for (int d = last - 1; d >= 0; d--) {
        int64_t index = row % values->padded[d];

        row /= values->padded[d];
        if (index >= values->count[d])
            source = -1;
        if (source >= 0)
            source += index * weight;
        weight *= values->count[d];
    }
    part.from = source < 0 ? -1 : source * filled + column;
    part.data = column < filled && source >= 0 ? vs_min(filled - column, part.length) : 0;
    return part;
}

/* Reads bytes of a padded array: all its values in the range at once, then row by row. */
static int read_padded(struct mpiio_slice *slice, const struct vs_values *values, char *buffer,
                       size_t size, int64_t offset)
{
    int64_t end = offset + (int64_t)size, low = INT64_MAX, high = 0;
    struct part part;
    char *bytes;
    int error;

    for (int64_t at = offset; at < end; at += part.length) {
        part = part_at(values, at, end);
        if (part.data > 0) {
            low = low < part.from ? low : part.from;
            high = part.from + part.data;
        }
    }
    memset(buffer, 0, size);
    if (high == 0)
        return 0;
    bytes = malloc((size_t)(high - low));
    error = bytes ? read_values(slice, values, bytes, (size_t)(high - low), low) : -ENOMEM;
    for (int64_t at = offset; at < end && error == 0; at += part.length) {
        part = part_at(values, at, end);
        if (part.data > 0)
            memcpy(buffer + (at - offset), bytes + (part.from - low), (size_t)part.data);
    }
    free(bytes);
    return error;
}

static int read_piece(const struct mpiio_export *export, size_t index, char *buffer, size_t size,
                      int64_t offset)
{
    const struct vs_piece *piece = &export->file.pieces[index];

    if (piece->text)
        memcpy(buffer, piece->text + offset, size);
    else if (piece->values.view == NULL)
        memset(buffer, 0, size);
    else if (piece->values.dimensions > 0)
        return read_padded(export->slices[index], &piece->values, buffer, size, offset);
    else
        return read_values(export->slices[index], &piece->values, buffer, size, offset);
    return 0;
}

ssize_t mpiio_export_read(struct mpiio_export *export, char *buffer, size_t size, off_t offset)
{
    int64_t start = 0;
    size_t done = 0;

    for (size_t i = 0; i < export->file.count && done < size; i++) {
        int64_t length = export->file.pieces[i].length, at = offset + (int64_t)done - start;

        if (at < length) {
            size_t part =
                (int64_t)(size - done) < length - at ? size - done : (size_t)(length - at);
            int error = read_piece(export, i, buffer + done, part, at);

            if (error)
                return error;
            done += part;
        }
        start += length;
    }
    return (ssize_t)done;
}
