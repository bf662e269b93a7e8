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

/*
 * Chunks. A chunk is a block of the ranks if these own blocks of a regular grid, else a number of
 * rows, planes or records. Chunks are numbered from 0 in the order of the file, so that those of
 * records keep their numbers when the file grows. The shape of a chunk does not depend on the
 * present number of records.
 */

/* The shape and the chunks of an array. Dimensions are in the order of the shape. */
struct chunks {
    struct vs_global_shape shape; /* block is a chunk */
    bool fortran;
    int records;                        /* number of the dimension of records; -1: none */
    int64_t element;                    /* bytes */
    int64_t count;                      /* of the chunks */
    int64_t grid[VS_GLOBAL_DIMENSIONS]; /* chunks along each dimension */
};

/*
 * Bytes of a chunk that is chosen by rows, of the largest block of a rank that is a chunk, and of
 * the smallest chunk of records, of which the file may get more.
 */
#define CHUNK_BYTES   ((int64_t)64 << 20)
#define BLOCK_BYTES   ((int64_t)512 << 20)
#define RECORDS_BYTES ((int64_t)64 << 10)
/* The most chunks of ranks' blocks. */
#define CHUNKS_MAX (VS_ZARR_FILES / 2)

/* Returns the number of the shape's dimension that is number i from the slowest. */
static int slowest(const struct chunks *chunks, int i)
{
    return chunks->fortran ? chunks->shape.dimensions - 1 - i : i;
}

/* Returns the bytes of a chunk. */
static int64_t chunks_bytes(const struct chunks *chunks)
{
    int64_t bytes = chunks->element;

    for (int d = 0; d < chunks->shape.dimensions; d++)
        if (__builtin_mul_overflow(bytes, chunks->shape.block[d], &bytes))
            return INT64_MAX;
    return bytes;
}

/* Makes chunks of rows or planes: the slowest dimensions are cut until a chunk is small enough. */
static void choose_rows(struct chunks *chunks)
{
    for (int i = 0; i < chunks->shape.dimensions && chunks_bytes(chunks) > CHUNK_BYTES; i++) {
        int64_t *size = &chunks->shape.block[slowest(chunks, i)];
        int64_t all = *size, one;

        *size = 1;
        one = chunks_bytes(chunks);
        if (one < CHUNK_BYTES)
            *size = CHUNK_BYTES / one < all ? CHUNK_BYTES / one : all;
    }
}

/* Makes a chunk of several small records, and of more if it is not a block of the ranks. */
static void choose_records(int64_t usual, bool blocks, struct chunks *chunks)
{
    int64_t bytes = chunks_bytes(chunks), records = RECORDS_BYTES / bytes;

    if (!blocks && records < usual)
        records = usual < CHUNK_BYTES / bytes ? usual : CHUNK_BYTES / bytes;
    chunks->shape.block[slowest(chunks, 0)] = records > 0 ? records : 1;
}

/* Returns true if a chunk is a block of the ranks. */
static bool has_blocks(const struct vs_global_facts *facts, int64_t usual)
{
    int64_t chunks = facts->records ? usual : 1;
    bool regular = false;

    for (int64_t d = 0; d < facts->dimensions; d++) {
        regular = regular || facts->block[d] != facts->sizes[d];
        if (__builtin_mul_overflow(chunks, facts->sizes[d] / facts->block[d] + 1, &chunks))
            return false;
    }
    return regular && chunks <= CHUNKS_MAX;
}

/* Chooses the chunks, by what does not change while the file grows. `usual` is the number of
   records by which the size of a chunk is chosen. */
static void choose_chunks(const struct vs_global_facts *facts, int64_t usual, struct chunks *chunks)
{
    bool blocks = has_blocks(facts, usual);

    for (int d = 0; d < chunks->shape.dimensions && !blocks; d++)
        chunks->shape.block[d] = chunks->shape.sizes[d];
    if (facts->records)
        chunks->shape.block[slowest(chunks, 0)] = 1;
    if (!blocks || chunks_bytes(chunks) > BLOCK_BYTES)
        choose_rows(chunks);
    if (facts->records)
        choose_records(usual, blocks, chunks);
}

static void count_chunks(struct chunks *chunks)
{
    chunks->count = 1;
    for (int d = 0; d < chunks->shape.dimensions; d++) {
        chunks->grid[d] =
            (chunks->shape.sizes[d] + chunks->shape.block[d] - 1) / chunks->shape.block[d];
        if (__builtin_mul_overflow(chunks->count, chunks->grid[d], &chunks->count))
            chunks->count = INT64_MAX;
    }
}

/* Returns the length of an index in decimal, or 0. Sets *index, or -1 if it is too large. */
static size_t parse_index(const char *name, int64_t *index)
{
    size_t length = strspn(name, "0123456789");

    if (length == 0 || (name[0] == '0' && length > 1))
        return 0;
    errno = 0;
    *index = strtoll(name, NULL, 10);
    if (errno)
        *index = -1;
    return length;
}

/*
 * Returns the number of the chunk with that name, "0.1.2", or -1. Chunks of records that the file
 * lacks have numbers as well: a program may know them from before the file was truncated. If they
 * did not exist, it would use uninitialized memory.
 */
static int64_t chunks_parse(const struct chunks *chunks, const char *name)
{
    int64_t index[VS_GLOBAL_DIMENSIONS], chunk = 0;

    for (int d = 0; d < chunks->shape.dimensions; d++) {
        bool last = d == chunks->shape.dimensions - 1, grows = d == chunks->records;
        size_t length = parse_index(name, &index[d]);

        if (length == 0 || index[d] < 0 || name[length] != (last ? '\0' : '.') ||
            (!grows && index[d] >= chunks->grid[d]))
            return -1;
        name += length + 1;
    }
    for (int i = 0; i < chunks->shape.dimensions; i++) {
        int d = slowest(chunks, i);

        if (__builtin_mul_overflow(chunk, chunks->grid[d], &chunk) ||
            __builtin_add_overflow(chunk, index[d], &chunk))
            return -1;
    }
    return chunk;
}

/* Sets the indices of a chunk, one for each dimension. */
static void chunks_index(const struct chunks *chunks, int64_t chunk, int64_t *index)
{
    for (int i = chunks->shape.dimensions - 1; i >= 0; i--) {
        int d = slowest(chunks, i);

        index[d] = i == 0 ? chunk : chunk % chunks->grid[d];
        chunk /= i == 0 ? 1 : chunks->grid[d];
    }
}

static void chunks_name(const struct chunks *chunks, int64_t chunk, char *name, size_t size)
{
    int64_t index[VS_GLOBAL_DIMENSIONS];
    int length = 0;

    chunks_index(chunks, chunk, index);
    for (int d = 0; d < chunks->shape.dimensions; d++)
        length += snprintf(name + length, size - (size_t)length, "%s%lld", d ? "." : "",
                           (long long)index[d]);
}

/* Files. */

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

/* Finds the shape and the chunks of an array in a file of file_size bytes. */
static void layout_of(const struct vs_zarr *zarr, int64_t number, int64_t file_size,
                      struct chunks *layout)
{
    const struct vs_zarr_node *node = &zarr->nodes[number];
    const struct vs_global_facts *facts = vs_global_facts(node->global);
    int64_t records = facts->records ? vs_global_records(node->global, file_size) : 1;

    *layout = (struct chunks){.records = -1, .element = sizeof(double)};
    if (node->kind == VS_ZARR_FIELD) {
        layout->fortran = facts->fortran;
        layout->element = facts->field[node->field].basic->size;
        vs_global_shape(node->global, node->field, records, &layout->shape);
        if (facts->records)
            layout->records = slowest(layout, 0);
        choose_chunks(facts, node->records, layout);
    } else {
        layout->shape.dimensions = 1;
        layout->shape.sizes[0] = layout->shape.block[0] = facts->sizes[node->dimension];
        layout->shape.dims[0] = node->name;
    }
    count_chunks(layout);
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
    json_decref(zarr->names);
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
    struct chunks layout;
    int64_t chunk;

    *entry = (struct vs_zarr_entry){.node = vs_zarr_number(zarr, node, name)};
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
    chunk = chunks_parse(&layout, name);
    if (chunk < 0 || chunk >= VS_ZARR_FILES - FIXED)
        return false;
    entry->file = FIXED + chunk;
    return true;
}

bool vs_zarr_entry(const struct vs_zarr *zarr, int64_t node, int64_t file_size, int64_t index,
                   char *name, struct vs_zarr_entry *entry)
{
    struct chunks layout;

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
    chunks_name(&layout, index, name, VS_ZARR_NAME);
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
    struct chunks layout;

    layout_of(zarr, number, file_size, &layout);
    if (node->kind == VS_ZARR_COORDINATES) {
        vs_npy_type(vs_basic_find("double"), VS_NATIVE_ORDER == VS_BIG_ENDIAN, type);
    } else {
        const struct vs_global_field *field = &vs_global_facts(node->global)->field[node->field];

        vs_npy_type(field->basic, vs_export_big_endian(node->global, field), type);
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
    struct chunks layout;
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

/*
 * Makes the box whole records, if only these can be cut out. A chunk is then a range of their
 * values, because rows or planes follow each other.
 */
static void cut_range(const struct vs_zarr_node *node, const struct chunks *layout, int64_t *start,
                      int64_t *count, struct vs_values *values)
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
static void cut_chunk(const struct vs_zarr_node *node, const struct chunks *layout, int64_t chunk,
                      struct vs_box *box, int64_t *start, int64_t *count, struct vs_values *values)
{
    const struct vs_global_facts *facts = vs_global_facts(node->global);
    const struct vs_global_shape *shape = &layout->shape;
    int64_t index[VS_GLOBAL_DIMENSIONS], n = 0, value = 0;
    int first = facts->fortran && facts->field[node->field].values > 1; /* the values */

    chunks_index(layout, chunk, index);
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
    struct chunks layout;
    struct vs_box box;
    int failure;

    layout_of(zarr, number, file_size, &layout);
    if (chunk >= layout.count)
        return layout.records < 0 ? -ENOENT : vs_export_zeros(result, chunks_bytes(&layout));
    if (node->kind == VS_ZARR_COORDINATES)
        return vs_export_text(
            result,
            (char *)vs_export_coordinates(node->global, node->dimension, 0, layout.shape.sizes[0]),
            chunks_bytes(&layout));
    cut_chunk(node, &layout, chunk, &box, start, count, &values);
    failure = vs_global_box(node->global, &box, &values.view, error);
    return failure ? failure : vs_export_values(result, &values, chunks_bytes(&layout));
}

int64_t vs_zarr_length(const struct vs_zarr *zarr, int64_t node, int64_t file, int64_t file_size)
{
    struct vs_export text = {0};
    struct chunks layout;
    int64_t length;
    int failure;

    if (file >= FIXED) {
        layout_of(zarr, node, file_size, &layout);
        return file - FIXED < layout.count || layout.records >= 0 ? chunks_bytes(&layout) : -ENOENT;
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
