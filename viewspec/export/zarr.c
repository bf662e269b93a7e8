/* SPDX-License-Identifier: MIT */
#include "export.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "viewspec/types/byte_order.h"
#include "zarr_private.h"

/*
 * A Zarr store, version 2, uncompressed. Chunks at the upper edges are padded with zeros, as the
 * format requires. Values keep the byte order of the file, which the dtype names.
 */

/* The fixed files of a node. Only the store itself has consolidated metadata. */
enum { ATTRIBUTES, METADATA, CONSOLIDATED };
#define FIXED 3
static const char *const group_files[FIXED] = {".zattrs", ".zgroup", ".zmetadata"};
static const char *const array_files[FIXED] = {".zattrs", ".zarray", NULL};

static const char *fixed_name(const struct vs_zarr *zarr, int64_t node, int64_t file)
{
    const char *name =
        zarr->nodes[node].kind == VS_ZARR_GROUP ? group_files[file] : array_files[file];

    return file == CONSOLIDATED && node != 0 ? NULL : name;
}

static void layout_of(const struct vs_zarr *zarr, int64_t number, int64_t file_size,
                      struct vs_chunks *layout)
{
    const struct vs_zarr_node *node = &zarr->nodes[number];

    if (node->kind == VS_ZARR_FIELD)
        vs_chunks_of_field(node->global, node->field, node->records, file_size, layout);
    else
        vs_chunks_of_line(node->name, vs_global_facts(node->global)->sizes[node->dimension],
                          sizeof(double), layout);
}

int vs_zarr_new(const struct vs_global *const *globals, size_t count, int64_t file_size,
                struct vs_zarr **result, struct vs_error *error)
{
    struct vs_zarr *zarr = calloc(1, sizeof(*zarr));
    int failure = zarr ? vs_zarr_make(zarr, globals, count, file_size, error) : -ENOMEM;

    if (failure)
        vs_zarr_free(zarr);
    else
        *result = zarr;
    return failure;
}

void vs_zarr_free(struct vs_zarr *zarr)
{
    if (zarr == NULL)
        return;
    vs_arena_free(&zarr->arena);
    free(zarr->nodes);
    free(zarr->slots);
    free(zarr);
}

int64_t vs_zarr_nodes(const struct vs_zarr *zarr)
{
    return zarr->count;
}

/* Names. */

bool vs_zarr_find(const struct vs_zarr *zarr, int64_t node, int64_t file_size, const char *name,
                  struct vs_zarr_entry *entry)
{
    struct vs_chunks layout;
    int64_t chunk;

    *entry = (struct vs_zarr_entry){.node = vs_zarr_node(zarr, node, name)};
    if (entry->node >= 0)
        return true;
    for (int64_t file = 0; file < FIXED; file++) {
        const char *fixed = fixed_name(zarr, node, file);

        entry->file = file;
        if (fixed && strcmp(fixed, name) == 0)
            return true;
    }
    if (zarr->nodes[node].kind == VS_ZARR_GROUP)
        return false;
    layout_of(zarr, node, file_size, &layout);
    chunk = vs_chunks_parse(&layout, name);
    if (chunk < 0 || chunk >= VS_ZARR_FILES - FIXED)
        return false;
    entry->file = FIXED + chunk;
    return true;
}

bool vs_zarr_entry(const struct vs_zarr *zarr, int64_t node, int64_t file_size, int64_t index,
                   char *name, struct vs_zarr_entry *entry)
{
    struct vs_chunks layout;

    *entry = (struct vs_zarr_entry){.node = -1};
    for (; entry->file < FIXED; entry->file++) {
        const char *fixed = fixed_name(zarr, node, entry->file);

        if (fixed && index-- == 0) {
            snprintf(name, VS_ZARR_NAME, "%s", fixed);
            return true;
        }
    }
    if (zarr->nodes[node].kind == VS_ZARR_GROUP) {
        if (index >= zarr->nodes[node].count)
            return false;
        entry->node = zarr->nodes[node].first + index;
        snprintf(name, VS_ZARR_NAME, "%s", zarr->nodes[entry->node].name);
        return true;
    }
    layout_of(zarr, node, file_size, &layout);
    if (index >= layout.count)
        return false;
    entry->file = FIXED + index;
    vs_chunks_name(&layout, index, name, VS_ZARR_NAME);
    return true;
}

/* Metadata. */

static void put_list(FILE *out, const char *key, const int64_t *numbers, int count)
{
    fprintf(out, "\"%s\": [", key);
    for (int i = 0; i < count; i++)
        fprintf(out, "%s%lld", i ? ", " : "", (long long)numbers[i]);
    fputs("]", out);
}

static void put_array(const struct vs_zarr *zarr, int64_t number, int64_t file_size, FILE *out)
{
    const struct vs_zarr_node *node = &zarr->nodes[number];
    char type[VS_NPY_TYPE] = "";
    struct vs_chunks layout;

    layout_of(zarr, number, file_size, &layout);
    if (node->kind == VS_ZARR_COORDINATES) {
        vs_npy_type(vs_basic_find("double"), VS_NATIVE_ORDER == VS_BIG_ENDIAN, type);
    } else {
        const struct vs_global_field *field = &vs_global_facts(node->global)->field[node->field];
        bool raw = vs_global_is_raw(node->global);

        vs_npy_type(field->basic, raw ? field->big_endian : VS_NATIVE_ORDER == VS_BIG_ENDIAN, type);
    }
    fputs("{", out);
    put_list(out, "chunks", layout.shape.block, layout.shape.dimensions);
    fprintf(out,
            ", \"compressor\": null, \"dtype\": \"%s\", \"fill_value\": null, \"filters\": "
            "null, \"order\": \"%s\", ",
            type, layout.fortran ? "F" : "C");
    put_list(out, "shape", layout.shape.sizes, layout.shape.dimensions);
    fputs(", \"zarr_format\": 2}", out);
}

static void put_attributes(const struct vs_zarr *zarr, int64_t number, int64_t file_size, FILE *out)
{
    struct vs_chunks layout;
    const char *const *dims;

    if (zarr->nodes[number].kind == VS_ZARR_GROUP) {
        fputs("{}", out);
        return;
    }
    layout_of(zarr, number, file_size, &layout);
    dims = zarr->nodes[number].dims ? zarr->nodes[number].dims : layout.shape.dims;
    fputs("{\"_ARRAY_DIMENSIONS\": [", out);
    for (int d = 0; d < layout.shape.dimensions; d++)
        fprintf(out, "%s\"%s\"", d ? ", " : "", dims[d]);
    fputs("]}", out);
}

static void put_metadata(const struct vs_zarr *zarr, int64_t node, int64_t file_size, FILE *out)
{
    if (zarr->nodes[node].kind == VS_ZARR_GROUP)
        fputs("{\"zarr_format\": 2}", out);
    else
        put_array(zarr, node, file_size, out);
}

/* Writes the key of a fixed file of a node: its path in the store. */
static void put_key(const struct vs_zarr *zarr, int64_t node, int64_t file, FILE *out)
{
    const struct vs_zarr_node *up =
        zarr->nodes[node].up > 0 ? &zarr->nodes[zarr->nodes[node].up] : NULL;

    fprintf(out, "\"%s%s%s%s%s\": ", up ? up->name : "", up ? "/" : "", zarr->nodes[node].name,
            node ? "/" : "", fixed_name(zarr, node, file));
}

static void put_consolidated(const struct vs_zarr *zarr, int64_t file_size, FILE *out)
{
    fputs("{\"metadata\": {", out);
    for (int64_t i = 0; i < zarr->count; i++) {
        fputs(i ? ",\n" : "\n", out);
        put_key(zarr, i, ATTRIBUTES, out);
        put_attributes(zarr, i, file_size, out);
        fputs(",\n", out);
        put_key(zarr, i, METADATA, out);
        put_metadata(zarr, i, file_size, out);
    }
    fputs("}, \"zarr_consolidated_format\": 1}", out);
}

static int add_text(const struct vs_zarr *zarr, int64_t node, int64_t file, int64_t file_size,
                    struct vs_export *result)
{
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);

    if (out == NULL)
        return -ENOMEM;
    if (file == ATTRIBUTES)
        put_attributes(zarr, node, file_size, out);
    else if (file == METADATA)
        put_metadata(zarr, node, file_size, out);
    else
        put_consolidated(zarr, file_size, out);
    fputs("\n", out);
    if (fclose(out)) {
        free(text);
        text = NULL;
    }
    return vs_export_text(result, text, (int64_t)length);
}

/* Chunks. */

/*
 * Makes the box whole records, if only these can be cut out. A chunk is then a range of their
 * values, because rows or planes follow each other.
 */
static void cut_range(const struct vs_zarr_node *node, const struct vs_chunks *layout,
                      int64_t *start, int64_t *count, struct vs_values *values)
{
    const struct vs_global_facts *facts = vs_global_facts(node->global);

    for (int64_t i = 0; i < facts->dimensions; i++) {
        int64_t d = facts->fortran ? facts->dimensions - 1 - i : i;

        values->offset = values->offset * facts->sizes[d] + start[d];
        start[d] = 0;
        count[d] = facts->sizes[d];
    }
    values->offset *= facts->field[node->field].values * layout->element;
}

/* Sets the box of a chunk, and in values the place of the box in it. */
static void cut_chunk(const struct vs_zarr_node *node, const struct vs_chunks *layout,
                      int64_t chunk, struct vs_box *box, int64_t *start, int64_t *count,
                      struct vs_values *values)
{
    const struct vs_global_facts *facts = vs_global_facts(node->global);
    const struct vs_global_shape *shape = &layout->shape;
    int64_t index[VS_GLOBAL_DIMENSIONS], n = 0, value = 0;
    int first = facts->fortran && facts->field[node->field].values > 1; /* the values */

    vs_chunks_index(layout, chunk, index);
    *box = (struct vs_box){.field = node->field,
                           .records = 1,
                           .start = start,
                           .count = count,
                           .raw = vs_global_is_raw(node->global)};
    values->dimensions = shape->dimensions;
    values->element = layout->element;
    values->swap = 1;
    for (int d = 0; d < shape->dimensions; d++) {
        int64_t from = index[d] * shape->block[d], left = shape->sizes[d] - from;
        int64_t size = left < shape->block[d] ? left : shape->block[d];
        int at = facts->fortran ? shape->dimensions - 1 - d : d;
        bool record = facts->records && at == 0;

        values->count[at] = size;
        values->padded[at] = shape->block[d];
        if (record) {
            box->record = from;
            box->records = size;
        } else if (d >= first && n < facts->dimensions) {
            start[n] = from;
            count[n++] = size;
        } else {
            value = from;
        }
    }
    if (facts->whole)
        cut_range(node, layout, start, count, values);
    values->offset += value * layout->element; /* only chunks of one element have not all values */
}

static int add_chunk(const struct vs_zarr *zarr, int64_t number, int64_t chunk, int64_t file_size,
                     struct vs_export *result, struct vs_error *error)
{
    const struct vs_zarr_node *node = &zarr->nodes[number];
    int64_t start[VS_GLOBAL_DIMENSIONS], count[VS_GLOBAL_DIMENSIONS];
    struct vs_values values = {0};
    struct vs_chunks layout;
    struct vs_box box;
    int failure;

    layout_of(zarr, number, file_size, &layout);
    if (chunk >= layout.count)
        return layout.records < 0 ? -ENOENT : vs_export_zeros(result, vs_chunks_bytes(&layout));
    if (node->kind == VS_ZARR_COORDINATES)
        return vs_export_text(
            result,
            (char *)vs_export_coordinates(node->global, node->dimension, 0, layout.shape.sizes[0]),
            vs_chunks_bytes(&layout));
    cut_chunk(node, &layout, chunk, &box, start, count, &values);
    failure = vs_global_box(node->global, &box, &values.view, error);
    return failure ? failure : vs_export_values(result, &values, vs_chunks_bytes(&layout));
}

int64_t vs_zarr_length(const struct vs_zarr *zarr, int64_t node, int64_t file, int64_t file_size)
{
    struct vs_export text = {0};
    struct vs_chunks layout;
    int64_t length;
    int failure;

    if (file >= FIXED) {
        layout_of(zarr, node, file_size, &layout);
        return file - FIXED < layout.count || layout.records >= 0 ? vs_chunks_bytes(&layout)
                                                                  : -ENOENT;
    }
    failure = add_text(zarr, node, file, file_size, &text);
    length = failure ? failure : text.length;
    vs_export_free(&text);
    return length;
}

int vs_zarr_file(const struct vs_zarr *zarr, int64_t node, int64_t file, int64_t file_size,
                 struct vs_export *result, struct vs_error *error)
{
    return file < FIXED ? add_text(zarr, node, file, file_size, result)
                        : add_chunk(zarr, node, file - FIXED, file_size, result, error);
}
