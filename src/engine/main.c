/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <mpi.h>

#include "core/base/complain.h"
#include "core/base/process.h"
#include "epoch.h"
#include "start.h"

/* Size in bytes of MPI's largest file in memory that the nodes of one host share. */
#define SHARED_MIN (16 << 20)

/*
 * Exits without another MPI call. MPI hangs if a peer has failed, or if a peer's daemon has. The
 * daemons detect the failure themselves, and end their engines.
 */
static void give_up(void)
{
    _exit(1);
}

/*
 * During an epoch no thread listens to the daemon, and an epoch may never finish if other engines
 * have failed. So a signal reports the daemon's exit. After that the engine must not store: the
 * other nodes may have declared this one failed. The signal may arrive in a thread of MPI.
 */
static atomic_bool in_epoch, daemon_gone;

static void daemon_ended(int number)
{
    (void)number;
    atomic_store(&daemon_gone, true);
    if (atomic_load(&in_epoch))
        give_up();
}

static void begin_epoch(void)
{
    atomic_store(&in_epoch, true);
    if (atomic_load(&daemon_gone))
        give_up();
}

/* Collective, except for receiving the blocks. */
static void run_epoch(struct engine *engine, const struct mpiio_message_flush *message)
{
    struct mpiio_flush_block *blocks = calloc((size_t)message->count + 1, sizeof(*blocks));
    int32_t *errors = calloc((size_t)message->count + 1, sizeof(*errors));
    const struct engine_means means = {.group = &engine->group,
                                       .file = &engine->file,
                                       .homes = &engine->homes,
                                       .slots = &engine->slots};
    struct mpiio_message_result result;

    if (blocks == NULL || errors == NULL || message->count > (uint32_t)engine->slots.count ||
        mpiio_channel_receive_blocks(engine->daemon.channel, blocks, message->count) != 0)
        give_up();
    begin_epoch();
    engine_epoch(&means, message, blocks, errors, &result);
    atomic_store(&in_epoch, false);
    if (mpiio_channel_send_result(engine->daemon.channel, &result, errors) != 0)
        give_up();
    free(blocks);
    free(errors);
}

/* Runs epochs on request of the daemon. It blocks between them, and uses no processor time. */
static void serve_daemon(struct engine *engine)
{
    struct mpiio_message message;

    for (;;) {
        if (mpiio_channel_receive(engine->daemon.channel, &message) != 0)
            give_up();
        if (message.type == MPIIO_MESSAGE_QUIT)
            return;
        if (message.type != MPIIO_MESSAGE_FLUSH)
            give_up();
        run_epoch(engine, &message.flush);
    }
}

/* Collective: starts, serves epochs and stops. */
static int serve_epochs(struct engine *engine)
{
    int status = engine_start(engine);

    if (status != 0)
        return status;
    if (engine->node == 0) {
        puts("ready");
        fflush(stdout);
    }
    if (engine->options->stay)
        engine_stay_on(engine->daemon.pid);
    serve_daemon(engine);
    engine_leave_soon(0);
    engine_stop(engine);
    return 0;
}

/* Collective. */
static int run_node(struct engine *engine)
{
    const struct engine_options *options = engine->options;

    engine->group.messages = engine_messages_new(&engine->group.node, &engine->group.nodes);
    engine->node = engine->group.node;
    engine->nodes = engine->group.nodes;
    if (engine->nodes == 1 && engine_environment_size() > 1) {
        mpiio_complain(options->name,
                       "the launcher started %d engines that do not know of each other: it is not "
                       "that of %s (choose another with MPIIO_MPIEXEC)",
                       engine_environment_size(), engine_environment_mpi());
        return 1;
    }
    if (*options->wrong == '\0')
        return serve_epochs(engine);
    if (engine->node == 0)
        mpiio_complain(options->name, "%s", options->wrong);
    return 2;
}

/*
 * Warns of a low file size limit before MPI starts. Without room for its shared memory, MPI ends
 * the process with no message of ours, or with an obscure one of its network.
 */
static void tell_limit(const struct engine_options *options)
{
    char host[HOST_NAME_MAX + 1] = "";

    if (mpiio_rlimit_file_size() >= SHARED_MIN)
        return;
    gethostname(host, sizeof(host) - 1);
    mpiio_complain(options->name,
                   "%s: MPI has no room for its memory: %s (raise the limit with ulimit -f)", host,
                   strerror(EFBIG));
}

/* mpiio-engine(8): the MPI program of a mount on several nodes. */
int main(int argc, char **argv)
{
    struct sigaction ended = {.sa_handler = daemon_ended, .sa_flags = SA_NOCLDSTOP | SA_RESTART};
    struct engine_options options;
    struct engine engine = {.options = &options};
    int granted, status;

    engine_options_parse(&options, argc, argv);
    if (options.help || options.version) {
        if (options.help)
            engine_options_help();
        else
            printf("mpiio-engine %s (%s)\n", MPIIO_VERSION, engine_environment_mpi());
        return 0;
    }
    mpiio_capability_drop_fsetid(); /* as in mpiio-fused, whose data the engine stores */
    if (options.stay)
        engine_stay();
    engine_environment_prepare();
    if (options.report)
        engine_report("started", engine_environment_rank());
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* report a file size limit as EFBIG for each block */
    sigaction(SIGCHLD, &ended, NULL);
    /* Over TCP, MPI has two connections to each other node, and does not raise the limit itself. */
    mpiio_rlimit_descriptors(UINT64_MAX);
    /* Only one thread calls MPI; the daemons' threads are in other processes. */
    engine_fence_hold_signal();
    tell_limit(&options);
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SINGLE, &granted);
    engine_fence_take_signal();
    status = run_node(&engine);
    engine_leave(&engine.group, status);
}
