/* SPDX-License-Identifier: MIT */
#ifndef VS_LINE_H
#define VS_LINE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * One line of text for a terminal or a log. Every message of a program passes through here, because
 * names, paths and answers from others may contain any bytes. Local, thread-safe.
 */

/*
 * Replaces by '?' each byte that must not reach a terminal: control characters (of ASCII, of ISO
 * 6429, and Unicode's that end a line or change its direction), and bytes that are not UTF-8. The
 * text does not become longer. Returns true if anything was replaced.
 */
bool vs_line_clean(char *text);

/*
 * Copies size bytes of text, which may contain NULs, to a string of capacity bytes, truncates it if
 * necessary, and cleans it.
 */
void vs_line_copy(char *line, size_t capacity, const char *text, size_t size);

#endif
