/* SPDX-License-Identifier: MIT */
#include "npy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "drop.h"

size_t fs_npy_part(const struct fs_slice *slice, int64_t offset, size_t size)
{
    int64_t left = slice->header - offset;

    if (left <= 0)
        return 0;
    return (uint64_t)left < size ? (size_t)left : size;
}

/*
 * Returns a new header for the slice with size bytes of data, which the caller frees by free();
 * NULL if out of memory.
 */
static char *make_header(const struct fs_slice *slice, int64_t size)
{
    char *header = malloc((size_t)slice->header);

    if (header != NULL)
        vs_npy_header(slice->npy, size, header);
    return header;
}

int fs_npy_read(struct fs_slice *slice, char *buffer, size_t size, int64_t offset)
{
    int64_t now = mpiio_slice_size(slice->slice);
    char *header;

    if (now < 0)
        return (int)now;
    header = make_header(slice, now);
    if (header == NULL)
        return -ENOMEM;
    memcpy(buffer, header + offset, size);
    free(header);
    return 0;
}

/* Returns 1 if these bytes equal the current header's, 0 if not, or a negative errno. */
static int says(const struct fs_slice *slice, int64_t now, const char *buffer, size_t size,
                int64_t offset)
{
    char *header;
    bool same;

    if (now < 0)
        return (int)now;
    header = make_header(slice, now);
    if (header == NULL)
        return -ENOMEM;
    same = memcmp(header + offset, buffer, size) == 0;
    free(header);
    return same;
}

int fs_npy_write(struct fs_notifier *notifier, struct fs_slice *slice, fuse_ino_t inode,
                 const char *buffer, size_t size, int64_t offset)
{
    int64_t now = mpiio_slice_size(slice->slice), reported = -EPERM;
    int same = says(slice, now, buffer, size, offset);

    if (same != 0)
        return same < 0 ? same : 0;
    if (offset == 0 && (int64_t)size == slice->header)
        reported = vs_npy_size(slice->npy, buffer);
    if (reported < now)
        return reported == -ENOMEM ? -ENOMEM : -EPERM;
    fs_notifier_drop(notifier, slice, inode); /* the kernel's page differs from the actual header */
    return 0;
}

void fs_npy_mapped(struct fs_notifier *notifier, struct fs_slice *slice, fuse_ino_t inode,
                   const char *buffer, size_t size, int64_t offset)
{
    if (says(slice, mpiio_slice_size(slice->slice), buffer, size, offset) == 0)
        fs_notifier_drop(notifier, slice, inode);
}
