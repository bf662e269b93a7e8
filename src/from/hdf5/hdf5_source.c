/* SPDX-License-Identifier: MIT */
/* A driver of libhdf5 that reads from a struct from_source, and writes nothing. */
#include "hdf5_source.h"

#include <stdlib.h>
#include <string.h>

struct file {
    H5FD_t public; /* the first member: libhdf5's own */
    const struct from_source *source;
    struct from_hdf5_watch *watch;
    haddr_t end; /* of what libhdf5 has allocated */
};

/* The file to open: the driver information in a file access property list. */
struct order {
    const char *name;
    const struct from_source *source;
    struct from_hdf5_watch *watch;
};

static H5FD_t *open_file(const char *name, unsigned flags, hid_t properties, haddr_t most)
{
    const struct order *order = H5Pget_driver_info(properties);
    struct file *file = NULL;

    (void)most;
    /* libhdf5 uses the property list for other files, too, such as sources of virtual datasets. */
    if (!(flags & H5F_ACC_RDWR) && order && !strcmp(order->name, name))
        file = calloc(1, sizeof(*file));
    if (file) {
        file->source = order->source;
        file->watch = order->watch;
    }
    return (H5FD_t *)file;
}

static herr_t close_file(H5FD_t *public)
{
    free(public);
    return 0;
}

static haddr_t get_allocated(const H5FD_t *public, H5FD_mem_t type)
{
    (void)type;
    return ((const struct file *)public)->end;
}

static herr_t set_allocated(H5FD_t *public, H5FD_mem_t type, haddr_t end)
{
    (void)type;
    ((struct file *)public)->end = end;
    return 0;
}

static haddr_t get_end(const H5FD_t *public, H5FD_mem_t type)
{
    (void)type;
    return (haddr_t)((const struct file *)public)->source->size;
}

/* Behind the end are zeros, as with libhdf5's own drivers. */
static herr_t read_file(H5FD_t *public, H5FD_mem_t type, hid_t properties, haddr_t at,
                        size_t length, void *buffer)
{
    const struct from_source *source = ((const struct file *)public)->source;
    struct from_hdf5_watch *watch = ((const struct file *)public)->watch;
    int64_t got = -1;

    (void)properties;
    if (watch->is_on && type == H5FD_MEM_DRAW) {
        watch->at = at <= INT64_MAX ? (int64_t)at : -1;
        return 0;
    }
    if (at <= INT64_MAX)
        got = source->read(source->self, buffer, length, (int64_t)at);
    if (got < 0)
        return -1;
    memset((char *)buffer + got, 0, length - (size_t)got);
    return 0;
}

static herr_t write_file(H5FD_t *public, H5FD_mem_t type, hid_t properties, haddr_t at,
                         size_t length, const void *buffer)
{
    (void)public;
    (void)type;
    (void)properties;
    (void)at;
    (void)length;
    (void)buffer;
    return -1;
}

static const H5FD_class_t driver = {
#ifdef H5FD_CLASS_VERSION
    .version = H5FD_CLASS_VERSION,
    .value = H5FD_RESERVED + 1,
#endif
    .name = "mpiio",
    .maxaddr = INT64_MAX,
    .fc_degree = H5F_CLOSE_WEAK,
    .fapl_size = sizeof(struct order),
    .open = open_file,
    .close = close_file,
    .get_eoa = get_allocated,
    .set_eoa = set_allocated,
    .get_eof = get_end,
    .read = read_file,
    .write = write_file,
    .fl_map = H5FD_FLMAP_DICHOTOMY,
};

hid_t from_hdf5_open(const char *name, const struct from_source *source,
                     struct from_hdf5_watch *watch)
{
    struct order order = {name, source, watch};
    static hid_t number = -1; /* stays: libhdf5 may look at the driver when its file is closed */
    hid_t properties = H5Pcreate(H5P_FILE_ACCESS), file = -1;

    if (number < 0)
        number = H5FDregister(&driver);
    if (number >= 0 && properties >= 0 && H5Pset_driver(properties, number, &order) >= 0)
        file = H5Fopen(name, H5F_ACC_RDONLY, properties);
    if (properties >= 0)
        H5Pclose(properties);
    return file;
}
