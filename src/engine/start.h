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
    const char *name; /* prefix of messages */
    /* the program to start; NULL: mpiio-fused beside this one, or on the PATH */
    const char *daemon;
    char **arguments; /* for the daemon: those after "--", terminated by NULL */
    bool report;      /* report the progress of the start */
    bool stay;        /* until the daemon has exited: process.h */
    bool help;
    bool version;
    char wrong[256]; /* an error in the command line; "": none */
};

/* Parses the command line. Prints nothing, because every node would print the same. */
void engine_options_parse(struct engine_options *options, int argc, char **argv);

void engine_options_help(void);

/*
 * The node's daemon as its engine sees it: a child in a session of its own. If mpiexec kills the
 * engines because one has failed, the daemons survive.
 */
struct engine_daemon {
    struct mpiio_channel *channel; /* NULL: not started */
    pid_t pid;
    int output; /* a memfd with its output; -1: none, or already read */
    const char *program;
};

/*
 * Starts the daemon's program with the option --engine-fd=N (its end of the channel) and the
 * arguments of options; node replaces each %n in the last one. The daemon inherits no other
 * descriptor, except an empty standard input, and standard output and error, which are captured.
 * Returns 0 or a negative errno. Local.
 */
int engine_daemon_start(struct engine_daemon *daemon, const struct engine_options *options,
                        int node);

/*
 * Stores the reason why the daemon has closed the channel in text: its output, or its exit status.
 * Returns the status to exit with. Waits for the daemon to exit.
 */
int engine_daemon_reason(struct engine_daemon *daemon, char *text, size_t size);

/* Asks the daemon to quit and waits for it to exit. Kills it after 10 s. */
void engine_daemon_end(struct engine_daemon *daemon);

/* Stops capturing the daemon's output. */
void engine_daemon_release(struct engine_daemon *daemon);

/* The engine of one node. */
struct engine {
    const struct engine_options *options;
    int node;
    int nodes;
    struct engine_daemon daemon;
    struct engine_file file;
    struct mpiio_homes homes;       /* of the file; the same on all nodes */
    struct mpiio_slots slots;       /* the daemon's dirty blocks, mapped when HELLO arrives */
    struct engine_collective group; /* the engines; set up before engine_start */
};

/*
 * Starts the daemon of each node, connects them and opens the file. Either all nodes are ready, or
 * none is and no daemon is left. Collective. Returns 0, or the status to exit with, the same on all
 * nodes. On failure node 0 has printed the first error and its host.
 */
int engine_start(struct engine *engine);

/* Closes the file and releases the daemon, which has sent QUIT. Collective. */
void engine_stop(struct engine *engine);

#endif
