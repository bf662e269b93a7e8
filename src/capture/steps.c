/* SPDX-License-Identifier: MIT */
#include "gather.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "views.h"
#include "log.h"
#include "viewspec/base/hash.h"

/* Tiles. */

enum { TILES, BEHIND };

/* Returns the larger of two values of capture_view_call.reach; -1 if one is unknown. */
static int64_t farther(int64_t left, int64_t right)
{
    if (left < 0 || right < 0)
        return -1;
    return left > right ? left : right;
}

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
    *old = farther(*old, reach);
}

/* Returns the view that was set by a call. */
static const struct capture_known *known_of(const struct capture_file *file, size_t call)
{
    return &file->known[file->steps[call].known];
}

/* Returns the number of tiles that this rank has accessed in a step; -1 if it is unknown or not
   whole. */
static int64_t count_tiles(const struct capture_file *file, const struct capture_step *step)
{
    int64_t size = known_of(file, step->index)->tile.size;

    if (size < 0 || step->reach < 0 || (size > 0 && step->reach % size))
        return -1;
    return size > 0 ? step->reach / size : 0;
}

char *capture_tiles_text(const struct capture_file *file, const struct capture_step *step)
{
    const struct capture_known *known = known_of(file, step->index);
    bool whole = file->rank == 0 || !step->common;
    int64_t tiles = count_tiles(file, step), behind;
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

/* Returns a rank's end; a single end applies to all ranks. */
static json_t *end_of(const json_t *note, size_t rank)
{
    return json_array_get(ends_of(note), json_array_size(ends_of(note)) == 1 ? 0 : rank);
}

static int64_t number_of(const json_t *end, size_t index)
{
    return json_integer_value(json_array_get(end, index));
}

void capture_tiles_join(json_t *left, const json_t *right)
{
    size_t count = json_array_size(ends_of(left)), others = json_array_size(ends_of(right));
    json_t *ends = json_array();

    for (size_t rank = 0; rank < (count > others ? count : others); rank++) {
        json_t *old = end_of(left, rank), *new = end_of(right, rank);
        int64_t tiles = number_of(old, TILES), more = number_of(new, TILES);
        json_array_append(ends, more < 0 || (tiles >= 0 && more > tiles) ? new : old);
    }
    json_object_set_new(left, "ends", ends);
}

/* Returns the new list of tile counts of all ranks; NULL if the view does not need it. */
static json_t *needed_tiles(const json_t *note, int64_t size)
{
    json_t *tiles = json_array(), *end;
    int64_t behind = INT64_MAX, most = 0;
    size_t rank;

    json_array_foreach(ends_of(note), rank, end)
    {
        json_array_append(tiles, json_array_get(end, TILES));
        most = number_of(end, TILES) > most ? number_of(end, TILES) : most;
        behind = number_of(end, BEHIND) < behind ? number_of(end, BEHIND) : behind;
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

/* Steps. */

/* For each step, the hash of this rank, and the results of the reductions over all ranks. */
struct hashes {
    uint64_t *own, *sum, *low, *high;
};

/* Returns true if every rank has memory and all have set the same number of views. */
static bool agree_steps(const struct capture_file *file, bool ready)
{
    long long own[3] = {ready && !file->broken, (long long)file->step_count,
                        -(long long)file->step_count},
              all[3] = {0, 0, 0};

    if (PMPI_Allreduce(own, all, 3, MPI_LONG_LONG_INT, MPI_MIN, file->comm))
        return false;
    if (all[0] && all[1] == -all[2])
        return true;
    if (file->rank == 0)
        capture_say("%s: not captured: %s", file->path,
                    all[0] ? "the ranks have not set the same number of views" : "out of memory");
    return false;
}

static int reduce_hashes(const struct capture_file *file, struct hashes *hashes)
{
    int count = (int)file->step_count;
    uint64_t rank = (uint64_t)file->rank + 1;

    for (size_t i = 0; i < file->step_count; i++)
        hashes->own[i] = known_of(file, i)->hash;
    if (PMPI_Allreduce(hashes->own, hashes->low, count, MPI_UINT64_T, MPI_MIN, file->comm) ||
        PMPI_Allreduce(hashes->own, hashes->high, count, MPI_UINT64_T, MPI_MAX, file->comm))
        return -1;
    /* Mixes the rank into each hash, so that a step in which ranks swap views has another sum.
       Mixes it in twice, because the hashes are only added up. */
    for (size_t i = 0; i < file->step_count; i++)
        hashes->own[i] = vs_hash_mix(vs_hash_mix(hashes->own[i], rank), rank);
    return PMPI_Allreduce(hashes->own, hashes->sum, count, MPI_UINT64_T, MPI_SUM, file->comm);
}

static int by_index(const void *left, const void *right)
{
    const struct capture_step *a = left, *b = right;

    return (a->index > b->index) - (a->index < b->index);
}

static int by_hash(const void *left, const void *right)
{
    const struct capture_step *a = left, *b = right;

    return a->hash != b->hash ? (a->hash < b->hash ? -1 : 1) : by_index(left, right);
}

/* Selects the different steps. All ranks have the same hashes and get the same result. */
static long pick_steps(const struct capture_file *file, const struct hashes *hashes,
                       struct capture_step *steps)
{
    size_t count = 0, different = 0;

    for (size_t i = 0; i < file->step_count; i++) {
        bool common = hashes->low[i] == hashes->high[i];
        if (!common || strcmp(known_of(file, i)->text, CAPTURE_DEFAULT_VIEW) != 0)
            steps[count++] = (struct capture_step){.index = i,
                                                   .hash = hashes->sum[i],
                                                   .common = common,
                                                   .reach = file->steps[i].reach};
    }
    if (count)
        qsort(steps, count, sizeof(*steps), by_hash);
    for (size_t i = 0; i < count; i++) {
        struct capture_step *last = different ? &steps[different - 1] : NULL;
        if (last && last->hash == steps[i].hash)
            last->reach = farther(last->reach, steps[i].reach);
        else
            steps[different++] = steps[i];
    }
    if (different)
        qsort(steps, different, sizeof(*steps), by_index);
    return different <= CAPTURE_MAX_VIEWS ? (long)different : CAPTURE_MAX_VIEWS + 1;
}

/* Collective. Finds the steps in which ranks have accessed different numbers of tiles. */
static int compare_tiles(const struct capture_file *file, struct hashes *hashes,
                         struct capture_step *steps, int count)
{
    for (int i = 0; i < count; i++)
        hashes->own[i] = (uint64_t)count_tiles(file, &steps[i]);
    if (PMPI_Allreduce(hashes->own, hashes->low, count, MPI_UINT64_T, MPI_MIN, file->comm) ||
        PMPI_Allreduce(hashes->own, hashes->high, count, MPI_UINT64_T, MPI_MAX, file->comm))
        return -1;
    for (int i = 0; i < count; i++)
        steps[i].even = hashes->low[i] == hashes->high[i];
    return 0;
}

long capture_find_steps(const struct capture_file *file, struct capture_step **steps)
{
    size_t room = file->step_count + 1;
    uint64_t *all = calloc(4 * room, sizeof(*all));
    struct hashes hashes = {0};
    bool ready = all && file->step_count < INT32_MAX;
    long count = -1;

    if (all)
        hashes = (struct hashes){all, all + room, all + 2 * room, all + 3 * room};
    *steps = calloc(room, sizeof(**steps));
    if (agree_steps(file, ready && *steps))
        count = file->step_count && reduce_hashes(file, &hashes)
                    ? -1
                    : pick_steps(file, &hashes, *steps);
    if (count > 0 && compare_tiles(file, &hashes, *steps, (int)count))
        count = -1;
    free(all);
    if (count < 0) {
        free(*steps);
        *steps = NULL;
    }
    return count;
}
