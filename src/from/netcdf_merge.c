/* SPDX-License-Identifier: MIT */
#include "netcdf.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "viewspec/base/integer.h"

/*
 * The whole has the layout of a netCDF file without its header: first the variables without
 * records, then records, each with its part of every record variable. Tiles' files and the whole
 * have the variables in the same order, because a member's bytes correspond to bytes of the whole
 * by position. If not all dimensions of a variable are decomposed, as those of a coordinate,
 * several tiles have the same part. The part of the first of these tiles counts.
 */

/* Variables begin at multiples of this. */
#define ALIGNMENT 8

/* The position of a variable in the whole. */
struct slot {
    size_t variable;
    bool has_records;
    int64_t at;    /* in the whole, or in a record of it */
    int64_t bytes; /* of all of it, or of a record */
    bool is_split; /* a dimension of it is decomposed */
};

struct merge {
    const struct from_nc_members *set;
    const struct from_nc_member *first;
    struct from_file *file;
    struct slot *slots; /* in the order of the files */
    size_t count;
    int64_t records_at, record; /* of the whole: where records begin, bytes of one */
    bool *counts;               /* for each tile and slot: the tile's part belongs to the member */
};

/* Returns why a tile does not belong to the set of another one. NULL: it does, as far as its header
   says. */
static const char *difference_of(const struct from_nc_member *other,
                                 const struct from_nc_member *one)
{
    if (!other->model)
        return "it is not a tile";
    if (one->header.dimension_count != other->header.dimension_count)
        return "its dimensions differ";
    if (strcmp(one->model, other->model) != 0)
        return "it is a tile of another model";
    for (size_t d = 0; d < one->header.dimension_count; d++) {
        if (strcmp(one->header.dimensions[d].name, other->header.dimensions[d].name) != 0 ||
            !one->header.dimensions[d].length != !other->header.dimensions[d].length)
            return "its dimensions differ";
        if (one->ranges[d].places != other->ranges[d].places)
            return "it is a tile of another grid";
    }
    if (one->header.records != other->header.records)
        return "it has another number of records";
    if (one->file.count != other->file.count)
        return "its variables differ";
    for (size_t v = 0; v < one->file.count; v++) {
        const struct from_variable *mine = &one->file.variables[v];
        const struct from_variable *its = &other->file.variables[v];
        if (strcmp(mine->name, its->name) != 0 || !json_equal(mine->etype, its->etype) ||
            mine->dimensions != its->dimensions ||
            memcmp(one->header.shapes[v], other->header.shapes[v],
                   (size_t)mine->dimensions * sizeof(**one->header.shapes)) != 0)
            return "its variables differ";
    }
    return NULL;
}

/* Records that a tile is not of the set. Returns -EINVAL. */
static int refuse_tile(const struct from_nc_members *set, size_t number, const char *why)
{
    return from_wrong(&set->tiles[number].file, "not of the set of %s: %s", set->tiles[0].file.path,
                      why);
}

/* Places tiles one after the other along a dimension, if only their numbers are known. */
static int place_in_grid(struct from_nc_members *set, size_t d)
{
    const struct from_nc_member *first = &set->tiles[0];
    int64_t at = 0;

    for (int64_t place = 0; place < first->ranges[d].places; place++) {
        int64_t count = -1;
        for (size_t i = 0; i < set->count; i++) {
            struct from_nc_range *range = &set->tiles[i].ranges[d];
            if (range->place != place)
                continue;
            if (count >= 0 && range->count != count)
                return from_wrong(&set->tiles[i].file,
                                  "it has %" PRId64
                                  " points of %s, but tiles beside it have %" PRId64,
                                  range->count, first->header.dimensions[d].name, count);
            count = range->count;
            range->start = at;
        }
        if (count < 0)
            return from_wrong(&first->file, "there is no tile number %" PRId64 " along %s", place,
                              first->header.dimensions[d].name);
        at += count;
    }
    for (size_t i = 0; i < set->count; i++)
        set->tiles[i].ranges[d].whole = at;
    return 0;
}

/* Completes the ranges of a dimension, and assigns each shared point to one tile, the later one. */
static int complete_ranges(struct from_nc_members *set, size_t d)
{
    int64_t reach = 0;

    if (set->tiles[0].ranges[d].places && place_in_grid(set, d))
        return -EINVAL;
    for (size_t i = 0; i < set->count; i++)
        reach = vs_max(reach, set->tiles[i].ranges[d].start + set->tiles[i].ranges[d].count);
    for (size_t i = 0; i < set->count; i++) {
        struct from_nc_range *range = &set->tiles[i].ranges[d];
        range->whole = range->whole < 0 ? reach : range->whole;
        if (range->whole != set->tiles[0].ranges[d].whole)
            return refuse_tile(set, i, "its dimensions differ");
        if (range->start + range->count < range->whole)
            range->count -= range->shared;
    }
    return 0;
}

/* Returns true if two tiles have the same points of each dimension. */
static bool is_same_place(const struct from_nc_member *one, const struct from_nc_member *other)
{
    for (size_t d = 0; d < one->header.dimension_count; d++)
        if (one->ranges[d].start != other->ranges[d].start ||
            one->ranges[d].count != other->ranges[d].count)
            return false;
    return true;
}

/* Checks that the tiles belong together, and completes their ranges. */
static int check_tiles(struct from_nc_members *set)
{
    for (size_t i = 0; i < set->count; i++) {
        const char *why = difference_of(&set->tiles[i], &set->tiles[0]);
        if (why)
            return refuse_tile(set, i, why);
    }
    for (size_t d = 0; d < set->tiles[0].header.dimension_count; d++)
        if (complete_ranges(set, d))
            return -EINVAL;
    for (size_t i = 1; i < set->count; i++)
        for (size_t k = 0; k < i; k++)
            if (is_same_place(&set->tiles[i], &set->tiles[k]))
                return from_wrong(&set->tiles[i].file, "it has the same position as %s",
                                  set->tiles[k].file.path);
    return 0;
}

enum overlap { DISJOINT, EQUAL, OVERLAPPING };

/* Compares the parts that two tiles have of a variable with these dimensions. */
static enum overlap compare_parts(const struct from_nc_member *one,
                                  const struct from_nc_member *other, const int64_t *dimensions,
                                  int count)
{
    bool equal = true;

    for (int i = 0; i < count; i++) {
        const struct from_nc_range *mine = &one->ranges[dimensions[i]];
        const struct from_nc_range *its = &other->ranges[dimensions[i]];
        if (mine->start >= its->start + its->count || its->start >= mine->start + mine->count)
            return DISJOINT;
        equal = equal && mine->start == its->start && mine->count == its->count;
    }
    return equal ? EQUAL : OVERLAPPING;
}

/* Finds the parts of a variable that count: those that no earlier tile has. */
static int choose_parts(struct merge *merge, size_t number)
{
    const struct from_nc_members *set = merge->set;
    const struct slot *slot = &merge->slots[number];
    const struct from_variable *variable = &merge->file->variables[slot->variable];
    const int64_t *dimensions = merge->first->header.shapes[slot->variable];

    for (size_t i = 0; i < set->count; i++) {
        bool *counts = &merge->counts[i * merge->count + number];
        *counts = slot->is_split || i == 0;
        for (size_t k = 0; k < i && *counts; k++) {
            enum overlap found =
                compare_parts(&set->tiles[i], &set->tiles[k], dimensions + slot->has_records,
                              variable->dimensions - slot->has_records);
            *counts = found == DISJOINT;
            if (found == OVERLAPPING)
                return from_wrong(&set->tiles[i].file, "its values of %s overlap those of %s",
                                  variable->name, set->tiles[k].file.path);
        }
    }
    return 0;
}

static int choose_all_parts(struct merge *merge)
{
    size_t places;

    if (__builtin_mul_overflow(merge->set->count, merge->count, &places) ||
        !(merge->counts = calloc(places + 1, sizeof(*merge->counts))))
        return from_no_memory(merge->file);
    for (size_t i = 0; i < merge->count && !merge->file->error->code; i++)
        choose_parts(merge, i);
    return merge->file->error->code;
}

/* Adds a variable of the whole. lay_out sets its displacement. */
static int add_variable(struct merge *merge, size_t v)
{
    const struct from_variable *part = &merge->first->file.variables[v];
    const struct from_nc_header *header = &merge->first->header;
    struct from_variable *variable = from_add(merge->file, part->name, strlen(part->name));

    if (variable == NULL)
        return merge->file->error->code;
    variable->etype = json_incref(part->etype);
    variable->datarep = part->datarep;
    variable->size = part->size;
    variable->dimensions = part->dimensions;
    for (int d = 0; d < part->dimensions; d++) {
        int64_t number = header->shapes[v][d];
        variable->shape[d] = header->dimensions[number].length ? merge->first->ranges[number].whole
                                                               : header->records;
    }
    if (part->reason)
        from_refuse(variable, "%s", part->reason);
    else if (from_elements(variable) < 0)
        from_refuse(variable, "more than 2^63-1 bytes");
    return 0;
}

/* Returns true if the dimension is decomposed. */
static bool is_split(const struct from_nc_members *set, int64_t dimension)
{
    for (size_t i = 0; i < set->count; i++)
        if (from_nc_is_part(&set->tiles[i].ranges[dimension]))
            return true;
    return false;
}

static int compare_slots(const void *a, const void *b, void *argument)
{
    const struct slot *one = a, *other = b;
    const struct from_variable *variables = argument;
    int64_t mine = variables[one->variable].at, its = variables[other->variable].at;

    return one->has_records != other->has_records ? one->has_records - other->has_records
                                                  : vs_compare(mine, its);
}

/* Returns the bytes of a variable in the slot, or of one record of it. */
static int64_t bytes_of(const struct from_variable *variable, const struct slot *slot)
{
    return from_elements(variable) * variable->size / (slot->has_records ? variable->shape[0] : 1);
}

/* Makes slots for all variables that can be views and have values. */
static int make_slots(struct merge *merge)
{
    const struct from_nc_member *first = merge->first;

    merge->slots = calloc(first->file.count + 1, sizeof(*merge->slots));
    if (!merge->slots)
        return from_no_memory(merge->file);
    for (size_t v = 0; v < first->file.count; v++) {
        if (add_variable(merge, v))
            return merge->file->error->code;
        const struct from_variable *variable = &merge->file->variables[v];
        const int64_t *dimensions = first->header.shapes[v];
        struct slot slot = {.variable = v,
                            .has_records = variable->dimensions > 0 &&
                                           !first->header.dimensions[dimensions[0]].length};
        if (variable->reason || from_elements(variable) == 0)
            continue;
        slot.bytes = bytes_of(variable, &slot);
        for (int d = 0; d < variable->dimensions; d++)
            slot.is_split = slot.is_split || is_split(merge->set, dimensions[d]);
        merge->slots[merge->count++] = slot;
    }
    qsort_r(merge->slots, merge->count, sizeof(*merge->slots), compare_slots,
            first->file.variables);
    return 0;
}

/* Assigns bytes of the whole to each slot, and sets the displacement of each variable. */
static int lay_out(struct merge *merge)
{
    int64_t *end = &merge->records_at, records = merge->first->header.records, all;
    bool over = false;

    for (size_t i = 0; i < merge->count; i++) {
        struct slot *slot = &merge->slots[i];
        end = slot->has_records ? &merge->record : &merge->records_at;
        slot->at = *end;
        over = over || __builtin_add_overflow(*end, slot->bytes, end) ||
               __builtin_add_overflow(*end, (ALIGNMENT - *end % ALIGNMENT) % ALIGNMENT, end);
    }
    if (over || __builtin_mul_overflow(merge->record, records, &all) ||
        __builtin_add_overflow(all, merge->records_at, &all))
        return from_wrong(&merge->first->file, "the whole has more than 2^63-1 bytes");
    for (size_t i = 0; i < merge->count; i++) {
        const struct slot *slot = &merge->slots[i];
        struct from_variable *variable = &merge->file->variables[slot->variable];
        variable->at = slot->at + (slot->has_records ? merge->records_at : 0);
        variable->stride = slot->has_records && slot->bytes != merge->record ? merge->record : 0;
    }
    return 0;
}

/* Returns the type of a tile's part of a variable, in the whole or in the tile's file. */
static json_t *part_type(const struct merge *merge, const struct from_nc_member *tile,
                         const struct slot *slot, bool in_whole)
{
    const struct from_variable *variable = &merge->file->variables[slot->variable];

    if (variable->dimensions == slot->has_records)
        return from_contiguous(variable->size);
    json_t *sizes = json_array(), *subsizes = json_array(), *starts = json_array();
    for (int d = slot->has_records; d < variable->dimensions; d++) {
        int64_t number = tile->header.shapes[slot->variable][d];
        const struct from_nc_range *range = &tile->ranges[number];
        json_array_append_new(
            sizes, json_integer(in_whole ? range->whole : tile->header.dimensions[number].length));
        json_array_append_new(subsizes, json_integer(range->count));
        json_array_append_new(starts, json_integer(in_whole ? range->start : range->skip));
    }
    return json_pack("{s:s, s:o, s:o, s:o, s:s, s:o}", "type", "subarray", "sizes", sizes,
                     "subsizes", subsizes, "starts", starts, "order", "C", "oldtype",
                     from_contiguous(variable->size));
}

/* Returns the flags of a tile's parts that count, one for each slot. */
static const bool *counts_of(const struct merge *merge, const struct from_nc_member *tile)
{
    return &merge->counts[(size_t)(tile - merge->set->tiles) * merge->count];
}

/*
 * Adds the tile's variables with records, or those without, to a structure that begins at
 * displacement base. Moves *end to the end of the last one. Returns how many were added, or -1 if
 * one begins before *end: variables overlap, or lie in another order than the first tile's.
 */
static int add_parts(const struct merge *merge, const struct from_nc_member *tile, bool records,
                     bool in_whole, int64_t base, json_t *structure, int64_t *end)
{
    const bool *counts = counts_of(merge, tile);
    int added = 0;

    for (size_t i = 0; i < merge->count; i++) {
        const struct slot *slot = &merge->slots[i];
        const struct from_variable *variable = &tile->file.variables[slot->variable];
        int64_t at = in_whole ? slot->at : variable->at - base;
        if (slot->has_records != records || !counts[i])
            continue;
        if (at < *end)
            return -1;
        *end = at + (in_whole ? slot->bytes : bytes_of(variable, slot));
        from_member(structure, at, part_type(merge, tile, slot, in_whole));
        added++;
    }
    return added;
}

/* Returns a tile's first slot with records, or NULL. */
static const struct slot *first_record(const struct merge *merge, const struct from_nc_member *tile)
{
    for (size_t i = 0; i < merge->count; i++)
        if (merge->slots[i].has_records && counts_of(merge, tile)[i])
            return &merge->slots[i];
    return NULL;
}

/* Returns the type of all parts of a tile, in the whole or in its file, or NULL with error filled.
 */
static json_t *type_of(struct merge *merge, const struct from_nc_member *tile, bool in_whole)
{
    const struct slot *first = first_record(merge, tile);
    json_t *type = from_struct(), *record = from_struct();
    int64_t at = INT64_MAX, stride = 0, end = 0, record_end = 0;

    if (first) {
        const struct from_variable *variable = &tile->file.variables[first->variable];
        at = in_whole ? merge->records_at : variable->at;
        stride = in_whole           ? merge->record
                 : variable->stride ? variable->stride
                                    : bytes_of(variable, first);
    }
    int fixed = add_parts(merge, tile, false, in_whole, 0, type, &end);
    int varying = add_parts(merge, tile, true, in_whole, at, record, &record_end);
    if (varying > 0)
        from_member(type, at,
                    json_pack("{s:s, s:I, s:i, s:I, s:O}", "type", "hvector", "count",
                              (json_int_t)merge->first->header.records, "blocklength", 1, "stride",
                              (json_int_t)stride, "oldtype", record));
    json_decref(record);
    if (fixed < 0 || varying < 0 || end > at || record_end > stride) {
        from_wrong(&tile->file, "its variables overlap, or lie in another order than in %s",
                   merge->first->file.path);
        json_decref(type);
        return NULL;
    }
    if (fixed + varying == 0) {
        json_decref(type);
        type = from_contiguous(0);
    }
    return type;
}

/* Prints a variable's fill value in hexadecimal. */
static void print_fill(const struct merge *merge, size_t v, char *text)
{
    static const struct {
        const char *type, *value;
    } defaults[] = {{"int8_t", "81"},
                    {"char", "00"},
                    {"int16_t", "8001"},
                    {"int32_t", "80000001"},
                    {"float", "7cf00000"},
                    {"double", "479e000000000000"},
                    {"uint8_t", "ff"},
                    {"uint16_t", "ffff"},
                    {"uint32_t", "ffffffff"},
                    {"int64_t", "8000000000000002"},
                    {"uint64_t", "fffffffffffffffe"}};
    const struct from_nc_header *header = &merge->first->header;
    const struct from_variable *variable = &merge->file->variables[v];
    const struct from_nc_attribute *fill = from_nc_attribute(header, (long)v, "_FillValue");

    if (fill == NULL)
        fill = from_nc_attribute(header, (long)v, "missing_value");
    if (fill && fill->size == variable->size && fill->count > 0) {
        for (int i = 0; i < fill->size; i++)
            sprintf(text + 2 * i, "%02x", fill->values[i]);
        return;
    }
    for (size_t i = 0; i < sizeof(defaults) / sizeof(*defaults); i++)
        if (!strcmp(json_string_value(variable->etype), defaults[i].type))
            strcpy(text, defaults[i].value);
}

/* Returns the number of a slot's values that the tiles have. */
static int64_t count_covered(const struct merge *merge, size_t number)
{
    const struct slot *slot = &merge->slots[number];
    const struct from_variable *variable = &merge->file->variables[slot->variable];
    int64_t sum = 0;

    for (size_t i = 0; i < merge->set->count; i++) {
        const struct from_nc_member *tile = &merge->set->tiles[i];
        int64_t values = slot->has_records ? variable->shape[0] : 1;
        for (int d = slot->has_records; d < variable->dimensions; d++)
            values *= tile->ranges[tile->header.shapes[slot->variable][d]].count;
        sum += counts_of(merge, tile)[number] ? values : 0;
    }
    return sum;
}

/* Returns the fills for values that no tile has. The file's note reports how many values the tiles
   have. */
static json_t *make_fills(const struct merge *merge)
{
    json_t *list = json_array();

    for (size_t i = 0; i < merge->count; i++) {
        const struct slot *slot = &merge->slots[i];
        const struct from_variable *variable = &merge->file->variables[slot->variable];
        int64_t all = from_elements(variable), held = count_covered(merge, i);
        char value[2 * FROM_NC_VALUES + 1];
        if (held >= all)
            continue;
        print_fill(merge, slot->variable, value);
        json_array_append_new(list,
                              json_pack("{s:I, s:I, s:I, s:I, s:s}", "at", (json_int_t)variable->at,
                                        "size", (json_int_t)slot->bytes, "count",
                                        (json_int_t)(slot->has_records ? variable->shape[0] : 1),
                                        "every", (json_int_t)merge->record, "value", value));
        if (!merge->file->note &&
            asprintf(&merge->file->note,
                     "tiles are missing: the %zu that exist have %" PRId64 " of %" PRId64
                     " values of %s; the others read as its fill value",
                     merge->set->count, held, all, variable->name) < 0)
            merge->file->note = NULL;
    }
    return list;
}

/* Makes the tiles members, and their headers parts of the file's header. */
static int make_members(struct merge *merge)
{
    json_t *names = json_array(), *views = json_array(), *locals = json_array(), *filled;

    for (size_t i = 0; i < merge->set->count && !merge->file->error->code; i++) {
        const struct from_nc_member *tile = &merge->set->tiles[i];
        json_array_append_new(names, json_string(tile->file.path));
        json_array_append_new(views, json_pack("{s:o}", "filetype", type_of(merge, tile, true)));
        json_array_append_new(locals, json_pack("{s:o}", "filetype", type_of(merge, tile, false)));
        from_add_part(merge->file, tile->file.path, 0, tile->header.bytes);
    }
    merge->file->members =
        json_pack("{s:o, s:{s:i, s:o}, s:{s:i, s:o}}", "files", names, "view", "tiles", 1,
                  "per_rank", views, "local", "tiles", 1, "per_rank", locals);
    if (!merge->file->error->code && !merge->file->members)
        return from_no_memory(merge->file);
    filled = make_fills(merge);
    if (json_array_size(filled))
        json_object_set(merge->file->members, "fill", filled);
    json_decref(filled);
    return merge->file->error->code;
}

int from_nc_merge(struct from_nc_members *set, struct from_file *file)
{
    struct merge merge = {.set = set, .first = &set->tiles[0], .file = file};

    if (check_tiles(set))
        return file->error->code;
    from_clear(file); /* which has the variables of the tile that was opened */
    if (!make_slots(&merge) && !choose_all_parts(&merge) && !lay_out(&merge))
        make_members(&merge);
    free(merge.counts);
    free(merge.slots);
    return file->error->code;
}
