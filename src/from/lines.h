/* SPDX-License-Identifier: MIT */
#ifndef FROM_LINES_H
#define FROM_LINES_H

/* Parses text headers into lines, keys, values, words and numbers, without copying. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "viewspec/error.h"

/* A piece of the text. */
struct from_span {
    const char *at;
    size_t length;
};

/* Text that has not been read yet, and its description in errors. */
struct from_lines {
    const char *at, *end;
    int64_t number; /* of the line that was read last, from 1 */
    const char *path, *format;
    struct vs_error *error;
};

struct from_bytes;

/* Starts at the beginning of head, with errors for its path. */
struct from_lines from_lines_of(const struct from_bytes *head, const char *format,
                                struct vs_error *error);

/* Takes the next line, without blanks at its ends. Returns false at the end of the text. */
bool from_lines_next(struct from_lines *lines, struct from_span *line);

/* Extends a value that begins with "{" to the matching "}", which may be on a later line, and
   removes both. Fills the error if there is no "}". */
void from_lines_braces(struct from_lines *lines, struct from_span *value);

/* Fills error for the line that was read last, unless it already has an error. */
void from_lines_fail(struct from_lines *lines, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Returns true if the span is this word, ignoring case. */
bool from_span_is(struct from_span span, const char *word);

struct from_span from_span_of(const char *text);

/* Splits at the first of the marks, and trims blanks from both parts. */
bool from_span_split(struct from_span span, const char *marks, struct from_span *left,
                     struct from_span *right);

/* Takes the next word. Words are separated by blanks or the mark (0: none). Returns false if none
   is left. */
bool from_span_word(struct from_span *rest, char mark, struct from_span *word);

/* Reads a decimal number that spans the whole text. */
bool from_span_number(struct from_span span, int64_t *number);

/* Reads numbers that are separated by blanks or commas. Returns their count, or -1 if an item is
   not a number or there are more than most. */
int from_span_numbers(struct from_span span, int64_t *list, int most);

#endif
