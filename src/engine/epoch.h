/* SPDX-License-Identifier: MIT */
#ifndef ENGINE_EPOCH_H
#define ENGINE_EPOCH_H

#include <stdint.h>

#include "collective.h"
#include "file_write.h"
#include "core/cache/homes.h"
#include "cluster/engine_channel.h"
#include "core/cache/slots.h"

/* What an epoch needs of a node; all of it is borrowed. */
struct engine_means {
    struct engine_collective *group;
    struct engine_file *file;
    const struct mpiio_homes *homes; /* the same on all nodes */
    const struct mpiio_slots *slots; /* the daemon's dirty blocks */
};

/*
 * Flushes what the daemons hold, all nodes together: their blocks travel to their homes, are merged
 * and stored there, and each node learns what became of each of its own. Collective: a node that
 * has nothing, or has failed, joins. blocks has run->count entries; errors, as many, gets 0 or a
 * negative errno for each, and result the rest. Only a broken MPI keeps it from returning.
 */
void engine_epoch(const struct engine_means *means, const struct mpiio_message_flush *run,
                  const struct mpiio_flush_block *blocks, int32_t *errors,
                  struct mpiio_message_result *result);

#endif
