/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/*
 * Preloaded. While the file HANG_FILE exists, an engine's syncs of the file block, as if a
 * filesystem's server did not answer. With HANG_ALL, so do its daemon's.
 */

static bool hangs(void)
{
    const char *path = getenv("HANG_FILE");

    return path != NULL && access(path, F_OK) == 0 &&
           (getenv("HANG_ALL") != NULL ||
            strcmp(program_invocation_short_name, "mpiio-engine-mpich") == 0);
}

/* Creates the file HANG_FILE.at to report that a call blocks. */
static void mark(void)
{
    char path[PATH_MAX];

    snprintf(path, sizeof(path), "%s.at", getenv("HANG_FILE"));
    close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
}

static long sync_by(long number, int fd)
{
    while (hangs()) {
        mark();
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
    return syscall(number, fd);
}

int fsync(int fd)
{
    return (int)sync_by(SYS_fsync, fd);
}

int fdatasync(int fd)
{
    return (int)sync_by(SYS_fdatasync, fd);
}
