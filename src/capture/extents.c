/* SPDX-License-Identifier: MIT */
#include "views.h"

#include <stdlib.h>
#include <string.h>

#include "viewspec/base/integer.h"
#include "viewspec/base/list.h"

/* The bytes that a process accesses, call by call, in bounded memory. */

#define MAX_LIST   (1 << 19)       /* maximum number of progressions */
#define MAX_PIECES (1 << 21)       /* maximum number of pieces that are sorted one by one */
#define MAX_END    (INT64_MAX / 4) /* prevents overflow of sums */

static int64_t end_of(const struct capture_progression *part)
{
    return part->start + (part->count - 1) * part->stride + part->length;
}

/* Appends the piece to the progression if it is the next one. Returns false if it is not. */
static bool continue_progression(struct capture_progression *last, int64_t offset, int64_t length)
{
    int64_t next = last->start + last->count * last->stride;

    if (length != last->length || offset < end_of(last) || (last->count > 1 && offset != next))
        return false;
    if (last->count == 1)
        last->stride = offset - last->start;
    last->count++;
    return true;
}

/* Appends a piece to the list, which has room for it. */
static size_t append_piece(struct capture_progression *list, size_t count, int64_t offset,
                           int64_t length)
{
    if (count && continue_progression(&list[count - 1], offset, length))
        return count;
    list[count] = (struct capture_progression){offset, length, 0, 1};
    return count + 1;
}

static int by_start(const void *left, const void *right)
{
    const struct capture_progression *a = left, *b = right;

    return a->start == b->start ? memcmp(a, b, sizeof(*a)) : vs_compare(a->start, b->start);
}

/* Sorts the list and removes duplicates, which a program in a loop leaves. */
static void sort_list(struct capture_extents *extents)
{
    struct capture_progression *list = extents->list;
    size_t kept = 0;

    if (extents->count)
        qsort(list, extents->count, sizeof(*list), by_start);
    for (size_t i = 0; i < extents->count; i++)
        if (!kept || memcmp(&list[kept - 1], &list[i], sizeof(*list)) != 0)
            list[kept++] = list[i];
    extents->count = kept;
}

static bool is_disjoint(const struct capture_progression *list, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (end_of(&list[i - 1]) >= list[i].start)
            return false;
    return true;
}

int64_t capture_pieces(const struct capture_progression *list, size_t count)
{
    int64_t pieces = 0;

    for (size_t i = 0; i < count; i++)
        pieces = vs_add_capped(pieces, list[i].count);
    return pieces;
}

struct capture_progression *capture_expand(const struct capture_progression *list, size_t count)
{
    struct capture_progression *pieces =
        calloc((size_t)capture_pieces(list, count) + 1, sizeof(*pieces));
    size_t used = 0;

    for (size_t i = 0; pieces && i < count; i++)
        for (int64_t k = 0; k < list[i].count; k++)
            pieces[used++] = (struct capture_progression){
                .start = list[i].start + k * list[i].stride, .length = list[i].length, .count = 1};
    return pieces;
}

/* Joins sorted pieces, which may overlap, to progressions, in place. */
static size_t join_progressions(struct capture_progression *pieces, size_t count)
{
    size_t used = 0;

    for (size_t i = 0; i < count;) {
        int64_t start = pieces[i].start, end = start;
        for (; i < count && pieces[i].start <= end; i++)
            end = vs_max(end, end_of(&pieces[i]));
        used = append_piece(pieces, used, start, end - start);
    }
    return used;
}

/* Splits overlapping progressions into pieces, and joins these to new ones. */
static void untangle_list(struct capture_extents *extents)
{
    int64_t count = capture_pieces(extents->list, extents->count);
    struct capture_progression *pieces =
        count > MAX_PIECES ? NULL : capture_expand(extents->list, extents->count);

    if (pieces == NULL) {
        extents->given_up = true;
        return;
    }
    qsort(pieces, (size_t)count, sizeof(*pieces), by_start);
    free(extents->list);
    extents->list = pieces;
    extents->count = join_progressions(pieces, (size_t)count);
    extents->room = (size_t)count + 1;
}

static void tidy_list(struct capture_extents *extents)
{
    sort_list(extents);
    if (!is_disjoint(extents->list, extents->count))
        untangle_list(extents);
}

/* Completes the current piece, which no longer grows. */
static void complete_piece(struct capture_extents *extents)
{
    if (!extents->length)
        return;
    if (extents->count >= MAX_LIST) {
        tidy_list(extents);
        extents->given_up = extents->given_up || extents->count > MAX_LIST / 4 * 3;
    }
    extents->given_up =
        extents->given_up || !VS_LIST_ROOM(extents->list, extents->count, extents->room);
    if (!extents->given_up)
        extents->count =
            append_piece(extents->list, extents->count, extents->offset, extents->length);
    extents->length = 0;
}

void capture_extents_add(struct capture_extents *extents, int64_t offset, int64_t length)
{
    int64_t end = extents->offset + extents->length;

    if (extents->given_up || !length)
        return;
    if (offset > MAX_END - length) {
        extents->given_up = true;
        return;
    }
    if (extents->length && offset >= extents->offset && offset <= end) {
        if (offset + length > end)
            extents->length = offset + length - extents->offset;
        return;
    }
    complete_piece(extents);
    extents->offset = offset;
    extents->length = length;
}

/* Removes everything at or after limit from the list. */
static void cut_progression(struct capture_extents *extents, int64_t limit)
{
    struct capture_progression *last;
    int64_t piece;

    while (extents->count && extents->list[extents->count - 1].start >= limit)
        extents->count--;
    if (!extents->count || end_of(&extents->list[extents->count - 1]) <= limit)
        return;
    last = &extents->list[extents->count - 1];
    if (last->count > 1)
        last->count = vs_ceil_div(limit - last->start, last->stride);
    piece = last->start + (last->count - 1) * last->stride;
    if (piece + last->length <= limit)
        return;
    if (--last->count == 0)
        extents->count--;
    else if (last->count == 1)
        last->stride = 0;
    extents->offset = piece;
    extents->length = limit - piece;
    complete_piece(extents);
}

void capture_extents_finish(struct capture_extents *extents, int64_t limit)
{
    complete_piece(extents);
    tidy_list(extents);
    if (!extents->given_up)
        cut_progression(extents, limit);
}

void capture_extents_free(struct capture_extents *extents)
{
    free(extents->list);
    *extents = (struct capture_extents){0};
}
