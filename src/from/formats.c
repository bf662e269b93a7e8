/* SPDX-License-Identifier: MIT */
#include "formats.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "spec.h"

static const struct from_format *const formats[] = {
    &from_netcdf, &from_subfiling,  &from_hdf5,    &from_npy,  &from_nrrd,
    &from_fits,   &from_vtk_legacy, &from_vtk_xml, &from_envi, &from_metaimage,
    &from_bov,    &from_mitgcm,     &from_fortran};

const struct from_format *from_format_of(const struct from_bytes *head)
{
    for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++)
        if (formats[i]->is_it(head))
            return formats[i];
    return NULL;
}

/* Returns the path of a file that describes name, if a format finds one, as a new string; or
   NULL. */
static char *find_described(const char *name)
{
    char *path = NULL;

    for (size_t i = 0; path == NULL && i < sizeof(formats) / sizeof(*formats); i++)
        if (formats[i]->find)
            path = formats[i]->find(name);
    return path;
}

/* Returns the names of the formats: "a, b, c". Borrowed. */
static const char *format_names(void)
{
    return "netCDF classic, HDF5 and its subfiles, .npy, MITgcm's .meta, FITS, VTK, NRRD, "
           "MetaImage, ENVI, BOV, Fortran records";
}

/* Opening a file. */

struct input {
    const struct from_source *source;
    struct from_file *file;
};

/* Finds the format of the header, and parses the header with it. */
static int parse_head(void *argument, const struct from_bytes *head, struct vs_error *error)
{
    const struct input *input = argument;
    struct from_file *file = input->file;
    const struct from_format *format = from_format_of(head);

    if (format == NULL)
        return from_fail(error, -EINVAL, head->path, "not a file that describes itself (%s)",
                         format_names());
    from_clear(file);
    file->format = format->name;
    if (format->list)
        return format->list(head->path, file, error);
    if (format->scan)
        return format->scan(input->source, head->path, file, error);
    return format->parse(head, file, error);
}

/* Refuses structures with gaps in chunks that are out of order. A slice with a buftype would
   show the gaps, which NumPy's elements do not have. */
static void refuse_disorder(struct from_file *file)
{
    for (size_t i = 0; i < file->count; i++) {
        struct from_variable *variable = &file->variables[i];
        if (variable->has_gaps && variable->chunks.count && !from_chunks_in_order(variable))
            from_refuse(variable, "structures with gaps, in chunks that do not lie in the order "
                                  "of the array");
    }
}

/* Refuses variables that extend beyond the end of the file, whose slices would be short. */
static void refuse_cut(struct from_file *file, int64_t size)
{
    const char *why = NULL;
    struct stat st;

    if (file->members)
        return;
    if (file->data && stat(file->data, &st) != 0)
        why = strerror(errno);
    else if (file->data && !S_ISREG(st.st_mode))
        why = "not a regular file";
    else if (file->data)
        size = st.st_size;
    for (size_t i = 0; i < file->count; i++) {
        struct from_variable *variable = &file->variables[i];
        if (why)
            from_refuse(variable, "%s: %s", file->data, why);
        else if (!variable->reason && !variable->chunks.sizes[0] && !variable->is_assembled &&
                 (from_end(variable) < 0 || from_end(variable) > size))
            from_refuse(variable,
                        "%s is truncated: %lld bytes of at least %lld (truncate -s adds zeros)",
                        file->data ? file->data : "the file", (long long)size,
                        (long long)from_end(variable));
    }
}

/* Returns the path itself, or the path of a file that describes this name. A new string. */
static char *path_of(const char *name)
{
    char *found = access(name, F_OK) && errno == ENOENT ? find_described(name) : NULL;

    return found ? found : strdup(name);
}

int from_open(const char *name, struct from_wanted wanted, struct from_file **result,
              struct vs_error *error)
{
    struct from_file *file = calloc(1, sizeof(*file));
    char *path = path_of(name);
    struct from_bytes head = {.path = path};
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1, code = 0;
    struct from_source source = {from_read, &fd, 0};
    struct input input = {&source, file};
    struct stat st;

    if (file == NULL || path == NULL)
        code = from_fail_code(error, -ENOMEM, name);
    else if (fd < 0 || fstat(fd, &st))
        code = from_fail_code(error, -errno, path);
    else if (!S_ISREG(st.st_mode))
        code = from_fail(error, -EINVAL, path, "not a regular file");
    if (file) {
        file->path = path;
        file->wanted = wanted;
    } else {
        free(path);
    }
    if (!code) {
        head.size = source.size = st.st_size;
        code = from_head(&source, &head, parse_head, &input, &file->format, error);
        if (!code) {
            refuse_disorder(file);
            refuse_cut(file, head.size);
        }
    }
    if (fd >= 0)
        close(fd);
    if (code) {
        from_free(file);
        return code;
    }
    *result = file;
    return 0;
}
