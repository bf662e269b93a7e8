/* SPDX-License-Identifier: MIT */
#include "drop.h"

#include <errno.h>
#include <stdlib.h>

#include "viewspec/map/cover.h"
#include "fusefs/names/handle.h"

/*
 * Limits for the comparison of slices, which bound it to a fraction of a second: ranks, and steps
 * of the search.
 */
#define DISJOINT_RANKS 16384
#define COVER_STEPS    1000000
#define APART_WORK     4000000 /* sum of the work of compiling the views (vs_view_facts) */

/* The knowledge about a view's slices. */
enum { UNKNOWN, DISJOINT, OVERLAPPING };

static int compute_disjoint(const struct fs_tree *tree, size_t view, bool *disjoint)
{
    struct vs_cover *cover = vs_cover_new();
    struct vs_cover_result result;
    struct vs_error why = {0};
    int64_t work = 0;
    int error = cover != NULL ? 0 : -ENOMEM;

    for (int64_t rank = 0; rank < tree->ranks && error == 0; rank++) {
        struct vs_view *compiled;

        error = vs_spec_view(tree->spec, view, rank, &compiled, &why);
        if (error == 0) {
            error = vs_cover_add(cover, vs_view_map(compiled), 1);
            work += vs_view_facts(compiled)->work;
            vs_view_unref(compiled);
            if (error == 0 && work > APART_WORK)
                error = -E2BIG;
        }
    }
    if (error == 0)
        error = vs_cover_compute(cover, COVER_STEPS, &result);
    *disjoint = error == 0 && result.many == 0;
    vs_cover_free(cover);
    return error == -ENOMEM ? error : 0;
}

int fs_overlaps_disjoint(struct fs_overlaps *overlaps, size_t view, bool *disjoint)
{
    const struct fs_tree *tree = overlaps->slices->tree;
    int known = atomic_load(&overlaps->known[view]);
    int error = 0;

    *disjoint = known == DISJOINT;
    if (known != UNKNOWN)
        return 0;
    /* A "shared" shows the bytes of all ranks, so it overlaps even a single rank's slice. */
    if (!fs_tree_has_shared(tree, view) && tree->ranks <= DISJOINT_RANKS)
        error = compute_disjoint(tree, view, disjoint);
    if (error == 0)
        atomic_store(&overlaps->known[view], *disjoint ? DISJOINT : OVERLAPPING);
    return error;
}

int fs_overlaps_ends_inside(const struct fs_tree *tree, size_t view, int64_t size, bool *inside)
{
    struct vs_error why = {0};

    *inside = false;
    if (size < 0)
        return (int)size;
    for (int64_t rank = 0; rank < tree->ranks && !*inside; rank++) {
        struct vs_view *compiled;
        const struct vs_map_facts *facts;
        int error = vs_spec_view(tree->spec, view, rank, &compiled, &why);

        if (error != 0)
            return error;
        facts = vs_map_facts(vs_view_map(compiled));
        if (!facts->monotonic && size > facts->first) {
            int64_t shown = vs_view_positions(compiled, size);

            *inside = shown < facts->limit &&
                      (size - facts->first - 1) / facts->tile_extent >= shown / facts->tile_size;
        }
        vs_view_unref(compiled);
    }
    return 0;
}

bool fs_overlaps_may_be_disjoint(const struct fs_overlaps *overlaps, size_t view)
{
    return atomic_load(&overlaps->known[view]) != OVERLAPPING;
}

/* Returns true if no other open slice of the same view shows bytes of this one. */
static bool is_apart(struct fs_overlaps *overlaps, const struct fs_slice *slice)
{
    bool disjoint;

    if (!fs_handle_reads_beside(overlaps->slices, slice))
        return true;
    return fs_overlaps_disjoint(overlaps, fs_tree_node(overlaps->slices->tree, slice->data).view,
                                &disjoint) == 0 &&
           disjoint;
}

/* Returns true if other shows some of the bytes, or if that is unknown. */
static bool shows(const struct fs_slice *slice, int64_t offset, int64_t length,
                  const struct fs_slice *other)
{
    return slice->data == other->data ||
           mpiio_slice_shares(slice->slice, offset, length, other->slice);
}

size_t fs_overlaps_drop(struct fs_overlaps *overlaps, struct fs_slice *slice, int64_t offset,
                        int64_t length)
{
    struct fs_slice_list list;
    size_t dropped = 0;

    fs_handle_readers(overlaps->slices, slice, is_apart(overlaps, slice), &list);
    for (size_t i = 0; i < list.count; i++) {
        struct fs_slice *other = list.slices[i];

        if (length == 0 || (other != slice && shows(slice, offset, length, other)))
            dropped += fs_drop_later(overlaps->notifier, other);
        fs_slices_put(overlaps->slices, other);
    }
    free(list.slices);
    return dropped;
}
