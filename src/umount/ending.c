/* SPDX-License-Identifier: MIT */
#include "ending.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "mounts/ending.h"
#include "mounts/fd_link.h"
#include "process.h"

struct search {
    pid_t pid;
    int found; /* opened by O_PATH, or -1 */
};

static bool visit(void *data, const char *name)
{
    static const char wanted[] = "/memfd:" MOUNTS_ENDING " (deleted)";
    struct search *search = data;
    char link[300], path[320], target[sizeof(wanted)];

    snprintf(link, sizeof(link), "fd/%s", name);
    if (!umount_process_link(search->pid, link, target, sizeof(target)) ||
        strcmp(target, wanted) != 0)
        return true;
    snprintf(path, sizeof(path), "/proc/%d/%s", (int)search->pid, link);
    search->found = open(path, O_PATH | O_CLOEXEC);
    return false;
}

/*
 * Returns true if a descriptor opened by O_PATH is of memory, all of which is on one device of the
 * kernel's. A FUSE filesystem can forge the name. Any other call than this one would ask that
 * filesystem, which might never answer; this call does not need its answer.
 */
static bool is_memory(int fd)
{
    int memory = memfd_create("mpiio-umount", MFD_CLOEXEC);
    struct statx stx = {0};
    struct stat st;
    bool same;

    if (memory < 0)
        return false;
    same = fstat(memory, &st) == 0 &&
           statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, 0, &stx) == 0 &&
           makedev(stx.stx_dev_major, stx.stx_dev_minor) == st.st_dev;
    close(memory);
    return same;
}

int umount_ending_open(const struct umount_daemon *daemon)
{
    struct search search = {.pid = daemon->pid, .found = -1};
    char path[MOUNTS_FD_LINK_SIZE];
    int fd = -1;

    umount_each_name(daemon->pid, "fd", visit, &search);
    if (search.found < 0)
        return -1;
    /* If the daemon still lives, its number has not been another process's meanwhile. */
    if (is_memory(search.found) && !umount_daemon_ends_within(daemon, 0)) {
        mounts_fd_link(search.found, path);
        fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    }
    close(search.found);
    return fd;
}

int64_t umount_ending_lost(int fd, bool *unreported)
{
    struct mounts_ending ending;
    bool known = pread(fd, &ending, sizeof(ending), 0) == sizeof(ending);
    int64_t bytes;

    *unreported = known && ending.lost < 0;
    bytes = *unreported ? ending.waiting : ending.lost;
    return known && bytes >= 0 ? bytes : -1;
}
