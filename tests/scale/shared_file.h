/* SPDX-License-Identifier: MIT */
#ifndef SCALE_SHARED_FILE_H
#define SCALE_SHARED_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/cache/slots.h"

/*
 * The shared file that homes store to (src/engine/file_write.h), in memory, and beside it what must
 * be in it. Each node has a part of every block of its own, which nobody else writes; the last
 * eighth of a block is everybody's.
 *
 * These are checked, byte by byte: an engine stores nothing that was not frozen for the present
 * epoch, and no byte twice; data is in the file when a node gets the report that it is stored; at
 * an epoch's end everything was stored, except blocks that were postponed or failed; no engine
 * stores anything once a node goes on alone; and at the end, everything is in the file that was
 * reported as stored, or that a node has stored alone.
 */

/* blocks 0: it only counts what is stored. */
void shared_file_create(int blocks);
void shared_file_free(void);

/* A node's own part of each block. */
size_t shared_file_own_start(int node);
size_t shared_file_own_size(void);

/* A number of the epoch: chosen by chance, a block that cannot be stored in it; -1: all can be. */
void shared_file_begin_epoch(uint64_t epoch);

/* Records a block that a node has frozen. */
void shared_file_freeze(int node, int64_t block, const struct mpiio_slot *slot);

/* Records the result that the node gets for a block. */
void shared_file_resolve(int node, int64_t block, const struct mpiio_slot *slot, int error);

/* The node stores it by itself. */
void shared_file_store_alone(int node, int64_t block, const struct mpiio_slot *slot);

/* Checks at the end that a node's part of a block is as reported. Bytes that slot still has (NULL:
   none) may also be there. */
void shared_file_check(int node, int64_t block, const struct mpiio_slot *slot);

/* All bytes that engines have stored. */
uint64_t shared_file_stored(void);

#endif
