/* SPDX-License-Identifier: MIT */
#include "put.h"

#include "core/slice_access.h"

void fs_put_note_end(struct fs_slice *slice, int64_t end)
{
    int64_t known = atomic_load(&slice->known_size);

    while (known < end && !atomic_compare_exchange_weak(&slice->known_size, &known, end))
        continue;
}

void fs_put_note(struct fs_session *session, struct fs_slice *slice, int64_t offset, int64_t length)
{
    fs_put_note_end(slice, slice->header + offset + length);
    fs_prefetch_outdate(&session->prefetchers);
    fs_flusher_wrote(&session->flusher);
    fs_losses_remove(&session->losses, slice->data, offset, offset + length);
}

ssize_t fs_put(struct fs_session *session, struct fs_slice *slice, const char *buffer, size_t size,
               off_t offset)
{
    struct mpiio_access memory, *access = &memory;
    ssize_t put =
        fs_atomic_begin(&session->atomic, slice->slice, offset, (int64_t)size, true, &access);

    if (put != 0)
        return put;
    put = mpiio_slice_write_in(slice->slice, buffer, size, offset, access);
    if (put > 0)
        fs_put_note(session, slice, offset, put);
    return fs_atomic_end_write(&session->atomic, slice->slice, access, put);
}
