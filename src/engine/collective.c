/* SPDX-License-Identifier: MIT */
#include "collective.h"

#include <stdlib.h>
#include <string.h>

#include "viewspec/base/integer.h"

#define MAX_VALUES 4

void engine_collective_max(struct engine_collective *self, int64_t *values, int count)
{
    int64_t others[MAX_VALUES], sent[MAX_VALUES];
    size_t length = (size_t)count * sizeof(*values);

    /* After each step each node knows the maximum of twice as many nodes. Counting a node twice
       is harmless. */
    for (int64_t reach = 1; reach < self->nodes; reach *= 2) {
        memcpy(sent, values, length);
        engine_messages_step(self->messages);
        engine_messages_receive(self->messages, others, length,
                                (int)((self->node - reach + self->nodes) % self->nodes));
        engine_messages_send(self->messages, sent, length,
                             (int)((self->node + reach) % self->nodes));
        engine_messages_wait(self->messages);
        for (int i = 0; i < count; i++)
            values[i] = vs_max(values[i], others[i]);
    }
}

int engine_collective_error(struct engine_collective *self, int error)
{
    int64_t worst = -(int64_t)error;

    engine_collective_max(self, &worst, 1);
    return (int)-worst;
}

void engine_collective_join(struct engine_collective *self)
{
    engine_collective_error(self, 0);
}

void engine_collective_share(struct engine_collective *self, void *bytes, size_t length, int from)
{
    int nodes = self->nodes, place = (self->node - from + nodes) % nodes;

    /* Each step doubles the number of nodes that have it. */
    for (int reach = 1; reach < nodes; reach *= 2) {
        engine_messages_step(self->messages);
        if (place < reach && place + reach < nodes)
            engine_messages_send(self->messages, bytes, length, (self->node + reach) % nodes);
        else if (place >= reach && place < 2 * reach)
            engine_messages_receive(self->messages, bytes, length,
                                    (self->node - reach + nodes) % nodes);
        engine_messages_wait(self->messages);
    }
}

static char *bytes_of(const struct engine_parts *parts, int index, size_t size)
{
    return (char *)parts->bytes + (size_t)parts->part[index].start * size;
}

/* Returns the index of the first part whose node is at least node, or the number of parts. */
static int first_from(const struct engine_parts *parts, int node)
{
    return (int)VS_FIRST(i, 0, parts->count, parts->part[i].node >= node);
}

void engine_collective_exchange(struct engine_collective *self, const struct engine_parts *out,
                                const struct engine_parts *in, size_t size)
{
    int own_out = first_from(out, self->node), own_in = first_from(in, self->node);

    engine_messages_step(self->messages);
    /* Start at this node's own part, so that not all nodes address the same peer first. */
    for (int i = 1; i <= in->count; i++) {
        int from = (own_in - i + in->count) % in->count;

        if (in->part[from].node != self->node)
            engine_messages_receive(self->messages, bytes_of(in, from, size),
                                    (size_t)in->part[from].count * size, in->part[from].node);
    }
    for (int i = 0; i < out->count; i++) {
        int to = (own_out + i) % out->count;

        if (out->part[to].node != self->node)
            engine_messages_send(self->messages, bytes_of(out, to, size),
                                 (size_t)out->part[to].count * size, out->part[to].node);
    }
    if (own_out < out->count && out->part[own_out].node == self->node && own_in < in->count &&
        in->part[own_in].node == self->node)
        memcpy(bytes_of(in, own_in, size), bytes_of(out, own_out, size),
               (size_t)out->part[own_out].count * size);
    engine_messages_wait(self->messages);
}

int64_t engine_parts_begin(struct engine_part *part, int count)
{
    int64_t total = 0;

    for (int i = 0; i < count; i++) {
        part[i].start = (int)total;
        total += part[i].count;
    }
    return total;
}

/* A non-zero number on its way from one node to another. */
struct parcel {
    int to, from, value;
};

struct parcels {
    struct parcel *parcel; /* owned */
    int count, room;
};

/* The first message has a length that both sides know: the number of parcels, and the first few. */
#ifndef PARCELS_FIRST
#define PARCELS_FIRST 64
#endif

struct first_parcels {
    int count;
    struct parcel parcel[PARCELS_FIRST];
};

static void reserve_parcels(struct parcels *parcels, int count)
{
    if (count <= parcels->room)
        return;
    parcels->room = count + count / 2 + PARCELS_FIRST;
    parcels->parcel =
        reallocarray(parcels->parcel, (size_t)parcels->room, sizeof(*parcels->parcel));
    if (parcels->parcel == NULL)
        abort();
}

static void add_parcel(struct parcels *parcels, struct parcel parcel)
{
    reserve_parcels(parcels, parcels->count + 1);
    parcels->parcel[parcels->count++] = parcel;
}

/* Moves the parcels whose remaining distance has the bit reach from kept to taken. */
static void take_parcels(struct engine_collective *self, struct parcels *kept, int reach,
                         struct parcels *taken)
{
    int left = 0;

    taken->count = 0;
    for (int i = 0; i < kept->count; i++) {
        struct parcel parcel = kept->parcel[i];

        if (((parcel.to - self->node + self->nodes) % self->nodes & reach) != 0)
            add_parcel(taken, parcel);
        else
            kept->parcel[left++] = parcel;
    }
    kept->count = left;
}

static size_t length_of(int count)
{
    return (size_t)count * sizeof(struct parcel);
}

/* Sends parcels to the node at distance reach, and appends those from the opposite node to kept. */
static void hand_on(struct engine_collective *self, const struct parcels *parcels, int reach,
                    struct parcels *kept)
{
    struct first_parcels out = {.count = parcels->count}, in = {0};
    int first = out.count < PARCELS_FIRST ? out.count : PARCELS_FIRST;
    int from = (self->node - reach + self->nodes) % self->nodes;
    int to = (self->node + reach) % self->nodes;
    int come;

    if (first != 0)
        memcpy(out.parcel, parcels->parcel, length_of(first));
    engine_messages_step(self->messages);
    engine_messages_receive(self->messages, &in, sizeof(in), from);
    engine_messages_send(self->messages, &out,
                         offsetof(struct first_parcels, parcel) + length_of(first), to);
    engine_messages_wait(self->messages);
    come = in.count < PARCELS_FIRST ? in.count : PARCELS_FIRST;
    reserve_parcels(kept, kept->count + in.count);
    if (come != 0)
        memcpy(kept->parcel + kept->count, in.parcel, length_of(come));
    engine_messages_receive(self->messages, kept->parcel + kept->count + come,
                            length_of(in.count - come), from);
    engine_messages_send(self->messages, parcels->parcel + first, length_of(out.count - first), to);
    engine_messages_wait(self->messages);
    kept->count += in.count;
}

static int compare_from(const void *left, const void *right)
{
    const struct parcel *a = left, *b = right;

    return vs_compare(a->from, b->from);
}

/* Converts received parcels to parts, sorted by sender. */
static struct engine_part *parts_of(const struct parcels *come)
{
    struct engine_part *part = calloc((size_t)come->count + 1, sizeof(*part));

    if (part == NULL)
        abort();
    if (come->count > 1)
        qsort(come->parcel, (size_t)come->count, sizeof(*come->parcel), compare_from);
    for (int i = 0; i < come->count; i++)
        part[i] =
            (struct engine_part){.node = come->parcel[i].from, .count = come->parcel[i].value};
    return part;
}

/* Bruck's algorithm: a parcel for the node at distance i travels along the bits of i. */
int engine_collective_transpose(struct engine_collective *self, const struct engine_part *out,
                                int count, struct engine_part **in)
{
    struct parcels kept = {0}, taken = {0};

    for (int i = 0; i < count; i++)
        if (out[i].count != 0)
            add_parcel(&kept, (struct parcel){out[i].node, self->node, out[i].count});
    for (int reach = 1; reach < self->nodes; reach *= 2) {
        take_parcels(self, &kept, reach, &taken);
        hand_on(self, &taken, reach, &kept);
    }
    *in = parts_of(&kept);
    count = kept.count;
    free(kept.parcel);
    free(taken.parcel);
    return count;
}
