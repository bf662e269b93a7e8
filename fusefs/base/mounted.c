/* SPDX-License-Identifier: MIT */
#include "mounted.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

/* The limit for a daemon to report its state, in ms. */
#define STATE_WAIT 2000

/* Returns the kernel's ID of the mount whose root the folder is, or 0. Does not ask the daemon. */
static unsigned long long mount_of(int folder)
{
    struct statx st;

    if (statx(folder, "", AT_EMPTY_PATH | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC, STATX_MNT_ID,
              &st) != 0 ||
        !(st.stx_attributes & STATX_ATTR_MOUNT_ROOT))
        return 0;
    return st.stx_mnt_id;
}

/*
 * Returns true if a line of mountinfo describes the mount with this ID and the mount is one of this
 * program's. Sets *owner to the user who mounted.
 */
static bool is_ours(const char *line, unsigned long long mount, uid_t *owner)
{
    static const char type[] = " - fuse.mpiio ";
    const char *end = strstr(line, type);
    const char *user;

    if (end == NULL || strtoull(line, NULL, 10) != mount)
        return false;
    user = strstr(end, "user_id=");
    *owner = user != NULL ? (uid_t)strtoul(user + strlen("user_id="), NULL, 10) : 0;
    return true;
}

static bool find_ours(unsigned long long mount, uid_t *owner)
{
    FILE *table = fopen("/proc/self/mountinfo", "re");
    bool found = false;
    char *line = NULL;
    size_t size = 0;

    while (table != NULL && !found && getline(&line, &size, table) > 0)
        found = is_ours(line, mount, owner);
    free(line);
    if (table != NULL)
        fclose(table);
    return found;
}

/* The child's answers. Any other byte, or none, means that the mount is in neither state. */
enum answer { DEGRADED = 'd', GONE = 'g' };

/* Runs in the child: asks the daemon for its state, and writes the answer to the pipe. */
static void ask_daemon(int folder, int pipe)
{
    static const char wanted[] = "\"state\": \"degraded\",\n";
    char answer = 0;
    char stats[65536];
    int file = openat(folder, ".mpiio/stats.json", O_RDONLY | O_NONBLOCK | O_NOCTTY);
    ssize_t length = file >= 0 ? read(file, stats, sizeof(stats) - 1) : -1;

    if (file < 0 && errno == ENOTCONN)
        answer = GONE;
    stats[length > 0 ? length : 0] = '\0';
    if (strstr(stats, wanted) != NULL)
        answer = DEGRADED;
    _exit(write(pipe, &answer, 1) == 1 ? 0 : 1);
}

/* Asks the daemon from a child process, which can be killed if the daemon does not answer. */
static char answer_of(int folder)
{
    struct pollfd answered = {.events = POLLIN};
    char answer = 0;
    int ends[2];
    pid_t child;

    if (pipe2(ends, O_CLOEXEC) != 0)
        return 0;
    child = fork();
    if (child == 0)
        ask_daemon(folder, ends[1]);
    close(ends[1]);
    answered.fd = ends[0];
    if (child > 0 && (poll(&answered, 1, STATE_WAIT) != 1 || read(ends[0], &answer, 1) != 1))
        answer = 0;
    close(ends[0]);
    if (child > 0) {
        kill(child, SIGKILL);
        waitpid(child, NULL, WNOHANG);
    }
    return answer;
}

enum fs_mounted fs_mounted_at(const char *place)
{
    int folder = open(place, O_PATH | O_CLOEXEC);
    enum fs_mounted state = FS_MOUNTED_NOT;
    uid_t owner;

    if (folder < 0)
        return FS_MOUNTED_NOT;
    if (find_ours(mount_of(folder), &owner)) {
        char answer = owner == geteuid() ? answer_of(folder) : 0;

        state = answer == DEGRADED ? FS_MOUNTED_DEGRADED
                : answer == GONE   ? FS_MOUNTED_NOT
                                   : FS_MOUNTED;
    }
    close(folder);
    return state;
}

dev_t fs_mounted_device(const char *place)
{
    struct statx st = {0};

    statx(AT_FDCWD, place, AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC, STATX_TYPE, &st);
    return makedev(st.stx_dev_major, st.stx_dev_minor);
}
