/* SPDX-License-Identifier: MIT */
#ifndef ENGINE_COLLECTIVE_H
#define ENGINE_COLLECTIVE_H

#include <stddef.h>
#include <stdint.h>

#include "messages.h"

/*
 * What the engines say to each other, in an epoch and when they begin and end. MPI's own collective
 * calls tell nobody whom they wait for, and use a processor while they do. These are made of
 * messages between two nodes each (messages.h). All are collective. What they take grows with the
 * nodes that something is exchanged with, and the logarithm of all; none has an entry for each
 * node.
 */
struct engine_collective {
    struct engine_messages *messages; /* borrowed */
    int node, nodes;
};

/* Makes each of count values, 4 at most, the largest of all nodes'. */
void engine_collective_max(struct engine_collective *self, int64_t *values, int count);

/* The worst of the nodes' errors, each 0 or a negative errno. */
int engine_collective_error(struct engine_collective *self, int error);

/* Waits until all nodes have come. */
void engine_collective_join(struct engine_collective *self);

/* Has all nodes have what the node from has in bytes. */
void engine_collective_share(struct engine_collective *self, void *bytes, size_t length, int from);

/* What goes to a node, or comes from it: so many units of a buffer, from the unit start on. */
struct engine_part {
    int node, count, start;
};

/* Parts of a buffer, count of them: ascending by node, one of each at most. */
struct engine_parts {
    void *bytes;
    const struct engine_part *part;
    int count;
};

/* Lets parts lie one behind another. Returns the sum of their counts. Local. */
int64_t engine_parts_begin(struct engine_part *part, int count);

/*
 * Sends the parts of out to their nodes, and gets those of in from theirs; size: of a unit, in
 * bytes. Both sides know of each part that is not empty, and how long it is.
 */
void engine_collective_exchange(struct engine_collective *self, const struct engine_parts *out,
                                const struct engine_parts *in, size_t size);

/*
 * Tells the nodes of out, count of them, each its count; in gets those that have told this node one
 * that is not 0, ascending, which are the caller's to free, their starts yet to be set. Returns how
 * many. Takes log2(nodes) steps; what is sent is as much as is not 0. Aborts where there is no
 * memory.
 */
int engine_collective_transpose(struct engine_collective *self, const struct engine_part *out,
                                int count, struct engine_part **in);

#endif
