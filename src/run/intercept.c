/* SPDX-License-Identifier: MIT */
/*
 * Calls of the program on descriptors, intercepted. The library serves calls on granted slices, and
 * passes all others on. Variants with 64-bit offsets have names of their own, as do those that
 * check for buffer overruns (_FORTIFY_SOURCE).
 */
#undef _FORTIFY_SOURCE
#undef _FILE_OFFSET_BITS
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/sendfile.h>
#include <sys/uio.h>
#include <unistd.h>

#include "descriptors.h"
#include "grant.h"
#include "stats.h"
#include "transfer.h"

/* Opening. */

static int note_opened(int fd)
{
    if (fd < 0)
        return fd;
    if (run_inside > 0)
        return run_raise(fd);
    run_grant_ask(fd);
    return fd;
}

/* The mode follows the flags if they require one. */
#define CATCH_OPEN(name, parameters, ...)                                                          \
    CATCH int name parameters                                                                      \
    {                                                                                              \
        mode_t mode = 0;                                                                           \
        if ((flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE) {                          \
            va_list arguments;                                                                     \
            va_start(arguments, flags);                                                            \
            mode = va_arg(arguments, mode_t);                                                      \
            va_end(arguments);                                                                     \
        }                                                                                          \
        return note_opened(RUN_NEXT(name)(__VA_ARGS__, mode));                                     \
    }

/* A call without a variable argument. Some of these are not declared by the system's headers. */
#define CATCH_OPEN_FIXED(name, parameters, ...)                                                    \
    int name parameters;                                                                           \
    CATCH int name parameters                                                                      \
    {                                                                                              \
        return note_opened(RUN_NEXT(name)(__VA_ARGS__));                                           \
    }

CATCH_OPEN(open, (const char *path, int flags, ...), path, flags)
CATCH_OPEN(open64, (const char *path, int flags, ...), path, flags)
CATCH_OPEN(openat, (int folder, const char *path, int flags, ...), folder, path, flags)
CATCH_OPEN(openat64, (int folder, const char *path, int flags, ...), folder, path, flags)
CATCH_OPEN_FIXED(__open_2, (const char *path, int flags), path, flags)
CATCH_OPEN_FIXED(__open64_2, (const char *path, int flags), path, flags)
CATCH_OPEN_FIXED(__openat_2, (int folder, const char *path, int flags), folder, path, flags)
CATCH_OPEN_FIXED(__openat64_2, (int folder, const char *path, int flags), folder, path, flags)
CATCH_OPEN_FIXED(creat, (const char *path, mode_t mode), path, mode)
CATCH_OPEN_FIXED(creat64, (const char *path, mode_t mode), path, mode)

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

/* The system handles calls with flags. The offset -1 means the descriptor's position. */
#define CATCH_FLAGS(name, offset_type, writing)                                                    \
    CATCH ssize_t name(int fd, const struct iovec *parts, int count, offset_type offset,           \
                       int flags)                                                                  \
    {                                                                                              \
        ssize_t result;                                                                            \
        if (flags == 0 &&                                                                          \
            run_serve(fd, parts, count, offset == -1 ? RUN_HERE : offset, writing, &result))       \
            return result;                                                                         \
        if ((writing) && flags != 0)                                                               \
            run_mark_tell_of(fd, false);                                                           \
        return RUN_NEXT(name)(fd, parts, count, offset, flags);                                    \
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

#define CATCH_READ_CHECKED(name, parameters, offset, ...)                                          \
    ssize_t name parameters;                                                                       \
    CATCH ssize_t name parameters                                                                  \
    {                                                                                              \
        ssize_t result;                                                                            \
        return length <= room && run_serve_one(fd, buffer, length, offset, false, &result)         \
                   ? result                                                                        \
                   : RUN_NEXT(name)(__VA_ARGS__);                                                  \
    }

CATCH_READ_CHECKED(__read_chk, (int fd, void *buffer, size_t length, size_t room), RUN_HERE, fd,
                   buffer, length, room)
CATCH_READ_CHECKED(__pread_chk, (int fd, void *buffer, size_t length, off_t start, size_t room),
                   start, fd, buffer, length, start, room)
CATCH_READ_CHECKED(__pread64_chk, (int fd, void *buffer, size_t length, off64_t start, size_t room),
                   start, fd, buffer, length, start, room)

/* The kernel cannot copy a granted slice, so the library does. */

CATCH ssize_t sendfile64(int to, int from, off64_t *offset, size_t length)
{
    ssize_t result;

    return run_send(to, from, offset, length, &result)
               ? result
               : RUN_NEXT(sendfile64)(to, from, offset, length);
}

CATCH ssize_t sendfile(int to, int from, off_t *offset, size_t length)
{
    off64_t wide = offset != NULL ? *offset : 0;
    ssize_t result;

    if (!run_send(to, from, offset != NULL ? &wide : NULL, length, &result))
        return RUN_NEXT(sendfile)(to, from, offset, length);
    if (offset != NULL)
        *offset = (off_t)wide;
    return result;
}

/* The mount copies and truncates. Before that, the library reports the mark to the daemon. */

#define CATCH_MARKED(type, name, parameters, ...)                                                  \
    CATCH type name parameters                                                                     \
    {                                                                                              \
        run_mark_tell_of(fd, false);                                                               \
        return RUN_NEXT(name)(__VA_ARGS__);                                                        \
    }

CATCH_MARKED(ssize_t, copy_file_range,
             (int from, off64_t *start, int fd, off64_t *place, size_t length, unsigned flags),
             from, start, fd, place, length, flags)
CATCH_MARKED(ssize_t, splice,
             (int from, off64_t *start, int fd, off64_t *place, size_t length, unsigned flags),
             from, start, fd, place, length, flags)
CATCH_MARKED(int, ftruncate, (int fd, off_t size), fd, size)
CATCH_MARKED(int, ftruncate64, (int fd, off64_t size), fd, size)
CATCH_MARKED(int, fallocate, (int fd, int mode, off_t offset, off_t length), fd, mode, offset,
             length)
CATCH_MARKED(int, fallocate64, (int fd, int mode, off64_t offset, off64_t length), fd, mode, offset,
             length)
CATCH_MARKED(int, posix_fallocate, (int fd, off_t offset, off_t length), fd, offset, length)
CATCH_MARKED(int, posix_fallocate64, (int fd, off64_t offset, off64_t length), fd, offset, length)

/* Descriptors. */

/* Hides the library's descriptors from a program that closes all descriptors it may have. */
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
    if (fd == STDERR_FILENO && run_is_home())
        run_stats_stop();
    return RUN_NEXT(close)(fd);
}

/* Closes the program's descriptors from first to last, but not the library's. */
static int close_others(unsigned first, unsigned last)
{
    int own;

    run_leave_range(first, last);
    while ((own = run_next_own(first)) >= 0 && (unsigned)own <= last) {
        if ((unsigned)own > first && RUN_NEXT(close_range)(first, (unsigned)own - 1, 0) != 0)
            return -1;
        if ((unsigned)own == last)
            return 0;
        first = (unsigned)own + 1;
    }
    return RUN_NEXT(close_range)(first, last, 0);
}

/* With flags the kernel closes nothing, or closes in a table of this thread's own. */
CATCH int close_range(unsigned first, unsigned last, int flags)
{
    if (flags != 0 || first > last || !run_is_home())
        return RUN_NEXT(close_range)(first, last, flags);
    if (first <= STDERR_FILENO && last >= STDERR_FILENO)
        run_stats_stop();
    return close_others(first, last);
}

CATCH void closefrom(int first)
{
    if (!run_is_home() || close_range(first > 0 ? (unsigned)first : 0, ~0U, 0) != 0)
        RUN_NEXT(closefrom)(first);
}

/*
 * The duplicate of standard error follows it, except for a child of vfork(2) before exec(3). Such a
 * child's duplicate does not enter its parent's table, so exec(3) would not find it there: its mark
 * is reported at once.
 */
static int note_duplicate(int fd, int made)
{
    if (made == STDERR_FILENO && fd != made && run_is_home())
        run_stats_start();
    if (run_may_be_granted(fd) && !run_is_home())
        run_mark_tell_of(fd, true);
    return run_duplicated(fd, made);
}

CATCH int dup(int fd)
{
    return note_duplicate(fd, RUN_NEXT(dup)(fd));
}

CATCH int dup2(int fd, int wanted)
{
    return is_hidden(wanted) ? -1 : note_duplicate(fd, RUN_NEXT(dup2)(fd, wanted));
}

CATCH int dup3(int fd, int wanted, int flags)
{
    return is_hidden(wanted) ? -1 : note_duplicate(fd, RUN_NEXT(dup3)(fd, wanted, flags));
}

static void note_lock(int fd, const struct flock *wanted)
{
    if (wanted != NULL && wanted->l_type != F_UNLCK)
        run_locks_note(fd);
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
        else if (run_inside == 0 && (command == F_SETLK || command == F_SETLKW))                   \
            note_lock(fd, argument);                                                               \
        result = RUN_NEXT(name)(fd, command, argument);                                            \
        return command == F_DUPFD || command == F_DUPFD_CLOEXEC ? note_duplicate(fd, result)       \
                                                                : result;                          \
    }

CATCH_FCNTL(fcntl)
CATCH_FCNTL(fcntl64)

#define CATCH_LOCKF(name, offset_type)                                                             \
    CATCH int name(int fd, int command, offset_type length)                                        \
    {                                                                                              \
        if (command == F_LOCK || command == F_TLOCK)                                               \
            run_locks_note(fd);                                                                    \
        return RUN_NEXT(name)(fd, command, length);                                                \
    }

CATCH_LOCKF(lockf, off_t)
CATCH_LOCKF(lockf64, off64_t)

/* The beginning and the end of a process. */

static void before_fork(void)
{
    run_mark_share();
    run_streams_lock();
}

static void begin_child(void)
{
    run_streams_unlock();
    run_begin();
    run_grant_forget();
    run_stats_forget();
}

__attribute__((constructor)) static void begin(void)
{
    run_begin();
    run_reserve();
    pthread_atfork(before_fork, run_streams_unlock, begin_child);
    run_stats_start();
}

__attribute__((destructor)) static void end(void)
{
    run_streams_flush();
    run_stats_print();
}

CATCH void _exit(int status)
{
    if (run_is_home())
        run_stats_print();
    RUN_NEXT(_exit)(status);
    abort();
}
