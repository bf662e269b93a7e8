/* SPDX-License-Identifier: MIT */
#ifndef ENGINE_START_H
#define ENGINE_START_H

#include "core/cache/slots.h"
#include "collective.h"
#include "daemon.h"
#include "file.h"
#include "options.h"
#include "stripes.h"

/* The engine of one node. */
struct engine {
    const struct engine_options *options;
    int node;
    int nodes;
    struct engine_daemon daemon;
    struct engine_file file;
    struct engine_stripes stripes;  /* of it; the same on all nodes */
    struct mpiio_slots slots;       /* the daemon's dirty blocks, mapped from START on */
    struct engine_collective group; /* the engines; made before engine_start */
};

/*
 * Starts the daemon of each node, brings them together and opens the file: all nodes are ready, or
 * none is, and no daemon is left. Collective. Returns 0, or the status to exit with, the same on
 * all nodes; node 0 has told the first error then, with the host that it came from.
 */
int engine_start(struct engine *engine);

/* Closes the file and lets go of the daemon, which has said QUIT. Collective. */
void engine_stop(struct engine *engine);

#endif
