/* SPDX-License-Identifier: MIT */
#include "hdf5_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

/* HDF5 files, and the driver with which libhdf5 reads them. */

/* A driver of libhdf5 that reads from a file's source, and writes nothing. */

struct file {
    H5FD_t public; /* the first member: libhdf5's own */
    struct from_hdf5_file *of;
    haddr_t end; /* of what libhdf5 has allocated */
};

/* The driver information in a file access property list is a pointer to the file to open. */
static H5FD_t *open_file(const char *name, unsigned flags, hid_t properties, haddr_t most)
{
    struct from_hdf5_file *const *of = H5Pget_driver_info(properties);
    struct file *file = NULL;

    (void)most;
    /* libhdf5 uses the property list for other files, too, such as sources of virtual datasets. */
    if (!(flags & H5F_ACC_RDWR) && of && !strcmp((*of)->path, name))
        file = calloc(1, sizeof(*file));
    if (file)
        file->of = *of;
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
    return (haddr_t)((const struct file *)public)->of->source->size;
}

/* Bytes after the end are zeros, as with libhdf5's own drivers. */
static herr_t read_file(H5FD_t *public, H5FD_mem_t type, hid_t properties, haddr_t at,
                        size_t length, void *buffer)
{
    struct from_hdf5_file *of = ((const struct file *)public)->of;
    int64_t got = -1;

    (void)properties;
    if (of->watch.is_on && type == H5FD_MEM_DRAW) {
        of->watch.at = at <= INT64_MAX ? (int64_t)at : -1;
        return 0;
    }
    if (at <= INT64_MAX)
        got = of->source->read(of->source->self, buffer, length, (int64_t)at);
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
    .fapl_size = sizeof(struct from_hdf5_file *),
    .open = open_file,
    .close = close_file,
    .get_eoa = get_allocated,
    .set_eoa = set_allocated,
    .get_eof = get_end,
    .read = read_file,
    .write = write_file,
    .fl_map = H5FD_FLMAP_DICHOTOMY,
};

/* Opens a file that has a source with libhdf5. Returns libhdf5's identifier, which is negative on
   error. */
static hid_t open_source(struct from_hdf5_file *of)
{
    /* never unregistered: libhdf5 may use the driver when its file is closed */
    static hid_t number = -1;
    hid_t properties = H5Pcreate(H5P_FILE_ACCESS), file = -1;

    if (number < 0)
        number = H5FDregister(&driver);
    if (number >= 0 && properties >= 0 && H5Pset_driver(properties, number, &of) >= 0)
        file = H5Fopen(of->path, H5F_ACC_RDONLY, properties);
    if (properties >= 0)
        H5Pclose(properties);
    return file;
}

/* Files. */

static int open_plain(struct from_hdf5_file *file)
{
    file->plain = (struct from_source){.read = from_read, .self = &file->fd};
    file->fd = from_open_regular(file->path, &file->plain.size);
    if (file->fd < 0)
        return file->fd;
    /* libhdf5 holds an exclusive lock while it writes. */
    if (flock(file->fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        return -EINVAL;
    file->source = &file->plain;
    return 0;
}

int from_hdf5_file_open(struct from_hdf5_file *file, const char *path,
                        const struct from_source *source)
{
    hsize_t block = 0;
    H5F_info2_t info;

    *file = (struct from_hdf5_file){.path = path, .root = -1, .source = source, .fd = -1};
    int code = source ? 0 : open_plain(file);
    if (code)
        return code;
    file->root = open_source(file);
    if (file->root < 0 || H5Fget_info2(file->root, &info) < 0)
        return -EINVAL;
    hid_t properties = H5Fget_create_plist(file->root);
    H5Pget_userblock(properties, &block);
    H5Pclose(properties);
    file->base = (int64_t)block;
    file->super = (int64_t)info.super.super_size;
    return 0;
}

void from_hdf5_file_close(struct from_hdf5_file *file)
{
    if (file->root >= 0)
        H5Fclose(file->root);
    if (file->fd >= 0)
        close(file->fd);
}

char *from_hdf5_beside(const char *path, const char *name, bool beside_first)
{
    char *beside = NULL;

    if (!strchr(path, '/') || (*name == '/' && access(name, F_OK) == 0))
        return strdup(name);
    if (*name == '/') { /* both may have been moved: libhdf5 looks beside the file, too */
        name = strrchr(name, '/') + 1;
        beside_first = true;
    }
    beside = from_beside(path, name);
    if (beside && (access(beside, F_OK) != 0 || (!beside_first && access(name, F_OK) == 0))) {
        free(beside);
        return strdup(name);
    }
    return beside;
}
