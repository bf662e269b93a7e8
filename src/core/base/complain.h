/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_COMPLAIN_H
#define MPIIO_COMPLAIN_H

#include <stdarg.h>

/*
 * One clean line on stderr (viewspec/base/line.h): "NAME: " and the text, NAME being that of the
 * program as its user knows it. Local, thread-safe.
 */
void mpiio_complain(const char *name, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void mpiio_complain_list(const char *name, const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0)));

#endif
