/* SPDX-License-Identifier: MIT */
#include "formats.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "spec.h"
#include "viewspec/base/list.h"

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

/* Reading files. */

/* The size of the first read. Each further read is four times as large, until it has the header. */
#define FIRST_BYTES ((size_t)1 << 16)
/* The maximum size of a header in bytes. */
#define MOST_BYTES ((size_t)1 << 28)

bool from_has_suffix(const char *path, const char *suffix)
{
    size_t length = strlen(path), end = strlen(suffix);

    return length > end && !strcmp(path + length - end, suffix);
}

int from_paths_add(struct from_paths *paths, char *path)
{
    if (path == NULL || !VS_LIST_ROOM(paths->list, paths->count, paths->room)) {
        free(path);
        return -ENOMEM;
    }
    paths->list[paths->count++] = path;
    return 0;
}

static int compare_paths(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

int from_paths_find(struct from_paths *paths, struct from_file *file, const char *path,
                    bool (*is_one)(const char *entry, const char *base))
{
    const char *base = basename(path);
    char *name = base > path ? strndup(path, (size_t)(base - path)) : strdup(".");
    DIR *folder = name ? opendir(name) : NULL;
    const struct dirent *entry;
    int code = folder ? 0 : -errno;

    while (!code && (entry = readdir(folder)))
        if (is_one(entry->d_name, base))
            code = from_paths_add(paths, from_beside(path, entry->d_name));
    if (folder)
        closedir(folder);
    free(name);
    if (paths->count)
        qsort(paths->list, paths->count, sizeof(*paths->list), compare_paths);
    if (code && file)
        from_fail(file->error, code, file->path, "its folder: %s", strerror(-code));
    return code;
}

json_t *from_paths_json(const struct from_paths *paths)
{
    json_t *list = json_array();

    for (size_t i = 0; i < paths->count; i++)
        json_array_append_new(list, json_string(paths->list[i]));
    if (json_array_size(list) == paths->count)
        return list;
    json_decref(list);
    return NULL;
}

void from_paths_free(struct from_paths *paths)
{
    for (size_t i = 0; i < paths->count; i++)
        free(paths->list[i]);
    free(paths->list);
}

/* Calls parse with ever more of an open file's beginning. */
static int read_head(struct from_file *file, const struct from_source *source, from_parser *parse,
                     void *argument)
{
    struct from_bytes head = {.size = source->size, .path = file->path, .source = source};
    unsigned char *bytes = NULL;
    int code = -EAGAIN;

    for (size_t room = FIRST_BYTES; code == -EAGAIN; room *= 4) {
        unsigned char *larger = realloc(bytes, room);
        int64_t length = larger ? source->read(source->self, larger, room, 0) : -ENOMEM;
        bytes = larger ? larger : bytes;
        if (length < 0) {
            code = from_fail_code(file->error, (int)length, file->path);
            break;
        }
        head.bytes = bytes;
        head.length = (size_t)length;
        code = parse(file, &head, argument);
        if (code == -EAGAIN && ((size_t)length < room || room >= MOST_BYTES))
            code = from_wrong(file, "damaged %s header: %s", file->format,
                              (size_t)length < room ? "the file ends in the header"
                                                    : "the header is too long");
    }
    free(bytes);
    return code;
}

int from_head(struct from_file *file, from_parser *parse, void *argument)
{
    struct from_source source = {.read = from_read};
    int fd = from_open_regular(file->path, &source.size), code;

    if (fd == -EINVAL)
        return from_wrong(file, "not a regular file");
    if (fd < 0)
        return from_fail_code(file->error, fd, file->path);
    source.self = &fd;
    code = read_head(file, &source, parse, argument);
    close(fd);
    return code;
}

/* Listing a file. */

/* Fails if a variable lacks a type for want of memory. Refuses structures with gaps in chunks that
   are out of order: a slice with a buftype would show the gaps, which NumPy's elements do not have.
 */
static void check_variables(struct from_file *file)
{
    for (size_t i = 0; i < file->count; i++) {
        struct from_variable *variable = &file->variables[i];
        if (!variable->etype && !variable->reason)
            from_no_memory(file);
        if (variable->has_gaps && variable->boxes.count && !from_chunks_in_order(variable))
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
        else if (!variable->reason && !variable->chunk[0] && !variable->is_assembled &&
                 (from_end(variable) < 0 || from_end(variable) > size))
            from_refuse(variable,
                        "%s is truncated: %lld bytes of at least %lld (truncate -s adds zeros)",
                        file->data ? file->data : "the file", (long long)size,
                        (long long)from_end(variable));
    }
}

/* Finds the format of the header, and lists the contents of the file with it. */
static int list_contents(struct from_file *file, const struct from_bytes *head, void *argument)
{
    const struct from_format *format = from_format_of(head);
    int code;

    (void)argument;
    if (format == NULL)
        return from_wrong(file, "not a file that describes itself (netCDF classic, HDF5 and its "
                                "subfiles, .npy, MITgcm's .meta, FITS, VTK, NRRD, MetaImage, ENVI, "
                                "BOV, Fortran records)");
    from_clear(file);
    file->format = format->name;
    code = format->read(head, file);
    if (code)
        return code;
    check_variables(file);
    refuse_cut(file, head->size);
    return file->error->code;
}

/* Returns the path of a file that describes name, if a format finds one; or the name itself. A new
   string. */
static char *path_of(const char *name)
{
    bool is_missing = access(name, F_OK) && errno == ENOENT;
    char *found = NULL;

    for (size_t i = 0; is_missing && found == NULL && i < sizeof(formats) / sizeof(*formats); i++)
        if (formats[i]->find)
            found = formats[i]->find(name);
    return found ? found : strdup(name);
}

int from_open(const char *name, struct from_wanted wanted, struct from_file **result,
              struct vs_error *error)
{
    struct from_file *file = calloc(1, sizeof(*file));
    int code;

    if (file == NULL)
        return from_fail_code(error, -ENOMEM, name);
    file->error = error;
    file->path = path_of(name);
    file->wanted = wanted;
    code = file->path ? from_head(file, list_contents, NULL) : from_fail_code(error, -ENOMEM, name);
    if (code)
        from_free(file);
    else
        *result = file;
    return code;
}
