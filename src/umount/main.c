/* SPDX-License-Identifier: MIT */
/*
 * mpiio-umount: syncs and unmounts a mount of mpiio-mount, on all its nodes, and waits until its
 * daemon has exited; see mpiio-umount(1). Root may be asked to unmount a mount of any user, at a
 * path that the user controls. So only look.h reads inside the mount. All actions apply to the
 * mount and the daemon that the kernel reports (mount.h, process.h).
 */
#include <getopt.h>
#include <pwd.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "unmount.h"

static const char usage_text[] =
    "Usage: mpiio-umount [OPTION]... MOUNTPOINT...\n"
    "       mpiio-umount [OPTION]... --all\n"
    "Syncs and unmounts the views at each MOUNTPOINT, on all nodes; returns when the daemon is "
    "gone.\n"
    "\n"
    "  -f, --force      unmount although it is in use, cannot be synced or does not answer\n"
    "      --node       unmount this node alone: the others stay\n"
    "      --hosts=HOST,...\n"
    "                   unmount on each of these hosts, also where they have lost each other\n"
    "      --all        unmount all that you have mounted on this host\n"
    "      --dead       with --all: only what has lost its daemon\n"
    "      --user=USER  with --all: what that user has mounted, for root\n"
    "  -h, --help       print this help\n"
    "  -V, --version    print the version\n"
    "\n"
    "Exit status: 0 unmounted, 1 failed (what is mounted stays so), 2 wrong usage, 3 "
    "unmounted, and data were lost. See mpiio-umount(1).\n";

/* The request: mounts by their mount points, or all mounts of a user. */
struct request {
    struct unmount job; /* the options that all mounts have in common */
    const char *hosts;  /* hosts to unmount them on; NULL: this host */
    bool is_all;
    const char *user;
    uid_t owner;
};

static const struct option long_options[] = {
    {"force", no_argument, NULL, 'f'},
    {"node", no_argument, NULL, 'n'},
    {"hosts", required_argument, NULL, 'H'},
    {"all", no_argument, NULL, 'a'},
    {"dead", no_argument, NULL, 'd'},
    {"user", required_argument, NULL, 'u'},
    {"help", no_argument, NULL, 'h'},
    {"version", no_argument, NULL, 'V'},
    {NULL, 0, NULL, 0},
};

/* Returns -1, or the status to exit with. */
static int take_option(struct request *request, int option)
{
    switch (option) {
    case 'f':
        request->job.force = true;
        return -1;
    case 'n':
        request->job.alone = true;
        return -1;
    case 'H':
        request->hosts = optarg;
        return -1;
    case 'a':
        request->is_all = true;
        return -1;
    case 'd':
        request->job.dead_only = true;
        return -1;
    case 'u':
        request->user = optarg;
        return -1;
    case 'h':
        fputs(usage_text, stdout);
        return 0;
    case 'V':
        puts("mpiio-umount " MPIIO_VERSION);
        return 0;
    default:
        return 2;
    }
}

static int refuse_option(const char *why)
{
    fprintf(stderr, "mpiio-umount: %s\n", why);
    return 2;
}

/* Sets the owner for --all: the caller, or for root the user that --user names, by name or
   number. */
static int find_user(struct request *request)
{
    const struct passwd *user;
    char *end;
    unsigned long number;

    request->owner = geteuid();
    request->job.owner = &request->owner;
    if (request->user == NULL)
        return -1;
    if (geteuid() != 0)
        return refuse_option("--user is for root");
    user = getpwnam(request->user);
    number = strtoul(request->user, &end, 10);
    if (user == NULL && (*end != '\0' || *request->user == '\0' || number >= UINT32_MAX))
        return refuse_option("--user: no such user");
    request->owner = user != NULL ? user->pw_uid : (uid_t)number;
    return -1;
}

/* Checks the combination of options and operands. Returns -1, or the status to exit with. */
static int check_request(struct request *request, int operands, char **operand)
{
    bool empty = operands == 0;

    if (request->is_all && (operands > 0 || request->job.alone || request->hosts != NULL))
        return refuse_option("--all goes with no mount point, --node or --hosts");
    if (!request->is_all && (request->job.dead_only || request->user != NULL))
        return refuse_option("--dead and --user go with --all");
    if (request->is_all)
        return find_user(request);
    for (int i = 0; i < operands; i++)
        empty = empty || *operand[i] == '\0';
    if (empty)
        return refuse_option("expected MOUNTPOINT (see mpiio-umount --help)");
    if (request->hosts != NULL && request->job.alone)
        return refuse_option("--node and --hosts exclude each other");
    return -1;
}

/*
 * Unmounts one mount point after the other, and continues after a failure. unmount_run leaves the
 * working folder, so later mount points are found from its path.
 */
static int unmount_operands(const struct request *request, char **mountpoints)
{
    char *folder = getcwd(NULL, 0), *path = NULL;
    int status = 0;

    for (char **at = mountpoints; *at != NULL; at++) {
        struct unmount job = request->job;

        job.mountpoint = job.path = *at;
        if (at > mountpoints && **at != '/' && folder != NULL &&
            asprintf(&path, "%s/%s", folder, *at) >= 0)
            job.path = path;
        status = umount_worse(status, request->hosts != NULL
                                          ? unmount_hosts(request->hosts, *at, job.force)
                                          : unmount_run(&job));
        free(path);
        path = NULL;
    }
    free(folder);
    return status;
}

int main(int argc, char **argv)
{
    static char name[] = "mpiio-umount";
    struct request request = {0};
    int option, status = -1;

    argv[0] = name; /* getopt_long prints this name in errors */
    while (status < 0 && (option = getopt_long(argc, argv, "hVf", long_options, NULL)) >= 0)
        status = take_option(&request, option);
    if (status < 0)
        status = check_request(&request, argc - optind, argv + optind);
    if (status >= 0)
        return status;
    return request.is_all ? unmount_all(&request.job) : unmount_operands(&request, argv + optind);
}
