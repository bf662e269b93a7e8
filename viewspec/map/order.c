/* SPDX-License-Identifier: MIT */
#include "order.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "viewspec/base/integer.h"
#include "pair.h"

/*
 * The algorithm. Pairs of the file and memory (pair.h) are brought into the order of memory: in
 * each piece the loop of the longest stride becomes the outermost, and pieces are sorted by their
 * beginning. Pieces that do not interleave follow each other. Pieces that lie in each other's gaps
 * are processed together if the same loop is around all of them, as in an array that is cut in
 * several dimensions. Otherwise the loops of the longest stride are unrolled.
 */

struct ordering {
    struct vs_arena *arena;  /* of the nodes */
    struct vs_arena scratch; /* of the pieces' loops */
    const struct vs_both *both;
    int64_t pieces; /* number made so far, including unrolled ones */
};

/* The nodes made from pieces. */
struct made {
    const struct vs_node *file, *origins, *memory;
};

static int compare_loops(const void *left, const void *right)
{
    const struct vs_pair_loop *a = left, *b = right;

    return (a->memory < b->memory) - (a->memory > b->memory);
}

/* Makes all loops ascend in memory, the longest stride first. */
static int sort_loops(struct ordering *o, struct vs_piece *piece)
{
    size_t bytes = (size_t)piece->depth * sizeof(*piece->loops);
    struct vs_pair_loop *loops = piece->depth ? vs_arena_alloc(&o->scratch, bytes) : NULL;

    if (!piece->depth)
        return 0;
    if (loops == NULL)
        return -ENOMEM;
    memcpy(loops, piece->loops, bytes);
    for (int i = 0; i < piece->depth; i++) {
        if (loops[i].memory == 0)
            return -EINVAL;
        if (loops[i].memory > 0)
            continue;
        piece->memory += (loops[i].count - 1) * loops[i].memory;
        piece->file += (loops[i].count - 1) * loops[i].file;
        loops[i].memory = -loops[i].memory;
        loops[i].file = -loops[i].file;
    }
    qsort(loops, (size_t)piece->depth, sizeof(*loops), compare_loops);
    piece->loops = loops;
    return 0;
}

static int64_t lowest(const struct ordering *o, const struct vs_piece *piece)
{
    return piece->memory + o->both->memory_etype->lo;
}

/* Returns the end of a piece in memory. */
static int64_t end_of(const struct ordering *o, const struct vs_piece *piece)
{
    int64_t end = piece->memory + o->both->memory_etype->hi;

    for (int i = 0; i < piece->depth; i++)
        end += (piece->loops[i].count - 1) * piece->loops[i].memory;
    return end;
}

/* Returns true if the instances of each loop do not interleave. */
static bool is_nested(const struct ordering *o, const struct vs_piece *piece)
{
    int64_t span = o->both->memory_etype->hi - o->both->memory_etype->lo;

    for (int i = piece->depth - 1; i >= 0; i--) {
        if (piece->loops[i].memory < span)
            return false;
        span += (piece->loops[i].count - 1) * piece->loops[i].memory;
    }
    return true;
}

static bool same_loops(const struct vs_piece *a, const struct vs_piece *b)
{
    return a->depth == b->depth &&
           (a->depth == 0 || a->loops == b->loops ||
            memcmp(a->loops, b->loops, (size_t)a->depth * sizeof(*a->loops)) == 0);
}

/* Makes one nest of loops, with its first element at the origins. */
static struct made make_nest(const struct ordering *o, const struct vs_piece *piece)
{
    struct made made = {o->both->file_etype, vs_node_run(o->arena, 1), o->both->memory_etype};

    for (int i = piece->depth - 1; i >= 0; i--) {
        const struct vs_pair_loop *loop = &piece->loops[i];
        made.file = vs_node_loop(o->arena, loop->count, loop->file, made.file);
        made.origins = vs_node_loop(o->arena, loop->count, loop->file, made.origins);
        made.memory = vs_node_loop(o->arena, loop->count, loop->memory, made.memory);
    }
    return made;
}

static const struct vs_node *place_blocks(const struct ordering *o, const struct vs_node *nest,
                                          const int64_t *displacements, int64_t count)
{
    return nest ? vs_node_blocks(o->arena, count, NULL, 1, displacements, 1, nest->size, nest)
                : NULL;
}

/* Makes count pieces of the same loops that follow each other in memory. */
static struct made make_alike(const struct ordering *o, const struct vs_piece *pieces,
                              int64_t count)
{
    int64_t *file = vs_arena_array(o->arena, count, sizeof(*file));
    int64_t *memory = vs_arena_array(o->arena, count, sizeof(*memory));
    struct made made = make_nest(o, pieces);

    if (file == NULL || memory == NULL)
        return made;
    for (int64_t i = 0; i < count; i++) {
        file[i] = pieces[i].file;
        memory[i] = pieces[i].memory;
    }
    made.file = place_blocks(o, made.file, file, count);
    made.origins = place_blocks(o, made.origins, file, count);
    made.memory = place_blocks(o, made.memory, memory, count);
    return made;
}

static int build(struct ordering *o, struct vs_piece *pieces, int64_t count, struct made *made);

/* Returns true if all pieces have the same outer loop, and its iterations do not interleave. */
static bool has_common_loop(const struct ordering *o, const struct vs_piece *pieces, int64_t count)
{
    int64_t begin = INT64_MAX, end = INT64_MIN;

    for (int64_t i = 0; i < count; i++) {
        struct vs_piece inner = pieces[i];
        if (!inner.depth || memcmp(inner.loops, pieces[0].loops, sizeof(*inner.loops)) != 0)
            return false;
        inner.loops++;
        inner.depth--;
        begin = vs_min(begin, lowest(o, &inner));
        end = vs_max(end, end_of(o, &inner));
    }
    return end - begin <= pieces[0].loops->memory;
}

static int build_in_loop(struct ordering *o, struct vs_piece *pieces, int64_t count,
                         struct made *made)
{
    struct vs_pair_loop loop = *pieces[0].loops;

    for (int64_t i = 0; i < count; i++) {
        pieces[i].loops++;
        pieces[i].depth--;
    }
    int error = build(o, pieces, count, made);
    made->file = vs_node_loop(o->arena, loop.count, loop.file, made->file);
    made->origins = vs_node_loop(o->arena, loop.count, loop.file, made->origins);
    made->memory = vs_node_loop(o->arena, loop.count, loop.memory, made->memory);
    return error;
}

/* Adds the iterations of a piece's outermost loop as pieces. */
static int write_out(struct ordering *o, const struct vs_piece *piece, struct vs_pieces *pieces)
{
    const struct vs_pair_loop *loop = piece->loops;
    struct vs_piece inner = {piece->file, piece->memory, piece->depth - 1, loop + 1};
    int error = 0;

    o->pieces = vs_add_capped(o->pieces, loop->count);
    if (o->pieces > VS_PIECES_MAX)
        return -E2BIG;
    for (int64_t i = 0; i < loop->count && !error; i++) {
        error = vs_pieces_add(pieces, &inner);
        inner.file += loop->file;
        inner.memory += loop->memory;
    }
    return error;
}

/* Unrolls the loops of the longest stride. */
static int build_apart(struct ordering *o, const struct vs_piece *pieces, int64_t count,
                       struct made *made)
{
    struct vs_pieces parts = {0};
    int64_t longest = -1;
    int error = 0;

    for (int64_t i = 0; i < count; i++)
        if (pieces[i].depth)
            longest = vs_max(longest, pieces[i].loops->memory);
    if (longest < 0)
        return -EINVAL;
    for (int64_t i = 0; i < count && !error; i++)
        error = pieces[i].depth && pieces[i].loops->memory == longest
                    ? write_out(o, &pieces[i], &parts)
                    : vs_pieces_add(&parts, &pieces[i]);
    if (!error)
        error = build(o, parts.list, parts.count, made);
    free(parts.list);
    return error;
}

static int compare_pieces(const void *left, const void *right)
{
    const struct vs_piece *a = left, *b = right;

    return (a->memory > b->memory) - (a->memory < b->memory);
}

/*
 * Returns how many pieces, from the first one on, are made at once: pieces that lie in each other's
 * gaps, or equal pieces that follow each other. *apart is true for the latter.
 */
static int64_t take_group(const struct ordering *o, const struct vs_piece *pieces, int64_t count,
                          bool *apart)
{
    int64_t end = end_of(o, pieces), next = 1;

    while (next < count && lowest(o, &pieces[next]) < end) {
        end = vs_max(end, end_of(o, &pieces[next]));
        next++;
    }
    *apart = next == 1 && is_nested(o, pieces);
    while (*apart && next < count && same_loops(pieces, &pieces[next])) {
        end = end_of(o, &pieces[next]);
        if (next + 1 < count && lowest(o, &pieces[next + 1]) < end)
            break;
        next++;
    }
    return next;
}

static int build_group(struct ordering *o, struct vs_piece *pieces, int64_t count, bool apart,
                       struct made *made)
{
    if (apart) {
        *made = make_alike(o, pieces, count);
        return 0;
    }
    return has_common_loop(o, pieces, count) ? build_in_loop(o, pieces, count, made)
                                             : build_apart(o, pieces, count, made);
}

/* Makes the nodes of pieces. Changes their order and loops. */
static int build(struct ordering *o, struct vs_piece *pieces, int64_t count, struct made *made)
{
    const struct vs_node **lists = calloc((size_t)count * 3, sizeof(*lists));
    int64_t groups = 0, next;
    int error = lists ? 0 : -ENOMEM;

    qsort(pieces, (size_t)count, sizeof(*pieces), compare_pieces);
    for (int64_t i = 0; i < count && !error; i = next) {
        struct made group = {0};
        bool apart;

        next = i + take_group(o, pieces + i, count - i, &apart);
        error = build_group(o, pieces + i, next - i, apart, &group);
        lists[groups] = group.file;
        lists[count + groups] = group.origins;
        lists[2 * count + groups++] = group.memory;
    }
    if (!error) {
        made->file = vs_node_seq(o->arena, groups, lists);
        made->origins = vs_node_seq(o->arena, groups, lists + count);
        made->memory = vs_node_seq(o->arena, groups, lists + 2 * count);
    }
    free(lists);
    return error;
}

int vs_order_find(struct vs_arena *arena, const struct vs_both *both, struct vs_order *order)
{
    struct ordering o = {.arena = arena, .both = both};
    struct vs_pieces pieces = {0};
    struct made made = {0};
    int error = vs_pair(&o.scratch, both->file, both->memory, &pieces);

    o.pieces = pieces.count;
    for (int64_t i = 0; i < pieces.count && !error; i++)
        error = sort_loops(&o, &pieces.list[i]);
    if (!error)
        error = build(&o, pieces.list, pieces.count, &made);
    if (!error && arena->failure == 0 && !made.memory->disjoint)
        error = -EINVAL;
    *order = (struct vs_order){
        .file = made.file,
        .origins = made.origins,
        .memory = made.memory,
        .places = vs_node_shift(arena, both->memory, both->memory_etype->lo),
        .pieces = o.pieces,
    };
    free(pieces.list);
    vs_arena_free(&o.scratch);
    return error;
}
