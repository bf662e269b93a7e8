/* SPDX-License-Identifier: MIT */
/* The command: executes a program with libmpiio-run preloaded. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/complain.h"
#include "core/base/process.h"

#define EXIT_FAILED         1
#define EXIT_USAGE          2
#define EXIT_NOT_EXECUTABLE 126 /* like env, nohup and timeout */
#define EXIT_NOT_FOUND      127

static const char help[] =
    "Usage: mpiio-run [--] COMMAND [ARGUMENT]...\n"
    "Runs a program that reads and writes slices of a mount in the shared file itself, where that\n"
    "makes no difference but in speed; else through the mount, as without.\n"
    "\n"
    "  -s, --stats    say at the end of each process what was served and what was not\n"
    "  -h, --help     this text\n"
    "  -V, --version  the version\n"
    "\n"
    "Examples:\n"
    "  mpiio-run python3 analyse.py mnt/rank3\n"
    "  mpiexec -n 4 mpiio-run ./serial mnt/self\n"
    "\n"
    "Exit status: the command's; 126, 127 if it cannot be run; 1 failed, 2 wrong usage.\n";

static const struct option long_options[] = {
    {"stats", no_argument, NULL, 's'},
    {"help", no_argument, NULL, 'h'},
    {"version", no_argument, NULL, 'V'},
    {NULL, 0, NULL, 0},
};

/* Prints the message and yields the status that goes with it. */
#define FAIL(status, ...) (mpiio_complain("mpiio-run", __VA_ARGS__), (status))

static int run_command(char **command)
{
    const char *wrong = mpiio_preload(MPIIO_RUN_LIBRARY, "libmpiio-run.so");

    if (wrong != NULL)
        return FAIL(EXIT_FAILED, "%s", wrong);
    execvp(command[0], command);
    return FAIL(errno == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE, "%s: %s", command[0],
                strerror(errno));
}

int main(int argc, char **argv)
{
    int option;

    opterr = 0;
    while ((option = getopt_long(argc, argv, "+shV", long_options, NULL)) != -1) {
        switch (option) {
        case 's':
            if (setenv("MPIIO_RUN_STATS", "1", 1) != 0)
                return FAIL(EXIT_FAILED, "%s", strerror(errno));
            break;
        case 'h':
            fputs(help, stdout);
            return 0;
        case 'V':
            puts("mpiio-run " MPIIO_VERSION);
            return 0;
        default:
            return FAIL(EXIT_USAGE, "%s: no such option (see mpiio-run --help)", argv[optind - 1]);
        }
    }
    if (optind == argc)
        return FAIL(EXIT_USAGE, "COMMAND is missing (see mpiio-run --help)");
    return run_command(argv + optind);
}
