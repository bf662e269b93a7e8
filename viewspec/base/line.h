/* SPDX-License-Identifier: MIT */
#ifndef VS_LINE_H
#define VS_LINE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * One line of text for a terminal or a log, of names, paths and answers that come from elsewhere:
 * every message that a program writes goes through here. Local, thread-safe.
 */

/*
 * Puts '?' in the place of whatever is not to reach a terminal: control characters (those of ASCII,
 * of ISO 6429, and Unicode's that end a line or turn its direction), and each byte that is not
 * UTF-8. The text does not become longer. Returns whether there was any.
 */
bool vs_line_clean(char *text);

/*
 * Copies size bytes of text, which may hold NULs, to a string of capacity bytes, cut where it does
 * not fit, and cleans that.
 */
void vs_line_copy(char *line, size_t capacity, const char *text, size_t size);

#endif
