/* SPDX-License-Identifier: MIT */
#include "job.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Returns a copy of the text with each %j replaced by the job ID. */
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

    if (mount == NULL || spec == 0 || point[0] != '/') {
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

/* Switches to the job's environment. execvp then searches the job's PATH. */
static void use_environment(char **environment)
{
    if (environment)
        environ = environment;
    if (getenv("PATH") == NULL)
        setenv("PATH", "/usr/local/bin:/usr/bin:/bin", 1);
}

/* Runs a program, perhaps out of reach of signals to the caller's group. Returns its exit status.
 */
static int run(const char *const *words, char **environment, bool own_group)
{
    sigset_t none;
    pid_t child = fork();
    int status;

    if (child == 0) {
        if (own_group)
            setpgid(0, 0);
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        use_environment(environment);
        execvp(words[0], (char **)words);
    }
    if (child <= 0)
        dprintf(STDERR_FILENO, "mpiio: %s: %s\n", words[0], strerror(errno));
    if (child == 0)
        _exit(127);
    while (child > 0 && waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            child = -1;
    if (child < 0)
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
    return run(words, environment, false);
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

/* Unmounts what is still mounted. Returns false if data is lost or could not be stored. */
static bool unmount(const struct job_tasks *tasks)
{
    const char *point = tasks->mount->point;
    const char *const words[] = {"mpiio-umount", tasks->node_only ? "--node" : "--", point, NULL};
    bool dead, good;

    /* A node that has got SIGTERM (scancel, the time limit) has unmounted by itself. */
    if (!is_mounted(point, &dead))
        return true;
    good = run(words, tasks->environment, true) == 0;
    if (dead)
        dprintf(STDERR_FILENO,
                "mpiio: %s: the daemon was killed: data that it had not stored is lost\n", point);
    return good && !dead;
}

/* Exits with a program's status, or by the signal that killed it. */
static void exit_like(int status)
{
    sigset_t none;

    if (WIFSIGNALED(status)) {
        prctl(PR_SET_DUMPABLE, 0); /* the program has dumped its own core */
        signal(WTERMSIG(status), SIG_DFL);
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        raise(WTERMSIG(status));
    }
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128);
}

/* Unmounts after the last task, and exits with the task's status. */
static void end_task(const struct job_tasks *tasks, int status)
{
    if (atomic_fetch_sub(tasks->left, 1) == 1 && !unmount(tasks) && status == 0)
        _exit(1);
    exit_like(status);
}

/*
 * Waits for the child's end, and forwards every signal to it meanwhile. All signals must be
 * blocked. Slurm has a program stop for its parent when a debugger starts it: leaves it stopped for
 * the debugger.
 */
static int wait_and_forward(pid_t child, const sigset_t *all)
{
    int status, number;
    pid_t ended;

    while ((ended = waitpid(child, &status, WNOHANG)) == 0 || (ended > 0 && WIFSTOPPED(status))) {
        if (ended > 0)
            ptrace(PTRACE_DETACH, child, NULL, (void *)(intptr_t)SIGSTOP);
        number = sigwaitinfo(all, NULL);
        if (number > 0 && number != SIGCHLD)
            kill(child, number);
    }
    return ended > 0 ? status : W_EXITCODE(1, 0);
}

/* Prepares the child. It must not outlive the process that Slurm tracks. */
static void begin_task(pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    /* Otherwise a signal to the group would reach the program twice: directly, and forwarded. */
    setpgid(0, 0);
    if (isatty(STDIN_FILENO))
        tcsetpgrp(STDIN_FILENO, getpgrp());
}

void job_unmount_after(const struct job_tasks *tasks)
{
    pid_t parent = getpid(), child;
    sigset_t all, before;

    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    signal(SIGCHLD, SIG_DFL);
    child = fork();
    if (child == 0) {
        begin_task(parent);
        sigprocmask(SIG_SETMASK, &before, NULL);
        return;
    }
    if (child < 0) {
        dprintf(STDERR_FILENO, "mpiio: fork: %s\n", strerror(errno));
        end_task(tasks, W_EXITCODE(1, 0));
    }
    close_range(STDERR_FILENO + 1, ~0U, 0); /* so that readers see when the program closes them */
    end_task(tasks, wait_and_forward(child, &all));
}
