/* SPDX-License-Identifier: MIT */
#include "prop_oracle.h"

#include <inttypes.h>
#include <string.h>

struct bytes {
    unsigned char *file, *slice, *other;
    int file_size, slice_size, tiles;
};

/* Copies the first size positions from file to slice, or back. */
static void copy(const struct vs_map *map, unsigned char *file, unsigned char *slice, int64_t size,
                 bool scatter)
{
    struct vs_cursor cursor;
    struct vs_batch batch;

    vs_cursor_start(&cursor, map, 0, size);
    while (vs_cursor_batch(&cursor, &batch)) {
        for (int64_t i = 0; i < batch.count; i++) {
            unsigned char *at = file + batch.displacement + i * batch.stride;
            unsigned char *part = slice + batch.position + i * batch.length;
            memcpy(scatter ? at : part, scatter ? part : at, (size_t)batch.length);
        }
    }
}

static void fill(unsigned char *bytes, int size, uint64_t *random)
{
    for (int i = 0; i < size; i++)
        bytes[i] = (unsigned char)(tt_random(random) >> 24);
}

/*
 * Zeros the padding of long doubles. MPICH copies a long double by its value, 10 of 16 bytes. A new
 * buffer has zeros in the others.
 */
static void clear_padding(const struct tt_model *model, unsigned char *file, int64_t positions)
{
    const struct tt_map *etype = &model->etype;

    for (int64_t p = 0; p < positions;) {
        for (int i = 0; i < etype->count; i++) {
            const struct tt_basic *basic = &tt_basics[etype->entries[i].basic];
            if (basic->mpi == MPI_LONG_DOUBLE)
                memset(file + model->displacements[p] + 10, 0, 6);
            p += basic->size;
        }
    }
}

static void check_pack(struct prop_state *state, struct tt_model *model, const struct vs_map *map,
                       struct bytes *bytes, MPI_Datatype type)
{
    int at = 0;

    copy(map, bytes->file, bytes->slice, bytes->slice_size, false);
    MPI_Pack(bytes->file + model->disp, bytes->tiles, type, bytes->other, bytes->slice_size, &at,
             MPI_COMM_SELF);
    state->done[PROP_PACK]++;
    if (at != bytes->slice_size)
        prop_fail(state, PROP_PACK, "MPI packs %d bytes, the slice has %d", at, bytes->slice_size);
    else if (memcmp(bytes->slice, bytes->other, (size_t)bytes->slice_size) != 0)
        prop_fail(state, PROP_PACK, "MPI_Pack gives other bytes");
}

static void check_unpack(struct prop_state *state, struct tt_model *model, const struct vs_map *map,
                         struct bytes *bytes, MPI_Datatype type)
{
    unsigned char *other = tt_alloc(&model->pool, (size_t)bytes->file_size);
    int at = 0;

    memset(bytes->file, 0, (size_t)bytes->file_size);
    copy(map, bytes->file, bytes->slice, bytes->slice_size, true);
    MPI_Unpack(bytes->slice, bytes->slice_size, &at, other + model->disp, bytes->tiles, type,
               MPI_COMM_SELF);
    state->done[PROP_UNPACK]++;
    if (memcmp(bytes->file, other, (size_t)bytes->file_size) != 0)
        prop_fail(state, PROP_UNPACK, "MPI_Unpack stores other bytes");
}

void prop_check_mpi(struct prop_state *state, struct tt_model *model, const struct vs_map *map,
                    uint64_t *random)
{
    struct tt_type unit = {.kind = TT_ETYPE};
    struct bytes bytes = {.tiles = model->tiles < 3 ? (int)model->tiles : 3};
    char problem[256] = "";
    MPI_Datatype type;
    MPI_Count size;

    type = tt_mpi(&model->pool, model->filetype_type ? model->filetype_type : &unit, &model->env,
                  problem, sizeof(problem));
    MPI_Type_commit(&type);
    MPI_Type_size_x(type, &size);
    state->done[PROP_BOUNDS]++;
    if (problem[0])
        prop_fail(state, PROP_BOUNDS, "%s", problem);
    if (size != model->tile_size)
        prop_fail(state, PROP_BOUNDS, "MPI_Type_size is %lld, expected %" PRId64, (long long)size,
                  model->tile_size);
    bytes.slice_size = (int)(bytes.tiles * model->tile_size);
    bytes.file_size = (int)(model->disp + model->high + (bytes.tiles - 1) * model->tile_extent);
    bytes.file = tt_alloc(&model->pool, (size_t)bytes.file_size);
    bytes.slice = tt_alloc(&model->pool, (size_t)bytes.slice_size);
    bytes.other = tt_alloc(&model->pool, (size_t)bytes.slice_size);
    fill(bytes.file, bytes.file_size, random);
    clear_padding(model, bytes.file, bytes.slice_size);
    if (!state->failed)
        check_pack(state, model, map, &bytes, type);
    /* If bytes overlap, MPI does not specify which of two stores comes last. */
    if (!state->failed && vs_map_facts(map)->disjoint)
        check_unpack(state, model, map, &bytes, type);
    MPI_Type_free(&type);
}
