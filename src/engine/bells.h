/* SPDX-License-Identifier: MIT */
#ifndef ENGINE_BELLS_H
#define ENGINE_BELLS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * MPI has no way to sleep until a message comes. So the engines of one machine have a bell each, a
 * word of memory that they share: who has sent a message rings, and who waits for one sleeps until
 * then. A machine with more engines than processors needs it: there whoever looks again and again
 * takes the processor from those that it waits for. All functions are local.
 */
struct engine_bell;
struct engine_bells {
    struct engine_bell *all; /* by node; NULL: there is no memory for them, or nobody to share it */
    int node, nodes;
    bool crowded; /* more engines are here than processors */
};

/*
 * Makes this node's bell. mark: the same on all nodes, and no other engines'. When all have called
 * this, each calls engine_bells_meet, which looks who is here. Without shared memory there are no
 * bells, and nobody to ring.
 */
void engine_bells_init(struct engine_bells *bells, int node, int nodes, uint64_t mark);
void engine_bells_meet(struct engine_bells *bells, uint64_t mark);
void engine_bells_free(struct engine_bells *bells);

/* Whether messages from node come with a ring. */
bool engine_bells_reach(const struct engine_bells *bells, int node);

/* To be called when something has been sent to node; nothing where that is elsewhere. */
void engine_bells_ring(const struct engine_bells *bells, int node);

/*
 * Sleeps for ns (below a second), but for as long as nobody rings after engine_bells_look has
 * returned seen: it is called before the last look for messages.
 */
uint32_t engine_bells_look(const struct engine_bells *bells);
void engine_bells_sleep(const struct engine_bells *bells, uint32_t seen, long ns);

#endif
