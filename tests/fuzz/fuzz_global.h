/* SPDX-License-Identifier: MIT */
#ifndef FUZZ_GLOBAL_H
#define FUZZ_GLOBAL_H

/* Checks the global array of a view, and the files for other programs that are made of it. */

#include "fuzz.h"
#include "viewspec/export/export.h"
#include "viewspec/map.h"

/* Sizes of the file, as if it were in the mount. */
static const int64_t fuzz_sizes[] = {0, 1 << 10, INT64_C(1) << 40};

/* Checks that the pieces of a file add up, and frees them. */
static inline void check_pieces(struct vs_export *file, int result, const struct vs_error *error)
{
    int64_t length = 0;

    CHECK(!result || result == -ENOMEM || error->reason[0]);
    for (size_t i = 0; i < file->count; i++) {
        CHECK(file->pieces[i].length >= 0);
        length += file->pieces[i].length;
    }
    CHECK(length == file->length);
    vs_export_free(file);
}

static inline void check_formats(const struct vs_global *global, int64_t size)
{
    static const struct vs_format *const formats[] = {&vs_netcdf, &vs_vtk};

    for (int i = 0; i < 2; i++) {
        struct vs_error one = {0}, all = {0};
        struct vs_export file = {0};
        int result = formats[i]->rank(global, vs_global_ranks(global) - 1, size, &file, &one);

        check_pieces(&file, result, &one);
        if (vs_global_ranks(global) > 100)
            continue;
        result = formats[i]->all(global, size, 3, &file, &all);
        check_pieces(&file, result, &all);
    }
}

/* Checks the first and last entries of each node of a store, by their names. */
static inline void check_store(const struct vs_global *global, int64_t size)
{
    struct vs_error error = {0};
    struct vs_zarr *zarr = NULL;

    if (vs_zarr_new(&global, 1, size, &zarr, &error)) {
        CHECK(error.reason[0]);
        return;
    }
    for (int64_t node = 0; node < vs_zarr_nodes(zarr) && node < 10; node++) {
        for (int64_t index = 0; index < 20; index++) {
            struct vs_zarr_entry entry, same;
            struct vs_export file = {0};
            struct vs_error why = {0};
            char name[VS_ZARR_NAME];

            if (!vs_zarr_entry(zarr, node, size, index, name, &entry))
                break;
            CHECK(vs_zarr_find(zarr, node, size, name, &same));
            CHECK(same.node == entry.node && (entry.node >= 0 || same.file == entry.file));
            if (entry.node >= 0)
                continue;
            int result = vs_zarr_file(zarr, node, entry.file, size, &file, &why);
            CHECK(result || file.length == vs_zarr_length(zarr, node, entry.file, size));
            check_pieces(&file, result, &why);
        }
    }
    vs_zarr_free(zarr);
}

static inline void check_global(const struct vs_spec *spec, size_t view)
{
    for (size_t i = 0; i < sizeof(fuzz_sizes) / sizeof(*fuzz_sizes); i++) {
        struct vs_error error = {0};
        struct vs_global *global = NULL;

        if (vs_global_new(spec, view, fuzz_sizes[i], &global, &error)) {
            CHECK(error.code && error.reason[0]);
            continue;
        }
        for (int64_t field = 0; field < vs_global_facts(global)->fields; field++) {
            struct vs_global_shape shape;

            vs_global_shape(global, field, vs_global_records(global, fuzz_sizes[i]), &shape);
            for (int d = 0; d < shape.dimensions; d++)
                CHECK(shape.sizes[d] >= 0 && shape.block[d] >= 0 && shape.dims[d]);
        }
        check_formats(global, fuzz_sizes[i]);
        check_store(global, fuzz_sizes[i]);
        vs_global_free(global);
    }
}

#endif
