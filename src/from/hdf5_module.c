/* SPDX-License-Identifier: MIT */
#include "hdf5_module.h"

#define H5_USE_110_API
#include <errno.h>
#include <fcntl.h>
#include <hdf5.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hdf5_element.h"
#include "hdf5_links.h"
#include "hdf5_source.h"

/* A view lists its chunks one by one, and libhdf5 looks for each among all. */
#define CHUNKS_MAX 16384

struct visit {
    struct from_file *file;
    struct vs_error *error;
    const char *path;
    hid_t root;
    const struct from_source *source; /* for what libhdf5 does not tell */
    struct from_hdf5_objects objects; /* that were visited */
    int64_t base;                     /* where addresses count from: behind a user's own block */
};

static int no_memory(struct visit *visit)
{
    return from_fail(visit->error, -ENOMEM, visit->path, "%s", strerror(ENOMEM));
}

/* Whether so many bytes can be there in a file. */
static bool is_place(haddr_t at, int64_t bytes)
{
    return at <= (haddr_t)(INT64_MAX - bytes);
}

/* Why filtered chunks are no view: the filters' names. */
static void refuse_filters(struct from_variable *variable, hid_t properties, int filters)
{
    char text[256] = "", name[64];
    size_t used = 0;

    for (int i = 0; i < filters && used < sizeof(text); i++) {
        unsigned flags, values = 0;
        size_t count = 0;
        name[0] = '\0';
        H5Pget_filter2(properties, (unsigned)i, &flags, &count, &values, sizeof(name), name, NULL);
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", i ? ", " : "",
                                 name[0] ? name : "unknown");
    }
    from_refuse(variable, "chunks are filtered (%s)", text);
}

/* The next chunk in C order; false behind the last. */
static bool next_chunk(const struct from_variable *variable, int64_t *start)
{
    for (int d = variable->dimensions - 1; d >= 0; d--) {
        start[d] += variable->chunks.sizes[d];
        if (start[d] < variable->shape[d])
            return true;
        start[d] = 0;
    }
    return false;
}

/* How many chunks the variable has; -1: more than a view can have. */
static int64_t count_chunks(const struct from_variable *variable)
{
    int64_t count = 1;

    for (int d = 0; d < variable->dimensions; d++) {
        int64_t size = variable->chunks.sizes[d];
        count *= (variable->shape[d] + size - 1) / size;
        if (count > CHUNKS_MAX)
            return -1;
    }
    return count;
}

struct place {
    int64_t at;
    int64_t start[FROM_DIMENSIONS_MAX];
};

static int compare_places(const void *a, const void *b)
{
    const struct place *x = a, *y = b;

    return x->at < y->at ? -1 : x->at > y->at;
}

/* Finds where each chunk lies. 0 or -1, with what is wrong said. */
static int find_chunks(struct from_variable *variable, hid_t set, int64_t count,
                       struct place *places)
{
    int64_t start[FROM_DIMENSIONS_MAX] = {0};
    hsize_t offset[FROM_DIMENSIONS_MAX], size;
    unsigned mask;
    haddr_t at;

    for (int64_t i = 0; i < count; i++) {
        for (int d = 0; d < variable->dimensions; d++)
            offset[d] = (hsize_t)start[d];
        if (H5Dget_chunk_info_by_coord(set, offset, &mask, &at, &size) < 0) {
            from_refuse(variable, "libhdf5 does not tell where its chunks are");
            return -1;
        }
        if (at == HADDR_UNDEF || !is_place(at, INT32_MAX)) {
            from_refuse(variable,
                        at == HADDR_UNDEF ? "chunks that were never written" : "a damaged header");
            return -1;
        }
        places[i].at = (int64_t)at;
        memcpy(places[i].start, start, sizeof(start));
        next_chunk(variable, start);
    }
    qsort(places, (size_t)count, sizeof(*places), compare_places);
    return 0;
}

static void keep_chunks(struct visit *visit, struct from_variable *variable,
                        const struct place *places, size_t count)
{
    size_t dimensions = (size_t)variable->dimensions;
    struct from_chunks *chunks = &variable->chunks;

    chunks->at = calloc(count, sizeof(*chunks->at));
    chunks->starts = calloc(count * dimensions, sizeof(*chunks->starts));
    if (!chunks->at || !chunks->starts) {
        no_memory(visit);
        return;
    }
    chunks->count = count;
    for (size_t i = 0; i < count; i++) {
        chunks->at[i] = places[i].at;
        memcpy(chunks->starts + i * dimensions, places[i].start,
               dimensions * sizeof(*chunks->starts));
    }
}

static void read_chunks(struct visit *visit, struct from_variable *variable, hid_t set,
                        hid_t properties)
{
    hsize_t sizes[FROM_DIMENSIONS_MAX];
    int filters = H5Pget_nfilters(properties);

    if (filters) {
        refuse_filters(variable, properties, filters);
        return;
    }
    if (H5Pget_chunk(properties, FROM_DIMENSIONS_MAX, sizes) != variable->dimensions) {
        from_refuse(variable, "chunks of other dimensions");
        return;
    }
    for (int d = 0; d < variable->dimensions; d++)
        variable->chunks.sizes[d] = (int64_t)sizes[d];
    if (from_elements(variable) <= 0)
        return;
    int64_t count = count_chunks(variable);
    if (count < 0) {
        from_refuse(variable, "more than %d chunks", CHUNKS_MAX);
        return;
    }
    /* Releases of libhdf5 differ in what the addresses of chunks count from there. */
    if (visit->base) {
        from_refuse(variable, "chunks behind a user block");
        return;
    }
    struct place *places = calloc((size_t)count, sizeof(*places));
    if (places == NULL)
        no_memory(visit);
    else if (!find_chunks(variable, set, count, places))
        keep_chunks(visit, variable, places, (size_t)count);
    free(places);
}

static void read_contiguous(struct from_variable *variable, hid_t set, hid_t properties)
{
    haddr_t at = H5Dget_offset(set);

    if (H5Pget_external_count(properties) > 0)
        from_refuse(variable, "its values lie in other files");
    else if (from_elements(variable) == 0)
        variable->at = 0;
    else if (at == HADDR_UNDEF)
        from_refuse(variable, "it was never written");
    else if (!is_place(at, from_elements(variable) * variable->size))
        from_refuse(variable, "a damaged header");
    else
        variable->at = (int64_t)at;
}

static void read_layout(struct visit *visit, struct from_variable *variable, hid_t set)
{
    hid_t properties = H5Dget_create_plist(set);
    H5D_layout_t layout = properties < 0 ? H5D_LAYOUT_ERROR : H5Pget_layout(properties);

    if (layout == H5D_CONTIGUOUS)
        read_contiguous(variable, set, properties);
    else if (layout == H5D_CHUNKED)
        read_chunks(visit, variable, set, properties);
    else if (layout == H5D_COMPACT)
        from_refuse(variable, "its values lie in the header (compact)");
    else if (layout == H5D_VIRTUAL)
        from_refuse(variable, "it is virtual");
    else
        from_refuse(variable, "a layout that is not known");
    if (properties >= 0)
        H5Pclose(properties);
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
    for (int d = 0; d < variable->dimensions; d++)
        variable->shape[d] = (int64_t)sizes[d];
    if (space >= 0)
        H5Sclose(space);
}

/*
 * The size of the object header's first part, which says where the values lie, by its own first
 * bytes: version 1 has a length at byte 8 behind a prefix of 16, version 2 a length behind flags.
 */
static int64_t header_size(const struct visit *visit, int64_t at)
{
    unsigned char head[32] = {0};
    int64_t length = 0;

    if (visit->source->read(visit->source->self, head, sizeof(head), at) < 16)
        return 0;
    if (head[0] == 1)
        return 16 + (head[8] | head[9] << 8 | head[10] << 16 | (int64_t)head[11] << 24);
    if (memcmp(head, "OHDR", 4) != 0)
        return 0;
    int start = 6 + (head[5] & 0x20 ? 16 : 0) + (head[5] & 0x10 ? 4 : 0),
        bytes = 1 << (head[5] & 3);
    if (start + bytes > (int)sizeof(head))
        return 0;
    for (int i = bytes - 1; i >= 0; i--)
        length = length << 8 | head[start + i];
    return length < 0 || length > INT32_MAX ? 0 : start + bytes + length + 4;
}

/* netCDF-4 keeps a dimension that has no values as a set of that name. */
static bool is_dimension_alone(hid_t set)
{
    static const char text[] = "This is a netCDF dimension but not a netCDF variable";
    char name[128] = "";
    bool alone = false;

    if (H5Aexists(set, "NAME") <= 0)
        return false;
    hid_t attribute = H5Aopen(set, "NAME", H5P_DEFAULT), type = H5Aget_type(attribute);
    if (H5Tget_class(type) == H5T_STRING && !H5Tis_variable_str(type) &&
        H5Tget_size(type) < sizeof(name) && H5Aget_storage_size(attribute) < sizeof(name))
        alone = H5Aread(attribute, type, name) >= 0 && !strncmp(name, text, strlen(text));
    H5Tclose(type);
    H5Aclose(attribute);
    return alone;
}

static void read_set(struct visit *visit, const char *name, hid_t set, const H5O_info_t *info)
{
    struct from_variable *variable = from_add(visit->file, name, strlen(name));
    hid_t type = H5Dget_type(set);
    int64_t at = visit->base + (int64_t)info->addr, bytes = header_size(visit, at);

    if (variable == NULL) {
        no_memory(visit);
    } else {
        read_shape(variable, set);
        from_hdf5_element(variable, type);
        if (from_elements(variable) < 0)
            from_refuse(variable, "larger than 2^63-1 bytes");
        if (!variable->reason)
            read_layout(visit, variable, set);
        if (!variable->reason && !bytes)
            from_refuse(variable, "a header that is not known");
        variable->part = (struct from_part){at, bytes, NULL};
    }
    if (type >= 0)
        H5Tclose(type);
}

static herr_t visit_object(hid_t root, const char *name, const H5O_info_t *info, void *argument)
{
    struct visit *visit = argument;

    (void)root;
    if (from_hdf5_object(&visit->objects, name, info->addr)) {
        no_memory(visit);
        return -1;
    }
    if (info->type != H5O_TYPE_DATASET)
        return 0;
    hid_t set = H5Dopen2(visit->root, name, H5P_DEFAULT);
    if (set < 0) {
        from_fail(visit->error, -EINVAL, visit->path, "damaged HDF5 file: %s cannot be opened",
                  name);
        return -1;
    }
    if (!is_dimension_alone(set))
        read_set(visit, name, set, info);
    H5Dclose(set);
    return visit->error->code ? -1 : 0;
}

static int list(struct visit *visit)
{
    H5F_info2_t info;
    hid_t properties = H5Fget_create_plist(visit->root);
    hsize_t block = 0;

    H5Pget_userblock(properties, &block);
    H5Pclose(properties);
    visit->base = (int64_t)block;
    if (H5Fget_info2(visit->root, &info) < 0 ||
        H5Ovisit(visit->root, H5_INDEX_NAME, H5_ITER_INC, visit_object, visit) < 0 ||
        from_hdf5_links(visit->root, &visit->objects, visit->file, visit->error))
        return from_fail(visit->error, -EINVAL, visit->path, "damaged HDF5 file");
    return from_add_part(visit->file, visit->base, (int64_t)info.super.super_size)
               ? no_memory(visit)
               : 0;
}

static int64_t read_descriptor(void *self, void *buffer, size_t length, int64_t at)
{
    return pread(*(int *)self, buffer, length, at);
}

static void visit_all(struct visit *visit)
{
    if (visit->root < 0) {
        from_fail(visit->error, -EINVAL, visit->path,
                  "damaged HDF5 file, or one that is being written");
        return;
    }
    list(visit);
    from_hdf5_objects_free(&visit->objects);
    H5Fclose(visit->root);
}

int mpiio_hdf5_list(const char *path, const struct from_source *source, struct from_file *file,
                    struct vs_error *error)
{
    struct visit visit = {.file = file, .error = error, .path = path, .source = source};
    int fd;
    struct from_source plain = {.read = read_descriptor, .self = &fd};

    setenv("HDF5_USE_FILE_LOCKING", "BEST_EFFORT", 0);
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    if (source) {
        visit.root = from_hdf5_open(path, source);
        visit_all(&visit);
        return error->code;
    }
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return from_fail(error, -errno, path, "%s", strerror(errno));
    visit.source = &plain;
    visit.root = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    visit_all(&visit);
    close(fd);
    return error->code;
}
