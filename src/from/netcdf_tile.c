/* SPDX-License-Identifier: MIT */
#include "netcdf.h"

#include <string.h>

/* The positions of tiles, from the attributes that models write. */

struct reader {
    const struct from_file *file;
    const struct from_nc_header *header;
    struct from_nc_range *ranges;
};

/* Returns the number of the dimension with that name, or -1. */
static long find_dimension(const struct from_nc_header *header, const char *name)
{
    for (size_t i = 0; i < header->dimension_count; i++)
        if (!strcmp(header->dimensions[i].name, name))
            return (long)i;
    return -1;
}

static bool get_attribute(const struct reader *r, const char *name, int64_t *value)
{
    return from_nc_integers(r->header, -1, name, 1, value);
}

/* Reads FMS's attributes. A variable named as a dimension has the first and last index of the whole
   and of the tile. */
static bool read_fms(struct reader *r)
{
    bool found = false;

    for (size_t i = 0; i < r->file->count; i++) {
        int64_t d = r->file->variables[i].dimensions == 1 ? r->header->shapes[i][0] : -1;
        int64_t list[4];
        if (d < 0 || strcmp(r->file->variables[i].name, r->header->dimensions[d].name) != 0 ||
            !from_nc_integers(r->header, (long)i, "domain_decomposition", 4, list))
            continue;
        r->ranges[d] = (struct from_nc_range){.whole = list[1] - list[0] + 1,
                                              .start = list[2] - list[0],
                                              .count = list[3] - list[2] + 1};
        found = true;
    }
    return found;
}

/* Reads NEMO's attributes. Dimensions are numbered from 1; positions include the halo. */
static bool read_nemo(struct reader *r)
{
    int64_t ids[2], whole[2], first[2], before[2], after[2];

    if (!from_nc_integers(r->header, -1, "DOMAIN_dimensions_ids", 2, ids) ||
        !from_nc_integers(r->header, -1, "DOMAIN_size_global", 2, whole) ||
        !from_nc_integers(r->header, -1, "DOMAIN_position_first", 2, first) ||
        !from_nc_integers(r->header, -1, "DOMAIN_halo_size_start", 2, before) ||
        !from_nc_integers(r->header, -1, "DOMAIN_halo_size_end", 2, after))
        return false;
    for (int i = 0; i < 2; i++) {
        if (ids[i] < 1 || ids[i] > (int64_t)r->header->dimension_count)
            return false;
        struct from_nc_range *range = &r->ranges[ids[i] - 1];
        *range = (struct from_nc_range){.whole = whole[i],
                                        .start = first[i] - 1 + before[i],
                                        .skip = before[i],
                                        .count = range->count - before[i] - after[i]};
    }
    return true;
}

/* Reads the attributes of MITgcm's mnc. Dimensions are X and Y, and Xp1 and Yp1, which include the
   first point of the next tile. */
static bool read_mitgcm(struct reader *r)
{
    static const char *const names[2][2] = {{"X", "Xp1"}, {"Y", "Yp1"}};
    int64_t size[2], whole[2] = {-1, -1}, start[2], tile;

    if (!get_attribute(r, "tile_number", &tile) || !get_attribute(r, "sNx", &size[0]) ||
        !get_attribute(r, "sNy", &size[1]) || size[0] < 1 || size[1] < 1)
        return false;
    if ((get_attribute(r, "exch2_txGlobalo", &start[0]) ||
         get_attribute(r, "exch2_txglobalo", &start[0])) &&
        (get_attribute(r, "exch2_tyGlobalo", &start[1]) ||
         get_attribute(r, "exch2_tyglobalo", &start[1]))) {
        start[0]--;
        start[1]--;
    } else if (get_attribute(r, "Nx", &whole[0]) && get_attribute(r, "Ny", &whole[1]) &&
               whole[0] >= size[0]) {
        int64_t across = whole[0] / size[0];
        start[0] = (tile - 1) % across * size[0];
        start[1] = (tile - 1) / across * size[1];
    } else {
        return false;
    }
    for (int i = 0; i < 4; i++) {
        long d = find_dimension(r->header, names[i / 2][i % 2]);
        if (d >= 0)
            r->ranges[d] =
                (struct from_nc_range){.whole = whole[i / 2] < 0 ? -1 : whole[i / 2] + i % 2,
                                       .start = start[i / 2],
                                       .count = size[i / 2] + i % 2,
                                       .shared = i % 2};
    }
    return true;
}

/* Reads ROMS's attribute: the tile's position in a grid of tiles. The tiles' own dimensions give
   their widths. */
static bool read_roms(struct reader *r)
{
    int64_t grid[4];

    if (!from_nc_integers(r->header, -1, "partition", 4, grid) || grid[2] < 1 || grid[3] < 1 ||
        (grid[2] == 1 && grid[3] == 1))
        return false;
    for (size_t d = 0; d < r->header->dimension_count; d++) {
        const char *name = r->header->dimensions[d].name;
        bool is_xi = !strncmp(name, "xi_", 3), is_eta = !strncmp(name, "eta_", 4);
        if ((!is_xi && !is_eta) || grid[is_xi ? 2 : 3] == 1)
            continue;
        r->ranges[d].whole = r->ranges[d].start = -1;
        r->ranges[d].place = grid[is_xi ? 0 : 1];
        r->ranges[d].places = grid[is_xi ? 2 : 3];
    }
    return true;
}

/* Reads WRF's attributes: the first index of the patch, separately for staggered dimensions. */
static bool read_wrf(struct reader *r)
{
    static const struct {
        const char *dimension, *whole, *start;
        int less; /* points than in the whole's attribute */
    } rows[] = {
        {"west_east", "WEST-EAST_GRID_DIMENSION", "WEST-EAST_PATCH_START_UNSTAG", 1},
        {"west_east_stag", "WEST-EAST_GRID_DIMENSION", "WEST-EAST_PATCH_START_STAG", 0},
        {"south_north", "SOUTH-NORTH_GRID_DIMENSION", "SOUTH-NORTH_PATCH_START_UNSTAG", 1},
        {"south_north_stag", "SOUTH-NORTH_GRID_DIMENSION", "SOUTH-NORTH_PATCH_START_STAG", 0},
    };
    bool found = false;

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        long d = find_dimension(r->header, rows[i].dimension);
        int64_t whole, start;
        if (d < 0 || !get_attribute(r, rows[i].whole, &whole) ||
            !get_attribute(r, rows[i].start, &start))
            continue;
        r->ranges[d].whole = whole - rows[i].less;
        r->ranges[d].start = start - 1;
        found = true;
    }
    return found;
}

bool from_nc_is_part(const struct from_nc_range *range)
{
    return range->start != 0 || range->count != range->whole;
}

/* Returns true if the attributes are consistent with the length of the dimension in the file. */
static bool tile_fits(const struct from_nc_range *range, int64_t length)
{
    int64_t end;

    if (range->places ? range->place < 0 || range->place >= range->places : range->start < 0)
        return false;
    if (range->skip < 0 || range->count < 1 ||
        __builtin_add_overflow(range->skip, range->count, &end) || end > length)
        return false;
    return range->start < 0 || range->whole < 0 ||
           (!__builtin_add_overflow(range->start, range->count, &end) && end <= range->whole);
}

const char *from_nc_tile(const struct from_file *file, const struct from_nc_header *header,
                         struct from_nc_range *ranges, const char **wrong)
{
    static const struct {
        const char *name;
        bool (*read)(struct reader *r);
    } models[] = {{"FMS", read_fms},
                  {"NEMO", read_nemo},
                  {"MITgcm", read_mitgcm},
                  {"ROMS", read_roms},
                  {"WRF", read_wrf}};
    struct reader r = {file, header, ranges};

    *wrong = NULL;
    for (size_t i = 0; i < sizeof(models) / sizeof(*models); i++) {
        bool is_part = false;
        for (size_t d = 0; d < header->dimension_count; d++) {
            int64_t length = header->dimensions[d].length;
            ranges[d] = (struct from_nc_range){.whole = length, .count = length};
        }
        if (!models[i].read(&r))
            continue;
        for (size_t d = 0; d < header->dimension_count; d++) {
            int64_t length = header->dimensions[d].length;
            if (length == 0) /* Models do not decompose the dimension of records. */
                ranges[d] = (struct from_nc_range){0};
            else if (!tile_fits(&ranges[d], length))
                *wrong = header->dimensions[d].name;
            is_part = is_part || from_nc_is_part(&ranges[d]);
        }
        if (!is_part)
            *wrong = NULL;
        return is_part ? models[i].name : NULL;
    }
    return NULL;
}
