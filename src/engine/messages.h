/* SPDX-License-Identifier: MIT */
#ifndef ENGINE_MESSAGES_H
#define ENGINE_MESSAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/progress.h"

/*
 * Messages between two engines. All communication of engines in an epoch goes through this
 * interface (collective.h). MPI implements it; tests/scale has a network of its own. While an
 * engine waits, the memory shared with the daemon shows that (progress.h). It sleeps until a bell
 * rings (below), or for growing times up to a millisecond. No function returns an error: if a node
 * is unreachable, the engine waits until its daemon, which detects the failure with the others,
 * ends this process.
 */
struct engine_messages;

/*
 * Creates the messages of this process, which live until it exits. *node and *nodes get this node's
 * number and the number of nodes. Aborts if memory is exhausted: such a node can neither take part
 * nor report that. Collective.
 */
struct engine_messages *engine_messages_new(int *node, int *nodes);

/* Sets the page in which a daemon sees the progress; NULL: no daemon does. */
void engine_messages_show(struct engine_messages *self, struct mpiio_progress_page *page);

/*
 * An exchange consists of engine_messages_step, any number of receives and sends, and
 * engine_messages_wait. Both sides must know the length of each message; 0 means no message. The
 * memory is borrowed until engine_messages_wait returns. Messages from one node to another arrive
 * in order. A node must not begin another step before it has received all messages of this one.
 */
void engine_messages_step(struct engine_messages *self);
void engine_messages_receive(struct engine_messages *self, void *bytes, size_t length, int from);
void engine_messages_send(struct engine_messages *self, const void *bytes, size_t length, int to);
void engine_messages_wait(struct engine_messages *self);

/*
 * Bells wake sleeping engines. MPI cannot sleep until a message arrives. So each engine of a
 * machine has a bell, a word of shared memory: a sender rings it after sending, and a waiting
 * receiver sleeps until then. This matters on a machine with more engines than processors, where a
 * polling engine would take the processor from the engines that it waits for. The functions of
 * bells are local.
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
