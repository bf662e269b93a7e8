/* SPDX-License-Identifier: MIT */
#include "formats.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "netcdf.h"
#include "viewspec/base/integer.h"

/*
 * Sets of netCDF files that the processes of a model wrote: ocean.nc.0000, ocean.nc.0001, ... They
 * become members (viewspec(5)) of one file with the whole variables.
 */

#define SUFFIX ".nc"

/* The parts of a tile's path: [0, base) is the folder, [number, end) the digits of the tile's
   number. [base, number) and [end, length) are the same for all tiles. */
struct name {
    size_t base, number, end, length;
};

static bool split_name(const char *path, struct name *name)
{
    name->base = (size_t)(basename(path) - path);
    name->length = name->end = strlen(path);
    if (from_has_suffix(path, SUFFIX))
        name->end -= strlen(SUFFIX);
    for (name->number = name->end;
         name->number > name->base && isdigit((unsigned char)path[name->number - 1]);)
        name->number--;
    return name->number > name->base && name->number < name->end;
}

/* Returns true if entry has the name of a tile of base's set. */
static bool is_of_set(const char *entry, const char *base)
{
    struct name own, name;

    return split_name(entry, &own) && split_name(base, &name) && own.number == name.number &&
           own.length == name.length && own.end == name.end && !strncmp(entry, base, own.number);
}

static int read_header(struct from_file *file, const struct from_bytes *head, void *argument)
{
    struct from_nc_header *header = argument;

    from_clear(file);
    if (!from_nc_is_it(head))
        return from_wrong(file, "not a file of netCDF's classic formats");
    from_nc_free(header);
    return from_nc_read(head, file, header);
}

/* Reads a tile's header and its position in the whole. */
static int read_tile(struct from_nc_member *tile, struct vs_error *error)
{
    const char *wrong = NULL;

    tile->file.error = error;
    tile->file.format = "netCDF";
    if (from_head(&tile->file, read_header, &tile->header))
        return error->code;
    tile->ranges = calloc(tile->header.dimension_count + 1, sizeof(*tile->ranges));
    if (tile->ranges == NULL)
        return from_no_memory(&tile->file);
    tile->model = from_nc_tile(&tile->file, &tile->header, tile->ranges, &wrong);
    if (wrong)
        from_wrong(&tile->file, "its position in the whole contradicts its dimension %s", wrong);
    return error->code;
}

static void free_tile(struct from_nc_member *tile)
{
    from_clear(&tile->file);
    from_nc_free(&tile->header);
    free(tile->ranges);
    free(tile->file.path);
}

/* Finds the tiles of the file's set, ordered by number. */
static int find_tiles(struct from_nc_members *set, struct from_file *file)
{
    struct from_paths paths = {0};
    int code = from_paths_find(&paths, file, file->path, is_of_set);

    set->tiles = calloc(paths.count + 1, sizeof(*set->tiles));
    if (set->tiles == NULL)
        code = from_no_memory(file);
    for (; !code && set->count < paths.count; set->count++) {
        set->tiles[set->count].file.path = paths.list[set->count];
        paths.list[set->count] = NULL;
    }
    from_paths_free(&paths);
    return code;
}

/* Names the dimensions of the variables. A set has them in the order of each of its tiles. */
static void name_dimensions(struct from_file *file, const struct from_nc_header *header)
{
    for (size_t i = 0; i < file->count; i++) {
        struct from_variable *variable = &file->variables[i];

        variable->dims = json_array();
        for (int d = 0; d < variable->dimensions; d++)
            json_array_append_new(variable->dims,
                                  json_string(header->dimensions[header->shapes[i][d]].name));
    }
}

/*
 * Reads the set that the file, a tile, belongs to, and fills file with the whole variables and the
 * members. Returns 0, or a negative errno with the file's error filled if a tile is damaged or of
 * another set, or if tiles overlap.
 */
static int set_read(struct from_file *file)
{
    struct from_nc_members set = {0};
    int code = find_tiles(&set, file);

    for (size_t i = 0; i < set.count && !code; i++)
        code = read_tile(&set.tiles[i], file->error);
    if (!code && set.count == 0) /* the tile was removed in the meantime */
        code = from_fail_code(file->error, -ENOENT, file->path);
    if (!code)
        code = from_nc_merge(&set, file);
    if (!code)
        name_dimensions(file, &set.tiles[0].header);
    for (size_t i = 0; i < set.count; i++)
        free_tile(&set.tiles[i]);
    free(set.tiles);
    return code;
}

/*
 * Returns true if a tile's name is NAME with a number: NAME.0000, NAME_0000.nc or NAME.t001.nc.
 * NAME may include the .nc.
 */
static bool goes_by(const char *entry, const char *name)
{
    struct name own;

    if (!split_name(entry, &own))
        return false;
    size_t before = own.number, behind = own.length - own.end, length = strlen(name);
    if (before > 1 && entry[before - 1] == 't' && entry[before - 2] == '.')
        before--;
    if (before < 2 || !strchr("._", entry[before - 1]))
        return false;
    before--;
    return !strncmp(entry, name, before) &&
           (length == before || (length == before + behind && !strcmp(name + before, SUFFIX)));
}

/* Returns true if the file's attributes declare it a tile. Fills error if it cannot be read. */
static bool is_tile(const char *path, struct vs_error *error)
{
    struct from_nc_member tile = {.file.path = strdup(path)};

    if (tile.file.path)
        read_tile(&tile, error);
    else
        from_fail_code(error, -ENOMEM, path);
    free_tile(&tile);
    return tile.model;
}

/*
 * Returns the path of the first tile of a set, a new string. name is the tiles' name without the
 * number and its separator. Returns NULL if there is no such set or memory is exhausted.
 */
static char *set_find(const char *name)
{
    struct from_paths paths = {0};
    char *first = NULL;

    from_paths_find(&paths, NULL, name, goes_by);
    for (size_t i = 0; i < paths.count && first == NULL; i++) {
        struct vs_error unread = {0};

        if (is_tile(paths.list[i], &unread))
            first = strdup(paths.list[i]);
    }
    from_paths_free(&paths);
    return first;
}

/* The format. */

/* netCDF's classic formats: a single file, or a tile of a set that a model's processes wrote. */

/*
 * Makes the file the member of a whole of the length that the header requires. Files are too short
 * if programs have not written all values. The netCDF library reads zeros there.
 */
static void lengthen_file(struct from_file *file, int64_t size, int64_t end)
{
    file->members = json_pack("{s:[s], s:{s:I}, s:s}", "files", file->path, "view", "tiles",
                              (json_int_t)end, "missing", "zero");
    if (asprintf(&file->note,
                 "the file is truncated: bytes %" PRId64 " to %" PRId64
                 " read as zeros (truncate -s %" PRId64 " lets them be written)",
                 size, end - 1, end) < 0)
        file->note = NULL;
    if (!file->members)
        from_wrong(file, "it is truncated, and its name is not UTF-8, as a spec must be");
    else if (!file->note)
        from_no_memory(file);
}

/* Completes a file that is not a tile. */
static void complete_file(struct from_file *file, int64_t size, const struct from_nc_header *header)
{
    int64_t end = 0;

    for (size_t i = 0; i < file->count; i++)
        if (!file->variables[i].reason)
            end = vs_max(end, from_end(&file->variables[i]));
    if (end > size)
        lengthen_file(file, size, end);
    from_add_part(file, file->members ? file->path : NULL, 0, header->bytes);
    name_dimensions(file, header);
}

/* Reads the file's set if it has a number at the end of its name or before .nc, and is a tile. */
static int parse_netcdf(const struct from_bytes *head, struct from_file *file)
{
    struct from_nc_header header;
    struct name name;
    int code = from_nc_read(head, file, &header);
    bool tile = !code && split_name(file->path, &name) && is_tile(file->path, file->error);

    if (!code && tile)
        code = set_read(file);
    else if (!code && !file->error->code)
        complete_file(file, head->size, &header);
    from_nc_free(&header);
    return code ? code : file->error->code;
}

const struct from_format from_netcdf = {
    .name = "netCDF classic",
    .is_it = from_nc_is_it,
    .read = parse_netcdf,
    .find = set_find,
};
