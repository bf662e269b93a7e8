/* SPDX-License-Identifier: MIT */
/*
 * Calls that give the program's descriptors to another process, or replace the program. fork(2) has
 * registered handlers instead (pthread_atfork(3)). vfork(2) returns twice and cannot be caught, but
 * its child calls exec(3), and shares this memory.
 */
#undef _FORTIFY_SOURCE
#undef _FILE_OFFSET_BITS
#include <alloca.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "descriptors.h"
#include "mark.h"
#include "next.h"
#include "signals.h"
#include "stats.h"

#define CATCH_SPAWN(name)                                                                          \
    CATCH int name(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,        \
                   const posix_spawnattr_t *attributes, char *const arguments[],                   \
                   char *const environment[])                                                      \
    {                                                                                              \
        run_mark_share();                                                                          \
        return RUN_NEXT(name)(pid, path, actions, attributes, arguments, environment);             \
    }

CATCH_SPAWN(posix_spawn)
CATCH_SPAWN(posix_spawnp)

CATCH int system(const char *command)
{
    run_mark_share();
    return RUN_NEXT(system)(command);
}

CATCH FILE *popen(const char *command, const char *type)
{
    run_mark_share();
    return RUN_NEXT(popen)(command, type);
}

/* Executing. */

static void before_exec(void)
{
    run_mark_share();
    run_signals_before_exec();
}

/* Called when exec(3) has returned, which it does only if it failed. */
static int after_exec(int result)
{
    run_signals_after_exec();
    return result;
}

CATCH int execve(const char *path, char *const arguments[], char *const environment[])
{
    before_exec();
    return after_exec(RUN_NEXT(execve)(path, arguments, environment));
}

CATCH int execv(const char *path, char *const arguments[])
{
    before_exec();
    return after_exec(RUN_NEXT(execv)(path, arguments));
}

CATCH int execvp(const char *file, char *const arguments[])
{
    before_exec();
    return after_exec(RUN_NEXT(execvp)(file, arguments));
}

CATCH int execvpe(const char *file, char *const arguments[], char *const environment[])
{
    before_exec();
    return after_exec(RUN_NEXT(execvpe)(file, arguments, environment));
}

CATCH int fexecve(int fd, char *const arguments[], char *const environment[])
{
    before_exec();
    return after_exec(RUN_NEXT(fexecve)(fd, arguments, environment));
}

CATCH int execveat(int folder, const char *path, char *const arguments[], char *const environment[],
                   int flags)
{
    before_exec();
    return after_exec(RUN_NEXT(execveat)(folder, path, arguments, environment, flags));
}

/* Copies the arguments and their NULL to the stack: a child of vfork(2) must not allocate. */
#define LIST(list, first, arguments)                                                               \
    size_t count = 1;                                                                              \
    char **arguments;                                                                              \
    va_start(list, first);                                                                         \
    while (va_arg(list, char *) != NULL)                                                           \
        count++;                                                                                   \
    va_end(list);                                                                                  \
    (arguments) = alloca((count + 1) * sizeof(char *));                                            \
    (arguments)[0] = (char *)(first);                                                              \
    va_start(list, first);                                                                         \
    for (size_t i = 1; i <= count; i++)                                                            \
        (arguments)[i] = va_arg(list, char *);

#define CATCH_LIST(name, vector)                                                                   \
    CATCH int name(const char *path, const char *first, ...)                                       \
    {                                                                                              \
        va_list list;                                                                              \
        LIST(list, first, arguments)                                                               \
        va_end(list);                                                                              \
        return vector(path, arguments);                                                            \
    }

CATCH_LIST(execl, execv)
CATCH_LIST(execlp, execvp)

CATCH int execle(const char *path, const char *first, ...)
{
    char *const *environment;
    va_list list;

    LIST(list, first, arguments)
    environment = va_arg(list, char *const *);
    va_end(list);
    return execve(path, arguments, environment);
}

/* Sending descriptors. */

static void look_at(const struct msghdr *message)
{
    if (message != NULL && message->msg_control != NULL && message->msg_controllen > 0)
        run_mark_share();
}

CATCH ssize_t sendmsg(int socket, const struct msghdr *message, int flags)
{
    look_at(message);
    return RUN_NEXT(sendmsg)(socket, message, flags);
}

CATCH int sendmmsg(int socket, struct mmsghdr *messages, unsigned count, int flags)
{
    for (unsigned i = 0; messages != NULL && i < count; i++)
        look_at(&messages[i].msg_hdr);
    return RUN_NEXT(sendmmsg)(socket, messages, count, flags);
}

/* The C library redirects standard error without a call that is caught. */
CATCH int daemon(int stays, int keeps)
{
    int result = RUN_NEXT(daemon)(stays, keeps);

    if (result == 0)
        run_stats_stop();
    return result;
}
