/* SPDX-License-Identifier: MIT */
#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

long long mounts_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

/* Children that were given up and have not been reaped. */
static struct {
    pid_t *pid;
    size_t count, room;
} given_up;

void mounts_child_reap(void)
{
    size_t left = 0;

    for (size_t i = 0; i < given_up.count; i++)
        if (waitpid(given_up.pid[i], NULL, WNOHANG) == 0)
            given_up.pid[left++] = given_up.pid[i];
    given_up.count = left;
}

/* Kills a child. If memory is exhausted, it stays a zombie until this process exits. */
static void give_up(pid_t pid)
{
    kill(pid, SIGKILL);
    if (given_up.count == given_up.room) {
        size_t room = 2 * given_up.room + 16;
        pid_t *more = realloc(given_up.pid, room * sizeof(*more));

        if (more == NULL)
            return;
        given_up.pid = more;
        given_up.room = room;
    }
    given_up.pid[given_up.count++] = pid;
}

/* Closes all descriptors except two, one of which may be -1. */
static void close_others(int one, int other)
{
    int low = one < other ? one : other, high = one < other ? other : one;

    if (low > 0)
        close_range(0, (unsigned)low - 1, 0);
    if (high > low + 1)
        close_range((unsigned)low + 1, (unsigned)high - 1, 0);
    close_range((unsigned)high + 1, ~0U, 0);
}

static void run_child(int (*work)(void *data, int out), void *data, int out, int keep)
{
    setsid();
    close_others(out, keep);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    _exit(chdir("/") == 0 ? work(data, out) : 1);
}

int mounts_child_start(struct mounts_child *child, int (*work)(void *data, int out), void *data,
                       int keep)
{
    int ends[2];
    int error;

    /* The caller may ignore it. Then the kernel discards the child's status. */
    signal(SIGCHLD, SIG_DFL);
    mounts_child_reap();
    if (pipe2(ends, O_CLOEXEC) != 0)
        return -errno;
    child->pid = fork();
    if (child->pid == 0)
        run_child(work, data, ends[1], keep);
    error = child->pid < 0 ? -errno : 0;
    close(ends[1]);
    child->answer = ends[0];
    if (error == 0)
        child->process = pidfd_open(child->pid, 0);
    if (error == 0 && child->process < 0) {
        error = -errno;
        give_up(child->pid);
    }
    if (error != 0)
        close(ends[0]);
    return error;
}

void mounts_child_make_room(size_t children)
{
    const rlim_t wanted = 4 * (rlim_t)children + 64;
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted)
        return;
    limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
    setrlimit(RLIMIT_NOFILE, &limit);
}

void mounts_child_abandon(struct mounts_child *child)
{
    give_up(child->pid);
    close(child->answer);
    close(child->process);
}

/* Returns true once the descriptor is ready, or false if the time end has come first. */
static bool is_ready(int fd, long long end)
{
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    int got;

    do {
        long long left = end < 0 ? -1 : end - mounts_now();

        if (end >= 0 && left < 0)
            left = 0;
        got = poll(&wait, 1, (int)left);
    } while (got < 0 && errno == EINTR);
    return got > 0;
}

bool mounts_process_ends_within(int process, int ms)
{
    return is_ready(process, mounts_now() + ms);
}

int mounts_child_exec(void *data, int out)
{
    char *const *argv = data;
    /* Duplicate out to 3 or higher, where the dup2 calls below cannot overwrite it. */
    int saved = fcntl(out, F_DUPFD, 3), null = open("/dev/null", O_RDWR);

    if (saved < 0 || null < 0 || dup2(null, 0) < 0 || dup2(saved, 1) < 0 || dup2(saved, 2) < 0)
        return 1;
    close_range(3, ~0U, 0);
    execvp(argv[0], argv);
    dprintf(2, "%s: %s\n", argv[0], strerror(errno));
    return 1;
}

int mounts_child_finish(struct mounts_child *child, char *answer, size_t size, size_t *length,
                        int limit)
{
    long long end = limit < 0 ? -1 : mounts_now() + limit;
    ssize_t got = 1;
    int status, error = -ETIMEDOUT;

    *length = 0;
    while (got > 0 && *length < size && is_ready(child->answer, end)) {
        got = read(child->answer, answer + *length, size - *length);
        if (got > 0)
            *length += (size_t)got;
    }
    close(child->answer);
    if (is_ready(child->process, end) && waitpid(child->pid, &status, WNOHANG) == child->pid)
        error = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
    else
        give_up(child->pid);
    close(child->process);
    return error;
}
