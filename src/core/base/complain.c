/* SPDX-License-Identifier: MIT */
#include "complain.h"

#include <stdio.h>

#include "viewspec/base/line.h"

void mpiio_complain_list(const char *name, const char *format, va_list arguments)
{
    char text[2048];

    vsnprintf(text, sizeof(text), format, arguments);
    vs_line_clean(text);
    fprintf(stderr, "%s: %s\n", name, text);
}

void mpiio_complain(const char *name, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    mpiio_complain_list(name, format, arguments);
    va_end(arguments);
}
