/* SPDX-License-Identifier: MIT */
#include "typetree.h"

#include <string.h>

struct shrinker {
    struct tt_spec *spec;
    bool (*fails)(void *context, struct tt_spec *spec);
    void *context;
    bool changed;
    int budget; /* how many more specs may be tried */
};

static bool still_fails(struct shrinker *shrinker)
{
    return shrinker->budget-- > 0 && shrinker->fails(shrinker->context, shrinker->spec);
}

static bool try_int(struct shrinker *shrinker, struct tt_int *value, struct tt_int smaller)
{
    struct tt_int old = *value;

    if (old.base == smaller.base && old.step == smaller.step && old.form == smaller.form)
        return false;
    *value = smaller;
    if (still_fails(shrinker)) {
        shrinker->changed = true;
        return true;
    }
    *value = old;
    return false;
}

/* Shrinks a number. least is the smallest base that its key allows. */
static void shrink_int(struct shrinker *shrinker, struct tt_int *value, int64_t least)
{
    struct tt_int plain = {.base = value->base};

    try_int(shrinker, value, plain);
    while (value->base > least) {
        struct tt_int half = *value, less = *value;
        half.base = value->base / 2 < least ? least : value->base / 2;
        less.base--;
        if (!try_int(shrinker, value, half) && !try_int(shrinker, value, less))
            break;
    }
}

static void shrink_type(struct shrinker *shrinker, struct tt_type **slot);

static void shrink_arrays(struct shrinker *shrinker, struct tt_type *type)
{
    while (type->n > 1) {
        type->n--;
        if (!still_fails(shrinker)) {
            type->n++;
            break;
        }
        shrinker->changed = true;
    }
    for (int i = 0; i < type->n; i++) {
        if (type->lengths)
            shrink_int(shrinker, &type->lengths[i], 0);
        shrink_int(shrinker, &type->displs[i], 0);
        if (type->types)
            shrink_type(shrinker, &type->types[i]);
    }
}

static void shrink_type(struct shrinker *shrinker, struct tt_type **slot)
{
    struct tt_type *type = *slot;

    if (type == NULL || type->kind == TT_ETYPE || type->kind == TT_BASIC)
        return;
    for (int i = 0; i < (type->kind == TT_STRUCT ? type->n : 1); i++) {
        *slot = type->kind == TT_STRUCT ? type->types[i] : type->old;
        if (still_fails(shrinker)) {
            shrinker->changed = true;
            return;
        }
        *slot = type;
    }
    if (type->kind == TT_SUBARRAY || type->kind == TT_DARRAY) {
        shrink_type(shrinker, &type->old);
        return;
    }
    shrink_int(shrinker, &type->count, 0);
    shrink_int(shrinker, &type->length, type->kind >= TT_SCATTER ? 1 : 0);
    shrink_int(shrinker, &type->stride, 0);
    shrink_int(shrinker, &type->lb, 0);
    shrink_int(shrinker, &type->extent, 0);
    shrink_int(shrinker, &type->size, 1);
    shrink_arrays(shrinker, type);
    shrink_type(shrinker, &type->old);
}

static void try_value(struct shrinker *shrinker, int *value, int smaller)
{
    int old = *value;

    if (old <= smaller)
        return;
    *value = smaller;
    if (still_fails(shrinker))
        shrinker->changed = true;
    else
        *value = old;
}

static void shrink_view(struct shrinker *shrinker, struct tt_view *view)
{
    if (view->per_rank) {
        view->per_rank = false;
        if (!still_fails(shrinker))
            view->per_rank = true;
    }
    shrink_int(shrinker, &view->disp, 0);
    shrink_type(shrinker, &view->etype);
    shrink_type(shrinker, &view->filetype);
    for (int i = 0; view->per_rank && i < shrinker->spec->ranks; i++) {
        shrink_type(shrinker, &view->over[i].etype);
        shrink_type(shrinker, &view->over[i].filetype);
    }
}

static void drop_named(struct shrinker *shrinker)
{
    struct tt_spec *spec = shrinker->spec;

    try_value(shrinker, &spec->named_count, spec->named_count - 1);
}

void tt_shrink(struct tt_spec *spec, bool (*fails)(void *context, struct tt_spec *spec),
               void *context)
{
    struct shrinker shrinker = {spec, fails, context, true, 4000};

    while (shrinker.changed && shrinker.budget > 0) {
        shrinker.changed = false;
        if (spec->view_count == 2) {
            struct tt_view first = spec->views[0];
            spec->view_count = 1;
            if (!still_fails(&shrinker)) {
                spec->views[0] = spec->views[1];
                if (!still_fails(&shrinker)) {
                    spec->views[0] = first;
                    spec->view_count = 2;
                }
            }
        }
        for (int i = 0; i < spec->view_count; i++)
            shrink_view(&shrinker, &spec->views[i]);
        for (int i = 0; i < spec->named_count; i++)
            shrink_type(&shrinker, &spec->named[i]->old);
        drop_named(&shrinker);
    }
}
