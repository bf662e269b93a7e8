/* SPDX-License-Identifier: MIT */
#include "element.h"
#include "compile.h"
#include "node.h"
#include "record.h"

/* Makes all elements of a part of a basic type the next ones. */
static void set_run(struct vs_elements *run, const struct vs_repeat *part, int64_t count)
{
    run->basic = part->basic;
    run->native = part->native;
    run->file = part->file;
    run->count = count;
}

static void push(struct vs_element_cursor *cursor, const struct vs_record *record, int64_t part,
                 int64_t left)
{
    cursor->frames[cursor->depth++] = (struct vs_element_frame){record, part, left};
}

/* Skips the whole instances before slice offset `offset`. Returns how many. */
static int64_t skip(struct vs_elements *run, const struct vs_repeat *repeat, int64_t offset)
{
    int64_t instances = (offset - run->offset) / repeat->native;
    run->offset += instances * repeat->native;
    run->position += instances * repeat->file;
    return instances;
}

void vs_elements_start(struct vs_element_cursor *cursor, const struct vs_view *view, int64_t offset,
                       int64_t length)
{
    const struct vs_repeat *repeat = vs_view_elements(view);
    struct vs_elements *run = &cursor->run;
    int64_t larger = repeat->native > repeat->file ? repeat->native : repeat->file;
    int64_t left = INT64_MAX / larger; /* the slice is the first etype over and over */
    int64_t limit = left * repeat->native;
    cursor->depth = 0;
    cursor->end = 0;
    *run = (struct vs_elements){0};
    if (offset < 0 || length <= 0 || offset >= limit)
        return;
    cursor->end = length < limit - offset ? offset + length : limit;
    left -= skip(run, repeat, offset);
    while (repeat->record) {
        const struct vs_record *record = repeat->record;
        int64_t part = vs_node_entry(record->native, record->count, offset - run->offset);
        run->offset += record->native[part];
        run->position += record->file[part];
        repeat = &record->parts[part];
        left = repeat->count - skip(run, repeat, offset);
        push(cursor, record, part, left - 1);
    }
    set_run(run, repeat, left);
}

/* Makes the part of the top frame, from its first instance on, the one under way. */
static void enter(struct vs_element_cursor *cursor)
{
    for (;;) {
        struct vs_element_frame *frame = &cursor->frames[cursor->depth - 1];
        const struct vs_repeat *part = &frame->record->parts[frame->part];
        frame->left = part->count - 1;
        if (part->basic) {
            set_run(&cursor->run, part, part->count);
            return;
        }
        push(cursor, part->record, 0, 0);
    }
}

/* Goes on to the next part of a basic type. */
static void advance(struct vs_element_cursor *cursor)
{
    struct vs_element_frame *frame = &cursor->frames[cursor->depth - 1];
    while (++frame->part == frame->record->count) {
        frame->part = 0;
        if (cursor->depth == 1)
            break; /* the next etype */
        if (frame[-1].left) {
            frame[-1].left--;
            break;
        }
        cursor->depth--;
        frame--;
    }
    enter(cursor);
}

bool vs_elements_next(struct vs_element_cursor *cursor, struct vs_elements *run)
{
    struct vs_elements *next = &cursor->run;
    if (next->offset >= cursor->end)
        return false;
    *run = *next;
    run->count = 0;
    while (next->offset < cursor->end && next->basic == run->basic) {
        int64_t count = next->count, wanted = cursor->end - next->offset;
        if (count * next->native > wanted)
            count = (wanted - 1) / next->native + 1;
        run->count += count;
        next->offset += count * next->native;
        next->position += count * next->file;
        if (count == next->count && cursor->depth)
            advance(cursor);
        else
            next->count -= count;
    }
    return true;
}
