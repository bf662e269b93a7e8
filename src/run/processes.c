/* SPDX-License-Identifier: MIT */
/*
 * The program's processes and signals: calls that replace the program, that make processes or give
 * them descriptors, and that set signals or jump out of their handlers.
 */
#undef _FORTIFY_SOURCE
#undef _FILE_OFFSET_BITS
#include "transfer.h"

#include <alloca.h>
#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/guard.h"
#include "descriptors.h"
#include "grant.h"
#include "stats.h"

/* The program's signals. libmpiio handles SIGBUS first, and hides its handler from the program. */

/*
 * Sets the action behind libmpiio's handler. Returns false if the kernel must set it: a child of
 * vfork(2) changes its own action, and this memory is its parent's.
 */
static bool set_behind(int number, const struct sigaction *action, struct sigaction *old)
{
    struct run_held held;
    bool done;

    if (number != SIGBUS || run_inside > 0 || !run_is_home())
        return false;
    run_hold(&held);
    done = mpiio_guard_action(action, old);
    run_unhold(&held);
    return done;
}

CATCH int sigaction(int number, const struct sigaction *action, struct sigaction *old)
{
    if (action != NULL)
        run_see_action(number, action);
    return set_behind(number, action, old) ? 0 : RUN_NEXT(sigaction)(number, action, old);
}

#define CATCH_SIGNAL(name, flags)                                                                  \
    CATCH sighandler_t name(int number, sighandler_t handler)                                      \
    {                                                                                              \
        struct sigaction action = {.sa_flags = (flags)}, old;                                      \
        action.sa_handler = handler;                                                               \
        run_see_action(number, &action);                                                           \
        return set_behind(number, &action, &old) ? old.sa_handler                                  \
                                                 : RUN_NEXT(name)(number, handler);                \
    }

sighandler_t bsd_signal(int number, sighandler_t handler);
sighandler_t __sysv_signal(int number, sighandler_t handler);

CATCH_SIGNAL(signal, SA_RESTART)
CATCH_SIGNAL(ssignal, SA_RESTART)
CATCH_SIGNAL(bsd_signal, SA_RESTART)
CATCH_SIGNAL(sysv_signal, SA_RESETHAND | SA_NODEFER)
CATCH_SIGNAL(__sysv_signal, SA_RESETHAND | SA_NODEFER)

/* Obsolete, and declared as deprecated. */
CATCH sighandler_t sigset(int number, sighandler_t handler)
{
    struct sigaction action = {.sa_flags = 0};

    action.sa_handler = handler;
    run_see_action(number, &action);
    return RUN_NEXT_NAMED(sighandler_t(*)(int, sighandler_t), "sigset")(number, handler);
}

/* Stores the program's action for SIGBUS. Returns true if the program ignores the signal. */
static bool is_ignored(struct sigaction *action)
{
    return mpiio_guard_action(NULL, action) && (action->sa_flags & SA_SIGINFO) == 0 &&
           action->sa_handler == SIG_IGN;
}

/*
 * Calls that give the program's descriptors to another process, or replace the program. fork(2) has
 * registered handlers instead (pthread_atfork(3)). vfork(2) returns twice and cannot be caught, but
 * its child calls exec(3), and shares this memory.
 */

#define CATCH_SHARING(type, name, parameters, ...)                                                 \
    CATCH type name parameters                                                                     \
    {                                                                                              \
        run_mark_share();                                                                          \
        return RUN_NEXT(name)(__VA_ARGS__);                                                        \
    }

#define SPAWN                                                                                      \
    (pid_t * pid, const char *path, const posix_spawn_file_actions_t *actions,                     \
     const posix_spawnattr_t *attributes, char *const arguments[], char *const environment[])

CATCH_SHARING(int, posix_spawn, SPAWN, pid, path, actions, attributes, arguments, environment)
CATCH_SHARING(int, posix_spawnp, SPAWN, pid, path, actions, attributes, arguments, environment)
CATCH_SHARING(int, system, (const char *command), command)
CATCH_SHARING(FILE *, popen, (const char *command, const char *type), command, type)

/*
 * Executing. exec(3) keeps ignored signals ignored. If the program ignores SIGBUS, before_exec
 * removes libmpiio's handler so that the kernel ignores it, and after_exec restores the handler.
 * Both keep errno and are async-signal-safe.
 */

static void before_exec(void)
{
    struct sigaction action;
    int error = errno;

    run_mark_share();
    if (is_ignored(&action))
        RUN_NEXT(sigaction)(SIGBUS, &action, NULL);
    errno = error;
}

/* Called when exec(3) has returned, which it does only if it failed. */
static int after_exec(int result)
{
    struct sigaction action;
    int error = errno;

    if (is_ignored(&action))
        set_behind(SIGBUS, &action, NULL);
    errno = error;
    return result;
}

#define CATCH_EXEC(name, parameters, ...)                                                          \
    CATCH int name parameters                                                                      \
    {                                                                                              \
        before_exec();                                                                             \
        return after_exec(RUN_NEXT(name)(__VA_ARGS__));                                            \
    }

CATCH_EXEC(execve, (const char *path, char *const arguments[], char *const environment[]), path,
           arguments, environment)
CATCH_EXEC(execv, (const char *path, char *const arguments[]), path, arguments)
CATCH_EXEC(execvp, (const char *file, char *const arguments[]), file, arguments)
CATCH_EXEC(execvpe, (const char *file, char *const arguments[], char *const environment[]), file,
           arguments, environment)
CATCH_EXEC(fexecve, (int fd, char *const arguments[], char *const environment[]), fd, arguments,
           environment)
CATCH_EXEC(execveat,
           (int folder, const char *path, char *const arguments[], char *const environment[],
            int flags),
           folder, path, arguments, environment, flags)

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
