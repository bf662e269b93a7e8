/* SPDX-License-Identifier: MIT */
/*
 * Preloaded into an engine: freezes it once, right before a call, when a file $FREEZE/HOST exists.
 * If the file says "stop", the process is stopped before a write. If "hold", a write waits until
 * $FREEZE/HOST.go exists, as on a machine that is paused. If "sync", the first fsync or fdatasync
 * after a write waits for that file, as on a slow disk. The processes whose numbers follow are
 * stopped first. $FREEZE/HOST.frozen is then created right before the freeze, and $FREEZE/HOST.done
 * after the call.
 *
 * While the file $HANG_FILE exists, each fsync and fdatasync of the engine creates $HANG_FILE.at
 * and blocks, as if a filesystem's server did not answer. With $HANG_ALL, those of the daemon do
 * so, too.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static char path[4096];
static int wrote;

static int is_engine(void)
{
    return strcmp(program_invocation_short_name, "mpiio-engine-mpich") == 0;
}

static const char *file(const char *suffix)
{
    char host[256] = "";

    gethostname(host, sizeof(host) - 1);
    snprintf(path, sizeof(path), "%s/%s%s", getenv("FREEZE"), host, suffix);
    return path;
}

static void make(const char *suffix)
{
    close(open(file(suffix), O_WRONLY | O_CREAT, 0666));
}

/* Stops the processes whose numbers are in a text. */
static void stop_all(const char *processes)
{
    char *end;

    for (long process = strtol(processes, &end, 10); process > 0; process = strtol(end, &end, 10))
        kill((pid_t)process, SIGSTOP);
}

/* Returns true if the engine must freeze in this call, which is a sync or a write. */
static int freeze(int syncs)
{
    static int over;
    char how[256] = "";
    int fd;

    if (over || getenv("FREEZE") == NULL || !is_engine())
        return 0;
    fd = open(file(""), O_RDONLY);
    if (fd < 0 || read(fd, how, sizeof(how) - 1) <= 0)
        return 0;
    close(fd);
    if (syncs != (strncmp(how, "sync", 4) == 0))
        return 0;
    over = 1;
    stop_all(how + 4);
    make(".frozen");
    if (strncmp(how, "stop", 4) == 0)
        raise(SIGSTOP);
    else
        while (access(file(".go"), F_OK) != 0)
            usleep(10000);
    return 1;
}

static ssize_t write_at(int fd, const void *buffer, size_t length, off_t offset)
{
    int frozen = freeze(0);
    ssize_t result = syscall(SYS_pwrite64, fd, buffer, length, offset);

    wrote = 1;

    if (frozen)
        make(".done");
    return result;
}

/* The C library's two names of pwrite. */
ssize_t named_pwrite(int fd, const void *buffer, size_t length, off_t offset) __asm__("pwrite");
ssize_t named_pwrite64(int fd, const void *buffer, size_t length, off_t offset) __asm__("pwrite64");

ssize_t named_pwrite(int fd, const void *buffer, size_t length, off_t offset)
{
    return write_at(fd, buffer, length, offset);
}

ssize_t named_pwrite64(int fd, const void *buffer, size_t length, off_t offset)
{
    return write_at(fd, buffer, length, offset);
}

static void hang(void)
{
    const char *until = getenv("HANG_FILE");
    char at[4096];

    snprintf(at, sizeof(at), "%s.at", until != NULL ? until : "");
    while (until != NULL && access(until, F_OK) == 0 &&
           (getenv("HANG_ALL") != NULL || is_engine())) {
        close(open(at, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
        usleep(10000);
    }
}

static int sync_file(int fd, long number)
{
    int frozen = wrote && freeze(1), result;

    hang();
    result = (int)syscall(number, fd);
    if (frozen)
        make(".done");
    return result;
}

int fsync(int fd)
{
    return sync_file(fd, SYS_fsync);
}

int fdatasync(int fd)
{
    return sync_file(fd, SYS_fdatasync);
}
