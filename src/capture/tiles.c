/* SPDX-License-Identifier: MIT */
#include "tiles.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "merge.h"

enum { TILES, BEHIND };

void capture_tiles_reached(struct capture_file *file, int64_t offset, int64_t count, int64_t size,
                           int64_t unit)
{
    int64_t start, bytes, reach = -1, *old;

    if (file->step_count == 0 || file->broken)
        return;
    if (offset < 0 || __builtin_mul_overflow(offset, unit, &start) ||
        __builtin_mul_overflow(count, size, &bytes) || __builtin_add_overflow(start, bytes, &reach))
        reach = -1;
    old = &file->steps[file->step_count - 1].reach;
    *old = capture_tiles_farther(*old, reach);
}

int64_t capture_tiles_farther(int64_t left, int64_t right)
{
    if (left < 0 || right < 0)
        return -1;
    return left > right ? left : right;
}

static const struct capture_known *known_of(const struct capture_file *file,
                                            const struct capture_step *step)
{
    return &file->known[file->steps[step->index].known];
}

int64_t capture_tiles_count(const struct capture_file *file, const struct capture_step *step)
{
    int64_t size = known_of(file, step)->tile.size;

    if (size < 0 || step->reach < 0 || (size > 0 && step->reach % size))
        return -1;
    return size > 0 ? step->reach / size : 0;
}

char *capture_tiles_text(const struct capture_file *file, const struct capture_step *step)
{
    const struct capture_known *known = known_of(file, step);
    bool whole = file->rank == 0 || !step->common;
    int64_t tiles = capture_tiles_count(file, step), behind;
    char *text;

    if (*known->text == '!')
        return strdup(known->text);
    if (tiles < 0 || known->tile.size == 0 ||
        __builtin_mul_overflow(tiles, known->tile.extent, &behind) ||
        __builtin_add_overflow(known->tile.first, behind, &behind))
        behind = INT64_MAX;
    if (asprintf(&text, "{\"end\":[%" PRId64 ",%" PRId64 "]%s%s", tiles, behind, whole ? "," : "}",
                 whole ? known->text + 1 : "") < 0)
        return NULL;
    return text;
}

void capture_tiles_take(json_t *view, json_t *ends)
{
    json_t *end = json_object_get(view, "end");

    if (end)
        json_array_append(ends, end);
    json_object_del(view, "end");
}

json_t *capture_tiles_note(json_t *view, json_t *ends)
{
    return view ? json_pack("{s:o, s:O}", "view", view, "ends", ends) : NULL;
}

static const json_t *ends_of(const json_t *note)
{
    return json_object_get(note, "ends");
}

/* A rank's end, where one is all ranks'. */
static json_t *end_of(const json_t *note, size_t rank)
{
    return json_array_get(ends_of(note), json_array_size(ends_of(note)) == 1 ? 0 : rank);
}

static int64_t number(const json_t *end, size_t index)
{
    return json_integer_value(json_array_get(end, index));
}

void capture_tiles_join(json_t *left, const json_t *right)
{
    size_t count = json_array_size(ends_of(left)), others = json_array_size(ends_of(right));
    json_t *ends = json_array();

    for (size_t rank = 0; rank < (count > others ? count : others); rank++) {
        json_t *old = end_of(left, rank), *new = end_of(right, rank);
        int64_t tiles = number(old, TILES), more = number(new, TILES);
        json_array_append(ends, more < 0 || (tiles >= 0 && more > tiles) ? new : old);
    }
    json_object_set_new(left, "ends", ends);
}

/* The numbers of tiles of all ranks, new; NULL if there are none that the view needs. */
static json_t *needed_tiles(const json_t *note, int64_t size)
{
    json_t *tiles = json_array(), *end;
    int64_t behind = INT64_MAX, most = 0;
    size_t rank;

    json_array_foreach(ends_of(note), rank, end)
    {
        json_array_append(tiles, json_array_get(end, TILES));
        most = number(end, TILES) > most ? number(end, TILES) : most;
        behind = number(end, BEHIND) < behind ? number(end, BEHIND) : behind;
    }
    if (most > 0 && behind < size)
        return tiles;
    json_decref(tiles);
    return NULL;
}

json_t *capture_tiles_settle(const json_t *notes, int64_t size)
{
    json_t *views = json_array(), *note;
    size_t i;

    json_array_foreach(notes, i, note)
    {
        json_t *view = json_object_get(note, "view"), *tiles = needed_tiles(note, size);
        json_array_append_new(views, tiles ? capture_merge_tiles(view, tiles) : json_incref(view));
        json_decref(tiles);
    }
    return views;
}
