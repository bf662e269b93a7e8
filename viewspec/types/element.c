/* SPDX-License-Identifier: MIT */
#include "viewspec/element.h"
#include "view.h"
#include "viewspec/map/node.h"
#include "type.h"

/* Makes all elements of a part of a basic type the next run. */
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

static int64_t skip_instances(struct vs_elements *run, const struct vs_repeat *repeat,
                              int64_t instances)
{
    run->offset += instances * repeat->native;
    run->position += instances * repeat->file;
    return instances;
}

/* Skips the whole instances before slice offset `offset`. Returns how many. */
static int64_t skip(struct vs_elements *run, const struct vs_repeat *repeat, int64_t offset)
{
    return skip_instances(run, repeat, (offset - run->offset) / repeat->native);
}

/* Returns how many of a view's etypes have slice offsets and positions that fit 64 bits. */
static int64_t most(const struct vs_repeat *etype)
{
    return INT64_MAX / (etype->native > etype->file ? etype->native : etype->file);
}

void vs_elements_start(struct vs_element_cursor *cursor, const struct vs_view *view, int64_t offset,
                       int64_t length)
{
    const struct vs_repeat *repeat = &vs_view_etype(view)->elements;
    struct vs_elements *run = &cursor->run;
    int64_t left = most(repeat); /* the slice is the first etype over and over */
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

/* Makes the part of the top frame the current one, from its first instance on. */
static void enter_run(struct vs_element_cursor *cursor)
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

/* Advances to the next part of a basic type. */
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
    enter_run(cursor);
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

bool vs_elements_find(const struct vs_view *view, int64_t position, struct vs_elements *run)
{
    const struct vs_repeat *repeat = &vs_view_etype(view)->elements;
    *run = (struct vs_elements){0};
    if (position < 0 || position >= most(repeat) * repeat->file)
        return false;
    skip_instances(run, repeat, position / repeat->file);
    while (repeat->record) {
        const struct vs_record *record = repeat->record;
        int64_t part = vs_node_entry(record->file, record->count, position - run->position);
        run->offset += record->native[part];
        run->position += record->file[part];
        repeat = &record->parts[part];
        skip_instances(run, repeat, (position - run->position) / repeat->file);
    }
    set_run(run, repeat, 1);
    return true;
}

int64_t vs_elements_offset(const struct vs_view *view, int64_t position)
{
    struct vs_elements run;
    if (!vs_elements_find(view, position, &run))
        return position;
    return run.offset + (run.native == run.file ? position - run.position : 0);
}
