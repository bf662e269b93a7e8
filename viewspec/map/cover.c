/* SPDX-License-Identifier: MIT */
#include "cover.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shape.h"
#include "viewspec/base/integer.h"
#include "viewspec/base/list.h"
#include "map_private.h"

/*
 * The algorithm. All tiles of all ranks are laid over one period (or stretch) as items: shapes at
 * places, clipped to a window. Items whose spans do not touch are independent of each other. Items
 * that touch are divided one level at a time:
 *
 *   one disjoint item    its size in closed form
 *   runs                 a sweep
 *   lists                are replaced by their parts
 *   loops                the window is divided into cells as long as the longest stride. There,
 *                        a loop shows the same bytes in every cell except a few at its ends, so
 *                        each stretch of cells with the same contents is counted once, by examining
 *                        one of its cells.
 *
 * If the strides of loops do not divide one another, cells differ and are walked one by one.
 */

/* The limit of windows and of all sums over them, so that sums of a few cannot overflow. */
#define COVER_LIMIT (INT64_C(1) << 60)

/* The largest number of irregular cells of a loop that fits into the cells. */
#define CELLS_AT_ENDS 6

struct rank_tiles {
    const struct vs_shape *tile;
    int64_t first; /* displacement of the lowest byte of tile 0 */
    int64_t extent;
    int64_t tiles; /* INT64_MAX: without end */
    int64_t copies;
};

struct vs_cover {
    struct vs_shapes shapes;
    struct rank_tiles *ranks;
    size_t rank_count, rank_room;
    bool ends; /* some rank has a last tile */
};

/* The bytes of an item in the cells [from, to), with places relative to the cell's beginning. */
struct piece {
    struct vs_item item;
    int64_t from, to;
};

struct pieces {
    struct piece *list;
    int64_t count;
    size_t room;
};

struct walk {
    int64_t steps, limit;
    bool walked;
};

static int cover_window(struct walk *walk, struct vs_item *items, int64_t count,
                        struct vs_tally *tally);

/* Returns the least common multiple, or COVER_LIMIT if it is not smaller. */
static int64_t lcm64(int64_t a, int64_t b)
{
    int64_t factor = b / vs_gcd(a, b);

    return a >= COVER_LIMIT / factor ? COVER_LIMIT : a * factor;
}

/*
 * Finds the parts that replace an item, [first, behind): parts of a list if stride is 0, otherwise
 * iterations of a loop of that stride. Returns false if the item stays as it is.
 */
static bool expansion(const struct vs_item *item, int64_t stride, int64_t *first, int64_t *behind)
{
    *first = 0;
    *behind = 1;
    if (stride && vs_item_is_loop(item) && item->shape->stride == stride) {
        *behind = item->count;
        return true;
    }
    if (!stride && item->shape->kind == VS_SHAPE_LIST) {
        vs_item_parts(item, first, behind);
        return true;
    }
    return false;
}

static struct vs_item *expand(struct vs_item *next, const struct vs_item *item, int64_t stride)
{
    const struct vs_shape *shape = item->shape;
    int64_t first, behind;

    if (!expansion(item, stride, &first, &behind)) {
        *next++ = *item;
        return next;
    }
    for (int64_t i = first; i < behind; i++) {
        *next++ =
            stride ? vs_item_of(shape->child, item->origin + i * stride, item)
                   : vs_item_of(shape->parts[i].shape, item->origin + shape->parts[i].offset, item);
    }
    return next;
}

/* Expands the lists, or the loops of a stride that is not 0, by one level. */
static int cover_expanded(struct walk *walk, const struct vs_item *items, int64_t count,
                          int64_t stride, struct vs_tally *tally)
{
    int64_t total = 0, first, behind;
    struct vs_item *parts, *next;
    int error;

    for (int64_t i = 0; i < count; i++) {
        expansion(&items[i], stride, &first, &behind);
        total += behind - first;
        if (total > walk->limit - walk->steps)
            return -E2BIG;
        walk->walked = walk->walked || (stride && behind > CELLS_AT_ENDS);
    }
    parts = calloc((size_t)total, sizeof(*parts));
    if (parts == NULL)
        return -ENOMEM;
    next = parts;
    for (int64_t i = 0; i < count; i++)
        next = expand(next, &items[i], stride);
    error = cover_window(walk, parts, next - parts, tally);
    free(parts);
    return error;
}

static int add_piece(struct pieces *pieces, const struct piece *piece)
{
    if (!VS_LIST_ROOM(pieces->list, pieces->count, pieces->room))
        return -ENOMEM;
    pieces->list[pieces->count++] = *piece;
    return 0;
}

/* Adds the bytes of item in the cells [from, to), which are the same in all of them. */
static int add_cells(struct walk *walk, struct pieces *pieces, const struct vs_item *item,
                     int64_t from, int64_t to, int64_t base, int64_t cell)
{
    struct piece piece = {.item = *item, .from = from, .to = to};
    int64_t start = base + from * cell;

    piece.item.origin -= start;
    piece.item.lo = vs_max(item->lo - start, 0);
    piece.item.hi = vs_min(item->hi - start, cell);
    if (++walk->steps > walk->limit)
        return -E2BIG;
    return vs_item_trim(&piece.item) ? add_piece(pieces, &piece) : 0;
}

/*
 * Finds the range in which an item shows the same bytes in every cell. A loop that is not clipped
 * extends by the gap before its first and after its last iteration.
 */
static void steady_places(const struct vs_item *item, int64_t cell, int64_t *begin, int64_t *end)
{
    const struct vs_shape *shape = item->shape;

    *begin = *end = item->lo;
    if (shape->kind == VS_SHAPE_RUN) {
        *end = item->hi;
    } else if (vs_item_is_loop(item) && cell % shape->stride == 0) {
        int64_t natural_end = item->origin + vs_item_span(item);

        *begin = item->origin + shape->child->span - shape->stride;
        *end = item->origin + item->count * shape->stride;
        if (item->lo > item->origin)
            *begin = vs_max(*begin, item->lo);
        if (item->hi < natural_end)
            *end = vs_min(*end, item->hi);
    }
}

/* Divides item into cells: one by one at its ends, and at once where they are equal. */
static int cut(struct walk *walk, struct pieces *pieces, const struct vs_item *item, int64_t base,
               int64_t cell)
{
    int64_t first = (item->lo - base) / cell, behind = (item->hi - 1 - base) / cell + 1;
    int64_t begin, end;
    int error = 0;

    steady_places(item, cell, &begin, &end);
    begin = vs_max(first, vs_ceil_div(begin - base, cell));
    end = vs_min(behind, vs_floor_div(end - base, cell));
    if (begin >= end)
        begin = end = behind;
    if (behind - first - (end - begin) > CELLS_AT_ENDS)
        walk->walked = true;
    for (int64_t k = first, next; k < behind && !error; k = next) {
        next = k == begin ? end : k + 1;
        error = add_cells(walk, pieces, item, k, next, base, cell);
    }
    return error;
}

static int compare_pieces(const void *left, const void *right)
{
    const struct piece *a = left, *b = right;

    return vs_compare(a->from, b->from);
}

/* Counts each stretch of cells with the same pieces by one of its cells. */
static int cover_stretches(struct walk *walk, struct pieces *pieces, struct vs_tally *tally)
{
    struct piece *active = calloc((size_t)pieces->count, sizeof(*active));
    struct vs_item *items = calloc((size_t)pieces->count, sizeof(*items));
    int64_t live = 0, next = 0, cell = 0;
    int error = active && items ? 0 : -ENOMEM;

    qsort(pieces->list, (size_t)pieces->count, sizeof(*pieces->list), compare_pieces);
    while (!error && (live || next < pieces->count)) {
        struct vs_tally inside = {0};
        int64_t to = INT64_MAX, kept = 0;

        if (!live)
            cell = pieces->list[next].from;
        while (next < pieces->count && pieces->list[next].from == cell)
            active[live++] = pieces->list[next++];
        if (next < pieces->count)
            to = pieces->list[next].from;
        for (int64_t i = 0; i < live; i++) {
            to = vs_min(to, active[i].to);
            items[i] = active[i].item;
        }
        error = cover_window(walk, items, live, &inside);
        tally->covered += inside.covered * (to - cell);
        tally->many += inside.many * (to - cell);
        for (int64_t i = 0; i < live; i++)
            if (active[i].to > to)
                active[kept++] = active[i];
        live = kept;
        cell = to;
    }
    free(active);
    free(items);
    return error;
}

/* Counts loops and runs that overlap, at least one loop among them, all in [lo, hi). */
static int cover_loops(struct walk *walk, const struct vs_item *items, int64_t count, int64_t lo,
                       int64_t hi, struct vs_tally *tally)
{
    struct pieces pieces = {0};
    int64_t longest = 0, common = 1, cell;
    int error = 0;

    for (int64_t i = 0; i < count; i++) {
        if (vs_item_is_loop(&items[i])) {
            longest = vs_max(longest, items[i].shape->stride);
            common = common < COVER_LIMIT ? lcm64(common, items[i].shape->stride) : common;
        }
    }
    if ((hi - lo) / 2 <= longest)
        return cover_expanded(walk, items, count, longest, tally);
    cell = common < (hi - lo) / 2 ? common : longest;
    for (int64_t i = 0; i < count && !error; i++)
        error = cut(walk, &pieces, &items[i], lo, cell);
    if (!error)
        error = cover_stretches(walk, &pieces, tally);
    free(pieces.list);
    return error;
}

/* Counts items whose spans touch and together are [lo, hi). */
static int cover_component(struct walk *walk, const struct vs_item *items, int64_t count,
                           int64_t hi, struct vs_tally *tally)
{
    bool lists = false, loops = false;

    if (count == 1 && items->shape->disjoint) {
        int64_t size = vs_item_below(items, items->hi) - vs_item_below(items, items->lo);
        tally->covered += size;
        tally->many += items->twice ? size : 0;
        return 0;
    }
    for (int64_t i = 0; i < count; i++) {
        lists = lists || items[i].shape->kind == VS_SHAPE_LIST;
        loops = loops || vs_item_is_loop(&items[i]);
    }
    if (lists)
        return cover_expanded(walk, items, count, 0, tally);
    if (loops)
        return cover_loops(walk, items, count, items->lo, hi, tally);
    vs_items_sweep(items, count, tally);
    return 0;
}

/* Adds the bytes of the items to tally. Changes their order. */
static int cover_window(struct walk *walk, struct vs_item *items, int64_t count,
                        struct vs_tally *tally)
{
    int64_t last, hi;
    int error = 0;

    walk->steps += count;
    if (walk->steps > walk->limit)
        return -E2BIG;
    count = vs_items_tidy(items, count);
    for (int64_t first = 0; first < count && !error; first = last) {
        hi = items[first].hi;
        for (last = first + 1; last < count && items[last].lo < hi; last++)
            hi = vs_max(hi, items[last].hi);
        error = cover_component(walk, items + first, last - first, hi, tally);
    }
    return error;
}

int vs_cover_items(struct vs_item *items, int64_t count, int64_t steps, struct vs_tally *tally)
{
    struct walk walk = {.limit = steps};

    for (int64_t i = 0; i < count; i++)
        if (items[i].hi >= COVER_LIMIT)
            return -EOVERFLOW;
    return cover_window(&walk, items, count, tally);
}

struct vs_cover *vs_cover_new(void)
{
    return calloc(1, sizeof(struct vs_cover));
}

void vs_cover_free(struct vs_cover *cover)
{
    if (cover) {
        vs_shapes_free(&cover->shapes);
        free(cover->ranks);
        free(cover);
    }
}

int vs_cover_add(struct vs_cover *cover, const struct vs_map *map, int64_t copies)
{
    const struct vs_map_facts *facts = vs_map_facts(map);
    const struct vs_shape *tile;

    if (facts->tile_size == 0)
        return 0;
    if (!VS_LIST_ROOM(cover->ranks, cover->rank_count, cover->rank_room))
        return -ENOMEM;
    tile = vs_shape_of_node(&cover->shapes, map->tile);
    if (tile == NULL)
        return -ENOMEM;
    cover->ranks[cover->rank_count++] = (struct rank_tiles){.tile = tile,
                                                            .first = facts->first,
                                                            .extent = facts->tile_extent,
                                                            .tiles = facts->tiles,
                                                            .copies = copies};
    cover->ends = cover->ends || facts->tiles < INT64_MAX;
    return 0;
}

/*
 * Lays the tiles of a rank over [0, length): in a stretch only these tiles, in a period also
 * imaginary ones before the first.
 */
static int lay_tiles(struct vs_cover *cover, const struct rank_tiles *rank, int64_t base,
                     int64_t length, struct vs_item *item)
{
    int64_t origin = rank->first - base, count = rank->tiles;
    const struct vs_shape *tiles;

    if (!cover->ends) {
        int64_t earlier = rank->tile->span / rank->extent + 1; /* these can reach into the period */
        origin = origin % rank->extent - earlier * rank->extent;
        count = earlier + length / rank->extent + 1;
    } else if (count == INT64_MAX) {
        count = (length - origin) / rank->extent + 1;
    }
    /* A tile that contains bytes several times may hold far more than it spans. */
    if (rank->tile->span >= COVER_LIMIT || rank->tile->size >= COVER_LIMIT)
        return -EOVERFLOW;
    /* The count of the shape is never used, so any number will do. */
    tiles = vs_shape_loop(&cover->shapes, 2, rank->extent, rank->tile);
    if (tiles == NULL)
        return -ENOMEM;
    *item = (struct vs_item){
        .shape = tiles,
        .origin = origin,
        .count = count,
        .lo = 0,
        .hi = length,
        .twice = rank->copies > 1,
    };
    return 0;
}

/*
 * Computes the base and the length of the window: a period, or the stretch of the ranks that end
 * plus a period of the others. Returns -EOVERFLOW if it is too long.
 */
static int find_window(const struct vs_cover *cover, int64_t *base, int64_t *length)
{
    int64_t period = 1, end = 0;
    bool go_on = false;

    *base = INT64_MAX;
    for (size_t i = 0; i < cover->rank_count && period < COVER_LIMIT; i++) {
        const struct rank_tiles *rank = &cover->ranks[i];
        bool goes_on = rank->tiles == INT64_MAX;
        int64_t last = goes_on ? 0 : vs_mul_capped(rank->tiles - 1, rank->extent);

        if (goes_on)
            period = lcm64(period, rank->extent);
        go_on = go_on || goes_on;
        *base = vs_min(*base, rank->first);
        end = vs_max(end, vs_add_capped(vs_add_capped(rank->first, last), rank->tile->span));
    }
    if (cover->ends)
        period = vs_add_capped(end - *base, go_on ? period : 0);
    *length = period;
    return period < COVER_LIMIT ? 0 : -EOVERFLOW;
}

int vs_cover_compute(struct vs_cover *cover, int64_t steps, struct vs_cover_result *result)
{
    struct walk walk = {.limit = steps};
    struct vs_tally tally = {0};
    int64_t length = 0, base = 0;
    struct vs_item *items = NULL;
    int status;

    memset(result, 0, sizeof(*result));
    if (cover->rank_count == 0)
        return 0;
    status = find_window(cover, &base, &length);
    if (status)
        return status;
    items = calloc(cover->rank_count, sizeof(*items));
    if (items == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < cover->rank_count && !status; i++)
        status = lay_tiles(cover, &cover->ranks[i], base, length, &items[i]);
    if (!status)
        status = cover_window(&walk, items, (int64_t)cover->rank_count, &tally);
    free(items);
    if (status)
        return status;
    *result = (struct vs_cover_result){
        .period = length,
        .ends = cover->ends,
        .once = tally.covered - tally.many,
        .many = tally.many,
        .none = length - tally.covered,
        .method = walk.walked ? VS_COVER_WALKED : VS_COVER_CLOSED,
        .steps = walk.steps,
    };
    return 0;
}
