/* SPDX-License-Identifier: MIT */
#include "handle_ops.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fusefs/kernel/drop.h"

/* The NumPy header before a slice. */

size_t fs_npy_part(const struct fs_slice *slice, int64_t offset, size_t size)
{
    int64_t left = slice->header - offset;

    if (left <= 0)
        return 0;
    return (uint64_t)left < size ? (size_t)left : size;
}

/*
 * Makes a new header for the slice with size bytes of data, which the caller frees by free().
 * Returns 0 or a negative errno, as size is if the slice's size is not known.
 */
static int make_header(const struct fs_slice *slice, int64_t size, char **header)
{
    if (size < 0)
        return (int)size;
    *header = malloc((size_t)slice->header);
    if (*header == NULL)
        return -ENOMEM;
    vs_npy_header(slice->npy, size, *header);
    return 0;
}

int fs_npy_read(struct fs_slice *slice, char *buffer, size_t size, int64_t offset)
{
    char *header = NULL;
    int error = make_header(slice, mpiio_slice_size(slice->slice), &header);

    if (error != 0)
        return error;
    memcpy(buffer, header + offset, size);
    free(header);
    return 0;
}

/* Returns 1 if these bytes equal the current header's, 0 if not, or a negative errno. */
static int says(const struct fs_slice *slice, int64_t now, const char *buffer, size_t size,
                int64_t offset)
{
    char *header = NULL;
    bool same;
    int error = make_header(slice, now, &header);

    if (error != 0)
        return error;
    same = memcmp(header + offset, buffer, size) == 0;
    free(header);
    return same;
}

int fs_npy_write(const struct fs_write *write, size_t size)
{
    struct fs_slice *slice = write->handle->slice;
    int64_t now = mpiio_slice_size(slice->slice), reported = -EPERM;
    int same = says(slice, now, write->buffer, size, write->offset);

    if (same != 0)
        return same < 0 && !write->mapped ? same : 0;
    if (!write->mapped) {
        if (write->offset == 0 && (int64_t)size == slice->header)
            reported = vs_npy_size(slice->npy, write->buffer);
        if (reported < now)
            return reported == -ENOMEM ? -ENOMEM : -EPERM;
    }
    /* The kernel's page differs from the actual header. */
    fs_drop_later(&write->session->notifier, slice);
    return 0;
}
