/* SPDX-License-Identifier: MIT */
#ifndef VS_RANKS_H
#define VS_RANKS_H

#include "viewspec/spec.h"

/* Questions about the views of all ranks: which ones hold a byte, and whether all are the same. Not
   installed. */

/*
 * The search for the slices that hold a byte of the file. Local, thread-safe: threads may share a
 * query and each search a range of ranks.
 */
struct vs_owner_query {
    const struct vs_spec *spec; /* borrowed */
    size_t index;               /* number of the view */
    int64_t displacement;       /* the byte, >= 0 */
    int64_t file_size;          /* size of the file in bytes, which ends slices; -1: unlimited */
};

struct vs_owner {
    int64_t rank;
    int64_t offset; /* slice offset of the byte; the lowest one if the slice holds it twice */
};

/*
 * Finds the lowest rank in [from, to) whose slice holds the byte. Returns 1 with owner filled, or 0
 * if there is none. Otherwise returns a negative errno with error filled: an error of vs_spec_view,
 * or -E2BIG if a slice overlaps itself so much that the search reaches its limit.
 *
 * The views of the ranks are compiled one after the other. A view that is common to all ranks is
 * compiled once. If ranks differ only by the distribution of a darray, scatter, hpf_block or
 * hpf_cyclic, only the view of the rank that the byte is assigned to is compiled.
 */
int vs_owner_next(const struct vs_owner_query *query, int64_t from, int64_t to,
                  struct vs_owner *owner, struct vs_error *error);

/*
 * Returns true if two views have the same representation and etype, and the same places and sizes
 * of tiles. The data in the tiles may differ. Local, thread-safe.
 */
bool vs_views_agree(const struct vs_view *a, const struct vs_view *b);

/* The limit of the values and runs that a comparison examines: a fraction of a second. */
#define VS_ALIKE_STEPS 1000000

/*
 * Returns true if all ranks see the same bytes of the file in the same order, as the same elements,
 * judged by their maps and not by the text of the spec. Returns false if that takes more than
 * `steps` steps, or if the view of a rank does not compile. Local, thread-safe.
 */
bool vs_spec_view_alike(const struct vs_spec *spec, size_t index, int64_t steps);

#endif
