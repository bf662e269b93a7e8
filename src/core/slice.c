/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/cache/cache.h"
#include "viewspec/cover.h"
#include "core/file/read_plan.h"
#include "convert_read.h"
#include "core/file/write_plan.h"
#include "slice_private.h"
#include "store_private.h"

/* Pieces looked at, some tens of milliseconds: what needs more counts as overlapping. */
#define COVER_STEPS 1000000

/* Extents of the file that are passed to find data or a hole: some tens of milliseconds. */
#define MAX_SEEKS 65536

/*
 * A map says at once that it is disjoint where its runs come in the file's order. Where they do
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

static int init(struct mpiio_slice *slice, enum mpiio_narrow narrow)
{
    const struct vs_map *map = vs_view_map(slice->view);
    int error = 0;

    slice->limit = vs_map_facts(map)->limit;
    if (!vs_view_facts(slice->view)->identical) {
        error = mpiio_codec_new(slice->view, narrow, &slice->codec);
        if (error != 0)
            return error;
        slice->limit = slice->codec->limit;
    }
    if (slice->store->writable)
        error = find_disjoint(map, &slice->disjoint);
    return error != 0 ? error : mpiio_torn_init(&slice->torn);
}

int mpiio_slice_new(struct mpiio_store *store, struct vs_view *view, enum mpiio_narrow narrow,
                    struct mpiio_slice **slice)
{
    struct mpiio_slice *new = malloc(sizeof(*new));
    int error = -ENOMEM;

    if (new != NULL) {
        *new = (struct mpiio_slice){
            .store = store, .view = view, .truncates = narrow == MPIIO_NARROW_TRUNCATE};
        error = init(new, narrow);
    }
    if (error != 0) {
        if (new != NULL)
            free(new->codec);
        free(new);
        vs_view_unref(view);
        return error;
    }
    *slice = new;
    return 0;
}

void mpiio_slice_free(struct mpiio_slice *slice)
{
    if (slice != NULL) {
        mpiio_torn_destroy(&slice->torn);
        free(slice->codec);
        vs_view_unref(slice->view);
        free(slice);
    }
}

void mpiio_slice_set_id(struct mpiio_slice *slice, uint64_t id)
{
    slice->id = id;
}

const struct vs_view *mpiio_slice_view(const struct mpiio_slice *slice)
{
    return slice->view;
}

bool mpiio_slice_is_writable(const struct mpiio_slice *slice)
{
    return slice->store->writable && slice->disjoint;
}

int64_t mpiio_slice_size(struct mpiio_slice *slice)
{
    int64_t size = mpiio_store_size(slice->store);

    return size < 0 ? size : vs_view_slice_size(slice->view, size);
}

/*
 * How many of the bytes fetched from offset on are there by the file's size now, and by the end
 * that was met while fetching. Bytes gathered from a mapping are zeros behind the file's end, and
 * so may be what pread(2) returns while another thread truncates: the kernel sets the new size,
 * then clears the rest of the page. Bytes below a size that is seen afterwards were in the file,
 * or were zeros in it when it had grown again.
 */
static int64_t cut(struct mpiio_slice *slice, int64_t offset, int64_t size,
                   const struct mpiio_fetched *fetched)
{
    int64_t now = mpiio_store_size(slice->store);
    int64_t bytes = (int64_t)fetched->bytes;
    int64_t there;

    if (now < 0)
        return now;
    if (now > fetched->end)
        now = fetched->end;
    if (now >= size)
        return bytes;
    there = vs_view_slice_size(slice->view, now);
    if (there < 0)
        return there;
    there = there > offset ? there - offset : 0;
    return there < bytes ? there : bytes;
}

void mpiio_slice_fetch(struct mpiio_slice *slice, int64_t position, size_t length, void *buffer,
                       struct mpiio_fetched *fetched, struct mpiio_counters *done)
{
    struct mpiio_store *store = slice->store;
    struct mpiio_back *back = store->back;
    const struct vs_map *map = vs_view_map(slice->view);

    if (back != NULL)
        mpiio_back_fetch(back, map, position, length, buffer, fetched, done);
    else
        mpiio_fetch(store, map, position, length, buffer, fetched, done);
}

/* mpiio_back_put or one of its kind, where the store writes back. */
typedef size_t put_back(struct mpiio_back *back, const struct vs_map *map, int64_t position,
                        size_t length, const void *buffer, uint64_t id, int *error,
                        struct mpiio_counters *done);

static size_t put_by(put_back *put, struct mpiio_slice *slice, int64_t position, size_t length,
                     const void *buffer, int *error, struct mpiio_counters *done)
{
    struct mpiio_store *store = slice->store;
    struct mpiio_back *back = store->back;
    const struct vs_map *map = vs_view_map(slice->view);

    if (back != NULL)
        return put(back, map, position, length, buffer, slice->id, error, done);
    return mpiio_put(store, map, position, length, buffer, error, done);
}

size_t mpiio_slice_put(struct mpiio_slice *slice, int64_t position, size_t length,
                       const void *buffer, int *error, struct mpiio_counters *done)
{
    return put_by(mpiio_back_put, slice, position, length, buffer, error, done);
}

size_t mpiio_slice_put_now(struct mpiio_slice *slice, int64_t position, size_t length,
                           const void *buffer, int *error, struct mpiio_counters *done)
{
    return put_by(mpiio_back_put_now, slice, position, length, buffer, error, done);
}

size_t mpiio_slice_put_merged(struct mpiio_slice *slice, int64_t position, size_t length,
                              const void *buffer, int *error, struct mpiio_counters *done)
{
    return put_by(mpiio_back_put_merged, slice, position, length, buffer, error, done);
}

int mpiio_slice_await(const struct mpiio_slice *slice, int error)
{
    struct mpiio_back *back = slice->store->back;

    return back != NULL ? mpiio_back_await(back, error) : error;
}

static ssize_t read_range(struct mpiio_slice *slice, void *buffer, size_t length, int64_t offset,
                          struct mpiio_counters *done)
{
    int64_t size = mpiio_store_size(slice->store);
    int64_t there = size < 0 ? size : vs_view_slice_size(slice->view, size);
    struct mpiio_fetched fetched;
    int64_t bytes;

    if (there < 0)
        return there;
    if (offset >= there || length == 0)
        return 0;
    if (length > SSIZE_MAX)
        length = SSIZE_MAX;
    if ((int64_t)length > there - offset)
        length = (size_t)(there - offset);
    if (slice->codec != NULL)
        mpiio_import(slice, offset, length, buffer, &fetched, done);
    else
        mpiio_slice_fetch(slice, offset, length, buffer, &fetched, done);
    bytes = cut(slice, offset, size, &fetched);
    /* An error is told when nothing comes before it, as read(2) does. */
    return bytes == 0 && fetched.error != 0 ? fetched.error : bytes;
}

ssize_t mpiio_slice_read(struct mpiio_slice *slice, void *buffer, size_t length, int64_t offset)
{
    struct mpiio_counters done = {.slice_reads = 1};
    ssize_t bytes = offset < 0 ? -EINVAL : read_range(slice, buffer, length, offset, &done);

    if (bytes > 0)
        done.slice_read_bytes = (uint64_t)bytes;
    mpiio_store_count(slice->store, &done);
    return bytes;
}

/* Holes. */

/*
 * lseek(2) for data or holes at displacement. A file that cannot tell is all data, with a hole at
 * its end. The descriptor's own position moves: nothing depends on it.
 */
static int64_t seek_file(struct mpiio_slice *slice, int64_t displacement, int whence, int64_t size)
{
    off_t found = lseek(mpiio_store_fd(slice->store), displacement, whence);

    if (found < 0 && errno == EINVAL)
        return whence == SEEK_DATA ? displacement : size;
    return found < 0 ? -errno : found;
}

/* An element of a slice; without conversion, a byte. */
struct place {
    int64_t offset, behind;       /* slice offsets */
    int64_t displacement, beyond; /* in the file */
};

static struct place place_of(const struct mpiio_slice *slice, const struct mpiio_element *element)
{
    int64_t displacement = vs_map_displacement(vs_view_map(slice->view), element->position);
    int64_t native = 1, file = 1;

    if (element->conversion != NULL) {
        native = (int64_t)element->conversion->native;
        file = (int64_t)element->conversion->file;
    }
    return (struct place){element->offset, element->offset + native, displacement,
                          displacement + file};
}

static struct place place_at_offset(const struct mpiio_slice *slice, int64_t offset)
{
    struct mpiio_element element = {NULL, offset, offset};

    if (slice->codec != NULL)
        element = mpiio_codec_element(slice->codec, offset);
    return place_of(slice, &element);
}

/* The place of the first byte at or behind displacement; end where there is none. */
static int64_t offset_from(const struct mpiio_slice *slice, int64_t displacement, int64_t end)
{
    const struct vs_map *map = vs_view_map(slice->view);
    int64_t position = vs_map_lower_bound(map, displacement);

    if (position >= vs_map_facts(map)->limit)
        return end;
    return slice->codec == NULL ? position : mpiio_codec_element_at(slice->codec, position).offset;
}

/*
 * The first slice offset from offset on, below end, whose element lies in data or a hole as whence
 * says, in data where in both; end where there is none, or a negative errno. Each step passes an
 * extent of the file or a gap of the view, never single runs: the view's displacements ascend.
 * Behind MAX_SEEKS steps all that follows is data: lseek(2) may take holes for that.
 */
static int64_t seek_slice(struct mpiio_slice *slice, int64_t offset, int whence, int64_t size,
                          int64_t end)
{
    for (int steps = 0; offset < end; steps++) {
        struct place place = place_at_offset(slice, offset);
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
        /* A hole may begin, and data end, within an element. */
        found = offset_from(slice, found, end);
        offset = found > offset ? found : place.behind;
    }
    return end;
}

/* The file's size, the slice's, and that offset lies inside it. */
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
 * Where the order in the slice is not the order in the file, all counts as data; and where zeros in
 * the file may be something else in the slice, or there is data that the file does not have yet.
 */
static bool can_seek(const struct mpiio_slice *slice)
{
    const struct vs_map_facts *facts = vs_map_facts(vs_view_map(slice->view));
    struct mpiio_back *back = slice->store->back;

    return facts->monotonic && facts->disjoint && vs_view_facts(slice->view)->datarep != VS_USER &&
           slice->torn.count == 0 && (back == NULL || mpiio_back_is_empty(back));
}

int64_t mpiio_slice_seek_data(struct mpiio_slice *slice, int64_t offset)
{
    int64_t size = 0, end = 0, found;
    int error = seek_start(slice, offset, &size, &end);

    if (error != 0)
        return error;
    if (!can_seek(slice))
        return offset;
    found = seek_slice(slice, offset, SEEK_DATA, size, end);
    return found == end ? -ENXIO : found;
}

int64_t mpiio_slice_seek_hole(struct mpiio_slice *slice, int64_t offset)
{
    int64_t size = 0, end = 0;
    int error = seek_start(slice, offset, &size, &end);

    if (error != 0)
        return error;
    return can_seek(slice) ? seek_slice(slice, offset, SEEK_HOLE, size, end) : end;
}
