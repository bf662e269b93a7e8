/* SPDX-License-Identifier: MIT */
#ifndef ENGINE_MESSAGES_H
#define ENGINE_MESSAGES_H

#include <stddef.h>

#include "core/base/progress.h"

/*
 * Messages between two engines each. All that engines say to each other in an epoch goes through
 * here (collective.h), by MPI or what else stands behind it: tests/scale has a network of its own.
 * Who waits is seen in the memory shared with the daemon (progress.h), and sleeps until a bell
 * rings (bells.h), or ever longer up to a millisecond. A node that is not reached is waited for
 * until the daemon, which finds out with the others, ends this process: so nothing is returned.
 */
struct engine_messages;

/*
 * For as long as the process is there; node and nodes get this one's number and how many there are.
 * Aborts where there is no memory: such a node cannot take part, nor tell anybody. Collective.
 */
struct engine_messages *engine_messages_new(int *node, int *nodes);

/* Where a daemon is to see it from now on; NULL: none does. */
void engine_messages_show(struct engine_messages *self, struct mpiio_progress_page *page);

/*
 * An exchange: engine_messages_step, then what is to be received and sent, by so many bytes as both
 * sides know of (0: there is no message), and then engine_messages_wait, until when the memory is
 * borrowed. What one node sends another arrives in order. No node begins another step before it
 * has all that it waits for.
 */
void engine_messages_step(struct engine_messages *self);
void engine_messages_receive(struct engine_messages *self, void *bytes, size_t length, int from);
void engine_messages_send(struct engine_messages *self, const void *bytes, size_t length, int to);
void engine_messages_wait(struct engine_messages *self);

#endif
