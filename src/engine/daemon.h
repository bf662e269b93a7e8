/* SPDX-License-Identifier: MIT */
#ifndef ENGINE_DAEMON_H
#define ENGINE_DAEMON_H

#include <stddef.h>
#include <sys/types.h>

#include "cluster/engine_channel.h"
#include "options.h"

/*
 * The node's daemon as its engine sees it: a child in a session of its own, so that what ends the
 * engines (mpiexec, when one of them dies) does not end the daemons.
 */
struct engine_daemon {
    struct mpiio_channel *channel; /* NULL: not started */
    pid_t pid;
    int output; /* a memfd with what it has printed; -1: none, or not looked at any more */
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

#endif
