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
    /* flags, int for getopt_long(3) */
    int report; /* report the progress of the start */
    int stay;   /* until the daemon has exited: engine_stay */
    int help, version;
    char wrong[256]; /* an error in the command line; "": none */
};

/*
 * The node's daemon as its engine sees it: a child in a session of its own. If mpiexec kills the
 * engines because one has failed, the daemons survive.
 */
struct engine_daemon {
    struct mpiio_channel *channel; /* NULL: none; engine_daemon_end frees it in any case */
    pid_t pid;
    int output; /* a memfd with its output during the start; -1: none */
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

/* Asks the daemon, if it was started, to quit, and waits for it to exit. Kills it after 10 s. */
void engine_daemon_end(struct engine_daemon *daemon);

/* The engine of one node. */
struct engine {
    const struct engine_options *options;
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

/* The engine's environment and its parent processes. The following functions are local, except
   engine_leave. */

/*
 * Prepares the process; call it before MPI_Init. It closes inherited descriptors, so that the mount
 * does not keep the caller's files open. It keeps 0, 1, 2 and the descriptor of the process
 * manager. It disables MPI's asynchronous progress thread, because an engine is idle between
 * epochs. It makes Open MPI use ROMIO, unless the environment overrides that: Open MPI's own MPI-IO
 * makes writes truly collective and has no hints to prevent that.
 */
void engine_environment_prepare(void);

/* Returns the rank that the process starter has assigned, or -1 if it is unknown. */
int engine_environment_rank(void);

/* Returns the number of processes that the starter has started, or -1 if it is unknown. */
int engine_environment_size(void);

/* Prints the line "STAGE NODE" for the program that waits for the nodes, if the options ask for it
   and node is not -1. */
void engine_report(const struct engine_options *options, const char *stage, int node);

/*
 * Continues in a child process, which becomes the engine. It is for a manager that kills the
 * descendants of a process as soon as that process exits, and signals only that process (Slurm with
 * control groups). The parent waits until the engine and its daemon have exited, in either order,
 * and exits with the engine's status. It forwards the signals that make a daemon unmount (SIGTERM,
 * SIGINT, SIGHUP). If that fails, it returns in the same process. Call it before MPI_Init, while
 * there is one thread.
 */
void engine_stay(void);

/* From now on, the engine forwards these signals to its daemon, and does not exit because of
   them. */
void engine_stay_on(pid_t daemon);

/*
 * Ends the process with a status, instead of calling MPI_Finalize. Over TCP, MPICH's MPI_Finalize
 * hangs if processes do not call it at the same time: the first ones wait for the others and no
 * longer answer them (MPI 3.1, 8.7, requires it to return). All that matters is done by then. With
 * other libraries, and if MPICH uses another protocol with mpiexec, it calls MPI_Finalize.
 * Collective: all messages must have been received. If a process has failed, and mpiexec does not
 * end the others, they exit after ten seconds. Does not return.
 */
_Noreturn void engine_leave(struct engine_collective *group, int status);

/*
 * Makes this process exit with that status within ten seconds, whatever it waits for. Call it
 * before collective calls of MPI that other processes may not reach.
 */
void engine_leave_soon(int status);

#endif
