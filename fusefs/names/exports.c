/* SPDX-License-Identifier: MIT */
#include "exports.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The formats that have a file for each rank, by enum fs_format. */
static const struct vs_format *const formats[FS_RANK_FORMATS] = {
    [FS_NETCDF] = &vs_netcdf, [FS_VTK] = &vs_vtk};

static int64_t file_size(const struct fs_exports *exports)
{
    return mpiio_store_size(exports->store);
}

/* Returns 0 if a format can show a view, by the file of rank 0. */
static int check_format(const struct fs_exports *exports, size_t view, int format, int64_t size,
                        struct vs_error *why)
{
    struct vs_export file = {0};
    int error = formats[format]->rank(exports->globals[view], 0, size, &file, why);

    vs_export_free(&file);
    return error;
}

/* Adds the formats of one view. Records the first reason why it lacks one, by format. */
static int add_view(struct fs_exports *exports, const struct vs_spec *spec, unsigned wanted,
                    size_t view, int64_t size, struct vs_error *reasons)
{
    struct vs_error none = {0};
    int error = vs_global_new(spec, view, size, &exports->globals[view], &none);

    if (error == 0 && vs_global_records(exports->globals[view], size) == 0 &&
        !vs_global_facts(exports->globals[view])->records) {
        vs_global_free(exports->globals[view]);
        exports->globals[view] = NULL;
        none.code = error = -EINVAL;
        snprintf(none.reason, sizeof(none.reason),
                 "the file has %lld bytes, which is less than one array", (long long)size);
    }
    for (int format = FS_NETCDF; format <= FS_ZARR && error != -ENOMEM; format++) {
        struct vs_error own = none;

        /* Inode numbers have no room for more views than a store may have nodes. */
        if (!(wanted & 1u << format) || (int64_t)view >= VS_ZARR_NODES)
            continue;
        if (own.code == 0 && format < FS_ZARR &&
            check_format(exports, view, format, size, &own) == -ENOMEM)
            return -ENOMEM;
        if (own.code == 0)
            exports->formats[view] |= 1u << format;
        else if (reasons[format].code == 0)
            reasons[format] = own;
    }
    return error == -ENOMEM ? error : 0;
}

/* Names the mount option before the reason why a format is not possible. Returns -EINVAL. */
static int refuse(enum fs_format format, const struct vs_error *reason, struct vs_error *why)
{
    static const char *const options[] = {[FS_NETCDF] = "nc", [FS_VTK] = "vti", [FS_ZARR] = "zarr"};

    *why = *reason;
    snprintf(why->reason, sizeof(why->reason), "option %s: %.480s", options[format],
             reason->reason);
    return -EINVAL;
}

/* Fails if no view has one of the wanted formats. */
static int check_formats(const struct fs_exports *exports, unsigned wanted,
                         const struct vs_error *reasons, struct vs_error *why)
{
    for (int format = FS_NETCDF; format <= FS_ZARR; format++) {
        bool any = !(wanted & 1u << format);

        for (size_t view = 0; view < exports->tree->views && !any; view++)
            any = exports->formats[view] & 1u << format;
        if (!any)
            return refuse((enum fs_format)format, &reasons[format], why);
    }
    return 0;
}

/* Makes the store of the views that have an array. */
static int add_zarr(struct fs_exports *exports, struct vs_error *why)
{
    const struct vs_global **globals = calloc(exports->tree->views, sizeof(*globals));
    struct vs_error reason = {0};
    size_t count = 0;
    int error;

    for (size_t view = 0; globals != NULL && view < exports->tree->views; view++)
        if (exports->globals[view] != NULL)
            globals[count++] = exports->globals[view];
    error = globals != NULL
                ? vs_zarr_new(globals, count, file_size(exports), &exports->zarr, &reason)
                : -ENOMEM;
    free(globals);
    return error == -EINVAL ? refuse(FS_ZARR, &reason, why) : error;
}

int fs_exports_init(struct fs_exports *exports, const struct fs_tree *tree,
                    struct mpiio_store *store, unsigned wanted, struct vs_error *why)
{
    struct vs_error reasons[FS_ZARR + 1] = {0};
    size_t views = tree->views;
    int64_t size;
    int error = 0;

    *exports = (struct fs_exports){.tree = tree,
                                   .store = store,
                                   .globals = calloc(views, sizeof(struct vs_global *)),
                                   .formats = calloc(views, sizeof(unsigned)),
                                   .whole = calloc(views, sizeof(*exports->whole))};
    size = file_size(exports);
    if (exports->globals == NULL || exports->formats == NULL || exports->whole == NULL)
        error = -ENOMEM;
    else if (size < 0)
        error = (int)size;
    for (size_t view = 0; view < views && error == 0; view++)
        error = add_view(exports, tree->spec, wanted, view, size, reasons);
    if (error == 0)
        error = check_formats(exports, wanted, reasons, why);
    if (error == 0 && wanted & 1u << FS_ZARR)
        error = add_zarr(exports, why);
    if (error != 0)
        fs_exports_free(exports);
    return error;
}

void fs_exports_free(struct fs_exports *exports)
{
    vs_zarr_free(exports->zarr);
    for (size_t view = 0; exports->globals != NULL && view < exports->tree->views; view++)
        vs_global_free(exports->globals[view]);
    free(exports->globals);
    free(exports->formats);
    free(exports->whole);
    *exports = (struct fs_exports){0};
}

bool fs_exports_has(const struct fs_exports *exports, size_t view, enum fs_format format)
{
    if (exports == NULL)
        return false;
    if (format == FS_ZARR)
        return exports->zarr != NULL && (int64_t)view < vs_zarr_nodes(exports->zarr);
    return view < exports->tree->views && exports->formats[view] & 1u << format;
}

/* Returns true if a view has a file for all ranks. One that refers to their files needs them all.
 */
static bool has_whole(const struct fs_exports *exports, size_t view, enum fs_format format)
{
    const struct fs_tree *tree = exports->tree;
    int64_t most = formats[format]->most;

    return fs_exports_has(exports, view, format) &&
           (most == 0 || (tree->end - tree->first == tree->ranks && tree->ranks <= most));
}

static struct fs_node node_of(const struct vs_zarr_entry *entry, size_t node)
{
    if (entry->node >= 0)
        return (struct fs_node){
            .kind = FS_EXPORT_FOLDER, .view = (size_t)entry->node, .format = FS_ZARR};
    return (struct fs_node){
        .kind = FS_EXPORT, .view = node, .rank = entry->file, .format = FS_ZARR};
}

bool fs_exports_entry(const struct fs_exports *exports, struct fs_node folder, bool holds_ranks,
                      int64_t *index, char *name, struct fs_node *node)
{
    struct vs_zarr_entry entry;
    char long_name[VS_ZARR_NAME];
    const char *base;

    if (exports == NULL)
        return false;
    if (folder.kind == FS_EXPORT_FOLDER) {
        if (!vs_zarr_entry(exports->zarr, (int64_t)folder.view, file_size(exports), *index,
                           long_name, &entry))
            return false;
        snprintf(name, FS_NAME_SIZE, "%.255s", long_name);
        *node = node_of(&entry, folder.view);
        return true;
    }
    if (folder.kind == FS_ROOT && exports->zarr != NULL && (*index)-- == 0) {
        *node = (struct fs_node){.kind = FS_EXPORT_FOLDER, .format = FS_ZARR};
        strcpy(name, "zarr");
        return true;
    }
    for (int format = FS_NETCDF; format < FS_ZARR && holds_ranks && folder.kind != FS_ORDERED;
         format++) {
        if (!has_whole(exports, folder.view, (enum fs_format)format) || (*index)-- != 0)
            continue;
        base = formats[format]->whole;
        snprintf(name, FS_NAME_SIZE, "%s%s",
                 base != NULL ? base : vs_global_facts(exports->globals[folder.view])->name,
                 formats[format]->whole_suffix);
        *node = (struct fs_node){
            .kind = FS_EXPORT, .view = folder.view, .rank = -1, .format = (enum fs_format)format};
        return true;
    }
    return false;
}

struct fs_node fs_exports_find(const struct fs_exports *exports, struct fs_node folder,
                               const char *name)
{
    struct vs_zarr_entry entry;

    if (!vs_zarr_find(exports->zarr, (int64_t)folder.view, file_size(exports), name, &entry))
        return (struct fs_node){.kind = FS_NONE};
    return node_of(&entry, folder.view);
}

int64_t fs_exports_length(const struct fs_exports *exports, struct fs_node node)
{
    bool refers = node.format != FS_ZARR && node.rank < 0 && formats[node.format]->most != 0;
    struct vs_export file = {0};
    int64_t length = file_size(exports);
    int error;

    if (length < 0)
        return length;
    if (node.format == FS_ZARR)
        return vs_zarr_length(exports->zarr, (int64_t)node.view, node.rank, length);
    if (refers && exports->whole[node.view] != 0)
        return exports->whole[node.view];
    error = fs_exports_make(exports, node, &file);
    length = error != 0 ? error : file.length;
    if (refers && error == 0)
        exports->whole[node.view] = length;
    vs_export_free(&file);
    return length;
}

int fs_exports_make(const struct fs_exports *exports, struct fs_node node, struct vs_export *file)
{
    struct vs_error why = {0};
    int64_t size = file_size(exports);
    int error;

    if (size < 0)
        return (int)size;
    if (node.format == FS_ZARR)
        error = vs_zarr_file(exports->zarr, (int64_t)node.view, node.rank, size, file, &why);
    else if (node.rank < 0)
        error = formats[node.format]->all(exports->globals[node.view], size, exports->tree->width,
                                          file, &why);
    else
        error =
            formats[node.format]->rank(exports->globals[node.view], node.rank, size, file, &why);
    return error == -EINVAL ? -EIO : error; /* the file has shrunk or grown since the mount */
}
