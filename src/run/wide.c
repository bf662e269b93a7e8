/* SPDX-License-Identifier: MIT */
/*
 * Wide characters on streams of granted slices. glibc's streams of fopencookie(3) crash on them. So
 * the first such call replaces the program's stream, for good, by the C library's own stream of the
 * slice, which goes through the mount. Calls for any stream (fseek(3)) follow it. The indicators of
 * end and error are kept equal in both, since feof_unlocked(3) may be a macro that reads the
 * program's.
 */
#undef _FORTIFY_SOURCE
#undef _FILE_OFFSET_BITS
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <wchar.h>

#include "next.h"
#include "streams.h"

#define INDICATORS (_IO_EOF_SEEN | _IO_ERR_SEEN)

static void copy_indicators(const FILE *from, FILE *to)
{
    to->_flags = (to->_flags & ~INDICATORS) | (from->_flags & INDICATORS);
}

/* Returns the stream that serves a call on file. The caller calls end after it. */
static FILE *begin(FILE *file, bool widens)
{
    struct run_stream *stream = widens || run_streams_are_wide() ? run_streams_find(file) : NULL;

    if (stream == NULL)
        return file;
    if (widens)
        run_streams_widen(stream);
    if (!stream->wide)
        return file;
    copy_indicators(file, stream->real);
    return stream->real;
}

/* Flushes a stream that the program has set to write at once. */
static void end(FILE *file, FILE *real)
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
        FILE *real = begin(file, widens);                                                          \
        type result = RUN_NEXT(name)(__VA_ARGS__);                                                 \
        end(file, real);                                                                           \
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

CATCH int fwprintf(FILE *file, const wchar_t *format, ...)
{
    va_list values;
    int result;

    va_start(values, format);
    result = vfwprintf(file, format, values);
    va_end(values);
    return result;
}

CATCH int __fwprintf_chk(FILE *file, int flag, const wchar_t *format, ...)
{
    va_list values;
    int result;

    va_start(values, format);
    result = __vfwprintf_chk(file, flag, format, values);
    va_end(values);
    return result;
}

/* The C library has these by several standards; its headers choose one under the plain name. */
#define CATCH_SCAN(id, name, vname)                                                                \
    CATCH int id##_values(FILE *file, const wchar_t *format, va_list values) __asm__(vname);       \
    CATCH int id(FILE *file, const wchar_t *format, ...) __asm__(name);                            \
    CATCH int id##_values(FILE *file, const wchar_t *format, va_list values)                       \
    {                                                                                              \
        FILE *real = begin(file, true);                                                            \
        int result = RUN_NEXT_NAMED(__typeof__(&id##_values), vname)(real, format, values);        \
        end(file, real);                                                                           \
        return result;                                                                             \
    }                                                                                              \
    CATCH int id(FILE *file, const wchar_t *format, ...)                                           \
    {                                                                                              \
        va_list values;                                                                            \
        int result;                                                                                \
        va_start(values, format);                                                                  \
        result = id##_values(file, format, values);                                                \
        va_end(values);                                                                            \
        return result;                                                                             \
    }

CATCH_SCAN(scan, "fwscanf", "vfwscanf")
CATCH_SCAN(scan_99, "__isoc99_fwscanf", "__isoc99_vfwscanf")
CATCH_SCAN(scan_23, "__isoc23_fwscanf", "__isoc23_vfwscanf")

/* Asking for the orientation does not set it, and byte orientation keeps the program's stream. */
CATCH int fwide(FILE *file, int mode)
{
    struct run_stream *stream = run_streams_find(file);

    if (stream == NULL)
        return RUN_NEXT(fwide)(file, mode);
    if (mode > 0)
        run_streams_widen(stream);
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
    FILE *real = begin(file, false);

    RUN_NEXT(rewind)(real);
    end(file, real);
}
