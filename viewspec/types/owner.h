/* SPDX-License-Identifier: MIT */
#ifndef VS_OWNER_H
#define VS_OWNER_H

#include "viewspec/spec.h"

/*
 * The inverse over ranks: which slices hold a byte of the file. Local, thread-safe: threads may
 * share a query and search ranges of ranks of their own.
 */
struct vs_owner_query {
    const struct vs_spec *spec; /* borrowed */
    size_t index;               /* number of the view */
    int64_t displacement;       /* the byte, >= 0 */
    int64_t file_size;          /* slices end where a file of so many bytes ends; -1: nowhere */
};

struct vs_owner {
    int64_t rank;
    int64_t offset; /* slice offset of the byte, the first one where the slice holds it twice */
};

/*
 * Finds the lowest rank in [from, to) whose slice holds the byte. Returns 1, with owner filled; 0
 * where there is none; or a negative errno, with error filled: what vs_spec_view says of a rank,
 * or -E2BIG where the rank's slice overlaps itself so much that the search gives up. One rank's
 * view is compiled after the other; a view that is common to all ranks only once, and of views
 * that differ by what a darray, scatter, hpf_block or hpf_cyclic deals alone, that of the rank that
 * the byte is dealt to.
 */
int vs_owner_next(const struct vs_owner_query *query, int64_t from, int64_t to,
                  struct vs_owner *owner, struct vs_error *error);

#endif
