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
 * What is seen to, byte by byte: an engine stores nothing that was not frozen for the present
 * epoch, and no byte twice; what a node is told is stored lies in the file at that moment; at an
 * epoch's end all of it was stored, but for blocks that were left or could not be; nothing is
 * stored by an engine once somebody acts alone; and what a node was told is stored, or has stored
 * alone, is there at the end.
 */

/* blocks 0: it only counts what is stored. */
void shared_file_create(int blocks);
void shared_file_free(void);

/* A node's own part of each block. */
size_t shared_file_own_start(int node);
size_t shared_file_own_size(void);

/* A number of the epoch: chosen by chance, a block that cannot be stored in it; -1: all can be. */
void shared_file_begin_epoch(uint64_t epoch);

/* What a node has frozen of a block. */
void shared_file_freeze(int node, int64_t block, const struct mpiio_slot *slot);

/* What the node is told became of it. */
void shared_file_resolve(int node, int64_t block, const struct mpiio_slot *slot, int error);

/* The node stores it by itself. */
void shared_file_store_alone(int node, int64_t block, const struct mpiio_slot *slot);

/*
 * At the end: a node's part of a block is as it was told, but for what slot still has (NULL:
 * nothing has), which may be there.
 */
void shared_file_check(int node, int64_t block, const struct mpiio_slot *slot);

/* All bytes that engines have stored. */
uint64_t shared_file_stored(void);

#endif
