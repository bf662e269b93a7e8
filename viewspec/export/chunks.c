/* SPDX-License-Identifier: MIT */
#include "zarr_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The chunks of a Zarr array. */

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
static int slowest(const struct vs_chunks *chunks, int i)
{
    return chunks->fortran ? chunks->shape.dimensions - 1 - i : i;
}

int64_t vs_chunks_bytes(const struct vs_chunks *chunks)
{
    int64_t bytes = chunks->element;

    for (int d = 0; d < chunks->shape.dimensions; d++)
        if (__builtin_mul_overflow(bytes, chunks->shape.block[d], &bytes))
            return INT64_MAX;
    return bytes;
}

/* Makes chunks of rows or planes: the slowest dimensions are cut until a chunk is small enough. */
static void choose_rows(struct vs_chunks *chunks)
{
    for (int i = 0; i < chunks->shape.dimensions && vs_chunks_bytes(chunks) > CHUNK_BYTES; i++) {
        int64_t *size = &chunks->shape.block[slowest(chunks, i)];
        int64_t all = *size, one;

        *size = 1;
        one = vs_chunks_bytes(chunks);
        if (one < CHUNK_BYTES)
            *size = CHUNK_BYTES / one < all ? CHUNK_BYTES / one : all;
    }
}

/* Makes a chunk of several small records, and of more if it is not a block of the ranks. */
static void choose_records(int64_t usual, bool blocks, struct vs_chunks *chunks)
{
    int64_t bytes = vs_chunks_bytes(chunks), records = RECORDS_BYTES / bytes;

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

/* Chooses the chunks, by what does not change while the file grows. */
static void choose_chunks(const struct vs_global_facts *facts, int64_t usual,
                          struct vs_chunks *chunks)
{
    bool blocks = has_blocks(facts, usual);

    for (int d = 0; d < chunks->shape.dimensions && !blocks; d++)
        chunks->shape.block[d] = chunks->shape.sizes[d];
    if (facts->records)
        chunks->shape.block[slowest(chunks, 0)] = 1;
    if (!blocks || vs_chunks_bytes(chunks) > BLOCK_BYTES)
        choose_rows(chunks);
    if (facts->records)
        choose_records(usual, blocks, chunks);
}

static void count_chunks(struct vs_chunks *chunks)
{
    chunks->count = 1;
    for (int d = 0; d < chunks->shape.dimensions; d++) {
        chunks->grid[d] =
            (chunks->shape.sizes[d] + chunks->shape.block[d] - 1) / chunks->shape.block[d];
        if (__builtin_mul_overflow(chunks->count, chunks->grid[d], &chunks->count))
            chunks->count = INT64_MAX;
    }
}

void vs_chunks_of_field(const struct vs_global *global, int64_t field, int64_t usual,
                        int64_t file_size, struct vs_chunks *chunks)
{
    const struct vs_global_facts *facts = vs_global_facts(global);
    int64_t records = facts->records ? vs_global_records(global, file_size) : 1;

    *chunks = (struct vs_chunks){
        .fortran = facts->fortran, .records = -1, .element = facts->field[field].basic->size};
    vs_global_shape(global, field, records, &chunks->shape);
    if (facts->records)
        chunks->records = slowest(chunks, 0);
    choose_chunks(facts, usual, chunks);
    count_chunks(chunks);
}

void vs_chunks_of_line(const char *dimension, int64_t size, int64_t element,
                       struct vs_chunks *chunks)
{
    *chunks = (struct vs_chunks){.records = -1, .element = element};
    chunks->shape.dimensions = 1;
    chunks->shape.sizes[0] = chunks->shape.block[0] = size;
    chunks->shape.dims[0] = dimension;
    count_chunks(chunks);
}

/* Names. */

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

int64_t vs_chunks_parse(const struct vs_chunks *chunks, const char *name)
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

void vs_chunks_index(const struct vs_chunks *chunks, int64_t chunk, int64_t *index)
{
    for (int i = chunks->shape.dimensions - 1; i >= 0; i--) {
        int d = slowest(chunks, i);

        index[d] = i == 0 ? chunk : chunk % chunks->grid[d];
        chunk /= i == 0 ? 1 : chunks->grid[d];
    }
}

void vs_chunks_name(const struct vs_chunks *chunks, int64_t chunk, char *name, size_t size)
{
    int64_t index[VS_GLOBAL_DIMENSIONS];
    int length = 0;

    vs_chunks_index(chunks, chunk, index);
    for (int d = 0; d < chunks->shape.dimensions; d++)
        length += snprintf(name + length, size - (size_t)length, "%s%lld", d ? "." : "",
                           (long long)index[d]);
}
