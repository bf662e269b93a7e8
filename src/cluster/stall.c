/* SPDX-License-Identifier: MIT */
#include "stall.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/wire.h"

/* The maximum number of pairs of nodes that one line names. */
#define PAIRS 16

void mpiio_stall_add(struct mpiio_stall *stall, const struct mpiio_stall_node *node)
{
    struct mpiio_stall_node *place = stall->nodes;

    if (stall->count < MPIIO_STALL_NODES) {
        stall->nodes[stall->count++] = *node;
        return;
    }
    for (uint32_t i = 1; i < stall->count; i++)
        if (stall->nodes[i].progress.step > place->progress.step)
            place = &stall->nodes[i];
    if (node->progress.step < place->progress.step)
        *place = *node;
}

void mpiio_stall_merge(struct mpiio_stall *stall, const struct mpiio_stall *other)
{
    for (uint32_t i = 0; i < other->count; i++)
        mpiio_stall_add(stall, &other->nodes[i]);
}

static void code_nodes(struct mpiio_wire *wire, uint32_t *count, uint32_t *nodes)
{
    *count = mpiio_wire_u8(wire, *count, MPIIO_PROGRESS_NODES);
    for (uint32_t i = 0; i < *count; i++)
        mpiio_wire_u32(wire, &nodes[i]);
}

static void code_node(struct mpiio_wire *wire, struct mpiio_stall_node *node)
{
    mpiio_wire_u32(wire, &node->node);
    mpiio_wire_line(wire, node->host, sizeof(node->host));
    mpiio_wire_u64(wire, &node->progress.step);
    code_nodes(wire, &node->progress.from_count, node->progress.from);
    code_nodes(wire, &node->progress.to_count, node->progress.to);
}

static void code_stall(struct mpiio_wire *wire, struct mpiio_stall *stall)
{
    stall->count = mpiio_wire_u8(wire, stall->count, MPIIO_STALL_NODES);
    for (uint32_t i = 0; i < stall->count; i++)
        code_node(wire, &stall->nodes[i]);
}

size_t mpiio_stall_encode(const struct mpiio_stall *stall, uint8_t *bytes)
{
    struct mpiio_stall copy = *stall;
    struct mpiio_wire wire = {.to = bytes, .size = MPIIO_STALL_BYTES};

    code_stall(&wire, &copy);
    return wire.at;
}

int mpiio_stall_decode(const void *bytes, size_t size, struct mpiio_stall *stall)
{
    struct mpiio_wire wire = {.from = bytes, .size = size};

    memset(stall, 0, sizeof(*stall));
    code_stall(&wire, stall);
    if (mpiio_wire_complete(&wire))
        return 0;
    stall->count = 0;
    return -EPROTO;
}

/* A connection that does not work: messages from one node do not reach the other. */
struct pair {
    uint32_t from, to;
};

struct search {
    const struct mpiio_stall *stall;
    const char *(*host)(void *data, uint32_t node);
    void *data;
    struct pair pair[PAIRS];
    int pairs;
    bool more;
    char *text;
    size_t size, length;
};

static const struct mpiio_stall_node *find_node(const struct search *search, uint32_t node)
{
    for (uint32_t i = 0; i < search->stall->count; i++)
        if (search->stall->nodes[i].node == node)
            return &search->stall->nodes[i];
    return NULL;
}

static bool has(const struct search *search, uint32_t from, uint32_t to)
{
    for (int i = 0; i < search->pairs; i++)
        if (search->pair[i].from == from && search->pair[i].to == to)
            return true;
    return false;
}

static void add_pair(struct search *search, uint32_t from, uint32_t to)
{
    if (has(search, from, to))
        return;
    if (search->pairs < PAIRS)
        search->pair[search->pairs++] = (struct pair){from, to};
    else
        search->more = true;
}

/* Returns true if a node that others wait for in a step has reached that step. */
static bool has_come(const struct search *search, uint32_t other, uint64_t step)
{
    const struct mpiio_stall_node *node = find_node(search, other);

    return node == NULL || node->progress.step >= step;
}

static void look_at(struct search *search, const struct mpiio_stall_node *node)
{
    const struct mpiio_progress *progress = &node->progress;

    for (uint32_t k = 0; k < progress->from_count; k++)
        if (has_come(search, progress->from[k], progress->step))
            add_pair(search, progress->from[k], node->node);
    for (uint32_t k = 0; k < progress->to_count; k++)
        if (has_come(search, progress->to[k], progress->step))
            add_pair(search, node->node, progress->to[k]);
}

/* Writes "node A (HOST)". The host is left out if its name is unknown. */
static const char *name(const struct search *search, uint32_t node, char *text, size_t size)
{
    const struct mpiio_stall_node *listed = find_node(search, node);
    const char *host = listed != NULL ? listed->host : search->host(search->data, node);

    if (host != NULL)
        snprintf(text, size, "node %u (%s)", node, host);
    else
        snprintf(text, size, "node %u", node);
    return text;
}

/* Adds "node A (HOST) WHAT node B (HOST) END" to the line. */
static void say(struct search *search, uint32_t a, const char *what, uint32_t b, const char *end)
{
    char *at = search->text + search->length;
    size_t room = search->size - search->length;
    char first[MPIIO_STALL_TEXT], second[MPIIO_STALL_TEXT];
    int length = snprintf(at, room, "%s%s %s %s%s", search->length == 0 ? "" : ", ",
                          name(search, a, first, sizeof(first)), what,
                          name(search, b, second, sizeof(second)), end);

    if ((size_t)length < room) {
        search->length += (size_t)length;
        return;
    }
    /* The first pair is always kept, even if it is cut. */
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

/* If no message is known to be lost, names the node that the first waiting node waits for. */
static int say_who_waits(struct search *search, const struct mpiio_stall_node *node)
{
    if (node->progress.from_count > 0)
        say(search, node->node, "waits for", node->progress.from[0], "");
    else if (node->progress.to_count > 0)
        say(search, node->node, "waits for", node->progress.to[0], "");
    return (int)node->node;
}

static int by_number(const void *left, const void *right)
{
    const struct mpiio_stall_node *a = left, *b = right;

    return a->node < b->node ? -1 : a->node > b->node;
}

int mpiio_stall_describe(const struct mpiio_stall *stall,
                         const char *(*host)(void *data, uint32_t node), void *data, char *text,
                         size_t size)
{
    struct mpiio_stall sorted = *stall;
    struct search search = {
        .stall = &sorted, .host = host, .data = data, .text = text, .size = size};
    static const char and_others[] = ", and others";

    text[0] = '\0';
    if (sorted.count == 0)
        return -1;
    qsort(sorted.nodes, sorted.count, sizeof(*sorted.nodes), by_number);
    for (uint32_t i = 0; i < sorted.count; i++)
        look_at(&search, &sorted.nodes[i]);
    if (search.pairs == 0)
        return say_who_waits(&search, &sorted.nodes[0]);
    search.size -= sizeof(and_others) - 1;
    for (int i = 0; i < search.pairs; i++)
        say_pair(&search, &search.pair[i]);
    search.length = strlen(text);
    if (search.more)
        snprintf(text + search.length, size - search.length, "%s", and_others);
    return (int)search.pair[0].to;
}
