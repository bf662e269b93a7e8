/* SPDX-License-Identifier: MIT */
/*
 * Streams. The C library reads and writes them by internal calls, which are not caught. For a
 * granted slice the program gets another stream (fopencookie(3)) over the same descriptor, whose
 * calls are caught. The C library's own stream is kept behind it: it closes the descriptor, and
 * serves calls that the other one cannot.
 */
#undef _FORTIFY_SOURCE
#undef _FILE_OFFSET_BITS
#include "transfer.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

#include "descriptors.h"
#include "grant.h"
#include "stats.h"

#define BUFFER_SIZE (64 << 10)

/* glibc's bits in FILE._flags of a stream that must not be read, or not be written. */
#define NO_READS  0x4
#define NO_WRITES 0x8

/*
 * A stream of a granted slice. The program has file, whose reads and writes are served. real is the
 * stream that the C library made, over the same descriptor. It does what file cannot: wide
 * characters, and freopen(3).
 */
struct run_stream {
    struct run_stream *next;
    FILE *file, *real;
    /* it is byte-oriented, as bytes were read or written: wide calls must respect that */
    bool bytes;
    bool wide; /* real is used instead of file from then on */
};

static struct run_stream *streams;          /* lock: lock */
static atomic_int stream_count, wide_count; /* sizes of the list, for checks without the lock */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void run_streams_lock(void)
{
    pthread_mutex_lock(&lock);
}

void run_streams_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

/* Returns the stream that the program knows as file; NULL if it is one of the C library's own. */
static struct run_stream *stream_find(FILE *file)
{
    struct run_stream *stream;

    if (atomic_load(&stream_count) == 0)
        return NULL;
    pthread_mutex_lock(&lock);
    for (stream = streams; stream != NULL && stream->file != file; stream = stream->next)
        continue;
    pthread_mutex_unlock(&lock);
    return stream;
}

/*
 * Makes real continue at file's position, and replace it. Does nothing the second time. fflush
 * writes what file holds, and moves back over what it has read ahead.
 */
static void stream_widen(struct run_stream *stream)
{
    if (stream->wide)
        return;
    RUN_NEXT(fflush)(stream->file);
    if (stream->bytes)
        RUN_NEXT(fwide)(stream->real, -1);
    stream->wide = true;
    atomic_fetch_add(&wide_count, 1);
}

static int descriptor_of(const struct run_stream *stream)
{
    return RUN_NEXT(fileno)(stream->real);
}

static ssize_t read_stream(void *cookie, char *buffer, size_t length)
{
    struct run_stream *stream = cookie;

    stream->bytes = true;
    return read(descriptor_of(stream), buffer, length);
}

/* A stream takes 0 for an error. */
static ssize_t write_stream(void *cookie, const char *buffer, size_t length)
{
    struct run_stream *stream = cookie;
    ssize_t put;

    stream->bytes = true;
    put = write(descriptor_of(stream), buffer, length);
    return put < 0 ? 0 : put;
}

static int seek_stream(void *cookie, off64_t *offset, int whence)
{
    off64_t place = lseek64(descriptor_of(cookie), *offset, whence);

    if (place < 0)
        return -1;
    *offset = place;
    return 0;
}

/* Takes the stream out of the list. */
static void take_out(struct run_stream *stream)
{
    struct run_stream **link = &streams;

    pthread_mutex_lock(&lock);
    while (*link != stream)
        link = &(*link)->next;
    *link = stream->next;
    atomic_fetch_sub(&stream_count, 1);
    if (stream->wide)
        atomic_fetch_sub(&wide_count, 1);
    pthread_mutex_unlock(&lock);
}

static int close_stream(void *cookie)
{
    struct run_stream *stream = cookie;
    FILE *real = stream->real;

    take_out(stream);
    free(stream);
    if (real == NULL)
        return 0;
    run_leave(RUN_NEXT(fileno)(real));
    return RUN_NEXT(fclose)(real);
}

/* Returns the program's stream in front of real, whose slice is granted, or real if memory is
   exhausted. */
static FILE *make_stream(FILE *real)
{
    struct run_stream *stream = calloc(1, sizeof(*stream));
    const cookie_io_functions_t calls = {
        .read = read_stream, .write = write_stream, .seek = seek_stream, .close = close_stream};
    const char *mode = !__fwritable(real) ? "r" : __freadable(real) ? "r+" : "w";

    if (stream == NULL)
        return real;
    stream->real = real;
    stream->file = fopencookie(stream, mode, calls);
    if (stream->file == NULL) {
        free(stream);
        return real;
    }
    setvbuf(stream->file, NULL, _IOFBF, BUFFER_SIZE);
    pthread_mutex_lock(&lock);
    stream->next = streams;
    streams = stream;
    atomic_fetch_add(&stream_count, 1);
    pthread_mutex_unlock(&lock);
    return stream->file;
}

/* A stream of an encoding (",ccs=") has wide characters from the start. */
static bool has_encoding(const char *mode)
{
    return strchr(mode, ',') != NULL;
}

/* Returns what fopen(3) returns to the program for a stream that the C library has just opened. */
static FILE *note_opened(FILE *file, const char *mode)
{
    int error = errno;
    int fd;

    if (file == NULL || run_inside > 0)
        return file;
    fd = RUN_NEXT(fileno)(file);
    run_grant_ask(fd);
    if (run_is_seekable(fd) && !has_encoding(mode))
        file = make_stream(file);
    errno = error;
    return file;
}

#define CATCH_FOPEN(name)                                                                          \
    CATCH FILE *name(const char *path, const char *mode)                                           \
    {                                                                                              \
        return note_opened(RUN_NEXT(name)(path, mode), mode);                                      \
    }

CATCH_FOPEN(fopen)
CATCH_FOPEN(fopen64)

/* Mode "a" sets O_APPEND, by a call that is not caught. */
CATCH FILE *fdopen(int fd, const char *mode)
{
    FILE *file = RUN_NEXT(fdopen)(fd, mode);
    int flags, error = errno;

    if (file == NULL || !run_is_seekable(fd))
        return file;
    flags = RUN_NEXT(fcntl)(fd, F_GETFL);
    run_withdraw(fd, flags);
    if ((flags & RUN_FOREIGN_FLAGS) == 0 && !has_encoding(mode))
        file = make_stream(file);
    errno = error;
    return file;
}

#define CATCH_FILENO(name)                                                                         \
    CATCH int name(FILE *file)                                                                     \
    {                                                                                              \
        struct run_stream *stream = stream_find(file);                                             \
        return RUN_NEXT(name)(stream != NULL ? stream->real : file);                               \
    }

CATCH_FILENO(fileno)
CATCH_FILENO(fileno_unlocked)

/* Makes the program's stream look newly opened, as real is. */
static void renew_stream(struct run_stream *stream)
{
    FILE *file = stream->file;
    int flags =
        (__freadable(stream->real) ? 0 : NO_READS) | (__fwritable(stream->real) ? 0 : NO_WRITES);
    int fd = descriptor_of(stream);

    stream->bytes = false;
    rewind(file); /* forget the position and the data read ahead */
    __fpurge(file);
    if ((RUN_NEXT(fcntl)(fd, F_GETFL) & O_APPEND) != 0)
        fseek(file, 0, SEEK_END);
    clearerr(file);
    file->_flags = (file->_flags & ~(NO_READS | NO_WRITES)) | flags;
    run_grant_ask(fd);
}

/* Ends freopen(3): the C library has opened real again, or failed. The program's FILE stays. */
static FILE *note_reopened(struct run_stream *stream, FILE *real)
{
    int error = errno;

    if (stream->wide)
        atomic_fetch_sub(&wide_count, 1);
    stream->wide = false;
    stream->real = real;
    if (real != NULL)
        renew_stream(stream);
    else
        RUN_NEXT(fclose)(stream->file);
    errno = error;
    return real != NULL ? stream->file : NULL;
}

#define CATCH_FREOPEN(name)                                                                        \
    CATCH FILE *name(const char *path, const char *mode, FILE *file)                               \
    {                                                                                              \
        struct run_stream *stream = stream_find(file);                                             \
        FILE *real;                                                                                \
        if (stream == NULL) {                                                                      \
            real = RUN_NEXT(name)(path, mode, file);                                               \
            if (file == stderr && run_is_home())                                                   \
                run_stats_start();                                                                 \
            return real;                                                                           \
        }                                                                                          \
        RUN_NEXT(fflush)(stream->wide ? stream->real : file);                                      \
        run_leave(descriptor_of(stream));                                                          \
        return note_reopened(stream, RUN_NEXT(name)(path, mode, stream->real));                    \
    }

CATCH_FREOPEN(freopen)
CATCH_FREOPEN(freopen64)

void run_streams_flush(void)
{
    if (atomic_load(&stream_count) > 0)
        RUN_NEXT(fflush)(NULL);
}

/*
 * Wide characters on streams of granted slices. glibc's streams of fopencookie(3) crash on them. So
 * the first such call replaces the program's stream, for good, by the C library's own stream of the
 * slice, which goes through the mount. Calls for any stream (fseek(3)) follow it. The indicators of
 * end and error are kept equal in both, since feof_unlocked(3) may be a macro that reads the
 * program's.
 */

#define INDICATORS (_IO_EOF_SEEN | _IO_ERR_SEEN)

static void copy_indicators(const FILE *from, FILE *to)
{
    to->_flags = (to->_flags & ~INDICATORS) | (from->_flags & INDICATORS);
}

/* Returns the stream that serves a call on file. The caller calls end_stream after it. */
static FILE *begin_stream(FILE *file, bool widens)
{
    bool may_be_wide = widens || atomic_load(&wide_count) > 0;
    struct run_stream *stream = may_be_wide ? stream_find(file) : NULL;

    if (stream == NULL)
        return file;
    if (widens)
        stream_widen(stream);
    if (!stream->wide)
        return file;
    copy_indicators(file, stream->real);
    return stream->real;
}

/* Flushes a stream that the program has set to write at once. */
static void end_stream(FILE *file, FILE *real)
{
    if (real == file)
        return;
    if (__flbf(file) || __fbufsize(file) <= 1)
        RUN_NEXT(fflush)(real);
    copy_indicators(real, file);
}

#define CATCH_STREAM(type, name, widens, parameters, ...)                                          \
    CATCH type name parameters                                                                     \
    {                                                                                              \
        FILE *real = begin_stream(file, widens);                                                   \
        type result = RUN_NEXT(name)(__VA_ARGS__);                                                 \
        end_stream(file, real);                                                                    \
        return result;                                                                             \
    }

wchar_t *__fgetws_chk(wchar_t *text, size_t room, int count, FILE *file);
wchar_t *__fgetws_unlocked_chk(wchar_t *text, size_t room, int count, FILE *file);
int __vfwprintf_chk(FILE *file, int flag, const wchar_t *format, va_list values);
int __fwprintf_chk(FILE *file, int flag, const wchar_t *format, ...);

CATCH_STREAM(wint_t, fgetwc, true, (FILE * file), real)
CATCH_STREAM(wint_t, getwc, true, (FILE * file), real)
CATCH_STREAM(wint_t, fgetwc_unlocked, true, (FILE * file), real)
CATCH_STREAM(wint_t, getwc_unlocked, true, (FILE * file), real)
CATCH_STREAM(wint_t, ungetwc, true, (wint_t c, FILE *file), c, real)
CATCH_STREAM(wint_t, fputwc, true, (wchar_t c, FILE *file), c, real)
CATCH_STREAM(wint_t, putwc, true, (wchar_t c, FILE *file), c, real)
CATCH_STREAM(wint_t, fputwc_unlocked, true, (wchar_t c, FILE *file), c, real)
CATCH_STREAM(wint_t, putwc_unlocked, true, (wchar_t c, FILE *file), c, real)
CATCH_STREAM(wchar_t *, fgetws, true, (wchar_t * text, int count, FILE *file), text, count, real)
CATCH_STREAM(wchar_t *, fgetws_unlocked, true, (wchar_t * text, int count, FILE *file), text, count,
             real)
CATCH_STREAM(wchar_t *, __fgetws_chk, true, (wchar_t * text, size_t room, int count, FILE *file),
             text, room, count, real)
CATCH_STREAM(wchar_t *, __fgetws_unlocked_chk, true,
             (wchar_t * text, size_t room, int count, FILE *file), text, room, count, real)
CATCH_STREAM(int, fputws, true, (const wchar_t *text, FILE *file), text, real)
CATCH_STREAM(int, fputws_unlocked, true, (const wchar_t *text, FILE *file), text, real)
CATCH_STREAM(int, vfwprintf, true, (FILE * file, const wchar_t *format, va_list values), real,
             format, values)
CATCH_STREAM(int, __vfwprintf_chk, true,
             (FILE * file, int flag, const wchar_t *format, va_list values), real, flag, format,
             values)

/* Passes the variable arguments of a call on to served, which takes a va_list. */
#define CATCH_VALUES(name, served, parameters, ...)                                                \
    CATCH int name parameters                                                                      \
    {                                                                                              \
        va_list values;                                                                            \
        int result;                                                                                \
        va_start(values, format);                                                                  \
        result = served(__VA_ARGS__, values);                                                      \
        va_end(values);                                                                            \
        return result;                                                                             \
    }

CATCH_VALUES(fwprintf, vfwprintf, (FILE * file, const wchar_t *format, ...), file, format)
CATCH_VALUES(__fwprintf_chk, __vfwprintf_chk, (FILE * file, int flag, const wchar_t *format, ...),
             file, flag, format)

/* The C library has these by several standards; its headers choose one under the plain name. */
#define CATCH_SCAN(id, name, vname)                                                                \
    CATCH int id##_values(FILE *file, const wchar_t *format, va_list values) __asm__(vname);       \
    CATCH int id(FILE *file, const wchar_t *format, ...) __asm__(name);                            \
    CATCH int id##_values(FILE *file, const wchar_t *format, va_list values)                       \
    {                                                                                              \
        FILE *real = begin_stream(file, true);                                                     \
        int result = RUN_NEXT_NAMED(__typeof__(&id##_values), vname)(real, format, values);        \
        end_stream(file, real);                                                                    \
        return result;                                                                             \
    }                                                                                              \
    CATCH_VALUES(id, id##_values, (FILE * file, const wchar_t *format, ...), file, format)

CATCH_SCAN(scan, "fwscanf", "vfwscanf")
CATCH_SCAN(scan_99, "__isoc99_fwscanf", "__isoc99_vfwscanf")
CATCH_SCAN(scan_23, "__isoc23_fwscanf", "__isoc23_vfwscanf")

/* Asking for the orientation does not set it, and byte orientation keeps the program's stream. */
CATCH int fwide(FILE *file, int mode)
{
    struct run_stream *stream = stream_find(file);

    if (stream == NULL)
        return RUN_NEXT(fwide)(file, mode);
    if (mode > 0)
        stream_widen(stream);
    if (stream->wide)
        return RUN_NEXT(fwide)(stream->real, mode);
    stream->bytes = stream->bytes || mode < 0;
    return stream->bytes ? -1 : 0;
}

/* Calls for streams of either kind. */

CATCH_STREAM(int, fflush, false, (FILE * file), real)
CATCH_STREAM(int, fflush_unlocked, false, (FILE * file), real)
CATCH_STREAM(int, fseek, false, (FILE * file, long offset, int whence), real, offset, whence)
CATCH_STREAM(int, fseeko, false, (FILE * file, off_t offset, int whence), real, offset, whence)
CATCH_STREAM(int, fseeko64, false, (FILE * file, off64_t offset, int whence), real, offset, whence)
CATCH_STREAM(long, ftell, false, (FILE * file), real)
CATCH_STREAM(off_t, ftello, false, (FILE * file), real)
CATCH_STREAM(off64_t, ftello64, false, (FILE * file), real)
CATCH_STREAM(int, fgetpos, false, (FILE *restrict file, fpos_t *restrict place), real, place)
CATCH_STREAM(int, fgetpos64, false, (FILE *restrict file, fpos64_t *restrict place), real, place)
CATCH_STREAM(int, fsetpos, false, (FILE * file, const fpos_t *place), real, place)
CATCH_STREAM(int, fsetpos64, false, (FILE * file, const fpos64_t *place), real, place)

CATCH void rewind(FILE *file)
{
    FILE *real = begin_stream(file, false);

    RUN_NEXT(rewind)(real);
    end_stream(file, real);
}
