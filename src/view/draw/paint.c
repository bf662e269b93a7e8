/* SPDX-License-Identifier: MIT */
#include "model.h"

#include <errno.h>
#include <stdlib.h>

#include "viewspec/base/integer.h"
#include "view/survey.h"

/* The ranks that own the bytes of each cell. */

/*
 * Work is counted in steps, each about a search in a map. After SOME_STEPS, cells that already have
 * several owners are skipped. After ALL_STEPS, no further ranks are examined.
 */
#define SOME_STEPS 20000000
#define ALL_STEPS  100000000
#define FIND_STEPS 20000000

/* Samples if there are too many: bytes of a segment, runs and tiles of a rank. */
#define MAX_POINTS 8
#define MAX_RUNS   64
#define MAX_TILES  64

struct painter {
    struct draw_model *model;
    int64_t steps;
    int64_t find_steps; /* left for searches in interleaved tiles */
    /* links each segment to itself or a later one; all between them are skipped */
    int64_t *open;
};

/* The view of the rank that is being painted. */
struct brush {
    const struct vs_map *map;
    const struct vs_map_facts *map_facts;
    const struct vs_view_facts *facts;
    int64_t rank;
};

/* Returns the bytes of etypes with that much data, including gaps: a gap is neither a hole nor
   room for other ranks. */
static int64_t with_gaps(const struct vs_view_facts *facts, int64_t bytes)
{
    int64_t size = facts->etype_file_size, extent = facts->etype_extent, all, rest;

    if (size == extent)
        return bytes;
    if (__builtin_mul_overflow(bytes / size, extent, &all) ||
        __builtin_mul_overflow(bytes % size, extent, &rest) ||
        __builtin_add_overflow(all, rest / size, &all))
        return INT64_MAX;
    return all;
}

static void add_owner(const struct brush *brush, struct draw_cell *cell, int64_t bytes)
{
    if (!cell->owners || cell->last != brush->rank) {
        if (cell->owners < DRAW_OWNERS)
            cell->ranks[cell->owners] = brush->rank;
        cell->owners++;
    }
    cell->last = brush->rank;
    cell->folded = cell->folded || !brush->map_facts->disjoint;
    cell->owned = vs_add_capped(cell->owned, with_gaps(brush->facts, bytes));
}

/* Returns the first segment from i on that is not skipped. Compresses the path for the next
   call. */
static int64_t next_open(struct painter *painter, int64_t i)
{
    int64_t *open = painter->open;

    while (open[i] != i) {
        open[i] = open[open[i]];
        i = open[i];
    }
    return i;
}

/* Marks segment i as skipped if it has enough owners. Call it after examining the segment. */
static void may_close(struct painter *painter, int64_t i)
{
    const struct draw_model *model = painter->model;

    if (painter->steps > SOME_STEPS && model->cells[model->segments[i].cell].owners > 1)
        painter->open[i] = i + 1;
}

/* Returns the first segment from i on that ends after displacement. */
static int64_t find_segment(const struct draw_model *model, int64_t i, int64_t displacement)
{
    return VS_FIRST(n, i, model->segment_count, model->segments[n].end > displacement);
}

/* Paints a view whose displacements grow with the position: bytes between two of them are
   counted without walking. */
static void paint_in_order(struct painter *painter, const struct brush *brush)
{
    struct draw_model *model = painter->model;
    int64_t i = next_open(painter, 0);

    while (i < model->segment_count) {
        const struct draw_segment *segment = &model->segments[i];
        int64_t position = vs_map_lower_bound(brush->map, segment->begin);
        int64_t displacement = vs_map_displacement(brush->map, position);
        painter->steps++;
        if (displacement < 0)
            return;
        if (displacement < segment->end) {
            int64_t end = vs_map_lower_bound(brush->map, segment->end);
            add_owner(brush, &model->cells[segment->cell], end - position);
            may_close(painter, i);
            i = next_open(painter, i + 1);
        } else {
            i = next_open(painter, find_segment(model, i + 1, displacement));
        }
    }
}

/* Returns sample number i of the points in a segment. */
static int64_t point_in(const struct draw_segment *segment, int64_t i, int64_t points)
{
    int64_t size = segment->end - segment->begin;

    return segment->begin + size / points * i + size % points * i / points;
}

static int64_t points_of(const struct draw_segment *segment)
{
    return vs_min(segment->end - segment->begin, MAX_POINTS);
}

/* Returns true if the map selects the byte and there are steps left to find it. */
static bool finds_byte(struct painter *painter, const struct brush *brush, int64_t displacement)
{
    return vs_map_find_within(brush->map, displacement, &painter->find_steps) >= 0;
}

/* Paints a view whose tiles interleave: searches for samples of each segment. */
static void paint_points(struct painter *painter, const struct brush *brush)
{
    struct draw_model *model = painter->model;

    for (int64_t i = next_open(painter, 0); i < model->segment_count;
         i = next_open(painter, i + 1)) {
        const struct draw_segment *segment = &model->segments[i];
        int64_t points = points_of(segment), hits = 0;
        for (int64_t p = 0; p < points; p++)
            hits += finds_byte(painter, brush, point_in(segment, p, points));
        painter->steps += points;
        if (!hits)
            continue;
        int64_t size = segment->end - segment->begin;
        add_owner(brush, &model->cells[segment->cell],
                  size / points * hits + size % points * hits / points);
        may_close(painter, i);
    }
}

static void take_view(struct brush *brush, const struct vs_view *view)
{
    brush->map = vs_view_map(view);
    brush->map_facts = vs_map_facts(brush->map);
    brush->facts = vs_view_facts(view);
}

static int paint_rank(void *self, int64_t rank, struct vs_view *view)
{
    struct painter *painter = self;
    struct brush brush = {.rank = rank};

    if (painter->steps >= ALL_STEPS) {
        painter->model->unseen = painter->model->survey.ranks - rank;
        return 1;
    }
    take_view(&brush, view);
    if (brush.map_facts->tile_size && brush.map_facts->monotonic)
        paint_in_order(painter, &brush);
    else if (brush.map_facts->tile_size)
        paint_points(painter, &brush);
    painter->steps++;
    return 0;
}

static int paint_ranks(struct painter *painter)
{
    struct draw_model *model = painter->model;
    int64_t step = model->survey.step;
    struct vs_error error = {0};

    model->unseen = 0;
    view_each_rank(model->spec, model->index, &step, paint_rank, painter, &error);
    return error.code ? view_spec_failed(&error) : VIEW_DONE;
}

/* Returns true if a and b have a byte of segment in common. Exact if there are few runs. */
static bool shares_byte(struct painter *painter, const struct brush *a, const struct brush *b,
                        const struct draw_segment *segment)
{
    struct vs_runs runs;
    struct vs_run run;

    if (!a->map_facts->monotonic || !b->map_facts->monotonic) {
        int64_t points = points_of(segment);
        for (int64_t p = 0; p < points; p++) {
            int64_t place = point_in(segment, p, points);
            if (finds_byte(painter, a, place) && finds_byte(painter, b, place))
                return true;
        }
        return false;
    }
    int64_t position = vs_map_lower_bound(a->map, segment->begin);
    vs_runs_start(&runs, a->map, position, INT64_MAX - position);
    for (int i = 0; i < MAX_RUNS && vs_runs_next(&runs, &run); i++) {
        if (run.displacement >= segment->end)
            break;
        /* If two runs have a byte in common, one begins inside the other. */
        if (finds_byte(painter, b, run.displacement))
            return true;
    }
    return false;
}

/* Returns the first position of a's tile at or after place, or the end of the tile. */
static int64_t find_in_tile(const struct brush *a, int64_t tile, int64_t place)
{
    int64_t low = tile * a->map_facts->tile_size, high = low + a->map_facts->tile_size;

    return VS_FIRST(position, low, high, vs_map_displacement(a->map, position) >= place);
}

/* Returns true if place is in two of the last tiles that begin before it, or twice in one. */
static bool holds_twice(const struct brush *a, int64_t place)
{
    const struct vs_map_facts *facts = a->map_facts;
    int64_t last = (place - facts->first) / facts->tile_extent, hits = 0;

    if (place < facts->first)
        return false;
    last = vs_min(last, facts->limit / facts->tile_size - 1);
    for (int64_t tile = last; tile >= 0 && last - tile < MAX_TILES && hits < 2; tile--) {
        int64_t position = find_in_tile(a, tile, place);
        int64_t end = (tile + 1) * facts->tile_size;
        while (hits < 2 && position < end && vs_map_displacement(a->map, position) == place) {
            hits++;
            position++;
        }
    }
    return hits > 1;
}

/* Returns true if a has a byte of segment twice. Exact if there are few runs. */
static bool folds_byte(const struct brush *a, const struct draw_segment *segment)
{
    int64_t position = vs_map_lower_bound(a->map, segment->begin), end = segment->begin;
    int64_t points = points_of(segment);
    struct vs_runs runs;
    struct vs_run run;

    if (a->map_facts->disjoint)
        return false;
    if (!a->map_facts->monotonic) {
        for (int64_t p = 0; p < points; p++)
            if (holds_twice(a, point_in(segment, p, points)))
                return true;
        return false;
    }
    vs_runs_start(&runs, a->map, position, INT64_MAX - position);
    for (int i = 0; i < MAX_RUNS && vs_runs_next(&runs, &run); i++) {
        if (run.displacement >= segment->end)
            break;
        if (run.displacement < end)
            return true;
        end = run.displacement + run.length;
    }
    return false;
}

/* The compiled views of the first owners of a cell. */
struct owners {
    int count;
    struct vs_view *views[DRAW_OWNERS];
    struct brush brushes[DRAW_OWNERS];
};

static void forget_owners(struct owners *owners)
{
    while (owners->count)
        vs_view_unref(owners->views[--owners->count]);
}

/* Compiles the views of a cell's owners. Neighboring cells often have the same owners, so these
   are reused. */
static int compile_owners(const struct draw_model *model, const struct draw_cell *cell,
                          struct owners *owners)
{
    int count = cell->owners < DRAW_OWNERS ? (int)cell->owners : DRAW_OWNERS;
    struct vs_error error = {0};
    bool same = count == owners->count;

    for (int i = 0; same && i < count; i++)
        same = owners->brushes[i].rank == cell->ranks[i];
    if (same)
        return VIEW_DONE;
    forget_owners(owners);
    for (int i = 0; i < count; i++) {
        if (vs_spec_view(model->spec, model->index, cell->ranks[i], &owners->views[i], &error))
            return view_spec_failed(&error);
        owners->brushes[i].rank = cell->ranks[i];
        take_view(&owners->brushes[i], owners->views[i]);
        owners->count++;
    }
    return VIEW_DONE;
}

static bool any_shared(struct painter *painter, const struct owners *owners,
                       const struct draw_segment *segment)
{
    const struct brush *brushes = owners->brushes;

    for (int i = 0; i < owners->count; i++)
        for (int j = 0; j < owners->count; j++)
            if (i == j ? folds_byte(&brushes[i], segment)
                       : shares_byte(painter, &brushes[i], &brushes[j], segment))
                return true;
    return false;
}

static enum draw_kind kind_of(const struct draw_model *model, const struct draw_cell *cell)
{
    const struct draw_survey *survey = &model->survey;

    if (!cell->size)
        return DRAW_OUTSIDE;
    if (!cell->owners)
        return cell->begin + cell->size <= survey->first ? DRAW_BEFORE : DRAW_HOLE;
    if (cell->owned > cell->size || (survey->common && survey->ranks > 1))
        return DRAW_OVERLAP;
    if (cell->owners > 1)
        return DRAW_MIXED;
    return cell->owned < cell->size ? DRAW_PART : DRAW_WHOLE;
}

/* Marks cells whose owners share bytes as overlaps. */
static int find_overlaps(struct painter *painter)
{
    struct draw_model *model = painter->model;
    struct owners owners = {0};
    int status = VIEW_DONE;

    for (int64_t i = 0; i < model->segment_count && !status; i++) {
        struct draw_cell *cell = &model->cells[model->segments[i].cell];
        if (cell->kind != DRAW_MIXED && !(cell->folded && cell->kind != DRAW_OVERLAP))
            continue;
        status = compile_owners(model, cell, &owners);
        if (!status && any_shared(painter, &owners, &model->segments[i]))
            cell->kind = DRAW_OVERLAP;
    }
    forget_owners(&owners);
    return status;
}

int draw_paint(struct draw_model *model)
{
    struct painter painter = {.model = model, .find_steps = FIND_STEPS};
    int status;

    painter.open = calloc((size_t)model->segment_count + 1, sizeof(*painter.open));
    if (!painter.open)
        return view_failed(NULL, -ENOMEM);
    for (int64_t i = 0; i <= model->segment_count; i++)
        painter.open[i] = i;
    status = paint_ranks(&painter);
    free(painter.open);
    if (status)
        return status;
    for (int64_t i = 0; i < draw_cell_count(model); i++)
        model->cells[i].kind = kind_of(model, &model->cells[i]);
    painter.find_steps = FIND_STEPS;
    return find_overlaps(&painter);
}

/* Returns the smallest integer whose square is at least number. */
static int64_t root_of(int64_t number)
{
    int64_t root = 1;

    while (root < INT32_MAX && root * root < number)
        root++;
    return root;
}

bool draw_zoom(const struct draw_model *model, const struct view_args *args, int64_t *zoom)
{
    int64_t fewest = 0;

    if (args->window || !draw_is_coarse(model))
        return false;
    for (int64_t i = 0; i < draw_cell_count(model); i++) {
        const struct draw_cell *cell = &model->cells[i];
        if (cell->kind == DRAW_WHOLE || cell->kind == DRAW_PART || cell->kind == DRAW_OVERLAP)
            return false;
        if (cell->kind == DRAW_MIXED && (!fewest || cell->owners < fewest))
            fewest = cell->owners;
    }
    if (fewest < 2)
        return false;
    *zoom *= model->plane ? 2 * root_of(fewest) : fewest;
    return true;
}
