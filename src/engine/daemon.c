/* SPDX-License-Identifier: MIT */
#include "start.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/process.h"

/* The engine's side of the node's daemon. */

/* The daemon's end of the channel: the first descriptor after the standard ones. */
#define DAEMON_END      3
#define DAEMON_END_TEXT "--engine-fd=3"

/* Milliseconds that a daemon may take to exit. */
#define END_WAIT 10000

extern char **environ;

/* Finds mpiio-fused: beside this program, in the sbin beside its bin, or on the PATH. */
static const char *find_program(const char *given, char *path)
{
    if (given != NULL)
        return given;
    return mpiio_find_beside("mpiio-fused", "../sbin/mpiio-fused", path) == 0 ? path
                                                                              : "mpiio-fused";
}

/* Returns a copy of text in which node replaces each "%n", or NULL if memory is exhausted. */
static char *with_number(const char *text, int node)
{
    char *copy = NULL;
    size_t size;
    FILE *out = open_memstream(&copy, &size);

    if (out == NULL)
        return NULL;
    for (const char *at; (at = strstr(text, "%n")) != NULL; text = at + 2)
        fprintf(out, "%.*s%d", (int)(at - text), text, node);
    fputs(text, out);
    if (fclose(out) == 0)
        return copy;
    free(copy);
    return NULL;
}

/* Sets up the descriptors of the child. Returns 0 or an errno. */
static int prepare_descriptors(posix_spawn_file_actions_t *actions, int end, int output)
{
    int error = posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);

    if (error == 0)
        error = posix_spawn_file_actions_adddup2(actions, output, STDOUT_FILENO);
    if (error == 0)
        error = posix_spawn_file_actions_adddup2(actions, output, STDERR_FILENO);
    if (error == 0)
        error = posix_spawn_file_actions_adddup2(actions, end, DAEMON_END);
    if (error == 0)
        error = posix_spawn_file_actions_addclosefrom_np(actions, DAEMON_END + 1);
    return error;
}

/* Gives the child a session of its own, and no blocked or ignored signals. These functions only
   store values. They fail for invalid flags alone. */
static void prepare_session(posix_spawnattr_t *attributes)
{
    sigset_t none, all;

    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_init(attributes);
    posix_spawnattr_setsigmask(attributes, &none);
    posix_spawnattr_setsigdefault(attributes, &all);
    posix_spawnattr_setflags(attributes,
                             POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
}

/* Uses posix_spawn(3) instead of fork(2), because an MPI library has memory that must not be
   copied. */
static int spawn_daemon(struct engine_daemon *daemon, const char *program, char *const *arguments,
                        int end)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    pid_t pid = 0;
    int error;

    posix_spawn_file_actions_init(&actions);
    prepare_session(&attributes);
    error = prepare_descriptors(&actions, end, daemon->output);
    if (error == 0)
        error = posix_spawnp(&pid, program, &actions, &attributes, arguments, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    daemon->pid = error == 0 ? pid : 0;
    return -error;
}

static int spawn_with(struct engine_daemon *daemon, const struct engine_options *options, int node,
                      int end)
{
    char path[PATH_MAX];
    size_t count = 0;
    char **arguments;
    int error = -ENOMEM;

    while (options->arguments[count] != NULL)
        count++;
    arguments = calloc(count + 3, sizeof(*arguments));
    if (arguments == NULL)
        return -ENOMEM;
    arguments[0] = (char *)daemon->program;
    arguments[1] = (char *)DAEMON_END_TEXT;
    memcpy(arguments + 2, options->arguments, count * sizeof(*arguments));
    arguments[count + 1] = with_number(options->arguments[count - 1], node);
    if (arguments[count + 1] != NULL) {
        error = spawn_daemon(daemon, find_program(options->daemon, path), arguments, end);
        free(arguments[count + 1]);
    }
    free(arguments);
    return error;
}

int engine_daemon_start(struct engine_daemon *daemon, const struct engine_options *options,
                        int node)
{
    int ends[2];
    int error;

    *daemon = (struct engine_daemon){.output = memfd_create("output", MFD_CLOEXEC),
                                     .program =
                                         options->daemon != NULL ? options->daemon : "mpiio-fused"};
    if (daemon->output < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return -errno;
    error = mpiio_channel_new(ends[0], &daemon->channel);
    if (error == 0)
        error = spawn_with(daemon, options, node, ends[1]);
    else
        close(ends[0]);
    close(ends[1]);
    return error;
}

/* Copies the first line that the daemon has printed, without the leading program name. */
static void first_line(const struct engine_daemon *daemon, char *text, size_t size)
{
    const char *slash = strrchr(daemon->program, '/');
    const char *name = slash != NULL ? slash + 1 : daemon->program;
    size_t skip = strlen(name) + 2;
    ssize_t length = pread(daemon->output, text, size - 1, 0);

    text[length > 0 ? length : 0] = '\0';
    text[strcspn(text, "\n")] = '\0';
    if (strlen(text) > skip && strncmp(text, name, skip - 2) == 0 &&
        strncmp(text + skip - 2, ": ", 2) == 0)
        memmove(text, text + skip, strlen(text + skip) + 1);
}

/* Waits for the daemon to exit, and kills it after END_WAIT. Returns its wait status. */
static int await_end(struct engine_daemon *daemon)
{
    int process = pidfd_open(daemon->pid, 0);
    struct pollfd end = {.fd = process, .events = POLLIN};
    int status = 0, changed = 1;

    if (process >= 0) {
        while ((changed = poll(&end, 1, END_WAIT)) < 0 && errno == EINTR)
            continue;
        close(process);
    }
    if (changed == 0)
        kill(daemon->pid, SIGKILL);
    while (waitpid(daemon->pid, &status, 0) < 0 && errno == EINTR)
        continue;
    daemon->pid = 0;
    return status;
}

int engine_daemon_reason(struct engine_daemon *daemon, char *text, size_t size)
{
    int status = await_end(daemon);

    first_line(daemon, text, size);
    if (*text == '\0' && WIFSIGNALED(status))
        snprintf(text, size, "%s was killed by signal %d", daemon->program, WTERMSIG(status));
    else if (*text == '\0')
        snprintf(text, size, "%s ended with status %d", daemon->program, WEXITSTATUS(status));
    return WIFEXITED(status) && WEXITSTATUS(status) == 2 ? 2 : 1;
}

void engine_daemon_end(struct engine_daemon *daemon)
{
    struct mpiio_message quit = {.type = MPIIO_MESSAGE_QUIT};

    if (daemon->channel != NULL) {
        mpiio_channel_send(daemon->channel, &quit);
        mpiio_channel_free(daemon->channel);
    }
    if (daemon->pid > 0)
        await_end(daemon);
}
