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

#endif
