/* SPDX-License-Identifier: MIT */
#ifndef TAP_H
#define TAP_H

/* Test results of a single-file program, in the Test Anything Protocol, on stdout. */

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

static int tap_tests, tap_failures;

/* Prints a result and its description. It flushes stdout, so that a later fork does not print it
   twice. */
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

/* Prints the number of results. Returns the program's exit status. */
static inline int tap_end(void)
{
    printf("1..%d\n", tap_tests);
    return tap_failures > 0;
}

#endif
