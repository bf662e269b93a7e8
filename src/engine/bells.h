/* SPDX-License-Identifier: MIT */
#ifndef ENGINE_BELLS_H
#define ENGINE_BELLS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Bells wake sleeping engines. MPI cannot sleep until a message arrives. So each engine of a
 * machine has a bell, a word of shared memory: a sender rings it after sending, and a waiting
 * receiver sleeps until then. This matters on a machine with more engines than processors, where a
 * polling engine would take the processor from the engines that it waits for. All functions are
 * local.
 */
struct engine_bell;
struct engine_bells {
    /* indexed by node; NULL: no shared memory, or no other engine on this machine */
    struct engine_bell *all;
    int node, nodes;
    bool crowded; /* this machine has more engines than processors */
};

/*
 * Makes this node's bell. mark is the same on all nodes and unique to these engines. After all
 * nodes have called this, each calls engine_bells_meet, which finds the engines of this machine.
 * Without shared memory there are no bells, and ringing has no effect.
 */
void engine_bells_init(struct engine_bells *bells, int node, int nodes, uint64_t mark);
void engine_bells_meet(struct engine_bells *bells, uint64_t mark);
void engine_bells_free(struct engine_bells *bells);

/* Returns true if node is on this machine and has a bell, so that its messages come with a ring. */
bool engine_bells_reach(const struct engine_bells *bells, int node);

/* Wakes node; call it after sending to it. Does nothing if node is on another machine. */
void engine_bells_ring(const struct engine_bells *bells, int node);

/*
 * Sleeps for at most ns (below a second), or until another engine rings. Rings are counted from the
 * call of engine_bells_look that returned seen. Call that before the last check for messages, so
 * that no wake-up is lost.
 */
uint32_t engine_bells_look(const struct engine_bells *bells);
void engine_bells_sleep(const struct engine_bells *bells, uint32_t seen, long ns);

#endif
