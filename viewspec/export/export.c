/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>

#include "export_private.h"
#include "viewspec/types/byte_order.h"

void vs_export_free(struct vs_export *file)
{
    for (size_t i = 0; i < file->count; i++) {
        free(file->pieces[i].text);
        vs_view_unref(file->pieces[i].values.view);
    }
    free(file->pieces);
    *file = (struct vs_export){0};
}

/* Adds a piece, with the ownership of its text and view. */
static int add(struct vs_export *file, const struct vs_piece *piece)
{
    struct vs_piece *pieces = realloc(file->pieces, (file->count + 1) * sizeof(*pieces));

    if (pieces == NULL || __builtin_add_overflow(file->length, piece->length, &file->length)) {
        free(piece->text);
        vs_view_unref(piece->values.view);
        file->pieces = pieces ? pieces : file->pieces;
        return -ENOMEM;
    }
    pieces[file->count++] = *piece;
    file->pieces = pieces;
    return 0;
}

int vs_export_text(struct vs_export *file, char *text, int64_t length)
{
    return text ? add(file, &(struct vs_piece){.length = length, .text = text}) : -ENOMEM;
}

int vs_export_zeros(struct vs_export *file, int64_t length)
{
    return length ? add(file, &(struct vs_piece){.length = length}) : 0;
}

int vs_export_values(struct vs_export *file, const struct vs_values *values, int64_t length)
{
    struct vs_piece piece = {.length = length, .values = *values};
    struct vs_values *own = &piece.values;

    /* Rows without padding are parts of one element. */
    while (own->dimensions > 0 &&
           own->count[own->dimensions - 1] == own->padded[own->dimensions - 1])
        own->element *= own->padded[--own->dimensions];
    return add(file, &piece);
}

bool vs_export_big_endian(const struct vs_global *global, const struct vs_global_field *field)
{
    return vs_global_is_raw(global) ? field->big_endian : VS_NATIVE_ORDER == VS_BIG_ENDIAN;
}

double *vs_export_coordinates(const struct vs_global *global, int64_t d, int64_t start,
                              int64_t count)
{
    const struct vs_global_facts *facts = vs_global_facts(global);
    double *coordinates = calloc((size_t)count + 1, sizeof(*coordinates));

    for (int64_t i = 0; coordinates && i < count; i++)
        coordinates[i] = facts->origin[d] + facts->spacing[d] * (double)(start + i);
    return coordinates;
}

int vs_export_show(const struct vs_global *global, int64_t rank, int64_t file_size,
                   struct vs_shown *shown, struct vs_error *error)
{
    const struct vs_global_facts *facts = vs_global_facts(global);
    int failure = 0;

    *shown = (struct vs_shown){.global = global, .rank = rank, .cells = 1, .records = 1};
    shown->local.box = true;
    for (int64_t d = 0; d < facts->dimensions; d++)
        shown->local.count[d] = facts->sizes[d];
    if (rank >= 0)
        failure = vs_global_local(global, rank, &shown->local, error);
    for (int64_t d = 0; d < facts->dimensions && !failure; d++) {
        shown->cells *= shown->local.count[d];
        if (shown->local.count[d] < 0)
            failure = vs_export_fail(error,
                                     "the part of rank %lld has no shape of the array's dimensions "
                                     "(give its view a \"shape\")",
                                     (long long)rank);
    }
    return failure || !facts->records
               ? failure
               : vs_global_local_records(global, rank, file_size, &shown->records, error);
}

int vs_export_field(const struct vs_shown *shown, int64_t field, int64_t swap, int64_t length,
                    struct vs_export *file, struct vs_error *error)
{
    static const int64_t zeros[VS_GLOBAL_DIMENSIONS];
    struct vs_values values = {.swap = swap};
    struct vs_box box = {.field = field,
                         .records = shown->records,
                         .start = zeros,
                         .count = shown->local.count,
                         .raw = vs_global_is_raw(shown->global)};
    int failure = shown->rank < 0 ? vs_global_box(shown->global, &box, &values.view, error)
                                  : vs_global_slice(shown->global, shown->rank, field, box.raw,
                                                    &values.view, error);

    return failure ? failure : vs_export_values(file, &values, length);
}
