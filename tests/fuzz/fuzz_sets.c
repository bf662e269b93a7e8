/* SPDX-License-Identifier: MIT */
/*
 * libFuzzer harness for the headers of two tiles of a set. Either they are refused, or they make
 * members that a spec accepts and whole variables that can be views. The first two bytes of the
 * input, big-endian, are the length of the first header.
 */

#include "fuzz.h"
#include "viewspec/members/members.h"
#include "from/netcdf.h"
#include "from/spec.h"
#include "viewspec/spec.h"

/* The most variables of a set that are checked. */
#define LOOKED_AT 4

/* Reads a tile's header. Returns false if it is damaged or not a tile. */
static bool read_tile(struct from_nc_member *tile, const char *path, const uint8_t *data,
                      size_t length, struct vs_error *error)
{
    struct from_bytes head = {data, length, INT64_C(1) << 50, path, NULL};
    const char *wrong;

    tile->file.error = error;
    tile->file.path = strdup(path);
    CHECK(tile->file.path != NULL);
    if (!from_nc_is_it(&head) || from_nc_read(&head, &tile->file, &tile->header) != 0)
        return false;
    tile->ranges = calloc(tile->header.dimension_count + 1, sizeof(*tile->ranges));
    CHECK(tile->ranges != NULL);
    tile->model = from_nc_tile(&tile->file, &tile->header, tile->ranges, &wrong);
    return tile->model != NULL && wrong == NULL;
}

static void free_tile(struct from_nc_member *tile)
{
    from_clear(&tile->file);
    from_nc_free(&tile->header);
    free(tile->ranges);
    free(tile->file.path);
}

/* Checks the views of a member: the one in the whole, and the one in its file. */
static void check_member(const struct vs_members *members, int64_t number)
{
    struct vs_error why = {0};
    struct vs_view *view, *local;

    CHECK(vs_members_views(members, number, &view, &local, &why) == 0);
    CHECK(vs_map_facts(vs_view_map(view))->monotonic);
    CHECK(vs_map_facts(vs_view_map(view))->disjoint);
    CHECK(vs_map_facts(vs_view_map(view))->limit == vs_map_facts(vs_view_map(local))->limit);
    vs_view_unref(view);
    vs_view_unref(local);
}

static void check_variable(const struct from_file *file, const struct from_variable *variable)
{
    const struct from_grid grid = {.ranks = 1};
    struct vs_error error = {0}, why = {0};
    struct vs_spec *spec = NULL;
    json_t *view = from_view(variable, &grid, &error);
    json_t *root = json_pack("{s:i, s:O, s:i, s:o}", "viewspec", 1, "members", file->members,
                             "ranks", 1, "view", view);
    char *text = json_dumps(root, JSON_COMPACT);

    CHECK(view != NULL && text != NULL);
    CHECK(vs_spec_parse(text, strlen(text), "fuzz", "/", NULL, &spec, &why) == 0);
    for (int64_t i = 0; i < vs_members_count(vs_spec_members(spec)); i++)
        check_member(vs_spec_members(spec), i);
    vs_spec_free(spec);
    json_decref(root);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct from_nc_member tiles[2] = {0};
    struct from_nc_members set = {.tiles = tiles, .count = 2};
    struct vs_error error = {0};
    char path[] = "/a";
    struct from_file file = {.error = &error, .path = path};
    size_t first = size < 2 ? 0 : (size_t)data[0] << 8 | data[1];

    if (size < 2 || first > size - 2)
        return 0;
    if (read_tile(&tiles[0], "/a", data + 2, first, &error) &&
        read_tile(&tiles[1], "/b", data + 2 + first, size - 2 - first, &error)) {
        int code = from_nc_merge(&set, &file);
        CHECK(code == 0 || (code == error.code && error.reason[0]));
        for (size_t i = 0; !code && i < file.count && i < LOOKED_AT; i++)
            if (!file.variables[i].reason)
                check_variable(&file, &file.variables[i]);
    }
    from_clear(&file);
    free_tile(&tiles[0]);
    free_tile(&tiles[1]);
    return 0;
}
