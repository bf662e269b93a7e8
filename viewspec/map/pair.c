/* SPDX-License-Identifier: MIT */
#include "pair.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "viewspec/base/integer.h"
#include "viewspec/base/list.h"

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
    struct vs_pieces *pieces;
    struct vs_pair_loop loops[VS_PAIR_DEPTH];
    int depth;
    const struct vs_pair_loop *kept; /* a copy of loops, for pieces; NULL: loops have changed */
    int error;
};

int vs_pieces_add(struct vs_pieces *pieces, const struct vs_piece *piece)
{
    if (pieces->count == VS_PIECES_MAX)
        return -E2BIG;
    struct vs_piece *list =
        vs_list_grow(pieces->list, (size_t)pieces->count, &pieces->room, sizeof(*list));
    if (list == NULL)
        return -ENOMEM;
    pieces->list = list;
    pieces->list[pieces->count++] = *piece;
    return 0;
}

/* Descends through sequences to the child that holds the element. */
static struct side look_at_place(struct place at)
{
    while (at.node->kind == VS_SEQ) {
        int64_t index = vs_node_entry(at.node->before, at.node->count, at.start);
        at.origin += at.node->base;
        at.start -= at.node->before[index];
        at.node = at.node->children[index];
    }
    const struct vs_node *node = at.node;
    struct side side = {at, at.origin + node->base, 1, 1, node->size - at.start};
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
static int64_t rest_of(const struct side *side)
{
    return side->size - side->at.start % side->size;
}

/* Descends as long as one instance holds count elements, or all that are left. */
static struct side narrow(struct place at, int64_t count)
{
    struct side side = look_at_place(at);
    while (side.at.node->kind != VS_RUN && vs_min(count, side.left) <= rest_of(&side)) {
        int64_t instance = side.at.start / side.size;
        side = look_at_place((struct place){
            .node = side.at.node->child,
            .origin = side.first + instance * side.stride,
            .start = side.at.start - instance * side.size,
        });
    }
    return side;
}

static void emit(struct pairing *p, const struct side *file, const struct side *memory)
{
    size_t bytes = (size_t)p->depth * sizeof(*p->loops);

    if (!p->kept && p->depth) {
        struct vs_pair_loop *loops = vs_arena_alloc(p->arena, bytes);
        if (loops == NULL) {
            p->error = -ENOMEM;
            return;
        }
        p->kept = memcpy(loops, p->loops, bytes);
    }
    struct vs_piece piece = {file->first + file->at.start, memory->first + memory->at.start,
                             p->depth, p->kept};
    p->error = vs_pieces_add(p->pieces, &piece);
}

static void pair(struct pairing *p, struct place file, struct place memory, int64_t count);

/* Pairs the elements of `times` steps, each of which moves by whole instances of both sides. */
static void pair_loop(struct pairing *p, const struct side *file, const struct side *memory,
                      int64_t times, int64_t step)
{
    if (p->depth == VS_PAIR_DEPTH) {
        p->error = -E2BIG;
        return;
    }
    p->loops[p->depth++] = (struct vs_pair_loop){times, step / file->size * file->stride,
                                                 step / memory->size * memory->stride};
    p->kept = NULL;
    pair(p, file->at, memory->at, step);
    p->depth--;
    p->kept = NULL;
}

/* Pairs the first of count elements, as many as possible at once. Returns how many. */
static int64_t pair_some(struct pairing *p, const struct side *file, const struct side *memory,
                         int64_t count)
{
    int64_t step = vs_mul_capped(file->size / vs_gcd(file->size, memory->size), memory->size);
    int64_t times = count / step;

    if (count == 1 && file->at.node->kind == VS_RUN && memory->at.node->kind == VS_RUN) {
        emit(p, file, memory);
        return 1;
    }
    if (times > 1) {
        pair_loop(p, file, memory, times, step);
        return times * step;
    }
    step = vs_min(count, rest_of(file->size >= memory->size ? file : memory));
    pair(p, file->at, memory->at, step);
    return step;
}

static void pair(struct pairing *p, struct place file, struct place memory, int64_t count)
{
    while (count > 0 && !p->error) {
        struct side f = narrow(file, count), m = narrow(memory, count);
        int64_t done = pair_some(p, &f, &m, vs_min(count, vs_min(f.left, m.left)));

        file.start += done;
        memory.start += done;
        count -= done;
    }
}

int vs_pair(struct vs_arena *arena, const struct vs_node *file, const struct vs_node *memory,
            struct vs_pieces *pieces)
{
    struct pairing p = {.arena = arena, .pieces = pieces};

    pair(&p, (struct place){.node = file}, (struct place){.node = memory}, file->size);
    return p.error;
}
