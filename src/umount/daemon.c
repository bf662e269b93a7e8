/* SPDX-License-Identifier: MIT */
#include "process.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "mounts/child.h"
#include "mounts/ending.h"
#include "mounts/mount.h"

/* The likelihood that a process serves a mount. */
enum serves { NOT, PERHAPS, SURELY };

struct search {
    const struct mounts_mount *mount;
    int64_t hint;
    bool named_only;
    struct umount_daemon *daemon; /* the best candidate so far */
    int best;
    pid_t pid; /* the process whose descriptors are examined */
    enum serves serves;
};

/* The rank of a daemon that holds the connection, and that the mount or its command line names. */
#define SURE 3

/* Examines a descriptor of a process: is it the mount's connection? */
static bool visit_descriptor(void *data, const char *name)
{
    struct search *search = data;
    const char *field = "\nfuse_connection:";
    char path[300], text[1024];
    unsigned number;

    snprintf(path, sizeof(path), "fd/%s", name);
    if (!umount_process_link(search->pid, path, text, sizeof(text)) ||
        strcmp(text, "/dev/fuse") != 0)
        return true;
    snprintf(path, sizeof(path), "fdinfo/%s", name);
    if (umount_process_file(search->pid, path, text, sizeof(text)) < 0)
        *text = '\0';
    field = strstr(text, field);
    if (field == NULL)
        search->serves = PERHAPS;
    else if (sscanf(field, " fuse_connection: %u", &number) == 1 &&
             number == search->mount->entry.minor && search->mount->entry.major == 0)
        search->serves = SURELY;
    return search->serves != SURELY;
}

/* Returns true if the last argument of the process is the mount point. */
static bool is_named(const struct search *search)
{
    char words[65536];
    ssize_t length = umount_process_file(search->pid, "cmdline", words, sizeof(words));
    ssize_t last = length - 2;

    while (last > 0 && words[last - 1] != '\0')
        last--;
    return last > 0 && strcmp(words + last, search->mount->entry.place) == 0;
}

/*
 * Ranks the process as a candidate; 0: it is none. The number of a connection is reused as soon as
 * its mount has gone, while the daemon of that mount may still be running.
 */
static int rank_process(struct search *search)
{
    char name[UMOUNT_COMM_MAX];
    bool named;

    search->serves = NOT;
    umount_each_name(search->pid, "fd", visit_descriptor, search);
    if (search->serves == NOT)
        return 0;
    named = search->pid == search->hint || is_named(search);
    if (!named && search->named_only)
        return 0;
    if (search->serves == SURELY)
        return named ? SURE : SURE - 1;
    umount_process_name(search->pid, name);
    return named && strcmp(name, "mpiio-fused") == 0;
}

/* Among equal candidates the last one wins, because it is probably the newest. */
static bool visit_process(void *data, pid_t pid)
{
    struct search *search = data;
    struct umount_daemon one = {pid, pidfd_open(pid, 0)};
    int found;

    if (one.process < 0)
        return true;
    search->pid = pid;
    found = pid != getpid() && umount_process_is_of(pid, search->mount->entry.owner)
                ? rank_process(search)
                : 0;
    /* If the process is still alive now, everything that was read belongs to the process of the
       pidfd. */
    if (found == 0 || found < search->best || mounts_process_ends_within(one.process, 0)) {
        close(one.process);
        return true;
    }
    if (search->daemon->pid != 0)
        close(search->daemon->process);
    *search->daemon = one;
    search->best = found;
    return found != SURE;
}

void umount_daemon_find(const struct mounts_mount *mount, int64_t hint, bool named_only,
                        struct umount_daemon *daemon)
{
    struct search search = {
        .mount = mount, .hint = hint, .named_only = named_only, .daemon = daemon};

    *daemon = (struct umount_daemon){0, -1};
    /* Mounts usually tell the truth. Then no other process needs to be examined. */
    if (hint <= 0 || hint > INT_MAX || visit_process(&search, (pid_t)hint))
        umount_each_process(visit_process, &search);
}

/* Its final report. */

struct memory_search {
    pid_t pid;
    int found; /* opened with O_PATH, or -1 */
};

static bool visit_memory(void *data, const char *name)
{
    static const char wanted[] = "/memfd:" MOUNTS_ENDING " (deleted)";
    struct memory_search *search = data;
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
 * Returns true if an O_PATH descriptor refers to a memfd: all of them are on one device of the
 * kernel. A FUSE filesystem can forge the name. statx with AT_STATX_DONT_SYNC does not send a
 * request to such a filesystem, which might never answer.
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
    struct memory_search search = {.pid = daemon->pid, .found = -1};
    char path[MOUNTS_FD_LINK_SIZE];
    int fd = -1;

    umount_each_name(daemon->pid, "fd", visit_memory, &search);
    if (search.found < 0)
        return -1;
    /* If the daemon is still alive, its pid has not been reused meanwhile. */
    if (is_memory(search.found) && !mounts_process_ends_within(daemon->process, 0)) {
        mounts_fd_link(search.found, path);
        fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    }
    close(search.found);
    return fd;
}

int64_t umount_ending_waits(int fd)
{
    struct mounts_ending ending;

    return pread(fd, &ending, sizeof(ending), 0) == sizeof(ending) ? ending.waits : 0;
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
