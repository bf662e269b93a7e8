/* SPDX-License-Identifier: MIT */
#include "export_private.h"
#include "global_private.h"
#include "viewspec/map/map_private.h"

/* The parts of a global array that ranks own. */

/* Sets the indices of the element at a displacement from the array's first byte. */
static void indices(const struct vs_global *global, int64_t element, int64_t *index)
{
    int64_t n = global->facts.dimensions;

    for (int64_t i = 0; i < n; i++) {
        int64_t d = global->facts.fortran ? i : n - 1 - i;

        index[d] = element % global->facts.sizes[d];
        element /= global->facts.sizes[d];
    }
}

/* Returns true if the elements of a tile, from start on, are a box of count. Sets both. */
static bool is_box(const struct vs_global *global, const struct vs_node *tile, int64_t size,
                   struct vs_local *local)
{
    int64_t element = vs_view_filetype(global->view)->part->element, elements = 1;

    indices(global, vs_node_seek(tile, 0) / element, local->start);
    indices(global, vs_node_seek(tile, tile->size - 1) / element, local->count);
    for (int64_t d = 0; d < global->facts.dimensions; d++) {
        local->count[d] -= local->start[d] - 1;
        if (local->count[d] < 1 || __builtin_mul_overflow(elements, local->count[d], &elements))
            return false;
    }
    return elements == tile->size / size;
}

/* Fills local from the compiled view of its rank. */
static void find_local(const struct vs_global *global, const struct vs_view *view,
                       struct vs_local *local)
{
    const struct vs_array *whole = vs_view_filetype(global->view)->part;
    const struct vs_array *part = vs_view_filetype(view)->part;
    const struct vs_node *tile = vs_view_filetype(view)->node;
    int64_t size = whole->etypes * vs_view_facts(view)->etype_file_size;

    local->box = tile && is_box(global, tile, size, local);
    for (int64_t d = 0; d < global->facts.dimensions && !local->box; d++) {
        local->start[d] = 0;
        local->count[d] = part ? part->owned[d] : tile ? tile->size / size : 0;
    }
}

/* Sets index to that of the array's element at a displacement, found in the whole array's slice. */
static bool find_element(const struct vs_global *global, int64_t displacement, int64_t *index)
{
    int64_t position = vs_map_find(vs_view_map(global->view), displacement);

    if (position >= 0)
        indices(global, position / vs_view_facts(global->view)->etype_file_size, index);
    return position >= 0;
}

/* Fills local for a part whose filetype is not that of the array: by its first and last element. */
static void find_scattered(const struct vs_global *global, const struct vs_view *view,
                           struct vs_local *local)
{
    const struct vs_array *memory = vs_view_facts(view)->memory;
    const struct vs_map *map = vs_view_map(view);
    int64_t n = global->facts.dimensions, size = vs_map_facts(map)->tile_size,
            last[VS_GLOBAL_DIMENSIONS];
    bool known = memory && memory->dimensions == n && !memory->fortran == !global->facts.fortran;

    for (int64_t d = 0; d < n; d++)
        local->count[d] = known ? memory->owned[d] : size > 0 ? -1 : 0;
    local->box = known && size > 0 &&
                 find_element(global, vs_map_displacement(map, 0), local->start) &&
                 find_element(global, vs_map_displacement(map, size - 1), last);
    for (int64_t d = 0; d < n && local->box; d++)
        local->box = last[d] - local->start[d] + 1 == local->count[d];
}

int vs_global_local(const struct vs_global *global, int64_t rank, struct vs_local *local,
                    struct vs_error *error)
{
    bool all = (global->facts.whole && !global->given) || global->facts.dimensions == 0;
    struct vs_view *view;

    local->box = global->facts.whole;
    for (int64_t d = 0; d < global->facts.dimensions; d++) {
        local->start[d] = 0;
        local->count[d] = global->facts.sizes[d];
    }
    if (all)
        return 0;
    if (vs_spec_view(global->spec, global->index, rank, &view, error))
        return error->code;
    if (global->given)
        find_scattered(global, view, local);
    else
        find_local(global, view, local);
    vs_view_unref(view);
    return 0;
}

int vs_global_slice(const struct vs_global *global, int64_t rank, int64_t field, bool raw,
                    struct vs_view **view, struct vs_error *error)
{
    static const char *const keys[] = {"disp",    "etype",  "filetype", "tiles",
                                       "buftype", "memory", "datarep",  NULL};
    json_t *json = vs_global_merged(global, rank, keys);
    bool ranks;

    if (!global->facts.whole) {
        json_object_del(json, "buftype");
        json_object_del(json, "memory");
    }
    if (raw)
        json_object_del(json, "datarep");
    if (json == NULL)
        vs_global_no_memory(global, error);
    else
        vs_spec_view_of(global->spec, global->index, NULL, json, &global->cuts[field], rank, view,
                        &ranks, error);
    json_decref(json);
    return error->code;
}

int vs_global_local_records(const struct vs_global *global, int64_t rank, int64_t file_size,
                            int64_t *records, struct vs_error *error)
{
    struct vs_view *view;

    *records = vs_global_records(global, file_size);
    if (rank < 0 || global->facts.whole || global->facts.dimensions > 0)
        return 0;
    if (vs_spec_view(global->spec, global->index, rank, &view, error))
        return error->code;
    *records =
        vs_view_positions(view, file_size) / vs_map_facts(vs_view_map(global->view))->tile_size;
    vs_view_unref(view);
    return 0;
}
