/* SPDX-License-Identifier: MIT */
#include "tiles.h"

#include <stdbool.h>
#include <stdlib.h>

#include "calls.h"

/* Numbers that a rank tells of a step. */
enum { TILES, UNKNOWN, NUMBERS };

void capture_tiles_reached(struct capture_file *file, int64_t offset, int64_t count, int64_t size,
                           int64_t unit)
{
    struct capture_known *known;
    int64_t bytes, reach;

    if (file->step_count == 0 || file->broken)
        return;
    known = &file->known[file->steps[file->step_count - 1]];
    if (offset < 0 || unit <= 0 || __builtin_mul_overflow(count, size, &bytes) ||
        __builtin_add_overflow(offset, bytes / unit + (bytes % unit > 0), &reach))
        known->reach = -1;
    else if (known->reach >= 0 && reach > known->reach)
        known->reach = reach;
}

static const struct capture_known *known_of(const struct capture_file *file,
                                            const struct capture_step *step)
{
    return &file->known[file->steps[step->index]];
}

static void tell(const struct capture_known *known, int64_t numbers[NUMBERS])
{
    int64_t etypes = known->tile.etypes;

    numbers[TILES] = etypes > 0 && known->reach > 0 ? (known->reach - 1) / etypes + 1 : 0;
    numbers[UNKNOWN] = etypes < 0 || known->reach < 0 || (etypes > 0 && known->reach % etypes != 0);
}

/* Where a rank's view has its first byte behind so many tiles. */
static int64_t find_behind(const struct capture_known *known, int64_t tiles)
{
    int64_t behind;

    if (known->tile.etypes <= 0 || tiles == 0 ||
        __builtin_mul_overflow(tiles, known->tile.extent, &behind) ||
        __builtin_add_overflow(known->tile.first, behind, &behind))
        return INT64_MAX;
    return behind;
}

static void count_all(const struct capture_file *file, struct capture_step *steps, int count,
                      int64_t *own, int64_t *all)
{
    const struct capture_calls *mpi = capture_calls();

    for (int i = 0; i < count; i++)
        tell(known_of(file, &steps[i]), own + NUMBERS * i);
    if (mpi->Allreduce(own, all, NUMBERS * count, MPI_INT64_T, MPI_MAX, file->comm))
        return;
    for (int i = 0; i < count; i++) {
        steps[i].tiles = all[NUMBERS * i + UNKNOWN] ? 0 : all[NUMBERS * i + TILES];
        own[i] = find_behind(known_of(file, &steps[i]), steps[i].tiles);
    }
    if (mpi->Allreduce(own, all, count, MPI_INT64_T, MPI_MIN, file->comm))
        return;
    for (int i = 0; i < count; i++)
        steps[i].behind = all[i];
}

void capture_tiles_count(const struct capture_file *file, struct capture_step *steps, long count)
{
    int64_t *own = calloc(2 * NUMBERS * (size_t)count + 1, sizeof(*own)), have = own != NULL, all;

    if (capture_calls()->Allreduce(&have, &all, 1, MPI_INT64_T, MPI_MIN, file->comm) ==
            MPI_SUCCESS &&
        all)
        count_all(file, steps, (int)count, own, own + NUMBERS * count);
    free(own);
}

json_t *capture_tiles_note(json_t *view, int64_t tiles, int64_t behind)
{
    return json_pack("{s:O, s:I, s:I}", "view", view, "tiles", (json_int_t)tiles, "behind",
                     (json_int_t)behind);
}

static int64_t number(const json_t *note, const char *key)
{
    return json_integer_value(json_object_get(note, key));
}

/* Nobody knows them where one opening does not; else they are those of whoever went on for longer.
 */
void capture_tiles_join(json_t *left, const json_t *right)
{
    int64_t old = number(left, "tiles"), new = number(right, "tiles");

    if (old > 0 && (new == 0 || new > old)) {
        json_object_set(left, "tiles", json_object_get(right, "tiles"));
        json_object_set(left, "behind", json_object_get(right, "behind"));
    }
}

void capture_tiles_agree(json_t *left, const json_t *right)
{
    if (number(left, "tiles") != number(right, "tiles"))
        json_object_set_new(left, "tiles", json_integer(0));
    if (number(left, "behind") > number(right, "behind"))
        json_object_set(left, "behind", json_object_get(right, "behind"));
}

json_t *capture_tiles_settle(const json_t *notes, int64_t size)
{
    json_t *views = json_array(), *note;
    size_t i;

    json_array_foreach(notes, i, note)
    {
        json_t *view = json_object_get(note, "view");

        if (number(note, "tiles") > 0 && number(note, "behind") < size) {
            view = json_copy(view);
            json_object_set(view, "tiles", json_object_get(note, "tiles"));
            json_array_append_new(views, view);
        } else {
            json_array_append(views, view);
        }
    }
    return views;
}
