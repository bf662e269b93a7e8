/* SPDX-License-Identifier: MIT */
#include "axis.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct from_term from_constant(int64_t value)
{
    struct from_term term = {.constant = true, .value = value};

    snprintf(term.text, sizeof(term.text), "%" PRId64, value);
    return term;
}

struct from_term from_expression(const char *format, ...)
{
    struct from_term term = {.text = "("};
    va_list args;

    va_start(args, format);
    vsnprintf(term.text + 1, sizeof(term.text) - 2, format, args);
    va_end(args);
    strcat(term.text, ")");
    return term;
}

json_t *from_term_json(const struct from_term *term)
{
    size_t length = strlen(term->text);

    return term->constant ? json_integer(term->value) : json_stringn(term->text + 1, length - 2);
}

/* Which of the parts of dimension d is the rank's: the last dimension runs fastest. */
static struct from_term coordinate(const struct from_grid *grid, int d)
{
    int64_t behind = 1;

    for (int i = d + 1; i < grid->dimensions; i++)
        behind *= grid->psizes[i];
    if (grid->psizes[d] == grid->ranks)
        return from_expression("rank");
    if (behind * grid->psizes[d] == grid->ranks)
        return from_expression("rank / %" PRId64, behind);
    if (behind == 1)
        return from_expression("rank %% %" PRId64, grid->psizes[d]);
    return from_expression("rank / %" PRId64 " %% %" PRId64, behind, grid->psizes[d]);
}

/* Where the rank's block begins and how long it is: nothing behind the last index. */
static void find_block(struct from_axis *axis)
{
    const char *at = axis->coordinate.text;

    axis->start =
        from_expression("min(%s * %" PRId64 ", %" PRId64 ")", at, axis->block, axis->length);
    axis->count = from_expression("max(0, min(%" PRId64 ", %" PRId64 " - %s * %" PRId64 "))",
                                  axis->block, axis->length, at, axis->block);
}

/* How many indices blocks in turn have: of whole blocks, and of the one that the end cuts. */
static void count_cyclic(struct from_axis *axis)
{
    int64_t whole = axis->length / axis->block, rest = axis->length % axis->block;
    const char *at = axis->coordinate.text;

    axis->count = from_expression("%" PRId64 " * ((%" PRId64 " - %s) / %" PRId64 ")", axis->block,
                                  whole + axis->ranks - 1, at, axis->ranks);
    if (rest)
        axis->count = from_expression(
            "%s + %" PRId64 " * (1 - min(1, (%s - %" PRId64 ") * (%s - %" PRId64 ")))",
            axis->count.text, rest, at, whole % axis->ranks, at, whole % axis->ranks);
}

struct from_axis from_axis(const struct from_variable *variable, const struct from_grid *grid,
                           int d)
{
    struct from_axis axis = {.length = variable->shape[d], .ranks = 1};

    axis.start = from_constant(0);
    axis.count = from_constant(axis.length);
    if (grid->dimensions != variable->dimensions || grid->psizes[d] == 1)
        return axis;
    axis.ranks = grid->psizes[d];
    axis.distribution = grid->distributions[d];
    axis.coordinate = coordinate(grid, d);
    axis.block = grid->blocks[d];
    if (axis.distribution == FROM_BLOCK) {
        if (!axis.block)
            axis.block = axis.length / axis.ranks + (axis.length % axis.ranks != 0);
        find_block(&axis);
    } else {
        axis.block = axis.block ? axis.block : 1;
        count_cyclic(&axis);
    }
    return axis;
}
