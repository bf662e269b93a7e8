/* SPDX-License-Identifier: MIT */
#include "typetree.h"

#include <string.h>

#include "../shared/random.h"

/*
 * Most random trees break some rule of chapter 13. So strides and displacements are mostly drawn
 * from values that keep a tree legal: the child is expanded for every rank, which shows how far
 * apart its copies must be. The caller decides whether a tree is legal.
 */

struct maker {
    uint64_t *random;
    struct tt_spec *spec;
    int ranks;
    bool wild; /* anything goes */
    bool external;
    struct tt_type *etype; /* the filetype's etype; NULL in an etype */
    int64_t grain;         /* the etype's extent; strides should be multiples of it */
};

/* Properties of a type, the worst ones over all ranks. */
struct reach {
    int64_t starts; /* last start - first start */
    int64_t bytes;  /* the extent of the data */
    int64_t low;    /* lowest start */
    int64_t extent;
    bool data;
};

/* A program may replace this function with its own. */
__attribute__((weak)) uint64_t tt_random(uint64_t *state)
{
    return next_random(state);
}

static int below(struct maker *maker, int bound)
{
    return (int)(tt_random(maker->random) % (uint64_t)bound);
}

static bool one_in(struct maker *maker, int times)
{
    return below(maker, times) == 0;
}

static struct tt_int plain(struct maker *maker, int64_t base)
{
    return (struct tt_int){.base = base, .form = below(maker, 24)};
}

/* Returns base, or sometimes base + step * rank. */
static struct tt_int ranked(struct maker *maker, int64_t base, int64_t step)
{
    struct tt_int value = plain(maker, base);

    if (one_in(maker, 8))
        value.step = step;
    return value;
}

static struct reach reach_of(struct maker *maker, const struct tt_type *type)
{
    struct reach reach = {.low = INT64_MAX};
    struct tt_pool pool = {0};

    for (int rank = 0; rank < maker->ranks; rank++) {
        struct tt_env inner = {.rank = rank, .ranks = maker->ranks, .external = maker->external};
        struct tt_env env = inner;
        struct tt_map etype = {0}, map;
        int64_t size = 1, low = INT64_MAX, high = INT64_MIN;
        if (maker->etype) {
            tt_expand(&pool, maker->etype, &inner, &etype);
            env.etype = maker->etype;
            env.etype_map = &etype;
            size = etype.ub > 0 ? etype.ub : 1;
        }
        tt_expand(&pool, type, &env, &map);
        if (tt_extent(&map) > reach.extent)
            reach.extent = tt_extent(&map);
        for (int i = 0; i < map.count; i++) {
            int64_t start = map.entries[i].displ;
            int basic = map.entries[i].basic;
            int64_t end = start + (basic == TT_UNIT ? size : tt_basic_size(&env, basic));
            low = start < low ? start : low;
            high = end > high ? end : high;
            reach.data = true;
        }
        if (map.count > 0) {
            int64_t starts = map.entries[map.count - 1].displ - map.entries[0].displ;
            reach.starts = starts > reach.starts ? starts : reach.starts;
            reach.bytes = high - low > reach.bytes ? high - low : reach.bytes;
            reach.low = low < reach.low ? low : reach.low;
        }
    }
    if (!reach.data)
        reach.low = 0;
    tt_free(&pool);
    return reach;
}

static int64_t round_up(int64_t value, int64_t unit)
{
    int64_t rest = value % unit;

    return rest > 0 ? value + unit - rest : value - rest;
}

/* Returns a distance in bytes at which a copy can follow length copies of a type of that reach. */
static int64_t distance(struct maker *maker, const struct reach *reach, int64_t length)
{
    int64_t ahead = length > 1 ? (length - 1) * reach->extent : 0;

    if (maker->wild && one_in(maker, 4))
        return below(maker, 40) - 12;
    if (one_in(maker, 10))
        return round_up(ahead + reach->starts, maker->grain);
    return round_up(ahead + reach->bytes, maker->grain) + maker->grain * below(maker, 3);
}

static int64_t steps(int64_t bytes, int64_t extent)
{
    return extent > 0 ? round_up(bytes, extent) / extent : bytes;
}

static struct tt_type *new_type(struct maker *maker, enum tt_kind kind)
{
    struct tt_type *type = tt_alloc(&maker->spec->pool, sizeof(*type));

    type->kind = kind;
    type->form = below(maker, 12);
    return type;
}

static struct tt_int *new_ints(struct maker *maker, int count)
{
    return tt_alloc(&maker->spec->pool, sizeof(struct tt_int) * (size_t)(count + 1));
}

static struct tt_type *random_basic(struct maker *maker)
{
    struct tt_type *type = new_type(maker, TT_BASIC);

    /* Prefers the first six types, which have the same size in external32. */
    type->basic = one_in(maker, 3) ? below(maker, tt_basic_count) : below(maker, 6);
    return type;
}

static struct tt_type *leaf(struct maker *maker)
{
    struct tt_spec *spec = maker->spec;

    if (!maker->etype) {
        if (spec->named_count > 0 && one_in(maker, 4))
            return spec->named[below(maker, spec->named_count)];
        return random_basic(maker);
    }
    if (maker->wild && one_in(maker, 12))
        return random_basic(maker);
    if (maker->etype->kind == TT_NAMED && one_in(maker, 2))
        return maker->etype;
    if (maker->etype->kind == TT_BASIC && one_in(maker, 3)) {
        struct tt_type *type = new_type(maker, TT_BASIC);
        type->basic = maker->etype->basic;
        return type;
    }
    struct tt_type *type = new_type(maker, TT_ETYPE);
    if (maker->etype->kind > TT_NAMED && one_in(maker, 4))
        type->old = maker->etype;
    return type;
}

static struct tt_type *random_type(struct maker *maker, int depth);

static void fill_blocks(struct maker *maker, struct tt_type *type, const struct reach *reach)
{
    bool in_bytes = type->kind == TT_HINDEXED || type->kind == TT_HINDEXED_BLOCK;
    bool one_length = type->kind == TT_INDEXED_BLOCK || type->kind == TT_HINDEXED_BLOCK;
    int64_t at = 0;

    type->n = below(maker, 4);
    if (type->n == 0 && !one_in(maker, 4))
        type->n = 2;
    type->displs = new_ints(maker, type->n);
    type->length = plain(maker, one_in(maker, 12) ? 0 : 1 + below(maker, 2));
    if (!one_length)
        type->lengths = new_ints(maker, type->n);
    if (reach->low < 0 || one_in(maker, 3))
        at = round_up(reach->low < 0 ? -reach->low : 0, maker->grain) +
             below(maker, 3) * maker->grain;
    for (int i = 0; i < type->n; i++) {
        struct tt_int *length = &type->length;
        if (!one_length) {
            length = &type->lengths[i];
            *length = ranked(maker, one_in(maker, 8) ? 0 : 1 + below(maker, 2), 1);
        }
        int64_t unit = in_bytes ? 1 : reach->extent;
        int64_t displ = in_bytes ? at : steps(at, reach->extent);
        type->displs[i] = ranked(maker, displ, in_bytes ? maker->grain : 1);
        if (maker->wild && one_in(maker, 4))
            type->displs[i] = ranked(maker, below(maker, 20) - 6, 1);
        at = displ * unit + distance(maker, reach, tt_value(*length, maker->ranks - 1)) +
             tt_value(type->displs[i], maker->ranks - 1) * unit - displ * unit;
    }
}

static void fill_struct(struct maker *maker, struct tt_type *type, int depth)
{
    int64_t at = 0;

    type->n = 1 + below(maker, 3);
    type->lengths = new_ints(maker, type->n);
    type->displs = new_ints(maker, type->n);
    type->types = tt_alloc(&maker->spec->pool, sizeof(*type->types) * (size_t)type->n);
    for (int i = 0; i < type->n; i++) {
        type->types[i] = random_type(maker, depth - 1);
        struct reach reach = reach_of(maker, type->types[i]);
        if (i == 0 && reach.low < 0)
            at = round_up(-reach.low, maker->grain);
        if (i > 0 && reach.low != 0)
            at -= reach.low / maker->grain * maker->grain;
        type->lengths[i] = plain(maker, one_in(maker, 8) ? 0 : 1 + below(maker, 2));
        type->displs[i] = ranked(maker, at, maker->grain);
        if (maker->wild && one_in(maker, 4))
            type->displs[i] = ranked(maker, below(maker, 30) - 6, 1);
        at = tt_value(type->displs[i], maker->ranks - 1) + reach.low +
             distance(maker, &reach, type->lengths[i].base);
    }
}

static void fill_subarray(struct maker *maker, struct tt_type *type)
{
    type->dims = 1 + below(maker, TT_MAX_DIMS);
    type->fortran = one_in(maker, 2);
    for (int d = 0; d < type->dims; d++) {
        int size = 1 + below(maker, 4), part = 1 + below(maker, size);
        if (one_in(maker, 16) && size > maker->ranks) { /* one slab for each rank */
            type->sizes[d] = plain(maker, size);
            type->subsizes[d] = plain(maker, 1);
            type->starts[d] = (struct tt_int){.base = 0, .step = 1, .form = below(maker, 3)};
            continue;
        }
        type->sizes[d] = plain(maker, size);
        type->subsizes[d] = plain(maker, part);
        type->starts[d] = plain(maker, below(maker, size - part + 1));
    }
}

static void fill_darray(struct maker *maker, struct tt_type *type)
{
    int left = maker->ranks;

    type->dims = 1 + below(maker, TT_MAX_DIMS);
    type->fortran = one_in(maker, 2);
    for (int d = 0; d < type->dims; d++) {
        int parts = d == type->dims - 1 ? left : 1;
        while (d < type->dims - 1 && (parts = 1 + below(maker, left), left % parts))
            ;
        left /= parts;
        int size = 1 + below(maker, 6);
        type->psizes[d] = parts;
        type->sizes[d] = plain(maker, size);
        type->distribs[d] = parts > 1 ? below(maker, 2) : below(maker, 3);
        if (type->distribs[d] == TT_CYCLIC && one_in(maker, 2))
            type->dargs[d] = 1 + below(maker, 3);
        if (type->distribs[d] == TT_BLOCK && one_in(maker, 3))
            type->dargs[d] = (size + parts - 1) / parts + below(maker, 2);
    }
}

static void fill_resized(struct maker *maker, struct tt_type *type, const struct reach *reach)
{
    int64_t low = round_up(reach->low, maker->grain);
    int64_t lb = one_in(maker, 3) ? low - maker->grain * below(maker, 3) : 0;
    int64_t end = reach->low + reach->bytes - lb;

    type->lb = plain(maker, lb);
    type->extent =
        ranked(maker, round_up(end > 0 ? end : 1, maker->grain) + maker->grain * below(maker, 3),
               maker->grain);
    if (maker->wild && one_in(maker, 3)) {
        type->lb = ranked(maker, below(maker, 20) - 8, 1);
        type->extent = plain(maker, below(maker, 30) - 3);
    }
}

static void fill_vector(struct maker *maker, struct tt_type *type, const struct reach *reach)
{
    int64_t length = one_in(maker, 12) ? 0 : 1 + below(maker, 3);
    int64_t bytes = distance(maker, reach, length);

    type->count = ranked(maker, one_in(maker, 12) ? 0 : 1 + below(maker, 3), 1);
    type->length = plain(maker, length);
    type->stride = ranked(maker, type->kind == TT_VECTOR ? steps(bytes, reach->extent) : bytes,
                          type->kind == TT_VECTOR ? 1 : maker->grain);
}

static enum tt_kind random_kind(struct maker *maker)
{
    enum tt_kind last = maker->etype ? TT_HPF_CYCLIC : TT_DUP;
    enum tt_kind kind = TT_CONTIGUOUS + below(maker, last - TT_CONTIGUOUS + 1);

    /* In an etype, a darray makes the size depend on the rank, which is rarely legal. */
    if (!maker->etype && kind == TT_DARRAY && !maker->wild)
        kind = TT_STRUCT;
    return kind;
}

static struct tt_type *random_type(struct maker *maker, int depth)
{
    struct reach reach;
    struct tt_type *type;

    if (depth == 0 || one_in(maker, 6))
        return leaf(maker);
    type = new_type(maker, random_kind(maker));
    if (type->kind == TT_STRUCT) {
        fill_struct(maker, type, depth);
        return type;
    }
    type->old = random_type(maker, depth - 1);
    reach = reach_of(maker, type->old);
    switch (type->kind) {
    case TT_CONTIGUOUS:
        type->count = ranked(maker, one_in(maker, 12) ? 0 : 1 + below(maker, 3), 1);
        break;
    case TT_VECTOR:
    case TT_HVECTOR:
        fill_vector(maker, type, &reach);
        break;
    case TT_INDEXED:
    case TT_HINDEXED:
    case TT_INDEXED_BLOCK:
    case TT_HINDEXED_BLOCK:
        fill_blocks(maker, type, &reach);
        break;
    case TT_SUBARRAY:
        fill_subarray(maker, type);
        break;
    case TT_DARRAY:
        fill_darray(maker, type);
        break;
    case TT_RESIZED:
        fill_resized(maker, type, &reach);
        break;
    case TT_SCATTER:
        type->length = plain(maker, 1 + below(maker, 3));
        break;
    case TT_HPF_BLOCK:
    case TT_HPF_CYCLIC:
        type->size = plain(maker, 1 + below(maker, 10));
        type->length = plain(maker, 1 + below(maker, 3));
        break;
    default:
        break;
    }
    return type;
}

static void begin_etype(struct maker *maker)
{
    maker->etype = NULL;
    maker->grain = 1;
}

/* Makes a filetype over etype. A resized type around it mostly makes it legal. */
static struct tt_type *random_filetype(struct maker *maker, struct tt_type *etype)
{
    struct tt_type *type, *outer;
    struct reach reach;

    begin_etype(maker);
    reach = reach_of(maker, etype);
    maker->etype = etype;
    maker->grain = reach.extent > 0 ? reach.extent : 1;
    type = random_type(maker, 4);
    reach = reach_of(maker, type);
    if (one_in(maker, 2) || (maker->wild && one_in(maker, 2)))
        return type;
    outer = new_type(maker, TT_RESIZED);
    outer->old = type;
    outer->lb = plain(maker, 0);
    outer->extent = ranked(maker,
                           round_up(reach.low + reach.bytes, maker->grain) +
                               maker->grain * (1 + below(maker, 2)),
                           maker->grain);
    return outer;
}

static struct tt_type *random_etype(struct maker *maker)
{
    begin_etype(maker);
    return random_type(maker, one_in(maker, 2) ? 0 : 1 + below(maker, 3));
}

static void random_view(struct maker *maker, struct tt_view *view)
{
    static const char *const datareps[] = {NULL,         NULL,       NULL,         "native",
                                           "external32", "internal", "big-endian", "little-endian"};

    view->datarep = datareps[below(maker, 8)];
    maker->external =
        view->datarep && (view->datarep[0] == 'e' || !strcmp(view->datarep, "internal"));
    view->disp = ranked(maker, one_in(maker, 2) ? 0 : below(maker, 100), below(maker, 9));
    view->etype = random_etype(maker);
    if (!one_in(maker, 20))
        view->filetype = random_filetype(maker, view->etype);
    view->per_rank = one_in(maker, 5);
    for (int i = 0; view->per_rank && i < maker->ranks; i++) {
        struct tt_type *etype = view->etype;
        view->over[i].has_disp = one_in(maker, 3);
        view->over[i].disp = plain(maker, below(maker, 60));
        if (one_in(maker, 4))
            etype = view->over[i].etype = random_etype(maker);
        if (one_in(maker, 2) || view->over[i].etype)
            view->over[i].filetype = random_filetype(maker, etype);
    }
}

void tt_random_spec(uint64_t *state, struct tt_spec *spec)
{
    struct maker maker = {.random = state, .spec = spec, .grain = 1};

    memset(spec, 0, sizeof(*spec));
    maker.wild = one_in(&maker, 5);
    maker.ranks = spec->ranks = 1 + below(&maker, one_in(&maker, 4) ? TT_MAX_RANKS : 3);
    for (int count = below(&maker, TT_MAX_NAMED + 1); spec->named_count < count;) {
        struct tt_type *named = new_type(&maker, TT_NAMED);
        memcpy(named->name, "t", 2);
        named->name[1] = (char)('0' + spec->named_count);
        begin_etype(&maker);
        named->old = random_type(&maker, 1 + below(&maker, 2));
        spec->named[spec->named_count++] = named;
    }
    spec->view_count = one_in(&maker, 8) ? TT_MAX_VIEWS : 1;
    for (int i = 0; i < spec->view_count; i++) {
        strcpy(spec->views[i].name, i ? "second" : "first.1");
        random_view(&maker, &spec->views[i]);
    }
}
