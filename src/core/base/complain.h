/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_COMPLAIN_H
#define MPIIO_COMPLAIN_H

#include <stdarg.h>

/*
 * Prints "NAME: " and the text to stderr, as one clean line (viewspec/base/line.h). NAME is the
 * name by which users know the program. Local, thread-safe.
 */
void mpiio_complain(const char *name, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void mpiio_complain_list(const char *name, const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0)));

/* The severity of a line in the daemon's log, in ascending order. */
enum mpiio_log_level {
    MPIIO_LOG_DEBUG,   /* one line for each request */
    MPIIO_LOG_INFO,    /* a change of state that was requested or expected */
    MPIIO_LOG_WARNING, /* the mount works, but something is wrong */
    MPIIO_LOG_ERROR,   /* data is lost or cannot be stored, or a node has failed */
};

#endif
