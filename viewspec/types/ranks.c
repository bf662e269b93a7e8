/* SPDX-License-Identifier: MIT */
#include "ranks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "viewspec/element.h"
#include "viewspec/spec_private.h"
#include "view.h"

/* The owners of a byte. */

/* Returns 1 if the rank's slice holds the byte, else 0; or a negative errno. */
static int look_up(const struct vs_owner_query *query, int64_t rank, struct vs_owner *owner,
                   struct vs_error *error)
{
    struct vs_view *view;
    int result = vs_spec_view(query->spec, query->index, rank, &view, error);
    int64_t position;

    if (result)
        return result;
    position = vs_map_find(vs_view_map(view), query->displacement);
    if (position == VS_FIND_GAVE_UP) {
        snprintf(error->reason, sizeof(error->reason),
                 "the slice of rank %lld overlaps itself in too many ways to be searched",
                 (long long)rank);
        vs_view_unref(view);
        return error->code = -E2BIG;
    }
    result = position >= 0 &&
             (query->file_size < 0 || position < vs_view_positions(view, query->file_size));
    if (result) {
        owner->rank = rank;
        owner->offset = vs_view_offset(view, vs_elements_offset(view, position));
    }
    vs_view_unref(view);
    return result;
}

int vs_owner_next(const struct vs_owner_query *query, int64_t from, int64_t to,
                  struct vs_owner *owner, struct vs_error *error)
{
    const struct vs_view *dealt = query->spec->views[query->index].dealt;

    if (dealt) {
        int64_t at = query->displacement - vs_map_facts(vs_view_map(dealt))->displacement;
        int64_t only = at < 0 ? -1 : vs_dealing_rank(vs_view_filetype(dealt)->dealing, at);

        if (only < from || only >= to)
            return 0;
        from = only;
        to = only + 1;
    }
    if (vs_spec_view_is_common(query->spec, query->index) && from + 1 < to)
        to = from + 1;
    for (int64_t rank = from; rank < to; rank++) {
        int result = look_up(query, rank, owner, error);
        if (result)
            return result;
    }
    return 0;
}

/*
 * Compares the bytes that ranks see. Most ranks differ in the beginning of their tiles, which is
 * compared first. For the others, the runs of one tile are compared.
 */

static bool same_facts(const struct vs_map_facts *a, const struct vs_map_facts *b)
{
    return a->displacement == b->displacement && a->tile_size == b->tile_size &&
           a->tile_extent == b->tile_extent && a->tiles == b->tiles && a->first == b->first &&
           a->end == b->end && a->limit == b->limit;
}

/* Compares the runs of one tile, each as long as it can be. */
static bool same_runs(const struct vs_map *a, const struct vs_map *b, int64_t *steps)
{
    int64_t size = vs_map_facts(a)->tile_size;
    struct vs_runs walk_a, walk_b;
    struct vs_run run_a, run_b;

    vs_runs_start(&walk_a, a, 0, size);
    vs_runs_start(&walk_b, b, 0, size);
    for (; *steps > 0; --*steps) {
        bool more = vs_runs_next(&walk_a, &run_a);

        if (more != vs_runs_next(&walk_b, &run_b))
            return false;
        if (!more)
            return true;
        if (run_a.position != run_b.position || run_a.displacement != run_b.displacement ||
            run_a.length != run_b.length)
            return false;
    }
    return false;
}

/* Compares two strings and frees them. */
static bool same_text(char *a, char *b)
{
    bool same = a != NULL && b != NULL && strcmp(a, b) == 0;

    free(a);
    free(b);
    return same;
}

static bool same_elements(const struct vs_view *a, const struct vs_view *b)
{
    const struct vs_view_facts *of_a = vs_view_facts(a), *of_b = vs_view_facts(b);

    return of_a->datarep == of_b->datarep && of_a->etype_size == of_b->etype_size &&
           of_a->etype_file_size == of_b->etype_file_size &&
           of_a->etype_extent == of_b->etype_extent &&
           strcmp(of_a->datarep_name, of_b->datarep_name) == 0 &&
           same_text(vs_view_etype_text(a), vs_view_etype_text(b));
}

bool vs_views_agree(const struct vs_view *a, const struct vs_view *b)
{
    return same_elements(a, b) &&
           same_facts(vs_map_facts(vs_view_map(a)), vs_map_facts(vs_view_map(b)));
}

/* Compares two views. Subtracts the values and runs examined from *steps; returns false if these do
   not suffice. */
static bool same_views(const struct vs_view *a, const struct vs_view *b, int64_t *steps)
{
    if (a == b)
        return true;
    /* Orders in memory are not compared. */
    return !vs_view_has_order(a) && !vs_view_has_order(b) && vs_views_agree(a, b) &&
           same_runs(vs_view_map(a), vs_view_map(b), steps);
}

/* Compares the view of a rank with rank 0's. */
static bool rank_alike(const struct vs_spec *spec, size_t index, int64_t rank,
                       const struct vs_view *first, int64_t *steps)
{
    struct vs_view *view;
    struct vs_error why = {0};
    bool alike;

    if (vs_spec_view(spec, index, rank, &view, &why) != 0)
        return false;
    *steps -= vs_view_facts(view)->work;
    alike = same_views(first, view, steps);
    vs_view_unref(view);
    return alike;
}

bool vs_spec_view_alike(const struct vs_spec *spec, size_t index, int64_t steps)
{
    int64_t ranks = vs_spec_ranks(spec);
    struct vs_view *first;
    struct vs_error why = {0};
    bool alike = true;

    if (ranks == 1 || vs_spec_view_is_common(spec, index))
        return true;
    if (vs_spec_view(spec, index, 0, &first, &why) != 0)
        return false;
    /* The last rank comes first: it is the most likely one to differ. */
    for (int64_t rank = ranks - 1; rank > 0 && alike; rank--)
        alike = steps > 0 && rank_alike(spec, index, rank, first, &steps);
    vs_view_unref(first);
    return alike;
}
