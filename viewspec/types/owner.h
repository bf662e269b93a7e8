/* SPDX-License-Identifier: MIT */
#ifndef VS_OWNER_H
#define VS_OWNER_H

#include "viewspec/spec.h"

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

#endif
