/* SPDX-License-Identifier: MIT */
#include "model.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "viewspec/base/integer.h"
#include "view/survey.h"

/* The bytes that each cell of a picture represents. */

/* The number of scales that are tried to find a better one. */
#define MAX_SCALES 65536

/* The number of array lines that are sampled for a cell that represents many. */
#define MAX_SAMPLES 4

int draw_digits(int64_t number)
{
    return snprintf(NULL, 0, "%" PRId64, number);
}

/* Compares array with the array of the previous ranks. Keeps the first rank's array. */
static int add_array(struct draw_survey *survey, const struct vs_array *array)
{
    bool same = array && array->dimensions == survey->dimensions &&
                array->element == survey->element && array->fortran == survey->fortran;

    if (survey->looked_at == 1 && array && array->dimensions > 1) {
        survey->sizes = calloc((size_t)array->dimensions, sizeof(*survey->sizes));
        if (!survey->sizes)
            return view_failed(NULL, -ENOMEM);
        survey->dimensions = array->dimensions;
        survey->element = array->element;
        survey->fortran = array->fortran;
        same = true;
    }
    for (int64_t d = 0; same && d < array->dimensions; d++) {
        int64_t size = array->sizes[array->fortran ? array->dimensions - 1 - d : d];
        if (survey->looked_at == 1)
            survey->sizes[d] = size;
        same = survey->sizes[d] == size;
    }
    if (!same)
        survey->dimensions = 0;
    return VIEW_DONE;
}

static int add_rank(void *self, int64_t rank, struct vs_view *view)
{
    struct draw_survey *survey = self;
    const struct vs_map_facts *map = vs_map_facts(vs_view_map(view));
    const struct vs_view_facts *facts = vs_view_facts(view);
    int64_t extent = map->tile_size ? map->tile_extent : 0, begin = map->displacement;

    (void)rank;
    if (!survey->looked_at++) {
        survey->first = survey->last = begin;
        survey->unit = survey->etype = facts->etype_extent;
        survey->tile = extent;
    }
    if (facts->etype_extent != survey->etype)
        survey->etype = 0;
    survey->unit = vs_gcd(survey->unit, facts->etype_extent);
    survey->unit = vs_gcd(survey->unit, llabs(begin - survey->first));
    if (survey->first != begin && survey->dimensions)
        survey->dimensions = 0;
    survey->first = vs_min(survey->first, begin);
    survey->last = vs_max(survey->last, begin);
    survey->idle = survey->idle && !extent;
    if (extent && survey->longest && extent != survey->longest)
        survey->tile = 0;
    else if (extent && !survey->longest)
        survey->tile = extent;
    survey->longest = vs_max(survey->longest, extent);
    return survey->looked_at == 1 || survey->dimensions ? add_array(survey, facts->array)
                                                        : VIEW_DONE;
}

int draw_survey(struct draw_model *model)
{
    struct draw_survey *survey = &model->survey;
    struct vs_error error = {0};

    *survey = (struct draw_survey){.ranks = vs_spec_ranks(model->spec), .idle = true};
    survey->common = vs_spec_view_is_common(model->spec, model->index);
    int result = view_each_rank(model->spec, model->index, &survey->step, add_rank, survey, &error);
    return error.code ? view_spec_failed(&error) : result;
}

/* Allocates the cells and that many segments. */
static int make_room(struct draw_model *model, int64_t segments)
{
    model->cells = calloc((size_t)draw_cell_count(model), sizeof(*model->cells));
    model->segments = calloc((size_t)segments, sizeof(*model->segments));
    model->segment_count = 0;
    return model->cells && model->segments ? VIEW_DONE : view_failed(NULL, -ENOMEM);
}

/* Assigns bytes [begin, end) of the file to the cell. Ignores bytes before the file's beginning. */
static void add_segment(struct draw_model *model, int64_t cell, int64_t begin, int64_t end)
{
    struct draw_cell *to = &model->cells[cell];

    begin = vs_max(begin, 0);
    if (begin >= end)
        return;
    if (!to->size)
        to->begin = begin;
    to->size += end - begin;
    model->segments[model->segment_count++] = (struct draw_segment){begin, end, cell};
}

/*
 * Returns how many bytes to draw: as many as --window requests. By default it is some tiles, or the
 * part of the first one that fits while a cell represents one unit.
 */
static int64_t choose_window(const struct draw_model *model, const struct view_args *args,
                             const struct draw_room *room)
{
    const struct draw_survey *survey = &model->survey;
    int64_t line = vs_mul_capped(room->columns, survey->unit),
            all = vs_mul_capped(line, room->lines);
    int64_t longest = survey->longest, tiles;

    if (args->window)
        return args->window;
    if (!longest)
        return line;
    tiles = vs_max(vs_min(3, all / longest), line / longest);
    return vs_add_capped(vs_mul_capped(longest, vs_max(tiles, 1)),
                         survey->last - survey->first < longest ? 0 : survey->last - survey->first);
}

/* Chooses the number of columns so that lines hold whole tiles, or a tile has whole lines,
   provided that lines stay at least half full. */
static int64_t choose_columns(const struct draw_model *model, int64_t columns)
{
    int64_t cells = model->survey.tile / model->scale;

    if (!cells || model->survey.tile % model->scale)
        return columns;
    if (cells <= columns)
        return columns / cells * cells;
    for (int64_t n = columns; n >= columns / 2; n--)
        if (cells % n == 0)
            return n;
    return columns;
}

/*
 * Chooses how much a cell represents, if at least `least` is needed to fit everything: up to twice
 * as much, if the whole is then a multiple of it.
 */
static int64_t choose_scale(int64_t whole, int64_t least)
{
    for (int64_t n = least; n / 2 < least && n < whole && n - least < MAX_SCALES; n++)
        if (whole % n == 0)
            return n;
    return least;
}

static int lay_out_line(struct draw_model *model, const struct view_args *args,
                        const struct draw_room *room)
{
    const struct draw_survey *survey = &model->survey;
    int64_t window = choose_window(model, args, room);
    int64_t offset = args->offset_given ? args->offset : survey->first;
    int64_t past = offset >= survey->first
                       ? (offset - survey->first) % survey->unit
                       : survey->unit - 1 - (survey->first - offset - 1) % survey->unit;

    model->begin = offset - past; /* may precede the file's beginning */
    model->end = vs_add_capped(offset, window);
    window =
        model->begin < 0 ? vs_add_capped(model->end, -model->begin) : model->end - model->begin;
    int64_t units = vs_ceil_div(window, survey->unit);
    units = vs_max(1, vs_ceil_div(units, room->columns * room->lines));
    if (!args->window)
        units = choose_scale(survey->tile / survey->unit, units);
    if (room->zoom > 1) {
        units = vs_ceil_div(units, room->zoom);
        window = vs_min(window, vs_mul_capped(survey->unit, units * room->columns * room->lines));
        model->end = model->begin + window;
    }
    model->scale = vs_mul_capped(survey->unit, units);
    int64_t cells = vs_ceil_div(window, model->scale);
    model->planes = 1;
    model->columns = vs_min(choose_columns(model, room->columns), cells);
    model->lines = vs_ceil_div(cells, model->columns);
    if (make_room(model, cells))
        return VIEW_FAILED;
    for (int64_t i = 0; i < cells; i++) {
        int64_t begin = model->begin + i * model->scale;
        add_segment(model, i, begin,
                    begin > INT64_MAX - model->scale ? INT64_MAX : begin + model->scale);
    }
    return VIEW_DONE;
}

/* Adds the array lines that a line of cells represents, or a sample of them, as segments. */
static void add_lines(struct draw_model *model, int64_t plane, int64_t line)
{
    const struct draw_survey *survey = &model->survey;
    int64_t width = survey->sizes[survey->dimensions - 1];
    int64_t from = model->first_line + line * model->scale_down;
    int64_t lines = vs_min(model->scale_down, model->first_line + model->array_lines - from);
    int64_t samples = vs_min(lines, MAX_SAMPLES), height = survey->sizes[survey->dimensions - 2];

    model->sampled = model->sampled || samples < lines;
    for (int64_t s = 0; s < samples; s++) {
        int64_t number = model->plane[plane] * height + from +
                         (s && s == samples - 1 ? lines - 1 : lines / samples * s);
        int64_t begin =
            survey->first + model->tile * survey->tile + number * width * survey->element;
        for (int64_t c = 0; c < model->columns; c++)
            add_segment(model, (plane * model->lines + line) * model->columns + c,
                        begin + c * model->scale * survey->element,
                        begin +
                            vs_min((c + 1) * model->scale, model->array_columns) * survey->element);
    }
}

/* Chooses the lines and planes of the array that hold the requested bytes of its tile. */
static void choose_part(struct draw_model *model, const struct view_args *args,
                        int64_t *first_plane)
{
    const struct draw_survey *survey = &model->survey;
    int64_t height = survey->sizes[survey->dimensions - 2];
    int64_t line = survey->sizes[survey->dimensions - 1] * survey->element, plane = line * height;
    int64_t offset = vs_max(args->offset_given ? args->offset - survey->first : 0, 0), end;

    model->tile = offset / survey->tile;
    offset %= survey->tile;
    end = args->window ? vs_min(vs_add_capped(offset, args->window), survey->tile) : survey->tile;
    *first_plane = offset / plane;
    model->array_planes = vs_ceil_div(end, plane) - *first_plane;
    model->first_line = 0;
    model->array_lines = height;
    if (model->array_planes == 1) {
        model->first_line = offset % plane / line;
        model->array_lines = vs_ceil_div(end - *first_plane * plane, line) - model->first_line;
    }
}

static int lay_out_array(struct draw_model *model, const struct view_args *args,
                         const struct draw_room *room)
{
    const struct draw_survey *survey = &model->survey;
    int64_t width = survey->sizes[survey->dimensions - 1];
    int64_t first_plane;

    choose_part(model, args, &first_plane);
    model->scale =
        choose_scale(width, vs_ceil_div(vs_ceil_div(width, room->array_columns), room->zoom));
    model->scale_down =
        choose_scale(model->array_lines,
                     vs_ceil_div(vs_ceil_div(model->array_lines, room->array_lines), room->zoom));
    model->array_columns = vs_min(width, vs_mul_capped(model->scale, room->array_columns));
    model->array_lines =
        vs_min(model->array_lines, vs_mul_capped(model->scale_down, room->array_lines));
    model->columns = vs_ceil_div(model->array_columns, model->scale);
    model->lines = vs_ceil_div(model->array_lines, model->scale_down);
    model->planes = vs_min(model->array_planes, room->array_planes);
    model->plane = calloc((size_t)model->planes, sizeof(*model->plane));
    if (!model->plane || make_room(model, model->planes * model->lines * model->columns *
                                              vs_min(model->scale_down, MAX_SAMPLES)))
        return view_failed(NULL, -ENOMEM);
    for (int64_t p = 0; p < model->planes; p++) {
        double step =
            model->planes > 1 ? (double)(model->array_planes - 1) / (double)(model->planes - 1) : 0;
        model->plane[p] = first_plane + (int64_t)(step * (double)p);
        for (int64_t l = 0; l < model->lines; l++)
            add_lines(model, p, l);
    }
    model->begin = model->segments[0].begin;
    model->end = model->segments[model->segment_count - 1].end;
    return VIEW_DONE;
}

/*
 * Returns true if lines of an array are drawn. They are not if less than one line is requested, or
 * a tile beyond the maximum file size.
 */
static bool array_fits(const struct draw_survey *survey, const struct view_args *args)
{
    return survey->dimensions > 1 && !survey->idle &&
           (!args->window ||
            args->window >= survey->sizes[survey->dimensions - 1] * survey->element) &&
           (!args->offset_given || args->offset < INT64_MAX - survey->tile) &&
           survey->first < INT64_MAX - survey->tile;
}

int draw_layout(struct draw_model *model, const struct view_args *args,
                const struct draw_room *room)
{
    free(model->cells);
    free(model->segments);
    free(model->plane);
    model->cells = NULL;
    model->segments = NULL;
    model->plane = NULL;
    return array_fits(&model->survey, args) ? lay_out_array(model, args, room)
                                            : lay_out_line(model, args, room);
}

bool draw_is_coarse(const struct draw_model *model)
{
    return model->plane ? model->scale > 1 || model->scale_down > 1
                        : model->scale > model->survey.unit;
}

bool draw_tile_begins(const struct draw_model *model, int64_t displacement)
{
    const struct draw_survey *survey = &model->survey;

    return survey->tile && !model->plane && survey->tile > model->scale &&
           displacement >= survey->first && (displacement - survey->first) % survey->tile == 0;
}

const struct draw_cell *draw_example(const struct draw_model *model, enum draw_kind kind)
{
    for (int64_t i = 0; i < draw_cell_count(model); i++)
        if (model->cells[i].kind == kind)
            return &model->cells[i];
    return NULL;
}

void draw_free(struct draw_model *model)
{
    free(model->survey.sizes);
    free(model->cells);
    free(model->segments);
    free(model->plane);
}
