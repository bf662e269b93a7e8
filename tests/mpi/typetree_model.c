/* SPDX-License-Identifier: MIT */
#include "typetree_model.h"

#include <string.h>

static void resolve(struct tt_model *model, const struct tt_spec *spec, const struct tt_view *view,
                    int rank)
{
    const char *datarep = view->datarep ? view->datarep : "native";
    struct tt_int disp = view->disp;

    model->etype_type = view->etype;
    model->filetype_type = view->filetype;
    if (view->per_rank) {
        if (view->over[rank].has_disp)
            disp = view->over[rank].disp;
        if (view->over[rank].etype)
            model->etype_type = view->over[rank].etype;
        if (view->over[rank].filetype)
            model->filetype_type = view->over[rank].filetype;
    }
    model->disp = tt_value(disp, rank);
    model->etype_env = (struct tt_env){
        .rank = rank,
        .ranks = spec->ranks,
        .external = !strcmp(datarep, "external32") || !strcmp(datarep, "internal"),
    };
}

static void judge(struct tt_model *model, const char *broken)
{
    if (model->verdict != TT_ILLEGAL)
        model->broken = broken;
    model->verdict = TT_ILLEGAL;
}

static void judge_etype(struct tt_model *model)
{
    const struct tt_map *map = &model->etype;

    if (map->count == 0)
        judge(model, "etype without data");
    if (tt_extent(map) <= 0)
        judge(model, "etype's extent not positive");
    for (int i = 0; i < map->count; i++) {
        if (map->entries[i].displ < 0)
            judge(model, "etype: negative displacement");
        if (i > 0 && map->entries[i].displ < map->entries[i - 1].displ)
            judge(model, "etype: displacements decrease");
    }
}

/* Checks that each hole before, between and behind the etypes is a multiple of the etype's
   extent. */
static void judge_holes(struct tt_model *model)
{
    const struct tt_map *map = &model->filetype;
    int64_t grain = tt_extent(&model->etype);

    if (grain <= 0)
        return;
    for (int i = 1; i < map->count; i++)
        if ((map->entries[i].displ - map->entries[i - 1].displ) % grain)
            judge(model, "a hole is no multiple of the etype's extent");
    if (tt_extent(map) % grain)
        judge(model, "the extent is no multiple of the etype's");
    if ((map->entries[0].displ + model->etype.lb - map->lb) % grain)
        judge(model, "the first hole is no multiple of the etype's extent");
}

static void judge_filetype(struct tt_model *model)
{
    const struct tt_map *map = &model->filetype;

    if (map->count == 0 || model->etype.count == 0)
        return;
    if (tt_extent(map) <= 0)
        judge(model, "filetype's extent not positive");
    for (int i = 0; i < map->count; i++) {
        int64_t displ = map->entries[i].displ;
        if (displ + model->etype.entries[0].displ < 0)
            judge(model, "filetype: negative displacement");
        else if (displ < 0 && model->verdict == TT_LEGAL)
            model->verdict = TT_UNSURE;
        if (i > 0 && displ < map->entries[i - 1].displ)
            judge(model, "filetype: displacements decrease");
    }
    judge_holes(model);
}

/*
 * A leaf other than the etype makes a filetype illegal, unless it is the same type by another name,
 * or contributes no data.
 */
static bool judge_leaves(struct tt_model *model)
{
    const struct tt_map *map = &model->filetype;

    for (int i = 0; i < map->count; i++) {
        int basic = map->entries[i].basic;
        if (basic != TT_UNIT &&
            (model->etype.count != 1 || !tt_is_same_basic(model->etype.entries[0].basic, basic))) {
            judge(model, "filetype not of the etype");
            return false;
        }
    }
    return true;
}

static bool other_leaf(const struct tt_type *type, const struct tt_type *etype)
{
    if (type == NULL)
        return false;
    if (type->kind == TT_STRUCT) {
        for (int i = 0; i < type->n; i++)
            if (other_leaf(type->types[i], etype))
                return true;
        return false;
    }
    if (type->kind == TT_NAMED)
        return type != etype;
    if (type->kind == TT_BASIC)
        return etype->kind != TT_BASIC || !tt_is_same_basic(type->basic, etype->basic);
    if (type->kind == TT_ETYPE)
        return type->old && type->old != etype;
    return other_leaf(type->old, etype);
}

static void lay_tile(struct tt_model *model)
{
    const struct tt_map *etype = &model->etype, *map = &model->filetype;
    int64_t at = 0;

    for (int i = 0; i < etype->count; i++) {
        model->etype_size += tt_basic_size(&model->etype_env, etype->entries[i].basic);
        model->etype_native += tt_basics[etype->entries[i].basic].size;
    }
    model->tile_size = model->etype_size * map->count;
    model->tile_extent = tt_extent(map);
    if (model->tile_size > TT_MAX_BYTES)
        return;
    model->tile = tt_alloc(&model->pool, sizeof(int64_t) * (size_t)(model->tile_size + 1));
    model->low = INT64_MAX;
    model->high = INT64_MIN;
    for (int u = 0; u < map->count; u++) {
        for (int i = 0; i < etype->count; i++) {
            int64_t displ = map->entries[u].displ + etype->entries[i].displ;
            int size = tt_basic_size(&model->etype_env, etype->entries[i].basic);
            for (int b = 0; b < size; b++)
                model->tile[at++] = displ + b;
            model->low = displ < model->low ? displ : model->low;
            model->high = displ + size > model->high ? displ + size : model->high;
        }
    }
}

static void lay_tiles(struct tt_model *model, uint64_t *random)
{
    int64_t first = model->disp + model->low;

    model->file_size = model->disp + model->high +
                       (int64_t)(tt_random(random) % 3) * model->tile_extent +
                       (int64_t)(tt_random(random) % 50);
    if (model->file_size > TT_MAX_FILE)
        model->file_size = TT_MAX_FILE;
    /* At least two, because bytes may decrease only from one tile to the next. */
    model->tiles = 2;
    if (first < model->file_size)
        model->tiles += (model->file_size - first) / model->tile_extent;
    model->positions = model->tiles * model->tile_size;
    if (model->positions > TT_MAX_BYTES) {
        model->verdict = TT_TOO_BIG;
        return;
    }
    model->displacements = tt_alloc(&model->pool, sizeof(int64_t) * (size_t)model->positions);
    for (int64_t p = 0; p < model->positions; p++)
        model->displacements[p] = model->disp + p / model->tile_size * model->tile_extent +
                                  model->tile[p % model->tile_size];
}

void tt_model(struct tt_model *model, const struct tt_spec *spec, const struct tt_view *view,
              int rank, uint64_t *random)
{
    struct tt_type unit = {.kind = TT_ETYPE};

    memset(model, 0, sizeof(*model));
    resolve(model, spec, view, rank);
    tt_expand(&model->pool, model->etype_type, &model->etype_env, &model->etype);
    model->env = model->etype_env;
    model->env.etype = model->etype_type;
    model->env.etype_map = &model->etype;
    tt_expand(&model->pool, model->filetype_type ? model->filetype_type : &unit, &model->env,
              &model->filetype);
    if (model->etype.too_big || model->filetype.too_big) {
        model->verdict = TT_TOO_BIG;
        return;
    }
    if (model->disp < 0)
        judge(model, "negative disp");
    judge_etype(model);
    if (!judge_leaves(model))
        return;
    if (other_leaf(model->filetype_type, model->etype_type)) {
        if (model->verdict == TT_LEGAL)
            model->verdict = TT_UNSURE;
        return;
    }
    judge_filetype(model);
    if (model->verdict != TT_LEGAL)
        return;
    lay_tile(model);
    if (!model->tile) {
        model->verdict = TT_TOO_BIG;
        return;
    }
    if (model->tile_size > 0)
        lay_tiles(model, random);
}

void tt_model_free(struct tt_model *model)
{
    tt_free(&model->pool);
}

int64_t tt_model_shown(const struct tt_model *model, int64_t file_size)
{
    int64_t size = model->etype_size;

    for (int64_t p = 0; p < model->positions; p += size) {
        for (int64_t b = p; b < p + size; b++)
            if (model->displacements[b] >= file_size)
                return p;
    }
    return model->positions;
}
