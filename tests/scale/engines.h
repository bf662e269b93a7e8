/* SPDX-License-Identifier: MIT */
#ifndef SCALE_ENGINES_H
#define SCALE_ENGINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cluster/engine_channel.h"
#include "core/base/progress.h"
#include "engine/epoch.h"

/*
 * The engines of all nodes. They run the real code of an epoch (src/engine). Each engine has a
 * stack of its own, and lets others run when it waits. This part implements engine/messages.h: a
 * message takes as long as in the world of daemons (world.h), and occupies the links of both sides
 * for its length. One message is in transit for each 256 KiB.
 */

/* Makes the engines of the world's nodes. */
void engines_create(void);
void engines_free(void);

/*
 * Has a node's engine flush from this time on. blocks and errors have as many entries as flush has.
 * They are borrowed until through(node, result) is called at the end of the epoch.
 */
void engines_flush(int node, double time, const struct engine_means *means,
                   const struct mpiio_message_flush *flush, const struct mpiio_flush_block *blocks,
                   int32_t *errors,
                   void (*through)(int node, const struct mpiio_message_result *result));

/* Returns the group for engine_means. The messages in it are the node's own. */
struct engine_collective *engines_group(int node);

/* Ends the engine's process, whatever it is doing. */
void engines_kill(int node);
bool engines_is_alive(int node);

/* Loses messages between two engines from now on. */
void engines_sever(int one, int other);

/* Returns the page in which the engine records its progress. */
const struct mpiio_progress_page *engines_progress(int node);

/* Returns the most bytes that the code of an epoch has allocated at one time. */
size_t engines_memory(int node);

/*
 * For functions that engines call (engine/file_write.h) and that are not code of an engine.
 * engines_enter returns the node that runs. engines_pass lets time pass, and then continues, unless
 * the engine is killed meanwhile. engines_happen lets a fault happen on the node, which may end the
 * engine.
 */
int engines_enter(void);
void engines_leave(void);
void engines_pass(double us);
void engines_happen(void);

#endif
