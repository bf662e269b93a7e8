/* SPDX-License-Identifier: MIT */
#include "map_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "viewspec/base/integer.h"
#include "viewspec/base/list.h"

/*
 * Two typemaps of the same elements are brought side by side. One gives the place of element i in
 * the file, the other its place in memory. The result is a list of pieces, each a nest of loops
 * that runs through both at once. Regular types have a few pieces, regardless of the number of
 * elements.
 */

/* A loop of count elements at distances in bytes in the file and in memory. */
struct pair_loop {
    int64_t count, file, memory;
};

/* An element at both places, and the loops that repeat it, outermost first. */
struct piece {
    int64_t file, memory;
    int depth;
    const struct pair_loop *loops;
};

struct pieces {
    struct piece *list; /* owned; freed by the caller by free() */
    int64_t count;
    size_t room;
};

/* The limit of loops around one element. */
#define PAIR_DEPTH 256

/* Element number start of a typemap, in node, whose displacements are relative to origin. */
struct place {
    const struct vs_node *node;
    int64_t origin, start;
};

/* The repetition of elements from a place on: the node's instances, of size elements each, lie at
   first + i * stride. The elements of a run are single. */
struct side {
    struct place at;
    int64_t first, size, stride;
    int64_t left; /* number of elements, from the place on, that repeat this way */
};

struct pairing {
    struct vs_arena *arena;
    struct pieces *pieces;
    struct pair_loop loops[PAIR_DEPTH];
    int depth;
    const struct pair_loop *kept; /* a copy of loops, for pieces; NULL: loops have changed */
    int error;
};

/* Adds a piece. Returns 0, -ENOMEM, or -E2BIG if there are VS_PIECES_MAX already. */
static int pieces_add(struct pieces *pieces, const struct piece *piece)
{
    if (pieces->count == VS_PIECES_MAX)
        return -E2BIG;
    if (!VS_LIST_ROOM(pieces->list, pieces->count, pieces->room))
        return -ENOMEM;
    pieces->list[pieces->count++] = *piece;
    return 0;
}

/* Descends through sequences to the child that holds the element. */
static struct side side_at(struct place at)
{
    const struct vs_node *node;
    struct side side;

    while (at.node->kind == VS_SEQ) {
        int64_t index = vs_node_entry(at.node->before, at.node->count, at.start);
        at.origin += at.node->base;
        at.start -= at.node->before[index];
        at.node = at.node->children[index];
    }
    node = at.node;
    side = (struct side){at, at.origin + node->base, 1, 1, node->size - at.start};
    if (node->kind == VS_RUN)
        return side;
    side.size = node->child->size;
    side.stride = node->stride;
    if (node->kind == VS_BLOCKS) {
        int64_t b = vs_node_entry(node->before, node->count, at.start / side.size);
        side.first += node->displacements[b] - node->before[b] * side.stride;
        side.left = node->before[b + 1] * side.size - at.start;
    }
    return side;
}

/* Returns how many elements are left in the instance of the place. */
static int64_t side_rest(const struct side *side)
{
    return side->size - side->at.start % side->size;
}

/* Descends as long as one instance holds count elements, or all that are left. */
static struct side side_narrow(struct place at, int64_t count)
{
    struct side side = side_at(at);
    while (side.at.node->kind != VS_RUN && vs_min(count, side.left) <= side_rest(&side)) {
        int64_t instance = side.at.start / side.size;
        side = side_at((struct place){
            .node = side.at.node->child,
            .origin = side.first + instance * side.stride,
            .start = side.at.start - instance * side.size,
        });
    }
    return side;
}

static void pair_emit(struct pairing *p, const struct side *file, const struct side *memory)
{
    size_t bytes = (size_t)p->depth * sizeof(*p->loops);
    struct piece piece;

    if (!p->kept && p->depth) {
        struct pair_loop *loops = vs_arena_alloc(p->arena, bytes);
        if (loops == NULL) {
            p->error = -ENOMEM;
            return;
        }
        p->kept = memcpy(loops, p->loops, bytes);
    }
    piece = (struct piece){file->first + file->at.start, memory->first + memory->at.start, p->depth,
                           p->kept};
    p->error = pieces_add(p->pieces, &piece);
}

static void pair_places(struct pairing *p, struct place file, struct place memory, int64_t count);

/* Pairs the elements of `times` steps. Each step moves by whole instances of both sides. */
static void pair_loop(struct pairing *p, const struct side *file, const struct side *memory,
                      int64_t times, int64_t step)
{
    if (p->depth == PAIR_DEPTH) {
        p->error = -E2BIG;
        return;
    }
    p->loops[p->depth++] = (struct pair_loop){times, step / file->size * file->stride,
                                              step / memory->size * memory->stride};
    p->kept = NULL;
    pair_places(p, file->at, memory->at, step);
    p->depth--;
    p->kept = NULL;
}

/* Pairs the first of count elements, as many as possible at once. Returns their number. */
static int64_t pair_some(struct pairing *p, const struct side *file, const struct side *memory,
                         int64_t count)
{
    int64_t step = vs_mul_capped(file->size / vs_gcd(file->size, memory->size), memory->size);
    int64_t times = count / step;

    if (count == 1 && file->at.node->kind == VS_RUN && memory->at.node->kind == VS_RUN) {
        pair_emit(p, file, memory);
        return 1;
    }
    if (times > 1) {
        pair_loop(p, file, memory, times, step);
        return times * step;
    }
    step = vs_min(count, side_rest(file->size >= memory->size ? file : memory));
    pair_places(p, file->at, memory->at, step);
    return step;
}

static void pair_places(struct pairing *p, struct place file, struct place memory, int64_t count)
{
    while (count > 0 && !p->error) {
        struct side f = side_narrow(file, count), m = side_narrow(memory, count);
        int64_t done = pair_some(p, &f, &m, vs_min(count, vs_min(f.left, m.left)));

        file.start += done;
        memory.start += done;
        count -= done;
    }
}

/*
 * Appends to pieces the pieces of two typemaps of the same size, in which each element is one byte.
 * Loops are allocated in arena. Returns 0, -ENOMEM, or -E2BIG if there are too many pieces or
 * loops.
 */
static int pair_typemaps(struct vs_arena *arena, const struct vs_node *file,
                         const struct vs_node *memory, struct pieces *pieces)
{
    struct pairing p = {.arena = arena, .pieces = pieces};

    pair_places(&p, (struct place){.node = file}, (struct place){.node = memory}, file->size);
    return p.error;
}

/*
 * The algorithm. Pairs of the file and memory are brought into the order of memory: in each piece
 * the loop of the longest stride becomes the outermost, and pieces are sorted by their beginning.
 * Pieces that do not interleave follow each other. Pieces that lie in each other's gaps are
 * processed together if the same loop is around all of them, as in an array that is cut in several
 * dimensions. Otherwise the loops of the longest stride are unrolled.
 */

struct ordering {
    struct vs_arena *arena;  /* of the nodes */
    struct vs_arena scratch; /* of the pieces' loops */
    const struct vs_both *both;
    int64_t pieces; /* number made so far, including unrolled ones */
};

/* The nodes made from pieces, as in struct vs_order: file, origins and memory. */
enum { IN_FILE, ORIGINS, IN_MEMORY, MADE };
struct made {
    const struct vs_node *node[MADE];
};

static int compare_loops(const void *left, const void *right)
{
    const struct pair_loop *a = left, *b = right;

    return vs_compare(b->memory, a->memory);
}

/* Makes all loops ascend in memory, the longest stride first. */
static int sort_loops(struct ordering *o, struct piece *piece)
{
    size_t bytes = (size_t)piece->depth * sizeof(*piece->loops);
    struct pair_loop *loops = piece->depth ? vs_arena_alloc(&o->scratch, bytes) : NULL;

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

static int64_t piece_start(const struct ordering *o, const struct piece *piece)
{
    return piece->memory + o->both->memory_etype->lo;
}

/* Returns the end of a piece in memory. */
static int64_t piece_end(const struct ordering *o, const struct piece *piece)
{
    int64_t end = piece->memory + o->both->memory_etype->hi;

    for (int i = 0; i < piece->depth; i++)
        end += (piece->loops[i].count - 1) * piece->loops[i].memory;
    return end;
}

/* Returns true if the instances of each loop do not interleave. */
static bool piece_is_nested(const struct ordering *o, const struct piece *piece)
{
    int64_t span = o->both->memory_etype->hi - o->both->memory_etype->lo;

    for (int i = piece->depth - 1; i >= 0; i--) {
        if (piece->loops[i].memory < span)
            return false;
        span += (piece->loops[i].count - 1) * piece->loops[i].memory;
    }
    return true;
}

static bool pieces_same_loops(const struct piece *a, const struct piece *b)
{
    return a->depth == b->depth &&
           (a->depth == 0 || a->loops == b->loops ||
            memcmp(a->loops, b->loops, (size_t)a->depth * sizeof(*a->loops)) == 0);
}

/* Puts a loop around the nodes. */
static void repeat(const struct ordering *o, const struct pair_loop *loop, struct made *made)
{
    for (int k = 0; k < MADE; k++)
        made->node[k] = vs_node_loop(o->arena, loop->count,
                                     k == IN_MEMORY ? loop->memory : loop->file, made->node[k]);
}

/* Makes one nest of loops, with its first element at the origins. */
static struct made make_nest(const struct ordering *o, const struct piece *piece)
{
    struct made made = {{o->both->file_etype, vs_node_run(o->arena, 1), o->both->memory_etype}};

    for (int i = piece->depth - 1; i >= 0; i--)
        repeat(o, &piece->loops[i], &made);
    return made;
}

/* Makes count pieces of the same loops that follow each other in memory. */
static struct made make_alike(const struct ordering *o, const struct piece *pieces, int64_t count)
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
    for (int k = 0; k < MADE; k++)
        if (made.node[k])
            made.node[k] = vs_node_blocks(o->arena, count, NULL, 1, k == IN_MEMORY ? memory : file,
                                          1, made.node[k]->size, made.node[k]);
    return made;
}

static int build(struct ordering *o, struct piece *pieces, int64_t count, struct made *made);

/* Returns true if all pieces have the same outer loop, and its iterations do not interleave. */
static bool has_common_loop(const struct ordering *o, const struct piece *pieces, int64_t count)
{
    int64_t begin = INT64_MAX, end = INT64_MIN;

    for (int64_t i = 0; i < count; i++) {
        struct piece inner = pieces[i];
        if (!inner.depth || memcmp(inner.loops, pieces[0].loops, sizeof(*inner.loops)) != 0)
            return false;
        inner.loops++;
        inner.depth--;
        begin = vs_min(begin, piece_start(o, &inner));
        end = vs_max(end, piece_end(o, &inner));
    }
    return end - begin <= pieces[0].loops->memory;
}

static int build_in_loop(struct ordering *o, struct piece *pieces, int64_t count, struct made *made)
{
    struct pair_loop loop = *pieces[0].loops;
    int error;

    for (int64_t i = 0; i < count; i++) {
        pieces[i].loops++;
        pieces[i].depth--;
    }
    error = build(o, pieces, count, made);
    repeat(o, &loop, made);
    return error;
}

/* Adds the iterations of a piece's outermost loop as pieces. */
static int write_out(struct ordering *o, const struct piece *piece, struct pieces *pieces)
{
    const struct pair_loop *loop = piece->loops;
    struct piece inner = {piece->file, piece->memory, piece->depth - 1, loop + 1};
    int error = 0;

    o->pieces = vs_add_capped(o->pieces, loop->count);
    if (o->pieces > VS_PIECES_MAX)
        return -E2BIG;
    for (int64_t i = 0; i < loop->count && !error; i++) {
        error = pieces_add(pieces, &inner);
        inner.file += loop->file;
        inner.memory += loop->memory;
    }
    return error;
}

/* Unrolls the loops of the longest stride. */
static int build_apart(struct ordering *o, const struct piece *pieces, int64_t count,
                       struct made *made)
{
    struct pieces parts = {0};
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
                    : pieces_add(&parts, &pieces[i]);
    if (!error)
        error = build(o, parts.list, parts.count, made);
    free(parts.list);
    return error;
}

static int compare_pieces(const void *left, const void *right)
{
    const struct piece *a = left, *b = right;

    return vs_compare(a->memory, b->memory);
}

/*
 * Returns how many pieces, from the first one on, are made at once: pieces that lie in each other's
 * gaps, or equal pieces that follow each other. *apart is true for the latter.
 */
static int64_t take_group(const struct ordering *o, const struct piece *pieces, int64_t count,
                          bool *apart)
{
    int64_t end = piece_end(o, pieces), next = 1;

    while (next < count && piece_start(o, &pieces[next]) < end) {
        end = vs_max(end, piece_end(o, &pieces[next]));
        next++;
    }
    *apart = next == 1 && piece_is_nested(o, pieces);
    while (*apart && next < count && pieces_same_loops(pieces, &pieces[next])) {
        end = piece_end(o, &pieces[next]);
        if (next + 1 < count && piece_start(o, &pieces[next + 1]) < end)
            break;
        next++;
    }
    return next;
}

static int build_group(struct ordering *o, struct piece *pieces, int64_t count, bool apart,
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
static int build(struct ordering *o, struct piece *pieces, int64_t count, struct made *made)
{
    const struct vs_node **lists = calloc((size_t)count * MADE, sizeof(*lists));
    int64_t groups = 0, next;
    int error = lists ? 0 : -ENOMEM;

    qsort(pieces, (size_t)count, sizeof(*pieces), compare_pieces);
    for (int64_t i = 0; i < count && !error; i = next) {
        struct made group = {0};
        bool apart;

        next = i + take_group(o, pieces + i, count - i, &apart);
        error = build_group(o, pieces + i, next - i, apart, &group);
        for (int k = 0; k < MADE; k++)
            lists[k * count + groups] = group.node[k];
        groups++;
    }
    for (int k = 0; k < MADE && !error; k++)
        made->node[k] = vs_node_seq(o->arena, groups, lists + k * count);
    free(lists);
    return error;
}

int vs_order_find(struct vs_arena *arena, const struct vs_both *both, struct vs_order *order)
{
    struct ordering o = {.arena = arena, .both = both};
    struct pieces pieces = {0};
    struct made made = {0};
    int error = pair_typemaps(&o.scratch, both->file, both->memory, &pieces);

    o.pieces = pieces.count;
    for (int64_t i = 0; i < pieces.count && !error; i++)
        error = sort_loops(&o, &pieces.list[i]);
    if (!error)
        error = build(&o, pieces.list, pieces.count, &made);
    if (!error && arena->failure == 0 && !made.node[IN_MEMORY]->disjoint)
        error = -EINVAL;
    order->file = made.node[IN_FILE];
    order->origins = made.node[ORIGINS];
    order->memory = made.node[IN_MEMORY];
    order->places = vs_node_shift(arena, both->memory, both->memory_etype->lo);
    order->etype_file = both->file_etype->size;
    order->etype_memory = both->memory_etype->size;
    order->pieces = o.pieces;
    free(pieces.list);
    vs_arena_free(&o.scratch);
    return error;
}
