/* SPDX-License-Identifier: MIT */
#include <assert.h>

#include "map_private.h"

/* Returns true for a leaf, which is walked by arithmetic: no frame is pushed below it. */
static bool is_leaf(const struct vs_node *node)
{
    return node->kind == VS_RUN ||
           ((node->kind == VS_LOOP || node->kind == VS_BLOCKS) && node->child->kind == VS_RUN);
}

static struct vs_cursor_frame *top(struct vs_cursor *cursor)
{
    return &cursor->frames[cursor->depth - 1];
}

static void push(struct vs_cursor *cursor, const struct vs_node *node, int64_t origin)
{
    assert(cursor->depth < VS_MAP_DEPTH);
    cursor->frames[cursor->depth++] =
        (struct vs_cursor_frame){.node = node, .origin = origin + node->base};
}

/* Pushes a frame for the current child of the top frame. */
static void enter_node(struct vs_cursor *cursor)
{
    const struct vs_cursor_frame *frame = top(cursor);
    const struct vs_node *node = frame->node;
    switch (node->kind) {
    case VS_RUN:
        break;
    case VS_LOOP:
        push(cursor, node->child, frame->origin + frame->index * node->stride);
        break;
    case VS_BLOCKS:
        push(cursor, node->child,
             frame->origin + node->displacements[frame->index] + frame->inner * node->stride);
        break;
    case VS_SEQ:
        push(cursor, node->children[frame->index], frame->origin);
        break;
    }
}

/* Sets the top frame to the child that holds byte number position; returns the rest within it. */
static int64_t aim(struct vs_cursor_frame *frame, int64_t position)
{
    const struct vs_node *node = frame->node;
    int64_t instance;

    if (node->kind == VS_SEQ) {
        frame->index = vs_node_entry(node->before, node->count, position);
        return position - node->before[frame->index];
    }
    instance = position / node->child->size;
    if (node->kind == VS_BLOCKS) {
        frame->index = vs_node_entry(node->before, node->count, instance);
        frame->inner = instance - node->before[frame->index];
    } else {
        frame->index = instance;
    }
    return position - instance * node->child->size;
}

void vs_cursor_start(struct vs_cursor *cursor, const struct vs_map *map, int64_t position,
                     int64_t length)
{
    const struct vs_node *root = map->root;
    int64_t limit = root ? root->size : 0;
    cursor->position = cursor->end = position;
    cursor->depth = 0;
    cursor->done = 0;
    if (position < 0 || position >= limit || length <= 0)
        return;
    cursor->end = length < limit - position ? position + length : limit;
    push(cursor, root, 0);
    while (!is_leaf(top(cursor)->node)) {
        position = aim(top(cursor), position);
        enter_node(cursor);
    }
    cursor->done = position;
    if (top(cursor)->node->kind == VS_BLOCKS)
        aim(top(cursor), position);
}

/* Moves the top frame to its next child; returns false if there is none. */
static bool step(struct vs_cursor_frame *frame)
{
    const struct vs_node *node = frame->node;
    if (node->kind == VS_BLOCKS) {
        int64_t instances = node->before[frame->index + 1] - node->before[frame->index];
        if (++frame->inner < instances)
            return true;
        frame->inner = 0;
    }
    return ++frame->index < node->count;
}

static void next_leaf(struct vs_cursor *cursor)
{
    cursor->done = 0;
    do
        cursor->depth--;
    while (cursor->depth && !step(top(cursor)));
    while (cursor->depth && !is_leaf(top(cursor)->node))
        enter_node(cursor);
}

/* Makes the batch at byte number `rest` of count runs of length bytes, clipped to max bytes. */
static void cut(struct vs_batch *batch, int64_t origin, int64_t length, int64_t count,
                int64_t stride, int64_t rest, int64_t max)
{
    int64_t index = rest / length, inside = rest % length;
    batch->displacement = origin + index * stride + inside;
    batch->stride = stride;
    if (inside || max < length) {
        batch->length = length - inside < max ? length - inside : max;
        batch->count = 1;
    } else {
        batch->length = length;
        batch->count = count - index < max / length ? count - index : max / length;
    }
}

/* Makes the batch for a list of blocks of plain runs: one block, or one run if it is dense. */
static void block_batch(struct vs_cursor *cursor, struct vs_cursor_frame *frame, int64_t max,
                        struct vs_batch *batch)
{
    const struct vs_node *node = frame->node;
    int64_t length = node->child->size;
    int64_t before = node->before[frame->index], after = node->before[frame->index + 1];
    int64_t rest = cursor->done - before * length;
    int64_t origin = frame->origin + node->displacements[frame->index] + node->child->base;
    if (node->stride == length)
        cut(batch, origin, (after - before) * length, 1, 0, rest, max);
    else
        cut(batch, origin, length, after - before, node->stride, rest, max);
    if (cursor->done + batch->length * batch->count == after * length)
        frame->index++;
}

bool vs_cursor_batch(struct vs_cursor *cursor, struct vs_batch *batch)
{
    int64_t max = cursor->end - cursor->position;
    struct vs_cursor_frame *frame;
    const struct vs_node *node;

    if (max <= 0)
        return false;
    frame = top(cursor);
    node = frame->node;
    if (node->kind == VS_RUN)
        cut(batch, frame->origin, node->size, 1, 0, cursor->done, max);
    else if (node->kind == VS_LOOP)
        cut(batch, frame->origin + node->child->base, node->child->size, node->count, node->stride,
            cursor->done, max);
    else
        block_batch(cursor, frame, max, batch);
    batch->position = cursor->position;
    cursor->position += batch->length * batch->count;
    cursor->done += batch->length * batch->count;
    if (cursor->done == node->size)
        next_leaf(cursor);
    return true;
}

void vs_runs_start(struct vs_runs *runs, const struct vs_map *map, int64_t position, int64_t length)
{
    vs_cursor_start(&runs->cursor, map, position, length);
    runs->batch.count = 0;
}

bool vs_runs_next(struct vs_runs *runs, struct vs_run *run)
{
    struct vs_batch *batch = &runs->batch;

    run->length = 0;
    while (batch->count || vs_cursor_batch(&runs->cursor, batch)) {
        if (run->length == 0) {
            run->position = batch->position;
            run->displacement = batch->displacement;
        } else if (batch->displacement != run->displacement + run->length) {
            break;
        }
        run->length += batch->length;
        batch->position += batch->length;
        if (--batch->count)
            batch->displacement += batch->stride;
    }
    return run->length > 0;
}
