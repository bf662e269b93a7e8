/* SPDX-License-Identifier: MIT */
#include "owner.h"

#include <errno.h>
#include <stdio.h>

static int not_supported(const struct vs_view_facts *facts, struct vs_error *error)
{
    if (!error->code) {
        error->code = -ENOTSUP;
        snprintf(
            error->reason, sizeof error->reason,
            "data representation %s: not supported (its elements have other sizes in the file)",
            facts->datarep_name);
    }
    return -ENOTSUP;
}

/* 1 where the rank's slice holds the byte, 0 where not. */
static int look_up(const struct vs_owner_query *query, int64_t rank, struct vs_owner *owner,
                   struct vs_error *error)
{
    struct vs_view *view;
    int result = vs_spec_view(query->spec, query->index, rank, &view, error);

    if (result)
        return result;
    const struct vs_view_facts *facts = vs_view_facts(view);
    if (facts->etype_size != facts->etype_file_size) {
        result = not_supported(facts, error);
    } else {
        owner->rank = rank;
        owner->offset = vs_map_find(vs_view_map(view), query->displacement);
        result = owner->offset >= 0 && (query->file_size < 0 ||
                                        owner->offset < vs_view_positions(view, query->file_size));
    }
    vs_view_unref(view);
    return result;
}

int vs_owner_next(const struct vs_owner_query *query, int64_t from, int64_t to,
                  struct vs_owner *owner, struct vs_error *error)
{
    if (vs_spec_view_is_common(query->spec, query->index) && from + 1 < to)
        to = from + 1;
    for (int64_t rank = from; rank < to; rank++) {
        int result = look_up(query, rank, owner, error);
        if (result)
            return result;
    }
    return 0;
}
