/* SPDX-License-Identifier: MIT */
#ifndef ENGINE_START_H
#define ENGINE_START_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "cluster/engine_channel.h"
#include "collective.h"
#include "core/cache/slots.h"
#include "file.h"
#include "core/cache/homes.h"

/* The command line. All texts are borrowed from argv. */
struct engine_options {
    const char *name; /* what messages begin with */
    const char
        *daemon;      /* the program to start; NULL: mpiio-fused beside this one, or on the PATH */
    char **arguments; /* for it: those behind "--", ended by NULL */
    bool report;      /* tell how far the start has come */
    bool stay;        /* until the daemon has ended: process.h */
    bool help;
    bool version;
    char wrong[256]; /* what is wrong with the command line; "": nothing */
};

/* Reads the command line. Prints nothing: there are as many of us as there are nodes. */
void engine_options_parse(struct engine_options *options, int argc, char **argv);

void engine_options_help(void);

/*
 * The node's daemon as its engine sees it: a child in a session of its own, so that what ends the
 * engines (mpiexec, when one of them dies) does not end the daemons.
 */
struct engine_daemon {
    struct mpiio_channel *channel; /* NULL: not started */
    pid_t pid;
    int output; /* a memfd with its output; -1: none, or it has been read */
    const char *program;
};

/*
 * Starts the daemon's program with the option --engine-fd=N, N being its end of the channel, and
 * the arguments of options, in the last of which %n is replaced by node. It has no other descriptor
 * of this process's, but for standard input, which is empty, and standard output and error, which
 * are caught. 0 or a negative errno; local.
 */
int engine_daemon_start(struct engine_daemon *daemon, const struct engine_options *options,
                        int node);

/*
 * Why the daemon has ended its stream, for people, and the status to exit with: what it printed, or
 * how it ended. Waits for its end.
 */
int engine_daemon_reason(struct engine_daemon *daemon, char *text, size_t size);

/* Tells the daemon to quit, waits until it is gone, kills it where it is not within 10 s. */
void engine_daemon_end(struct engine_daemon *daemon);

/* Looks no more at what the daemon prints. */
void engine_daemon_let_go(struct engine_daemon *daemon);

/* The engine of one node. */
struct engine {
    const struct engine_options *options;
    int node;
    int nodes;
    struct engine_daemon daemon;
    struct engine_file file;
    struct mpiio_homes homes;       /* of it; the same on all nodes */
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
