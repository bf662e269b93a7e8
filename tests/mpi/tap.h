/* SPDX-License-Identifier: MIT */
#ifndef TAP_H
#define TAP_H

/* Results of a program that is one file, in the Test Anything Protocol on stdout. */

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

static int tap_tests, tap_failures;

/* A result, with what it is about. It is out before the program goes on, and so before a fork. */
__attribute__((format(printf, 2, 3))) static inline void ok(bool good, const char *format, ...)
{
    va_list arguments;

    printf("%sok %d - ", good ? "" : "not ", ++tap_tests);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
    fflush(stdout);
    tap_failures += !good;
}

/* Says how many results there were, at the end. Returns the program's exit status. */
static inline int tap_end(void)
{
    printf("1..%d\n", tap_tests);
    return tap_failures > 0;
}

#endif
