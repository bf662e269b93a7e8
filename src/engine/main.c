/* SPDX-License-Identifier: MIT */
/* mpiio-engine(8): the MPI program of a mount on several nodes. */
#include <errno.h>
#include <getopt.h>
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

#ifdef OPEN_MPI
#define MPI_NAME "Open MPI"
#else
#define MPI_NAME "MPICH" /* or compatible */
#endif

/* The command line. */

/* OPTION_SET is the value of a flag that getopt_long has set. */
enum { OPTION_DAEMON = 256, OPTION_NAME, OPTION_SET };

static const char help_text[] =
    "Usage: mpiexec ... mpiio-engine [OPTION]... -- DAEMON-ARGUMENT... SPEC MOUNTPOINT\n"
    "The engine of one node of a mount on several: starts the node's daemon, and stores what the\n"
    "daemons hold, together with the engines of the other nodes.\n"
    "\n"
    "      --daemon=PATH  the daemon's program (default: mpiio-fused, beside this program or on\n"
    "                     the PATH); %n in its last argument is the node's number\n"
    "      --name=NAME    what messages begin with\n"
    "      --report       print how far each node is: \"started N\", \"met N\", \"mounted N\"\n"
    "      --stay         stay until the daemon has ended, whatever becomes of the engine: for\n"
    "                     Slurm, which kills what a process of a step leaves behind\n"
    "  -h, --help         print this and exit\n"
    "      --version      print the version and exit\n"
    "\n"
    "Prints \"ready\" when the views are mounted on all nodes. mpiio-mount --hosts calls it.\n"
    "Exit status: 0 unmounted, 1 failed, 2 usage or spec error. See mpiio-engine(8).\n";

static void set_wrong(struct engine_options *options, const char *what, const char *text)
{
    snprintf(options->wrong, sizeof(options->wrong), "%s%.160s (see --help)", what, text);
}

static void parse_option(struct engine_options *options, int key, char **argv)
{
    switch (key) {
    case OPTION_DAEMON:
        options->daemon = optarg;
        break;
    case OPTION_NAME:
        options->name = optarg;
        break;
    case 'h':
        options->help = true;
        break;
    case 0: /* a flag */
        break;
    case ':':
        set_wrong(options, "an argument is missing after ", argv[optind - 1]);
        break;
    default:
        if (optopt > 0 && optopt < OPTION_DAEMON)
            set_wrong(options, "unknown option: -", (char[]){(char)optopt, '\0'});
        else
            set_wrong(options, "unknown option: ", argv[optind - 1]);
        break;
    }
}

/* Parses the command line. Prints nothing, because every node would print the same. */
static void parse_options(struct engine_options *options, int argc, char **argv)
{
    const struct option names[] = {
        {"daemon", required_argument, NULL, OPTION_DAEMON},
        {"name", required_argument, NULL, OPTION_NAME},
        {"report", no_argument, &options->report, OPTION_SET},
        {"stay", no_argument, &options->stay, OPTION_SET},
        {"help", no_argument, &options->help, OPTION_SET},
        {"version", no_argument, &options->version, OPTION_SET},
        {NULL, 0, NULL, 0},
    };
    int key;

    *options = (struct engine_options){.name = "mpiio-engine"};
    opterr = 0;
    while (*options->wrong == '\0' && (key = getopt_long(argc, argv, "+:h", names, NULL)) != -1)
        parse_option(options, key, argv);
    if (*options->wrong != '\0' || options->help || options->version)
        return;
    if (optind < 2 || strcmp(argv[optind - 1], "--") != 0)
        set_wrong(options, "\"--\" and the daemon's arguments are missing", "");
    else if (optind == argc)
        set_wrong(options, "the daemon's arguments are missing", "");
    options->arguments = argv + optind;
}

/* Running. */

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

/* Collective. */
static void run_epoch(struct engine *engine, const struct mpiio_message_flush *message)
{
    const struct engine_means means = {.group = &engine->group,
                                       .file = &engine->file,
                                       .homes = &engine->homes,
                                       .slots = &engine->slots};
    struct mpiio_message answer = {.type = MPIIO_MESSAGE_RESULT};

    if (message->count > (uint32_t)engine->slots.count)
        give_up();
    atomic_store(&in_epoch, true);
    if (atomic_load(&daemon_gone))
        give_up();
    engine_epoch(&means, message, mpiio_slots_blocks(&engine->slots),
                 mpiio_slots_errors(&engine->slots), &answer.result);
    atomic_store(&in_epoch, false);
    if (mpiio_channel_send(engine->daemon.channel, &answer) != 0)
        give_up();
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
    if (engine->group.node == 0) {
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
    if (engine->group.nodes == 1 && engine_environment_size() > 1) {
        mpiio_complain(options->name,
                       "the launcher started %d engines that do not know of each other: it is not "
                       "that of %s (choose another with MPIIO_MPIEXEC)",
                       engine_environment_size(), MPI_NAME);
        return 1;
    }
    if (*options->wrong == '\0')
        return serve_epochs(engine);
    if (engine->group.node == 0)
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

int main(int argc, char **argv)
{
    struct sigaction ended = {.sa_handler = daemon_ended, .sa_flags = SA_NOCLDSTOP | SA_RESTART};
    struct engine_options options;
    struct engine engine = {.options = &options};
    int granted, status;

    parse_options(&options, argc, argv);
    if (options.help)
        fputs(help_text, stdout);
    else if (options.version)
        printf("mpiio-engine %s (%s)\n", MPIIO_VERSION, MPI_NAME);
    if (options.help || options.version)
        return 0;
    mpiio_capability_drop_fsetid(); /* as in mpiio-fused, whose data the engine stores */
    signal(SIGCHLD, SIG_DFL);       /* the caller may ignore it, but engine_stay waits for it */
    if (options.stay)
        engine_stay();
    engine_environment_prepare();
    engine_report(&options, "started", engine_environment_rank());
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
