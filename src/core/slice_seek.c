/* SPDX-License-Identifier: MIT */
#include "slice_private.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* Gaps of a slice, and its holes. */

static bool is_clear(const char *bytes, int64_t length)
{
    for (int64_t i = 0; i < length; i++)
        if (bytes[i] != 0)
            return false;
    return true;
}

/*
 * Positions ascend, and the last one is at most the end of the buffer. So no packed byte lies
 * before its position, and moving the runs in order loses none.
 */
void mpiio_gaps_spread(const struct vs_view *view, int64_t offset, size_t length, int64_t start,
                       size_t count, char *buffer)
{
    const char *packed = buffer + (length - count);
    int64_t done = 0;
    struct vs_runs runs;
    struct vs_run run;

    vs_runs_start(&runs, vs_view_gaps(view), start, (int64_t)count);
    while (vs_runs_next(&runs, &run)) {
        int64_t place = run.displacement - offset;

        memset(buffer + done, 0, (size_t)(place - done));
        memmove(buffer + place, packed + (run.position - start), (size_t)run.length);
        done = place + run.length;
    }
    memset(buffer + done, 0, length - (size_t)done);
}

void mpiio_gaps_collect(const struct vs_view *view, int64_t offset, const char *buffer,
                        int64_t start, size_t count, char *packed)
{
    struct vs_runs runs;
    struct vs_run run;

    vs_runs_start(&runs, vs_view_gaps(view), start, (int64_t)count);
    while (vs_runs_next(&runs, &run))
        memcpy(packed + (run.position - start), buffer + (run.displacement - offset),
               (size_t)run.length);
}

bool mpiio_gaps_are_clear(const struct vs_view *view, int64_t offset, size_t length,
                          const char *buffer)
{
    int64_t start = vs_view_packed(view, offset);
    int64_t count = vs_view_packed(view, offset + (int64_t)length) - start, done = 0;
    struct vs_runs runs;
    struct vs_run run;

    vs_runs_start(&runs, vs_view_gaps(view), start, count);
    while (vs_runs_next(&runs, &run)) {
        int64_t place = run.displacement - offset;

        if (!is_clear(buffer + done, place - done))
            return false;
        done = place + run.length;
    }
    return is_clear(buffer + done, (int64_t)length - done);
}

/* Returns the beginning of the view's first gap at or after offset (offset itself if it is in a
   gap), or end if there is none. */
static int64_t next_gap(const struct vs_view *view, int64_t offset, int64_t end)
{
    int64_t start = vs_view_packed(view, offset);
    struct vs_runs runs;
    struct vs_run run;

    if (vs_view_gaps(view) == NULL)
        return end;
    vs_runs_start(&runs, vs_view_gaps(view), start, INT64_MAX - start);
    if (!vs_runs_next(&runs, &run) || run.displacement > offset)
        return offset;
    return run.displacement + run.length < end ? run.displacement + run.length : end;
}

/* Holes of a slice, by the holes of the file: slice.h's SEEK_DATA and SEEK_HOLE. */

/* The maximum number of extents to skip while searching for data or a hole: some tens of
   milliseconds. */
#define MAX_SEEKS 65536

/* Seeks in the file. If the file does not report holes, or has dirty bytes, all of it is data,
   with a hole at its end. */
static int64_t seek_file(struct mpiio_slice *slice, int64_t displacement, int whence, int64_t size)
{
    struct mpiio_source *top = slice->store->top;
    int64_t found = top->ops->seek(top, displacement, whence);

    if (found == -EINVAL)
        return whence == SEEK_DATA ? displacement : size;
    return found;
}

/* An element of a slice; without conversion, a byte. */
struct place {
    int64_t behind;               /* slice offset */
    int64_t displacement, beyond; /* in the file */
};

static struct place place_at(const struct mpiio_slice *slice, int64_t offset)
{
    const struct vs_map *map = vs_view_map(slice->view);
    struct mpiio_element element;
    int64_t displacement;

    if (slice->codec == NULL) {
        displacement = vs_map_displacement(map, offset);
        return (struct place){offset + 1, displacement, displacement + 1};
    }
    element = mpiio_codec_element(slice->codec, offset);
    displacement = vs_map_displacement(map, element.position);
    return (struct place){element.offset + (int64_t)element.conversion->native, displacement,
                          displacement + (int64_t)element.conversion->file};
}

/* Returns the slice offset of the first byte at or after displacement, or end if there is none. */
static int64_t offset_from(const struct mpiio_slice *slice, int64_t displacement, int64_t end)
{
    const struct vs_map *map = vs_view_map(slice->view);
    int64_t position = vs_map_lower_bound(map, displacement);

    if (position >= vs_map_facts(map)->limit)
        return end;
    return slice->codec == NULL ? position : mpiio_codec_element_at(slice->codec, position).offset;
}

/*
 * Returns the first slice offset from offset on, below end, whose element lies in data or in a
 * hole, according to whence. An element in both counts as data. Returns end if there is none, or a
 * negative errno. Each step skips an extent of the file or a gap of the view, never a single run,
 * because the view's displacements ascend. After MAX_SEEKS steps the rest counts as data: lseek(2)
 * may report holes as data.
 */
static int64_t seek_slice(struct mpiio_slice *slice, int64_t offset, int whence, int64_t size,
                          int64_t end)
{
    for (int steps = 0; offset < end; steps++) {
        struct place place = place_at(slice, offset);
        int64_t found = seek_file(slice, place.displacement, SEEK_DATA, size);
        bool is_data = found >= 0 && found < place.beyond;

        if (found < 0 && found != -ENXIO)
            return found;
        if (is_data == (whence == SEEK_DATA) || (steps > MAX_SEEKS && whence == SEEK_DATA))
            return offset;
        if (steps > MAX_SEEKS)
            return end;
        if (is_data)
            found = seek_file(slice, place.displacement, SEEK_HOLE, size);
        if (found == -ENXIO)
            return end;
        if (found < 0)
            return found;
        /* A hole may begin, or data end, within an element. */
        found = offset_from(slice, found, end);
        offset = found > offset ? found : place.behind;
    }
    return end;
}

/* Gets the size of the file and of the slice. Returns -ENXIO if offset is not below the latter. */
static int seek_start(struct mpiio_slice *slice, int64_t offset, int64_t *size, int64_t *end)
{
    *size = mpiio_store_size(slice->store);
    if (*size < 0)
        return (int)*size;
    *end = vs_view_slice_size(slice->view, *size);
    if (*end < 0)
        return (int)*end;
    return offset < 0 || offset >= *end ? -ENXIO : 0;
}

/*
 * Returns false if all bytes must count as data: if the slice is not in the file's order, may show
 * zeros of the file as other values, or has partial elements.
 */
static bool can_seek(const struct mpiio_slice *slice)
{
    const struct vs_map_facts *facts = vs_map_facts(vs_view_map(slice->view));

    return facts->monotonic && facts->disjoint && vs_view_facts(slice->view)->datarep != VS_USER &&
           slice->partial.count == 0;
}

int64_t mpiio_slice_seek_data(struct mpiio_slice *slice, int64_t offset)
{
    int64_t size = 0, end = 0, found;
    int error = seek_start(slice, offset, &size, &end);

    if (error != 0)
        return error;
    offset = vs_view_packed(slice->view, offset);
    end = vs_view_packed_size(slice->view, size);
    if (offset >= end)
        return -ENXIO;
    found = can_seek(slice) ? seek_slice(slice, offset, SEEK_DATA, size, end) : offset;
    if (found < 0 || found == end)
        return found < 0 ? found : -ENXIO;
    return vs_view_offset(slice->view, found);
}

/* Finds the next gap, or a hole of the file before it. */
int64_t mpiio_slice_seek_hole(struct mpiio_slice *slice, int64_t offset)
{
    int64_t size = 0, end = 0, gap, found;
    int error = seek_start(slice, offset, &size, &end);

    if (error != 0)
        return error;
    gap = next_gap(slice->view, offset, end);
    if (gap == offset || !can_seek(slice))
        return gap;
    end = vs_view_packed(slice->view, gap);
    found = seek_slice(slice, vs_view_packed(slice->view, offset), SEEK_HOLE, size, end);
    if (found < 0 || found >= end)
        return found < 0 ? found : gap;
    return vs_view_offset(slice->view, found);
}
