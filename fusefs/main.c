/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/process.h"
#include "mount.h"
#include "session.h"
#include "viewspec/base/list.h"

/*
 * The file descriptors inherited from the caller. If the daemon kept them, it would hold the
 * caller's locks, and readers of the caller's pipes would never see their end. They stay open until
 * the mount has been prepared, because the spec may be one of them (/dev/fd/5).
 */
struct inherited {
    int *fds; /* without 0, 1 and 2; owned */
    size_t count, room;
};

/*
 * Opens /dev/null as 0, 1 and 2 if they are closed, so that a file opened later never becomes
 * stdout. Returns 0 or a negative errno.
 */
static int open_standard(void)
{
    int fd;

    do {
        fd = open("/dev/null", O_RDWR);
        if (fd < 0)
            return -errno;
    } while (fd <= STDERR_FILENO);
    close(fd);
    return 0;
}

/*
 * Records the inherited descriptors, before any other file is opened, and marks them close-on-exec.
 * Opens /dev/null as 0, 1 and 2 if they are closed. Returns 0 or a negative errno.
 */
static int inherited_note(struct inherited *inherited)
{
    struct dirent *entry;
    int error = open_standard();
    DIR *folder;

    *inherited = (struct inherited){.fds = NULL};
    if (error != 0)
        return error;
    close_range(STDERR_FILENO + 1, UINT_MAX, CLOSE_RANGE_CLOEXEC);
    folder = opendir("/proc/self/fd");
    if (folder == NULL)
        return -errno;
    while (error == 0 && (entry = readdir(folder)) != NULL) {
        int fd = atoi(entry->d_name);

        if (fd <= STDERR_FILENO || fd == dirfd(folder))
            continue;
        if (VS_LIST_ROOM(inherited->fds, inherited->count, inherited->room))
            inherited->fds[inherited->count++] = fd;
        else
            error = -ENOMEM;
    }
    closedir(folder);
    return error;
}

/* Closes the inherited descriptors except kept (-1: none), and frees the list. */
static void inherited_close(struct inherited *inherited, int kept)
{
    for (size_t i = 0; i < inherited->count; i++)
        if (inherited->fds[i] != kept)
            close(inherited->fds[i]);
    free(inherited->fds);
    *inherited = (struct inherited){.fds = NULL};
}

/* mpiio-fused(8): the daemon of a mount. */
int main(int argc, char **argv)
{
    struct fs_options options;
    struct fs_session session;
    struct inherited inherited;
    int error = inherited_note(&inherited);
    int status = 2;

    if (error != 0) {
        fprintf(stderr, "mpiio-fused: /proc/self/fd: %s\n", strerror(-error));
        return 1;
    }
    /* With CAP_FSETID, a write by root on behalf of a caller would not clear a set-user-ID bit. */
    mpiio_capability_drop_fsetid();
    /* Calls then fail with EPIPE and EFBIG instead of ending the daemon. */
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    signal(SIGCHLD, SIG_DFL); /* the caller may ignore it, but waitpid(2) needs it */
    /* libfuse 3.18 would take requests by io_uring (src/DESIGN.md, "Who waits for whom in the
       kernel"). */
    unsetenv("FUSE_URING_ENABLE");
    if (fs_options_parse(&options, argc, argv) != 0)
        goto out;
    status = 0;
    if (options.help) {
        fs_options_help();
        goto out;
    }
    if (options.version) {
        printf("mpiio-fused %s\n", MPIIO_VERSION);
        goto out;
    }
    status = fs_mount_open(&session, &options);
    inherited_close(&inherited, options.engine_fd >= 0 ? options.engine_fd : options.fuse_fd);
    if (status == 0)
        status = fs_session_run(&session);
    fs_mount_close(&session);
out:
    fs_options_free(&options);
    return status;
}
