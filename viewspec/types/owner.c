/* SPDX-License-Identifier: MIT */
#include "owner.h"

#include <errno.h>
#include <stdio.h>

#include "viewspec/element.h"
#include "viewspec/spec_private.h"

static int give_up(int64_t rank, struct vs_error *error)
{
    snprintf(error->reason, sizeof(error->reason),
             "the slice of rank %lld overlaps itself in too many ways to be searched",
             (long long)rank);
    return error->code = -E2BIG;
}

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
        vs_view_unref(view);
        return give_up(rank, error);
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
    int64_t only;

    if (vs_spec_dealt_to(query->spec, query->index, query->displacement, &only)) {
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
