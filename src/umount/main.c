/* SPDX-License-Identifier: MIT */
/*
 * mpiio-umount: syncs and unmounts what mpiio-mount mounted, on all its nodes, and waits until its
 * daemon is gone; see mpiio-umount(1). Root may be called upon to unmount what any user has
 * mounted, by a path in the hands of that user: what is inside is looked at by look.h alone, and
 * what is done is done to the mount and the daemon that the kernel says there are (mount.h,
 * daemon.h).
 */
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hosts.h"
#include "unmount.h"

static const char usage_text[] =
    "Usage: mpiio-umount [OPTION]... MOUNTPOINT\n"
    "Syncs and unmounts the views mounted at MOUNTPOINT, on all nodes; returns when the daemon is "
    "gone.\n"
    "\n"
    "  -f, --force      unmount although it is in use, cannot be synced or does not answer\n"
    "      --node       unmount this node alone: the others stay\n"
    "      --hosts=HOST,...\n"
    "                   unmount on each of these hosts, also where they have lost each other\n"
    "  -h, --help       print this help\n"
    "  -V, --version    print the version\n"
    "\n"
    "Exit status: 0 unmounted, 1 failed (what is mounted stays so), 2 wrong usage. See "
    "mpiio-umount(1).\n";

static const struct option long_options[] = {
    {"force", no_argument, NULL, 'f'},       {"node", no_argument, NULL, 'n'},
    {"hosts", required_argument, NULL, 'H'}, {"help", no_argument, NULL, 'h'},
    {"version", no_argument, NULL, 'V'},     {NULL, 0, NULL, 0},
};

/* 0 where there is more to do, or the status to exit with + 1. */
static int parse(int argc, char **argv, struct unmount *job)
{
    static char name[] = "mpiio-umount";
    int option;

    argv[0] = name; /* getopt_long complains under it */
    while ((option = getopt_long(argc, argv, "hVf", long_options, NULL)) >= 0)
        switch (option) {
        case 'f':
            job->force = true;
            break;
        case 'n':
            job->alone = true;
            break;
        case 'H':
            job->hosts = optarg;
            break;
        case 'h':
            fputs(usage_text, stdout);
            return 1;
        case 'V':
            puts("mpiio-umount " MPIIO_VERSION);
            return 1;
        default:
            return 3;
        }
    if (argc - optind != 1 || *argv[optind] == '\0') {
        fputs("mpiio-umount: expected MOUNTPOINT (see mpiio-umount --help)\n", stderr);
        return 3;
    }
    if (job->hosts != NULL && job->alone) {
        fputs("mpiio-umount: --node and --hosts exclude each other\n", stderr);
        return 3;
    }
    job->mountpoint = argv[optind];
    return 0;
}

int main(int argc, char **argv)
{
    struct unmount job = {.nodes = 1};
    int status = parse(argc, argv, &job);

    if (status > 0)
        return status - 1;
    if (job.hosts != NULL)
        return unmount_hosts(job.hosts, job.mountpoint, job.force);
    return unmount_run(&job);
}
