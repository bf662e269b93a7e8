/* SPDX-License-Identifier: MIT */
#ifndef VIEW_NUMBER_H
#define VIEW_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

#include "viewspec/basic.h"

/*
 * Formatting of native values. The text is not terminated: each function returns its end.
 * Thread-safe.
 */
enum view_format { VIEW_TEXT, VIEW_CSV, VIEW_JSON };

/* The maximum number of characters of a value. */
#define VIEW_VALUE_TEXT 128

/*
 * Writes a value of a basic type, native, at any address, so that it can be read back. bare: a
 * part of a string, whose quotes the caller writes.
 *
 *   integers   decimal
 *   reals      the shortest decimal that reads back as the same number, with a point or an
 *              exponent; inf and nan (in JSON strings) with their signs
 *   complex    real and imaginary part, as two values; in JSON an array
 *   logical    false for 0, else true
 *   bytes      two hexadecimal digits (in JSON a string)
 *   char       what is visible as it is; the rest and the backslash as a backslash and three octal
 *              digits; in CSV in quotes; in JSON a string of one character U+0000 .. U+00FF
 */
char *view_write_value(char *text, enum view_format format, bool bare, const struct vs_basic *basic,
                       const void *value);

#endif
