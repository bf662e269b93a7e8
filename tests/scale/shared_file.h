/* SPDX-License-Identifier: MIT */
#ifndef SCALE_SHARED_FILE_H
#define SCALE_SHARED_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/cache/slots.h"

/*
 * The shared file that homes store to (src/engine/file_write.h), in memory, with its expected
 * contents. Each node owns a part of every block, which no other node writes. The last eighth of a
 * block is shared by all nodes.
 *
 * This part checks byte by byte that: an engine stores only bytes that were frozen for the current
 * epoch, and no byte twice; bytes are in the file when a node gets the report that they are stored;
 * at an epoch's end everything was stored, except for blocks that were postponed or failed; no
 * engine stores anything once a node goes on alone; and at the end the file has everything that was
 * reported as stored, or that a node has stored alone.
 */

/* Creates the file. If blocks is 0, nothing is kept or checked. */
void shared_file_create(int blocks);
void shared_file_free(void);

/* Returns the start and the size of the part of each block that a node owns. */
size_t shared_file_own_start(int node);
size_t shared_file_own_size(void);

/* Begins an epoch. Draws a block that cannot be stored in it, or -1 if all can. */
void shared_file_begin_epoch(uint64_t epoch);

/* Records a block that a node has frozen. */
void shared_file_freeze(int node, int64_t block, const struct mpiio_slot *slot);

/* Records the result that the node gets for a block. */
void shared_file_resolve(int node, int64_t block, const struct mpiio_slot *slot, int error);

/* The node stores a block alone. */
void shared_file_store_alone(int node, int64_t block, const struct mpiio_slot *slot);

/* Checks at the end that a node's part of a block is as reported. The bytes that slot still has
   may also be there; slot may be NULL. */
void shared_file_check(int node, int64_t block, const struct mpiio_slot *slot);

#endif
