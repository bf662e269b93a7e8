/* SPDX-License-Identifier: MIT */
#include "job.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Returns a copy of the text in which the number of the job replaces each %j. */
static char *with_job(const char *text, size_t length, uint32_t job)
{
    char *copy = NULL;
    size_t size;
    FILE *out = open_memstream(&copy, &size);

    if (out == NULL)
        return NULL;
    for (size_t i = 0; i < length; i++)
        if (text[i] == '%' && i + 1 < length && text[i + 1] == 'j')
            fprintf(out, "%" PRIu32, job), i++;
        else
            putc(text[i], out);
    if (fclose(out) == 0)
        return copy;
    free(copy);
    return NULL;
}

struct job_mount *job_mount_read(const char *text, uint32_t job)
{
    struct job_mount *mount = calloc(1, sizeof(*mount));
    size_t spec = strcspn(text, ":");
    const char *point = text[spec] ? text + spec + 1 : "";
    size_t length = strcspn(point, ":");

    if (mount == NULL || spec == 0 || length == 0) {
        free(mount);
        return NULL;
    }
    mount->spec = strndup(text, spec);
    mount->point = with_job(point, length, job);
    if (point[length] && point[length + 1])
        mount->options = strdup(point + length + 1);
    if (mount->spec && mount->point && (mount->options || !point[length] || !point[length + 1]))
        return mount;
    job_mount_free(mount);
    return NULL;
}

void job_mount_free(struct job_mount *mount)
{
    if (mount == NULL)
        return;
    free(mount->spec);
    free(mount->point);
    free(mount->options);
    free(mount);
}

/* Makes the environment that of the job. Its PATH decides where programs are searched for. */
static void use_environment(char **environment)
{
    if (environment)
        environ = environment;
    if (getenv("PATH") == NULL)
        setenv("PATH", "/usr/local/bin:/usr/bin:/bin", 1);
}

/* Runs a program. Returns its exit status. */
static int run(const char *const *words, char **environment)
{
    sigset_t none;
    pid_t child = fork();
    int status;

    if (child == 0) {
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        use_environment(environment);
        execvp(words[0], (char **)words);
        dprintf(STDERR_FILENO, "mpiio: %s: %s\n", words[0], strerror(errno));
        _exit(127);
    }
    if (child < 0) {
        dprintf(STDERR_FILENO, "mpiio: %s: %s\n", words[0], strerror(errno));
        return 127;
    }
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return 127;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int job_mount(const struct job_mount *mount, const char *hosts, char **environment)
{
    const char *words[9] = {"mpiio-mount"};
    int count = 1;

    if (mount->options) {
        words[count++] = "-o";
        words[count++] = mount->options;
    }
    if (hosts) {
        words[count++] = "--hosts";
        words[count++] = hosts;
    }
    words[count++] = "--";
    words[count++] = mount->spec;
    words[count++] = mount->point;
    return run(words, environment);
}

/* Returns true if a filesystem is mounted on a folder. Sets *dead if its daemon was killed. */
static bool is_mounted(const char *point, bool *dead)
{
    char up[PATH_MAX];
    struct stat st, above;

    *dead = stat(point, &st) != 0 && errno == ENOTCONN;
    if (*dead)
        return true;
    snprintf(up, sizeof(up), "%s/..", point);
    return stat(point, &st) == 0 && stat(up, &above) == 0 && st.st_dev != above.st_dev;
}

/* Unmounts what is still mounted. Returns true if everything was stored. */
static bool unmount(const struct job_tasks *tasks)
{
    const char *point = tasks->mount->point;
    const char *const words[] = {"mpiio-umount", tasks->alone ? "--node" : "--", point, NULL};
    bool dead, good;

    /* Nodes that have got SIGTERM, by scancel or at the time limit, unmount by themselves. */
    if (!is_mounted(point, &dead))
        return true;
    good = run(words, tasks->environment) == 0;
    if (dead)
        dprintf(STDERR_FILENO, "mpiio: %s: its daemon was killed: what it had not stored is lost\n",
                point);
    return good && !dead;
}

/* Ends this process as another one has ended. */
static void end_as(int status, bool stored)
{
    const struct rlimit no_core = {0, 0}; /* the program has dumped its own */
    sigset_t none;

    if (WIFSIGNALED(status)) {
        setrlimit(RLIMIT_CORE, &no_core);
        signal(WTERMSIG(status), SIG_DFL);
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        raise(WTERMSIG(status));
    }
    status = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
    _exit(status == 0 && !stored ? 1 : status);
}

/* Waits for the child. Passes on to it each signal that comes meanwhile; all are blocked. */
static int attend(pid_t child, const sigset_t *all)
{
    int status, number;

    while (waitpid(child, &status, WNOHANG) == 0) {
        number = sigwaitinfo(all, NULL);
        if (number > 0 && number != SIGCHLD)
            kill(child, number);
    }
    return status;
}

/*
 * Puts the program into a process group of its own, or it would get twice what Slurm or a terminal
 * sends to the group.
 */
static void leave_group(void)
{
    setpgid(0, 0);
    if (isatty(STDIN_FILENO))
        tcsetpgrp(STDIN_FILENO, getpgrp());
}

bool job_unmount_after(const struct job_tasks *tasks)
{
    sigset_t all, before;
    pid_t child;
    int status;
    bool stored = true;

    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    signal(SIGCHLD, SIG_DFL);
    child = fork();
    if (child <= 0) {
        if (child == 0)
            leave_group();
        sigprocmask(SIG_SETMASK, &before, NULL);
        return child == 0;
    }
    close_range(STDERR_FILENO + 1, ~0U, 0); /* whoever waits for the program to close them */
    status = attend(child, &all);
    if (atomic_fetch_sub(tasks->left, 1) == 1)
        stored = unmount(tasks);
    end_as(status, stored);
    return false;
}
