/* SPDX-License-Identifier: MIT */
#ifndef ENGINE_COLLECTIVE_H
#define ENGINE_COLLECTIVE_H

#include <stddef.h>
#include <stdint.h>

#include "messages.h"

/*
 * Collective operations of the engines, in an epoch and at its beginning and end. MPI's own
 * collectives do not report which node they wait for, and busy-wait. These are built from
 * point-to-point messages (messages.h). All functions are collective. Memory and time grow with the
 * number of communication partners and the logarithm of the number of nodes. No table has an entry
 * for each node.
 */
struct engine_collective {
    struct engine_messages *messages; /* borrowed */
    int node, nodes;
};

/* Replaces each of count values, 4 at most, by its maximum over all nodes. */
void engine_collective_max(struct engine_collective *self, int64_t *values, int count);

/* Returns the worst error of all nodes. Each is 0 or a negative errno. */
int engine_collective_error(struct engine_collective *self, int error);

/* Waits until all nodes have called it (a barrier). */
void engine_collective_join(struct engine_collective *self);

/* Broadcasts bytes of the node from to all nodes. */
void engine_collective_share(struct engine_collective *self, void *bytes, size_t length, int from);

/* The part of a buffer that goes to a node or comes from it: count units from the unit start on. */
struct engine_part {
    int node, count, start;
};

/* Parts of a buffer, count of them, in ascending order of nodes, at most one for each node. */
struct engine_parts {
    void *bytes;
    const struct engine_part *part;
    int count;
};

/* Sets the starts so that the parts are adjacent. Returns the sum of their counts. Local. */
int64_t engine_parts_begin(struct engine_part *part, int count);

/*
 * Sends the parts of out to their nodes, and receives the parts of in. size is the length of a unit
 * in bytes. Both sides must know every part that is not empty, and its length.
 */
void engine_collective_exchange(struct engine_collective *self, const struct engine_parts *out,
                                const struct engine_parts *in, size_t size);

/*
 * Sends each node of out, count of them, its count. Stores in *in the nodes that have sent this
 * node a count other than 0, ascending, and returns their number. The caller frees *in and sets the
 * starts. Takes log2(nodes) steps; only counts other than 0 are sent. Aborts if memory is
 * exhausted.
 */
int engine_collective_transpose(struct engine_collective *self, const struct engine_part *out,
                                int count, struct engine_part **in);

#endif
