/* SPDX-License-Identifier: MIT */
#ifndef ENGINE_MESSAGES_H
#define ENGINE_MESSAGES_H

#include <stddef.h>

#include "core/base/progress.h"

/*
 * Messages between two engines. All communication of engines in an epoch goes through this
 * interface (collective.h). MPI implements it; tests/scale has a network of its own. While an
 * engine waits, the memory shared with the daemon shows that (progress.h). It sleeps until a bell
 * rings (bells.h), or for growing times up to a millisecond. No function returns an error: if a
 * node is unreachable, the engine waits until its daemon, which detects the failure with the
 * others, ends this process.
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

#endif
