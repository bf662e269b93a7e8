/* SPDX-License-Identifier: MIT */
#include "slice_access.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "slice_private.h"
#include "viewspec/base/integer.h"
#include "viewspec/map/cover.h"

/* The number of pieces to examine, for some tens of milliseconds. A map that needs more counts
   as overlapping. */
#define COVER_STEPS 1000000

/*
 * Sets *disjoint. A map is known to be disjoint if its runs are in the file's order. If they are
 * not (tiles that lie within each other's holes), the bytes are counted.
 */
static int find_disjoint(const struct vs_map *map, bool *disjoint)
{
    struct vs_cover *cover;
    struct vs_cover_result result;
    int error;

    *disjoint = vs_map_facts(map)->disjoint;
    if (*disjoint)
        return 0;
    cover = vs_cover_new();
    if (cover == NULL)
        return -ENOMEM;
    error = vs_cover_add(cover, map, 1);
    if (error == 0) {
        error = vs_cover_compute(cover, COVER_STEPS, &result);
        *disjoint = error == 0 && result.many == 0;
    }
    vs_cover_free(cover);
    return error == -ENOMEM ? error : 0;
}

static int init_slice(struct mpiio_slice *slice, enum mpiio_narrow narrow)
{
    const struct vs_map *map = vs_view_map(slice->view);
    const struct vs_view_facts *facts = vs_view_facts(slice->view);
    int64_t etypes = vs_map_facts(map)->limit / facts->etype_file_size;
    int error = 0;

    pthread_mutex_init(&slice->partial.lock, NULL);
    slice->limit = vs_min(etypes, INT64_MAX / facts->etype_size) * facts->etype_size;
    if (!facts->identical)
        error = mpiio_codec_new(slice->view, narrow, &slice->codec);
    if (error == 0 && slice->store->file->writable)
        error = find_disjoint(map, &slice->disjoint);
    return error;
}

int mpiio_slice_new(struct mpiio_store *store, struct vs_view *view, enum mpiio_narrow narrow,
                    struct mpiio_slice **slice)
{
    struct mpiio_slice *new = malloc(sizeof(*new));
    int error;

    if (new == NULL) {
        vs_view_unref(view);
        return -ENOMEM;
    }
    *new = (struct mpiio_slice){.store = store, .view = view};
    error = init_slice(new, narrow);
    if (error != 0)
        mpiio_slice_free(new);
    else
        *slice = new;
    return error;
}

void mpiio_slice_free(struct mpiio_slice *slice)
{
    if (slice != NULL) {
        free(slice->partial.list);
        pthread_mutex_destroy(&slice->partial.lock);
        free(slice->codec);
        vs_view_unref(slice->view);
        free(slice);
    }
}

const struct vs_view *mpiio_slice_view(const struct mpiio_slice *slice)
{
    return slice->view;
}

bool mpiio_slice_is_writable(const struct mpiio_slice *slice)
{
    return slice->store->file->writable && slice->disjoint;
}

int64_t mpiio_slice_size(struct mpiio_slice *slice)
{
    int64_t size = mpiio_store_size(slice->store);

    return size < 0 ? size : vs_view_slice_size(slice->view, size);
}

/* Reading packed bytes. Offsets are packed offsets (vs_view_gaps). */

/* Returns the number of bytes from offset on in a file of that size, or a negative errno. */
static int64_t bytes_behind(const struct mpiio_slice *slice, int64_t offset, int64_t size)
{
    int64_t there = size < 0 ? size : vs_view_packed_size(slice->view, size);

    return there < 0 ? there : vs_max(there - offset, 0);
}

/*
 * Returns the number of the length bytes from offset on that exist, or a negative errno. Sets *size
 * to the file's size by which that was determined: an earlier one if all bytes existed by that,
 * else the current one.
 */
static int64_t count_present(struct mpiio_slice *slice, int64_t offset, size_t length,
                             int64_t *size)
{
    int64_t there;

    *size = mpiio_store_last_size(slice->store);
    there = bytes_behind(slice, offset, *size);
    if (there < 0 || (uint64_t)there < length) {
        *size = mpiio_store_size(slice->store);
        there = bytes_behind(slice, offset, *size);
    }
    return there;
}

/*
 * Returns how many bytes of a transfer from offset lie below the file's current size, and below the
 * end that was met while reading. Bytes gathered from a mapping are zeros after the file's end.
 * pread(2) may return such zeros while another thread truncates, because the kernel sets the new
 * size before it clears the rest of the page. Bytes below a size that is sampled afterwards were in
 * the file, or were zeros in it after it had grown again.
 */
static int64_t cut_range(struct mpiio_slice *slice, int64_t offset, int64_t size,
                         const struct mpiio_transfer *transfer)
{
    int64_t now = vs_min(mpiio_store_size(slice->store), transfer->end);
    int64_t bytes = (int64_t)transfer->bytes;

    return now >= size ? bytes : vs_min(bytes_behind(slice, offset, now), bytes);
}

static ssize_t read_packed(struct mpiio_slice *slice, struct mpiio_transfer *transfer)
{
    int64_t size, bytes, offset = transfer->position;
    int64_t there = count_present(slice, offset, transfer->length, &size);

    if (there <= 0 || transfer->length == 0)
        return there < 0 ? there : 0;
    if (transfer->length > (uint64_t)there)
        transfer->length = (size_t)there;
    if (slice->codec != NULL)
        mpiio_convert_read(slice, transfer);
    else
        mpiio_store_read(slice->store, transfer);
    bytes = cut_range(slice, offset, size, transfer);
    /* Return an error only if no byte precedes it, like read(2). */
    return bytes == 0 && transfer->error != 0 ? transfer->error : bytes;
}

ssize_t mpiio_slice_read_packed(struct mpiio_slice *slice, void *buffer, size_t length,
                                int64_t packed)
{
    struct mpiio_counters done = {.slice_reads = 1};
    struct mpiio_transfer transfer = mpiio_slice_transfer(slice, packed, length, buffer, &done);
    ssize_t bytes = packed < 0 ? -EINVAL : read_packed(slice, &transfer);

    if (bytes > 0)
        done.slice_read_bytes = (uint64_t)bytes;
    mpiio_file_count(slice->store->file, &done);
    return bytes;
}

/* Reads packed bytes to the end of the buffer, and then moves them to their positions. */
static ssize_t read_with_gaps(struct mpiio_slice *slice, char *buffer, size_t length,
                              int64_t offset)
{
    const struct vs_view *view = slice->view;
    struct mpiio_counters gaps = {0};
    int64_t size = mpiio_slice_size(slice), start, count;
    ssize_t got;

    if (size < 0)
        return size;
    if (offset >= size)
        length = 0;
    else if (length > (uint64_t)(size - offset))
        length = (size_t)(size - offset);
    start = vs_view_packed(view, offset);
    count = vs_view_packed(view, offset + (int64_t)length) - start;
    got = mpiio_slice_read_packed(slice, buffer + (length - (size_t)count), (size_t)count, start);
    if (got < 0 || length == 0)
        return got;
    if (got < count) {
        size_t shown = (size_t)(vs_view_offset(view, start + got) - offset);

        memmove(buffer + (shown - (size_t)got), buffer + (length - (size_t)count), (size_t)got);
        length = shown;
    }
    mpiio_gaps_spread(view, offset, length, start, (size_t)got, buffer);
    gaps.slice_read_bytes = length - (size_t)got;
    mpiio_file_count(slice->store->file, &gaps);
    return (ssize_t)length;
}

ssize_t mpiio_slice_read(struct mpiio_slice *slice, void *buffer, size_t length, int64_t offset)
{
    if (offset >= 0 && vs_view_gaps(slice->view) != NULL)
        return read_with_gaps(slice, buffer, length, offset);
    return mpiio_slice_read_packed(slice, buffer, length, offset);
}

void mpiio_slice_set_id(struct mpiio_slice *slice, uint64_t id)
{
    slice->id = id;
}

/* Converts the slice range [offset, offset + length) to the positions of its elements: the first
   position, and the number of positions. */
static void find_positions(const struct mpiio_slice *slice, int64_t *offset, int64_t *length)
{
    int64_t end = *offset + vs_min(*length, INT64_MAX - *offset);

    *offset = vs_view_packed(slice->view, *offset);
    *length = vs_view_packed(slice->view, end) - *offset;
    *length = vs_max(vs_min(*length, slice->limit - *offset), 0);
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

struct mpiio_file *mpiio_slice_file(const struct mpiio_slice *slice)
{
    return slice->store->file;
}

bool mpiio_slice_is_bytewise(const struct mpiio_slice *slice)
{
    return slice->codec == NULL || slice->codec->plain;
}

int64_t mpiio_slice_etypes(const struct mpiio_slice *slice)
{
    return slice->limit / vs_view_facts(slice->view)->etype_size;
}

bool mpiio_slice_shares(const struct mpiio_slice *slice, int64_t offset, int64_t length,
                        const struct mpiio_slice *other)
{
    find_positions(slice, &offset, &length);
    return mpiio_exclusion_meets(vs_view_map(slice->view), offset, length,
                                 vs_view_map(other->view));
}
