/* SPDX-License-Identifier: MIT */
#include "hdf5_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "viewspec/base/integer.h"

/* Datasets: their types, shapes and layouts. */

/* The largest fill value, in bytes, that a spec repeats. */
#define FILL_MAX 65536

/* The limit keeps specs below 64 MiB, since a view lists each of its chunks. */
#define CHUNKS_MAX 131072

/* Returns true if a file can have that many bytes at the address. Sums must not overflow. */
static bool is_place(haddr_t at, int64_t bytes)
{
    return bytes <= INT64_MAX / 2 && at <= (haddr_t)(INT64_MAX / 2 - bytes);
}

/*
 * Handles a result of hdf5_private.h. On an error, records it if out of memory, or else refuses the
 * variable. Returns true on success.
 */
static bool is_taken(const struct from_hdf5_set *set, int64_t code, const char *subject)
{
    if (code == -ENOMEM)
        from_no_memory(set->file);
    else if (code == -EFBIG)
        from_refuse(set->variable, "a whole of more than 2^62 bytes");
    else if (code < 0)
        from_refuse(set->variable, "%s: %s", subject, strerror((int)-code));
    return code >= 0;
}

int64_t from_hdf5_hole(const struct from_hdf5_set *set, int64_t bytes)
{
    struct from_variable *variable = set->variable;
    size_t size = (size_t)variable->size;
    unsigned char *value = calloc(size, 1);
    hid_t type = H5Dget_type(set->set);
    int64_t at = -ENOMEM;
    bool has_value = false;

    /* Bytes are zeros if the dataset's fill value is undefined. */
    if (value && H5Pget_fill_value(set->properties, type, value) < 0)
        memset(value, 0, size);
    for (size_t i = 0; value && i < size && !has_value; i++)
        has_value = value[i] != 0;
    if (has_value && size > FILL_MAX)
        from_refuse(variable, "a fill value of more than %d bytes", FILL_MAX);
    else if (value)
        at = from_whole_hole(set->whole, bytes, value, has_value ? size : 1);
    free(value);
    H5Tclose(type);
    return !variable->reason && is_taken(set, at, variable->name) ? at : -1;
}

const struct from_whole_file *from_hdf5_place(const struct from_hdf5_set *set, const char *path)
{
    int64_t number = from_whole_add(set->whole, path);

    return is_taken(set, number, path) ? &set->whole->files[number] : NULL;
}

/* Marks the variable as assembled. If there is no whole, refuses it and returns false. */
static bool is_assembled(const struct from_hdf5_set *set, const char *reason)
{
    if (set->whole == NULL)
        from_refuse(set->variable, "%s", reason);
    set->variable->is_assembled = true;
    return set->whole != NULL;
}

/* Makes the whole variable read as the fill value, from a hole. */
static void read_hole(const struct from_hdf5_set *set)
{
    struct from_variable *variable = set->variable;

    if (is_assembled(set, "it was never written") && set->wanted)
        variable->at = from_hdf5_hole(set, from_elements(variable) * variable->size);
}

/* Refuses filtered chunks; the reason names the filters. */
static void refuse_filters(const struct from_hdf5_set *set, int filters)
{
    char text[256] = "", name[64];
    size_t used = 0;

    for (int i = 0; i < filters && used < sizeof(text); i++) {
        unsigned flags, values = 0;
        size_t count = 0;
        name[0] = '\0';
        H5Pget_filter2(set->properties, (unsigned)i, &flags, &count, &values, sizeof(name), name,
                       NULL);
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", i ? ", " : "",
                                 name[0] ? name : "unknown");
    }
    from_refuse(set->variable, "chunks are filtered (%s)", text);
}

/* Advances to the next chunk in C order. */
static void next_chunk(const struct from_variable *variable, int64_t *start)
{
    for (int d = variable->dimensions - 1; d >= 0; d--) {
        start[d] += variable->chunk[d];
        if (start[d] < variable->shape[d])
            return;
        start[d] = 0;
    }
}

/* Returns the number of the variable's chunks, or -1 if there are more than CHUNKS_MAX. */
static int64_t count_chunks(const struct from_variable *variable)
{
    int64_t count = 1;

    for (int d = 0; d < variable->dimensions; d++) {
        int64_t size = variable->chunk[d];
        count *= (variable->shape[d] - 1) / size + 1;
        if (count > CHUNKS_MAX)
            return -1;
    }
    return count;
}

/*
 * Returns true if a chunk was never written, after H5Dread_chunk() failed on it. libhdf5 then reads
 * its first element without reading raw data from the file.
 */
static bool is_hole(const struct from_hdf5_set *set, const hsize_t *offset)
{
    struct from_hdf5_watch *watch = &set->in->watch;
    hid_t space = H5Dget_space(set->set), one = H5Screate(H5S_SCALAR);
    hid_t type = H5Dget_type(set->set);
    void *element = calloc(1, (size_t)set->variable->size);
    bool is_read = false;

    *watch = (struct from_hdf5_watch){.is_on = true, .at = -1};
    if (element == NULL)
        from_no_memory(set->file);
    else if (H5Sselect_elements(space, H5S_SELECT_SET, 1, offset) >= 0)
        is_read = H5Dread(set->set, type, one, space, H5P_DEFAULT, element) >= 0;
    watch->is_on = false;
    free(element);
    H5Tclose(type);
    H5Sclose(one);
    H5Sclose(space);
    return is_read && watch->at < 0;
}

/*
 * Sets at to the displacement of the chunk whose first element has index start, or to -1 if the
 * chunk was never written. Returns false if the variable was refused.
 */
static bool find_chunk(const struct from_hdf5_set *set, const int64_t *start, int64_t *at)
{
    struct from_hdf5_watch *watch = &set->in->watch;
    hsize_t offset[FROM_DIMENSIONS_MAX];
    uint32_t mask;
    char nothing; /* a watched read stores nothing in it */

    for (int d = 0; d < set->variable->dimensions; d++)
        offset[d] = (hsize_t)start[d];
    *watch = (struct from_hdf5_watch){.is_on = true, .at = -1};
    herr_t failed = H5Dread_chunk(set->set, H5P_DEFAULT, offset, &mask, &nothing);
    watch->is_on = false;
    *at = watch->at;
    if (failed < 0 && is_hole(set, offset))
        *at = -1;
    else if (failed < 0)
        from_refuse(set->variable, "libhdf5 does not tell where its chunks are");
    else if (*at < 0 || !is_place((haddr_t)*at, INT32_MAX))
        from_refuse(set->variable, "a damaged header");
    else
        *at += set->in->place;
    return !set->variable->reason;
}

/*
 * Adds a box for each chunk. The displacement is -1 if the chunk was never written. Returns the
 * number of such chunks, or -1 on error.
 */
static int64_t find_chunks(const struct from_hdf5_set *set, int64_t count, struct from_boxes *boxes)
{
    const struct from_variable *variable = set->variable;
    int64_t start[FROM_DIMENSIONS_MAX] = {0}, length[FROM_DIMENSIONS_MAX], at, unwritten = 0;

    for (int64_t i = 0; i < count; i++) {
        if (!find_chunk(set, start, &at))
            return -1;
        for (int d = 0; d < variable->dimensions; d++)
            length[d] = vs_min(variable->chunk[d], variable->shape[d] - start[d]);
        if (from_boxes_add(boxes, at, start, length, variable->chunk)) {
            from_no_memory(set->file);
            return -1;
        }
        unwritten += at < 0;
        next_chunk(variable, start);
    }
    return unwritten;
}

/* Adds a hole for the chunks that were never written. Returns false on error. */
static bool fill_chunks(const struct from_hdf5_set *set, int64_t unwritten,
                        struct from_boxes *boxes)
{
    int64_t bytes = set->variable->size, at = -1, all;

    for (int d = 0; d < set->variable->dimensions; d++)
        bytes = vs_mul_capped(bytes, set->variable->chunk[d]);
    all = vs_mul_capped(bytes, unwritten);
    if (is_assembled(set, "chunks that were never written"))
        at = from_hdf5_hole(set, all);
    for (size_t i = 0; i < boxes->count && at >= 0; i++)
        if (*from_box(boxes, i).at < 0) {
            *from_box(boxes, i).at = at;
            at += bytes;
        }
    return at >= 0;
}

static void look_up_chunks(const struct from_hdf5_set *set, int64_t count)
{
    struct from_boxes boxes = {.dimensions = set->variable->dimensions};
    int64_t unwritten = find_chunks(set, count, &boxes);

    if (unwritten == count)
        read_hole(set);
    else if (unwritten == 0 || (unwritten > 0 && fill_chunks(set, unwritten, &boxes)))
        from_boxes_keep(&boxes, set->variable);
    free(boxes.records);
}

/* Returns true if no chunk was ever written. libhdf5 walks the whole chunk index for that. */
static bool is_unwritten(const struct from_hdf5_set *set)
{
    H5D_space_status_t status;

    return H5Dget_space_status(set->set, &status) >= 0 && status == H5D_SPACE_STATUS_NOT_ALLOCATED;
}

static void read_chunks(const struct from_hdf5_set *set)
{
    struct from_variable *variable = set->variable;
    hsize_t sizes[FROM_DIMENSIONS_MAX];
    int filters = H5Pget_nfilters(set->properties);

    if (filters) {
        refuse_filters(set, filters);
        return;
    }
    if (H5Pget_chunk(set->properties, FROM_DIMENSIONS_MAX, sizes) != variable->dimensions) {
        from_refuse(variable, "chunks of other dimensions");
        return;
    }
    for (int d = 0; d < variable->dimensions; d++)
        variable->chunk[d] = (int64_t)sizes[d];
    if (from_elements(variable) <= 0)
        return;
    int64_t count = count_chunks(variable);
    if (count < 0 && is_unwritten(set))
        read_hole(set);
    else if (count < 0)
        from_refuse(variable, "more than %d chunks", CHUNKS_MAX);
    /* Chunks of other variables are looked up only if they decide whether a view is possible.
       Structures with gaps need chunks in order. Unwritten chunks need a whole. */
    else if (set->wanted || variable->has_gaps || !set->whole)
        look_up_chunks(set, count);
}

/* A segment of an external dataset: bytes of an external file. at counts in the whole. */
struct segment {
    char *path;
    int64_t at, bytes;
};

/*
 * Finds a segment, limited to the bytes that are left. Returns false on error, and if its file is
 * too short. The caller frees the segment's path.
 */
static bool find_segment(const struct from_hdf5_set *set, unsigned number, int64_t left,
                         struct segment *segment)
{
    char name[4096] = "";
    off_t offset = 0;
    hsize_t bytes = 0;
    const struct from_whole_file *file = NULL;

    if (H5Pget_external(set->properties, number, sizeof(name), name, &offset, &bytes) < 0 ||
        !memchr(name, '\0', sizeof(name)) || offset < 0) {
        from_refuse(set->variable, "a damaged header");
        return false;
    }
    segment->bytes = bytes < (hsize_t)left ? (int64_t)bytes : left;
    segment->path = from_hdf5_beside(set->in->path, name, false);
    if (segment->path == NULL)
        from_no_memory(set->file);
    else
        file = from_hdf5_place(set, segment->path);
    if (file && segment->bytes > file->size - offset)
        from_refuse(set->variable, "%s is truncated: %lld bytes of at least %lld", segment->path,
                    (long long)file->size, (long long)vs_add_capped(offset, segment->bytes));
    segment->at = (file ? file->at : 0) + offset;
    return !set->variable->reason && !set->file->error->code;
}

/*
 * Adds a segment as a box of whole rows of the first dimension. Other segments hold the bytes of
 * the dataset before it.
 */
static void add_segment(const struct from_hdf5_set *set, const struct segment *segment,
                        int64_t before, struct from_boxes *boxes)
{
    struct from_variable *variable = set->variable;
    int64_t start[FROM_DIMENSIONS_MAX] = {0}, length[FROM_DIMENSIONS_MAX];
    int64_t row = from_elements(variable) / variable->shape[0] * variable->size;

    memcpy(length, variable->shape, sizeof(length));
    start[0] = before / row;
    length[0] = segment->bytes / row;
    if (before % row || segment->bytes % row)
        from_refuse(variable, "its values lie in several files, which end inside of a row");
    else if (from_boxes_add(boxes, segment->at, start, length, length))
        from_no_memory(set->file);
}

static void read_external(const struct from_hdf5_set *set, unsigned count)
{
    struct from_variable *variable = set->variable;
    struct from_boxes boxes = {.dimensions = variable->dimensions};
    int64_t left = from_elements(variable) * variable->size, before = 0;

    if (!is_assembled(set, "its values lie in other files"))
        return;
    for (unsigned i = 0; i < count && left && !variable->reason && !set->file->error->code; i++) {
        struct segment segment = {0};
        if (find_segment(set, i, left, &segment) && !before && segment.bytes == left)
            variable->at = segment.at;
        else if (!variable->reason && segment.bytes && variable->dimensions)
            add_segment(set, &segment, before, &boxes);
        before += segment.bytes;
        left -= segment.bytes;
        free(segment.path);
    }
    if (left)
        from_refuse(variable, "its values lie in other files, which are too small");
    if (boxes.count && !variable->reason)
        from_boxes_keep(&boxes, variable);
    free(boxes.records);
}

static void read_contiguous(const struct from_hdf5_set *set)
{
    struct from_variable *variable = set->variable;
    haddr_t at = H5Dget_offset(set->set);
    int external = H5Pget_external_count(set->properties);

    if (from_elements(variable) == 0)
        variable->at = 0;
    else if (external > 0)
        read_external(set, (unsigned)external);
    else if (at == HADDR_UNDEF || at < (haddr_t)set->in->base) /* HADDR_UNDEF + base wraps around */
        read_hole(set);
    else if (!is_place(at, from_elements(variable) * variable->size))
        from_refuse(variable, "a damaged header");
    else
        variable->at = (int64_t)at + set->in->place;
}

/*
 * Copies compact values into the spec, as the values of a hole, which cannot be written. They lie
 * in the object header. Writing them there would break its checksum, and the one in the spec.
 */
static void read_compact(const struct from_hdf5_set *set)
{
    struct from_variable *variable = set->variable;
    int64_t bytes = from_elements(variable) * variable->size;
    unsigned char *values;
    hid_t type;

    if (bytes == 0 || !is_assembled(set, "its values lie in the header (compact)") || !set->wanted)
        return;
    /* libhdf5 reads as many bytes as the shape needs, even if the header has fewer. */
    if (bytes > UINT16_MAX || H5Dget_storage_size(set->set) != (hsize_t)bytes) {
        from_refuse(variable, "a damaged header");
        return;
    }
    type = H5Dget_type(set->set);
    values = calloc((size_t)bytes, 1);
    if (values == NULL)
        from_no_memory(set->file);
    else if (H5Dread(set->set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) < 0)
        from_refuse(variable, "a damaged header");
    else
        variable->at = from_whole_hole(set->whole, bytes, values, (size_t)bytes);
    is_taken(set, variable->at, variable->name);
    free(values);
    H5Tclose(type);
}

static H5D_layout_t read_layout(const struct from_hdf5_set *set)
{
    H5D_layout_t layout = H5Pget_layout(set->properties);

    if (layout == H5D_CONTIGUOUS)
        read_contiguous(set);
    else if (layout == H5D_CHUNKED)
        read_chunks(set);
    else if (layout == H5D_COMPACT)
        read_compact(set);
    else if (layout != H5D_VIRTUAL)
        from_refuse(set->variable, "a layout that is not known");
    return layout;
}

static void read_shape(struct from_variable *variable, hid_t set)
{
    hid_t space = H5Dget_space(set);
    hsize_t sizes[FROM_DIMENSIONS_MAX];
    H5S_class_t kind = space < 0 ? H5S_NO_CLASS : H5Sget_simple_extent_type(space);

    if (kind == H5S_NULL || kind == H5S_NO_CLASS)
        from_refuse(variable, "it has no values");
    else if (kind == H5S_SIMPLE)
        variable->dimensions = H5Sget_simple_extent_dims(space, sizes, NULL);
    for (int d = 0; d < variable->dimensions; d++) {
        if (sizes[d] > INT64_MAX)
            from_refuse(variable, "larger than 2^63-1 bytes");
        variable->shape[d] = sizes[d] > INT64_MAX ? 0 : (int64_t)sizes[d];
    }
    if (space >= 0)
        H5Sclose(space);
}

/*
 * Returns the size of the object header at a displacement, without continuation blocks, or 0 if it
 * is unknown. The layout message normally lies before these. Version 1 has a prefix of 16 bytes,
 * with the length of the messages at byte 8. Version 2 has the length after fields that the flags
 * determine, and a checksum after the messages.
 */
static int64_t header_size(const struct from_source *source, int64_t at)
{
    unsigned char head[32] = {0};

    if (source->read(source->self, head, sizeof(head), at) < 16)
        return 0;
    if (head[0] == 1)
        return 16 + (int64_t)from_load(head + 8, 4, false);
    if (memcmp(head, "OHDR", 4) != 0)
        return 0;
    int start = 6 + (head[5] & 0x20 ? 16 : 0) + (head[5] & 0x10 ? 4 : 0),
        bytes = 1 << (head[5] & 3);
    if (start + bytes > (int)sizeof(head))
        return 0;
    int64_t length = (int64_t)from_load(head + start, bytes, false);
    return length < 0 || length > INT32_MAX ? 0 : start + bytes + length + 4;
}

H5D_layout_t from_hdf5_read(const struct from_hdf5_set *set, int64_t header)
{
    struct from_variable *variable = set->variable;
    hid_t type = H5Dget_type(set->set);
    H5D_layout_t layout = H5D_LAYOUT_ERROR;
    int64_t bytes = header_size(set->in->source, header);

    read_shape(variable, set->set);
    if (set->wanted)
        from_hdf5_names(set->set, variable);
    from_hdf5_element(variable, type);
    if (from_elements(variable) < 0)
        from_refuse(variable, "larger than 2^63-1 bytes");
    if (!variable->reason)
        layout = read_layout(set);
    if (!variable->reason && !bytes)
        from_refuse(variable, "a header that is not known");
    variable->part = (struct from_part){header, bytes, NULL};
    if (type >= 0)
        H5Tclose(type);
    return layout;
}
