/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_COMPLAIN_H
#define MPIIO_COMPLAIN_H

#include <stdarg.h>

/*
 * Prints one clean line (viewspec/base/line.h) on stderr: "NAME: " and the text. NAME is the name
 * of the program as its user knows it. Local, thread-safe.
 */
void mpiio_complain(const char *name, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void mpiio_complain_list(const char *name, const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0)));

/* The severity of a line in the daemon's log, in ascending order. */
enum mpiio_log_level {
    MPIIO_LOG_DEBUG,   /* one line for each request */
    MPIIO_LOG_INFO,    /* a change of state that was asked for or expected */
    MPIIO_LOG_WARNING, /* the mount works, but something is not as it should be */
    MPIIO_LOG_ERROR,   /* data is lost or cannot be stored, or a node has failed */
};

#endif
