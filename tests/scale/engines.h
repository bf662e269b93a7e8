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
 * The engines of all nodes: the real code of an epoch (src/engine), with each engine on a stack of
 * its own, which gives way to others where it waits. What stands behind engine/messages.h is here:
 * a message takes as long as in the world of daemons (world.h), and its length occupies the links
 * of both sides; one is on its way for each 256 KiB.
 */

/* Made for the world's nodes. */
void engines_create(void);
void engines_free(void);

/*
 * Has a node's engine flush, from that time on. blocks and errors, as many as flush has, are
 * borrowed until through(node, result) is called, which is when it is through with it.
 */
void engines_flush(int node, double time, const struct engine_means *means,
                   const struct mpiio_message_flush *flush, const struct mpiio_flush_block *blocks,
                   int32_t *errors,
                   void (*through)(int node, const struct mpiio_message_result *result));

/* For engine_means; the messages in it are the node's own. */
struct engine_collective *engines_group(int node);

/* The engine's process ends, wherever it is. */
void engines_kill(int node);
bool engines_is_alive(int node);

/* Loses messages between two engines from now on. */
void engines_sever(int one, int other);

/* Returns the page in which the engine records its progress. */
const struct mpiio_progress_page *engines_progress(int node);

/* The most bytes that the code of an epoch has had from malloc at one time. */
size_t engines_memory(int node);

/*
 * For what an engine calls (engine/file_write.h), which is other code than an engine's: the node
 * that runs; time passes, and it goes on then, unless it is killed meanwhile; something happens on
 * it, of which it may die.
 */
int engines_enter(void);
void engines_leave(void);
void engines_pass(double us);
void engines_happen(void);

#endif
