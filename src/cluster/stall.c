/* SPDX-License-Identifier: MIT */
#include "stall.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Of those that are told in one line. */
#define PAIRS 16

/* What from sends does not come to to. */
struct pair {
    int from, to;
};

struct search {
    const struct mpiio_stall_node *(*node)(void *data, int i);
    void *data;
    int nodes;
    struct pair pair[PAIRS];
    int pairs;
    bool more;
    char *text;
    size_t size, length;
};

static const struct mpiio_stall_node *find(const struct search *search, uint32_t node)
{
    return node < (uint32_t)search->nodes ? search->node(search->data, (int)node) : NULL;
}

static bool waits(const struct mpiio_stall_node *node)
{
    return node != NULL && !node->over && node->progress.waiting;
}

static bool has(const struct search *search, int from, int to)
{
    for (int i = 0; i < search->pairs; i++)
        if (search->pair[i].from == from && search->pair[i].to == to)
            return true;
    return false;
}

static void add(struct search *search, int from, int to)
{
    if (has(search, from, to))
        return;
    if (search->pairs < PAIRS)
        search->pair[search->pairs++] = (struct pair){from, to};
    else
        search->more = true;
}

/* Whether other, whom somebody waits for in that step, has come to it. */
static bool has_come(const struct search *search, uint32_t other, uint64_t step)
{
    const struct mpiio_stall_node *node = find(search, other);

    return node != NULL && (node->over || node->progress.step >= step);
}

static void look_at(struct search *search, int i)
{
    const struct mpiio_stall_node *node = find(search, (uint32_t)i);
    const struct mpiio_progress *progress;

    if (!waits(node))
        return;
    progress = &node->progress;
    for (uint32_t k = 0; k < progress->from_count; k++)
        if (has_come(search, progress->from[k], progress->step))
            add(search, (int)progress->from[k], i);
    for (uint32_t k = 0; k < progress->to_count; k++)
        if (has_come(search, progress->to[k], progress->step))
            add(search, i, (int)progress->to[k]);
}

/* Adds "node A (HOST) WHAT node B (HOST) END" to the line. */
static void say(struct search *search, int a, const char *what, int b, const char *end)
{
    char *at = search->text + search->length;
    size_t room = search->size - search->length;
    int length =
        snprintf(at, room, "%snode %d (%s) %s node %d (%s)%s", search->length == 0 ? "" : ", ", a,
                 find(search, (uint32_t)a)->host, what, b, find(search, (uint32_t)b)->host, end);

    if ((size_t)length < room) {
        search->length += (size_t)length;
        return;
    }
    /* The first is always there, if only in part. */
    if (search->length != 0)
        *at = '\0';
    search->more = true;
}

static void say_pair(struct search *search, const struct pair *pair)
{
    bool both = has(search, pair->to, pair->from);

    if (!both)
        say(search, pair->to, "does not hear", pair->from, "");
    else if (pair->to < pair->from)
        say(search, pair->to, "and", pair->from, " do not reach each other");
}

/* As far as is known, nothing is lost on its way: whom the first who waits is told to wait for. */
static int say_who_waits(struct search *search)
{
    for (int i = 0; i < search->nodes; i++) {
        const struct mpiio_stall_node *node = find(search, (uint32_t)i);
        const struct mpiio_progress *progress;

        if (!waits(node))
            continue;
        progress = &node->progress;
        if (progress->from_count > 0 && find(search, progress->from[0]) != NULL)
            say(search, i, "waits for", (int)progress->from[0], "");
        else if (progress->to_count > 0 && find(search, progress->to[0]) != NULL)
            say(search, i, "waits for", (int)progress->to[0], "");
        return i;
    }
    return -1;
}

int mpiio_stall_describe(const struct mpiio_stall_node *(*node)(void *data, int i), void *data,
                         int nodes, char *text, size_t size)
{
    struct search search = {.node = node, .data = data, .nodes = nodes, .text = text, .size = size};
    static const char and_others[] = ", and others";

    text[0] = '\0';
    for (int i = 0; i < nodes; i++)
        look_at(&search, i);
    if (search.pairs == 0)
        return say_who_waits(&search);
    search.size -= sizeof(and_others) - 1;
    for (int i = 0; i < search.pairs; i++)
        say_pair(&search, &search.pair[i]);
    search.length = strlen(text);
    if (search.more)
        snprintf(text + search.length, size - search.length, "%s", and_others);
    return search.pair[0].to;
}
