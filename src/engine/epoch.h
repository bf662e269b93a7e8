/* SPDX-License-Identifier: MIT */
#ifndef ENGINE_EPOCH_H
#define ENGINE_EPOCH_H

#include <stdint.h>

#include "collective.h"
#include "file_write.h"
#include "core/cache/homes.h"
#include "cluster/engine_channel.h"
#include "core/cache/slots.h"

/* The inputs of an epoch on a node; all are borrowed. */
struct engine_means {
    struct engine_collective *group;
    struct engine_file *file;
    const struct mpiio_homes *homes; /* the same on all nodes */
    const struct mpiio_slots *slots; /* the daemon's dirty blocks */
};

/*
 * Flushes the dirty blocks of all nodes together. Blocks travel to their homes, which merge and
 * store them, and each node learns the result of each of its blocks. Collective: a node that has no
 * blocks, or has failed, takes part, too. blocks has run->count entries. errors, of the same
 * length, gets 0 or a negative errno for each block; result gets the rest. It always returns unless
 * MPI itself fails.
 */
void engine_epoch(const struct engine_means *means, const struct mpiio_message_flush *run,
                  const struct mpiio_flush_block *blocks, int32_t *errors,
                  struct mpiio_message_result *result);

#endif
