/* SPDX-License-Identifier: MIT */
#include "assembly.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "cover.h"
#include "shape.h"
#include "viewspec/base/integer.h"
#include "viewspec/base/list.h"
#include "map_private.h"

/* Up to this number, members are examined one by one, without lists. */
#define FEW 64

/* The largest number of members for which holes are computed. */
#define COUNTED 16384

/* Views without an end of their own extend beyond this, by position or by displacement. */
#define ENDLESS (INT64_C(1) << 60)

#define LEVELS      8  /* blocks of 2^20, 2^26, ... 2^62 bytes */
#define FANOUT_BITS 6  /* from one level to the next */
#define SLOTS       16 /* lists that are kept for each level */

struct member {
    const struct vs_shape *tiles; /* a loop over all tiles; NULL: the view selects nothing */
    int64_t first;                /* displacement of the lowest byte of tile 0 */
    int64_t etype;
    int64_t bytes; /* positions that it holds */
    int64_t limit; /* positions that its view has */
    bool is_array; /* the filetype is a part of an array */
    int64_t end;   /* displacement after the last byte that it holds; 0: none */
};

/* The members that hold bytes of a block, ascending. */
struct list {
    int64_t block; /* its number; -1: the list is unused */
    uint32_t *members;
    size_t count;
};

struct vs_assembly {
    struct vs_shapes shapes;
    struct member *members;
    size_t count, room;
    bool overlaps;
    int64_t size, bytes;
    pthread_mutex_t lock;             /* held while lists are used or made */
    struct list known[LEVELS][SLOTS]; /* lock: lock */
    size_t entries[LEVELS];           /* members in a level's lists; lock: lock */
};

struct vs_assembly *vs_assembly_new(bool overlaps)
{
    struct vs_assembly *assembly = calloc(1, sizeof(*assembly));

    if (assembly == NULL || pthread_mutex_init(&assembly->lock, NULL)) {
        free(assembly);
        return NULL;
    }
    assembly->overlaps = overlaps;
    for (int level = 0; level < LEVELS; level++)
        for (int slot = 0; slot < SLOTS; slot++)
            assembly->known[level][slot].block = -1;
    return assembly;
}

static void forget(struct vs_assembly *assembly, int level, struct list *list)
{
    assembly->entries[level] -= list->count;
    free(list->members);
    *list = (struct list){.block = -1};
}

void vs_assembly_free(struct vs_assembly *assembly)
{
    if (assembly == NULL)
        return;
    for (int level = 0; level < LEVELS; level++)
        for (int slot = 0; slot < SLOTS; slot++)
            forget(assembly, level, &assembly->known[level][slot]);
    pthread_mutex_destroy(&assembly->lock);
    vs_shapes_free(&assembly->shapes);
    free(assembly->members);
    free(assembly);
}

/*
 * Returns how many bytes of the view lie below displacement, including those that the member does
 * not hold.
 */
static int64_t below(const struct member *member, int64_t displacement)
{
    const struct vs_shape *tiles = member->tiles;
    int64_t offset = displacement - member->first, tile, found;

    if (tiles == NULL || offset <= 0)
        return 0;
    tile = offset / tiles->stride;
    if (__builtin_mul_overflow(tile, tiles->child->size, &found))
        return member->limit;
    found = vs_add_capped(found, vs_shape_below(tiles->child, offset % tiles->stride));
    return vs_min(found, member->limit);
}

static int64_t held_below(const struct member *member, int64_t displacement)
{
    return vs_min(below(member, displacement), member->bytes);
}

static int64_t place_in_member(const struct member *member, int64_t position)
{
    const struct vs_shape *tile = member->tiles->child;

    return member->first + position / tile->size * member->tiles->stride +
           vs_shape_place(tile, position % tile->size);
}

int64_t vs_assembly_place(const struct vs_assembly *assembly, size_t member, int64_t position)
{
    return place_in_member(&assembly->members[member], position);
}

int vs_assembly_add(struct vs_assembly *assembly, const struct vs_view *view, int64_t bytes)
{
    const struct vs_map *map = vs_view_map(view);
    const struct vs_map_facts *facts = vs_map_facts(map);
    const struct vs_shape *tile = NULL;
    struct member member = {
        .first = facts->first,
        .etype = vs_view_facts(view)->etype_file_size,
        .bytes = bytes,
        .limit = facts->limit,
        .is_array = vs_view_facts(view)->array != NULL,
    };

    if (!facts->monotonic || !facts->disjoint)
        return -EINVAL;
    if (facts->tile_size) {
        tile = vs_shape_of_node(&assembly->shapes, map->tile);
        if (tile && !tile->disjoint)
            return -EINVAL;
        /* The count is never used, so any number will do. A single tile may be longer than its
           extent. */
        member.tiles =
            tile ? vs_shape_loop(&assembly->shapes, 2, vs_max(facts->tile_extent, tile->span), tile)
                 : NULL;
        if (!member.tiles)
            return -ENOMEM;
    }
    if (!VS_LIST_ROOM(assembly->members, assembly->count, assembly->room))
        return -ENOMEM;
    if (bytes)
        member.end = place_in_member(&member, bytes - 1) + 1;
    assembly->bytes += bytes;
    assembly->members[assembly->count++] = member;
    return 0;
}

/* Returns the number of tiles that a member has data of, at least one. */
static int64_t tiles_of(const struct member *member)
{
    return vs_max(vs_ceil_div(member->bytes, member->tiles->child->size), 1);
}

/*
 * Returns the end that a complete member would have: the end of its view, or of `arrays` whole
 * arrays. If it has neither, returns the end of its data.
 */
static int64_t full_end(const struct member *member, int64_t arrays)
{
    int64_t positions = member->bytes;

    if (member->limit < ENDLESS && place_in_member(member, member->limit - 1) < ENDLESS)
        positions = member->limit;
    else if (member->is_array)
        positions = vs_min(arrays * member->tiles->child->size, member->limit);
    return positions ? place_in_member(member, positions - 1) + 1 : 0;
}

void vs_assembly_finish(struct vs_assembly *assembly, int64_t least)
{
    int64_t arrays = 1;

    assembly->size = least;
    for (size_t i = 0; i < assembly->count; i++)
        if (assembly->members[i].tiles && assembly->members[i].is_array)
            arrays = vs_max(arrays, tiles_of(&assembly->members[i]));
    for (size_t i = 0; i < assembly->count; i++)
        if (assembly->members[i].tiles)
            assembly->size = vs_max(assembly->size, full_end(&assembly->members[i], arrays));
}

int64_t vs_assembly_size(const struct vs_assembly *assembly)
{
    return assembly->size;
}

int64_t vs_assembly_bytes(const struct vs_assembly *assembly, size_t member)
{
    return assembly->members[member].bytes;
}

bool vs_assembly_is_full(const struct vs_assembly *assembly)
{
    return !assembly->overlaps && assembly->bytes == assembly->size;
}

/* The members that hold bytes of a range. */

static int64_t block_size(int level)
{
    return VS_ASSEMBLY_BLOCK << level * FANOUT_BITS;
}

static bool has_bytes(const struct member *member, int64_t start, int64_t end)
{
    return member->end > start && member->first < end &&
           held_below(member, end) > held_below(member, start);
}

/* Lists the members in `among` (NULL: all) that have bytes in the block. The lock is held. */
static int select_members(const struct vs_assembly *assembly, const struct list *among, int level,
                          struct list *list)
{
    int64_t start = list->block * block_size(level);
    int64_t end = vs_min(assembly->size, vs_add_capped(start, block_size(level)));
    size_t total = among ? among->count : assembly->count;
    uint32_t *fitted;

    list->members = malloc((total + 1) * sizeof(*list->members));
    if (list->members == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < total; i++) {
        uint32_t member = among ? among->members[i] : (uint32_t)i;

        if (has_bytes(&assembly->members[member], start, end))
            list->members[list->count++] = member;
    }
    fitted = realloc(list->members, (list->count + 1) * sizeof(*list->members));
    list->members = fitted ? fitted : list->members;
    return 0;
}

/* Stores a list, and drops others of its level to make room. The lock is held. */
static void keep_list(struct vs_assembly *assembly, int level, struct list *slot, struct list *list)
{
    size_t most = VS_ASSEMBLY_KNOWN / sizeof(*list->members);

    forget(assembly, level, slot);
    for (int i = 0; i < SLOTS && assembly->entries[level] + list->count > most; i++)
        forget(assembly, level, &assembly->known[level][i]);
    *slot = *list;
    assembly->entries[level] += list->count;
}

/*
 * Finds the list of a block, or makes it from the list of the next larger block. The lock is held.
 */
static int find_list(struct vs_assembly *assembly, int level, int64_t block,
                     const struct list **found)
{
    struct list *slot = &assembly->known[level][block % SLOTS];
    struct list list = {.block = block};
    const struct list *among = NULL;
    int error = 0;

    *found = slot;
    if (slot->block == block)
        return 0;
    if (level + 1 < LEVELS && block_size(level) < assembly->size)
        error = find_list(assembly, level + 1, block >> FANOUT_BITS, &among);
    if (!error)
        error = select_members(assembly, among, level, &list);
    if (!error)
        keep_list(assembly, level, slot, &list);
    return error;
}

static int fill_parts(const struct vs_assembly *assembly, const struct list *among, int64_t start,
                      int64_t end, struct vs_assembly_part **parts, size_t *count)
{
    size_t total = among ? among->count : assembly->count;

    *parts = malloc((total + 1) * sizeof(**parts));
    if (*parts == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < total; i++) {
        size_t number = among ? among->members[i] : i;
        const struct member *member = &assembly->members[number];
        int64_t position;

        if (member->end <= start || member->first >= end)
            continue;
        position = held_below(member, start);
        (*parts)[*count] = (struct vs_assembly_part){
            .member = number, .position = position, .length = held_below(member, end) - position};
        *count += (*parts)[*count].length > 0;
    }
    return 0;
}

int vs_assembly_parts(struct vs_assembly *assembly, int64_t start, int64_t end,
                      struct vs_assembly_part **parts, size_t *count)
{
    const struct list *among = NULL;
    int error = 0, level = 0;

    *count = 0;
    *parts = NULL;
    if (assembly->count <= FEW)
        return fill_parts(assembly, NULL, start, end, parts, count);
    while (level < LEVELS && start / block_size(level) != (end - 1) / block_size(level))
        level++;
    pthread_mutex_lock(&assembly->lock);
    if (level < LEVELS)
        error = find_list(assembly, level, start / block_size(level), &among);
    if (!error)
        error = fill_parts(assembly, among, start, end, parts, count);
    pthread_mutex_unlock(&assembly->lock);
    return error;
}

/* Checking that the members fit together. */

/* Returns an item for the first positions of a member, clipped to [0, end). */
static struct vs_item item_of(const struct member *member, int64_t positions, int64_t end)
{
    return (struct vs_item){
        .shape = member->tiles,
        .origin = member->first,
        .count = (positions - 1) / member->tiles->child->size + 1,
        .hi = vs_min(place_in_member(member, positions - 1) + 1, end),
    };
}

/* Returns the number of positions that a member must hold for the whole to end at its size. */
static int64_t expected(const struct vs_assembly *assembly, const struct member *member)
{
    int64_t positions = below(member, assembly->size);

    return vs_max(positions - positions % member->etype, member->bytes);
}

/*
 * Counts the bytes below end that are held, as if the first `needed` members held all that they
 * should. Returns zeros after setting *error to a negative errno, or if it is one already.
 */
static struct vs_tally count(const struct vs_assembly *assembly, int64_t end, int64_t needed,
                             int *error)
{
    struct vs_item *items = *error ? NULL : calloc(assembly->count + 1, sizeof(*items));
    struct vs_tally tally = {0};
    int64_t used = 0;

    if (items == NULL) {
        *error = *error ? *error : -ENOMEM;
        return tally;
    }
    for (size_t i = 0; i < assembly->count; i++) {
        const struct member *member = &assembly->members[i];
        int64_t positions = (int64_t)i < needed ? expected(assembly, member) : member->bytes;

        if (positions)
            items[used++] = item_of(member, positions, end);
    }
    *error = vs_cover_items(items, used, VS_COVER_STEPS, &tally);
    free(items);
    return *error ? (struct vs_tally){0} : tally;
}

/* Finds the first two members that hold the byte. */
static void name_overlap(const struct vs_assembly *assembly, int64_t displacement,
                         struct vs_assembly_fault *fault)
{
    int found = 0;

    fault->displacement = displacement;
    for (size_t i = 0; i < assembly->count && found < 2; i++) {
        const struct member *member = &assembly->members[i];

        if (held_below(member, displacement + 1) > held_below(member, displacement))
            *(found++ ? &fault->other : &fault->member) = i;
    }
}

/* Finds the lowest byte of an overlap, which must exist. */
static int find_overlap(const struct vs_assembly *assembly, struct vs_assembly_fault *fault)
{
    int error = 0;
    int64_t byte = VS_FIRST(i, 0, assembly->size - 1, count(assembly, i + 1, 0, &error).many > 0);

    if (error)
        return error;
    fault->kind = VS_ASSEMBLY_OVERLAP;
    name_overlap(assembly, byte, fault);
    return 0;
}

/* Returns 1 if no member holds the first byte that this member lacks, else 0; or a negative errno.
 */
static int lacks_next(struct vs_assembly *assembly, const struct member *member)
{
    struct vs_assembly_part *parts;
    size_t count;
    int64_t next = place_in_member(member, member->bytes);
    int error = vs_assembly_parts(assembly, next, next + 1, &parts, &count);

    free(parts);
    return error ? error : count == 0;
}

/*
 * Finds the first member that is too short. More bytes than `covered` must be held if all members
 * hold what they should.
 */
static int bisect_short(const struct vs_assembly *assembly, int64_t covered,
                        struct vs_assembly_fault *fault)
{
    int error = 0;

    fault->member =
        (size_t)VS_FIRST(i, 0, (int64_t)assembly->count - 1,
                         count(assembly, assembly->size, i + 1, &error).covered > covered);
    return error;
}

/* Finds a member whose next byte no member holds, or else one whose missing bytes none holds. */
static int find_short(struct vs_assembly *assembly, int64_t covered,
                      struct vs_assembly_fault *fault)
{
    int found = 0;

    for (size_t i = 0; i < assembly->count && !found; i++) {
        const struct member *member = &assembly->members[i];

        fault->member = i;
        if (expected(assembly, member) > member->bytes)
            found = lacks_next(assembly, member);
    }
    if (found == 0)
        found = bisect_short(assembly, covered, fault);
    fault->kind = VS_ASSEMBLY_SHORT;
    fault->expected = expected(assembly, &assembly->members[fault->member]);
    return vs_min(found, 0);
}

static bool is_complete(const struct vs_assembly *assembly)
{
    for (size_t i = 0; i < assembly->count; i++)
        if (expected(assembly, &assembly->members[i]) > assembly->members[i].bytes)
            return false;
    return true;
}

static int check_assembly(struct vs_assembly *assembly, struct vs_assembly_fault *fault)
{
    struct vs_tally held = {0}, needed;
    bool complete = is_complete(assembly);
    int error = 0;

    if (!assembly->overlaps || !complete)
        held = count(assembly, assembly->size, 0, &error);
    if (held.many && !assembly->overlaps)
        return find_overlap(assembly, fault);
    if (error || complete || held.covered == assembly->size)
        return error;
    needed = count(assembly, assembly->size, (int64_t)assembly->count, &error);
    if (needed.covered > held.covered)
        error = find_short(assembly, held.covered, fault);
    return error;
}

int vs_assembly_check(struct vs_assembly *assembly, struct vs_assembly_fault *fault)
{
    int error;

    *fault = (struct vs_assembly_fault){.kind = VS_ASSEMBLY_SOUND};
    error = check_assembly(assembly, fault);
    if (error == -ENOMEM)
        return error;
    if (error)
        fault->kind = VS_ASSEMBLY_TOO_MANY;
    return 0;
}

/* Holes. */

static int64_t next_data(const struct vs_assembly *assembly, int64_t start)
{
    int64_t next = assembly->size;

    for (size_t i = 0; i < assembly->count; i++) {
        const struct member *member = &assembly->members[i];
        int64_t position = held_below(member, start);

        if (position < member->bytes)
            next = vs_min(next, place_in_member(member, position));
    }
    return next;
}

static int64_t all_below(const struct vs_assembly *assembly, int64_t displacement)
{
    int64_t bytes = 0;

    for (size_t i = 0; i < assembly->count; i++)
        bytes += held_below(&assembly->members[i], displacement);
    return bytes;
}

int64_t vs_assembly_seek(const struct vs_assembly *assembly, int64_t start, bool hole)
{
    int64_t before;

    if (!hole)
        return next_data(assembly, start);
    if (vs_assembly_is_full(assembly) || assembly->overlaps || assembly->count > COUNTED)
        return next_data(assembly, start) > start ? start : assembly->size;
    before = all_below(assembly, start);
    return VS_FIRST(i, start, assembly->size, all_below(assembly, i + 1) - before != i + 1 - start);
}
