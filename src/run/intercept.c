/* SPDX-License-Identifier: MIT */
/*
 * The calls that the program makes of descriptors, caught on their way. What concerns a granted
 * slice is served; all else goes on to what it would have reached. That of offsets with 64 bits has
 * a name of its own, and so has what is checked against overruns (_FORTIFY_SOURCE).
 */
#undef _FORTIFY_SOURCE
#undef _FILE_OFFSET_BITS
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/sendfile.h>
#include <sys/uio.h>
#include <unistd.h>

#include "core/base/guard.h"
#include "descriptors.h"
#include "grant.h"
#include "next.h"
#include "own.h"
#include "stats.h"
#include "streams.h"
#include "transfer.h"

/* Opening. */

static int opened(int fd)
{
    if (fd < 0)
        return fd;
    if (run_inside > 0)
        return run_raise(fd);
    run_leave(fd); /* what had the number was closed unseen */
    run_grant_ask(fd);
    return fd;
}

/* The mode, where the flags say that there is one. */
#define MODE(flags, last)                                                                          \
    mode_t mode = 0;                                                                               \
    if (((flags)&O_CREAT) != 0 || ((flags)&O_TMPFILE) == O_TMPFILE) {                              \
        va_list arguments;                                                                         \
        va_start(arguments, last);                                                                 \
        mode = va_arg(arguments, mode_t);                                                          \
        va_end(arguments);                                                                         \
    }

#define CATCH_OPEN(name)                                                                           \
    CATCH int name(const char *path, int flags, ...)                                               \
    {                                                                                              \
        MODE(flags, flags)                                                                         \
        return opened(RUN_NEXT(name)(path, flags, mode));                                          \
    }

#define CATCH_OPENAT(name)                                                                         \
    CATCH int name(int folder, const char *path, int flags, ...)                                   \
    {                                                                                              \
        MODE(flags, flags)                                                                         \
        return opened(RUN_NEXT(name)(folder, path, flags, mode));                                  \
    }

#define CATCH_OPEN_CHECKED(name)                                                                   \
    int name(const char *path, int flags);                                                         \
    CATCH int name(const char *path, int flags)                                                    \
    {                                                                                              \
        return opened(RUN_NEXT(name)(path, flags));                                                \
    }

#define CATCH_OPENAT_CHECKED(name)                                                                 \
    int name(int folder, const char *path, int flags);                                             \
    CATCH int name(int folder, const char *path, int flags)                                        \
    {                                                                                              \
        return opened(RUN_NEXT(name)(folder, path, flags));                                        \
    }

#define CATCH_CREAT(name)                                                                          \
    CATCH int name(const char *path, mode_t mode)                                                  \
    {                                                                                              \
        return opened(RUN_NEXT(name)(path, mode));                                                 \
    }

CATCH_OPEN(open)
CATCH_OPEN(open64)
CATCH_OPENAT(openat)
CATCH_OPENAT(openat64)
CATCH_OPEN_CHECKED(__open_2)
CATCH_OPEN_CHECKED(__open64_2)
CATCH_OPENAT_CHECKED(__openat_2)
CATCH_OPENAT_CHECKED(__openat64_2)
CATCH_CREAT(creat)
CATCH_CREAT(creat64)

/* Reading and writing. */

#define CATCH_HERE(name, type, count, served, writing)                                             \
    CATCH ssize_t name(int fd, type first, count second)                                           \
    {                                                                                              \
        ssize_t result;                                                                            \
        return served(fd, first, second, RUN_HERE, writing, &result)                               \
                   ? result                                                                        \
                   : RUN_NEXT(name)(fd, first, second);                                            \
    }

#define CATCH_AT(name, type, count, offset_type, served, writing)                                  \
    CATCH ssize_t name(int fd, type first, count second, offset_type offset)                       \
    {                                                                                              \
        ssize_t result;                                                                            \
        return served(fd, first, second, offset, writing, &result)                                 \
                   ? result                                                                        \
                   : RUN_NEXT(name)(fd, first, second, offset);                                    \
    }

/* With flags, the system judges. The offset -1 is where the descriptor is. */
#define CATCH_FLAGS(name, offset_type, writing)                                                    \
    CATCH ssize_t name(int fd, const struct iovec *parts, int count, offset_type offset,           \
                       int flags)                                                                  \
    {                                                                                              \
        ssize_t result;                                                                            \
        return flags == 0 && run_serve(fd, parts, count, offset == -1 ? RUN_HERE : offset,         \
                                       writing, &result)                                           \
                   ? result                                                                        \
                   : RUN_NEXT(name)(fd, parts, count, offset, flags);                              \
    }

CATCH_HERE(read, void *, size_t, run_serve_one, false)
CATCH_HERE(write, const void *, size_t, run_serve_one, true)
CATCH_HERE(readv, const struct iovec *, int, run_serve, false)
CATCH_HERE(writev, const struct iovec *, int, run_serve, true)
CATCH_AT(pread, void *, size_t, off_t, run_serve_one, false)
CATCH_AT(pread64, void *, size_t, off64_t, run_serve_one, false)
CATCH_AT(pwrite, const void *, size_t, off_t, run_serve_one, true)
CATCH_AT(pwrite64, const void *, size_t, off64_t, run_serve_one, true)
CATCH_AT(preadv, const struct iovec *, int, off_t, run_serve, false)
CATCH_AT(preadv64, const struct iovec *, int, off64_t, run_serve, false)
CATCH_AT(pwritev, const struct iovec *, int, off_t, run_serve, true)
CATCH_AT(pwritev64, const struct iovec *, int, off64_t, run_serve, true)
CATCH_FLAGS(preadv2, off_t, false)
CATCH_FLAGS(preadv64v2, off64_t, false)
CATCH_FLAGS(pwritev2, off_t, true)
CATCH_FLAGS(pwritev64v2, off64_t, true)

ssize_t __read_chk(int fd, void *buffer, size_t length, size_t room);
CATCH ssize_t __read_chk(int fd, void *buffer, size_t length, size_t room)
{
    ssize_t result;

    return length <= room && run_serve_one(fd, buffer, length, RUN_HERE, false, &result)
               ? result
               : RUN_NEXT(__read_chk)(fd, buffer, length, room);
}

#define CATCH_PREAD_CHECKED(name, offset_type)                                                     \
    ssize_t name(int fd, void *buffer, size_t length, offset_type offset, size_t room);            \
    CATCH ssize_t name(int fd, void *buffer, size_t length, offset_type offset, size_t room)       \
    {                                                                                              \
        ssize_t result;                                                                            \
        return length <= room && run_serve_one(fd, buffer, length, offset, false, &result)         \
                   ? result                                                                        \
                   : RUN_NEXT(name)(fd, buffer, length, offset, room);                             \
    }

CATCH_PREAD_CHECKED(__pread_chk, off_t)
CATCH_PREAD_CHECKED(__pread64_chk, off64_t)

/* Copying in the kernel: a slice that is granted is not there. */

CATCH ssize_t copy_file_range(int from, off64_t *from_offset, int to, off64_t *to_offset,
                              size_t length, unsigned flags)
{
    ssize_t result;

    return flags == 0 && run_copy(from, from_offset, to, to_offset, length, true, &result)
               ? result
               : RUN_NEXT(copy_file_range)(from, from_offset, to, to_offset, length, flags);
}

CATCH ssize_t sendfile64(int to, int from, off64_t *offset, size_t length)
{
    ssize_t result;

    return run_copy(from, offset, to, NULL, length, false, &result)
               ? result
               : RUN_NEXT(sendfile64)(to, from, offset, length);
}

CATCH ssize_t sendfile(int to, int from, off_t *offset, size_t length)
{
    off64_t wide = offset != NULL ? *offset : 0;
    ssize_t result;

    if (!run_copy(from, offset != NULL ? &wide : NULL, to, NULL, length, false, &result))
        return RUN_NEXT(sendfile)(to, from, offset, length);
    if (offset != NULL)
        *offset = (off_t)wide;
    return result;
}

/* Descriptors. */

/* A program that closes all that it may have does not mean the library's. */
static int is_hidden(int fd)
{
    if (run_inside > 0 || !run_is_own(fd))
        return 0;
    errno = EBADF;
    return 1;
}

CATCH int close(int fd)
{
    if (is_hidden(fd))
        return -1;
    if (run_inside > 0)
        run_lower(fd);
    else
        run_leave(fd);
    return RUN_NEXT(close)(fd);
}

/* The library's own are among those that are closed: nothing is granted any more. */
static void close_many(unsigned flags)
{
    if ((flags & CLOSE_RANGE_CLOEXEC) != 0 || !run_is_home())
        return;
    run_forget();
    run_grant_abandon();
    run_lower_all();
}

CATCH int close_range(unsigned first, unsigned last, int flags)
{
    int result;

    close_many((unsigned)flags);
    result = RUN_NEXT(close_range)(first, last, flags);
    run_stats_start();
    return result;
}

CATCH void closefrom(int first)
{
    close_many(0);
    RUN_NEXT(closefrom)(first);
    run_stats_start();
}

CATCH int dup(int fd)
{
    return run_duplicated(fd, RUN_NEXT(dup)(fd));
}

CATCH int dup2(int fd, int wanted)
{
    return is_hidden(wanted) ? -1 : run_duplicated(fd, RUN_NEXT(dup2)(fd, wanted));
}

CATCH int dup3(int fd, int wanted, int flags)
{
    return is_hidden(wanted) ? -1 : run_duplicated(fd, RUN_NEXT(dup3)(fd, wanted, flags));
}

#define CATCH_FCNTL(name)                                                                          \
    CATCH int name(int fd, int command, ...)                                                       \
    {                                                                                              \
        va_list arguments;                                                                         \
        void *argument;                                                                            \
        int result;                                                                                \
        va_start(arguments, command);                                                              \
        argument = va_arg(arguments, void *);                                                      \
        va_end(arguments);                                                                         \
        if (command == F_SETFL)                                                                    \
            run_withdraw(fd, (int)(intptr_t)argument);                                             \
        result = RUN_NEXT(name)(fd, command, argument);                                            \
        return command == F_DUPFD || command == F_DUPFD_CLOEXEC ? run_duplicated(fd, result)       \
                                                                : result;                          \
    }

CATCH_FCNTL(fcntl)
CATCH_FCNTL(fcntl64)

/* Signals: libmpiio has a handler of SIGBUS before the program's. */

CATCH int sigaction(int number, const struct sigaction *action, struct sigaction *old)
{
    if (number == SIGBUS && run_inside == 0 && mpiio_guard_action(action, old))
        return 0;
    return RUN_NEXT(sigaction)(number, action, old);
}

CATCH sighandler_t signal(int number, sighandler_t handler)
{
    struct sigaction action = {.sa_flags = SA_RESTART}, old;

    action.sa_handler = handler;
    if (number == SIGBUS && run_inside == 0 && mpiio_guard_action(&action, &old))
        return old.sa_handler;
    return RUN_NEXT(signal)(number, handler);
}

/* The beginning and the end of a process. */

static void begin_child(void)
{
    run_begin();
    run_grant_forget();
    run_stats_forget();
}

__attribute__((constructor)) static void begin(void)
{
    run_begin();
    pthread_atfork(NULL, NULL, begin_child);
    run_stats_start();
}

__attribute__((destructor)) static void end(void)
{
    run_streams_flush();
    run_stats_print();
}

CATCH void _exit(int status)
{
    run_stats_print();
    RUN_NEXT(_exit)(status);
    abort();
}
