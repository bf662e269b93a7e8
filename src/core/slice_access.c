/* SPDX-License-Identifier: MIT */
#include "slice_access.h"

#include <errno.h>

#include "viewspec/base/integer.h"
#include "slice_private.h"

void mpiio_slice_set_id(struct mpiio_slice *slice, uint64_t id)
{
    slice->id = id;
}

/* Where the elements of the slice's bytes [offset, offset + length), as far as there may be any,
   lie: their first position and how many there are. */
static void find_positions(const struct mpiio_slice *slice, int64_t *offset, int64_t *length)
{
    int64_t end = *offset + vs_min(*length, INT64_MAX - *offset);

    *offset = vs_view_packed(slice->view, *offset);
    *length = vs_view_packed(slice->view, end) - *offset;
    if (*length > slice->limit - *offset)
        *length = slice->limit > *offset ? slice->limit - *offset : 0;
    end = *offset + *length;
    if (*length > 0)
        mpiio_slice_positions(slice, offset, &end);
    *length = end - *offset;
}

int mpiio_slice_access(struct mpiio_slice *slice, struct mpiio_exclusion *accesses, int64_t offset,
                       int64_t length, bool writes, struct mpiio_access *access)
{
    if (offset < 0)
        return -EINVAL;
    find_positions(slice, &offset, &length);
    return mpiio_exclusion_begin(accesses, vs_view_map(slice->view), offset, length, writes,
                                 access);
}

int mpiio_slice_refresh(struct mpiio_slice *slice)
{
    return mpiio_file_refresh(slice->store->file);
}

int mpiio_slice_publish(struct mpiio_slice *slice)
{
    return mpiio_file_publish(slice->store->file);
}

bool mpiio_slice_is_bytewise(const struct mpiio_slice *slice)
{
    return slice->codec == NULL || slice->codec->plain;
}

bool mpiio_slice_shares(const struct mpiio_slice *slice, int64_t offset, int64_t length,
                        const struct mpiio_slice *other)
{
    find_positions(slice, &offset, &length);
    return mpiio_exclusion_meets(vs_view_map(slice->view), offset, length,
                                 vs_view_map(other->view));
}
