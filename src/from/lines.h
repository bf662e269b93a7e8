/* SPDX-License-Identifier: MIT */
#ifndef FROM_LINES_H
#define FROM_LINES_H

/* Headers in lines of text: keys, values, words and numbers. Nothing is copied. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "viewspec/error.h"

/* A piece of the text. */
struct from_span {
    const char *at;
    size_t length;
};

/* Text that has not been read yet, and what errors say of it. */
struct from_lines {
    const char *at, *end;
    int64_t number; /* of the line that was read last, from 1 */
    const char *path, *format;
    struct vs_error *error;
};

/* Takes the next line, without blanks at its ends. Returns false at the end of the text. */
bool from_lines_next(struct from_lines *lines, struct from_span *line);

/* Extends a value that begins with "{" up to its "}", which may stand some lines on, and removes
   both. It is an error if there is none. */
void from_lines_braces(struct from_lines *lines, struct from_span *value);

/* Fills error with what is wrong in the line that was read last, unless an error is noted. */
void from_lines_fail(struct from_lines *lines, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Compares without regard to case. */
bool from_span_is(struct from_span span, const char *word);

struct from_span from_span_of(const char *text);

/* Splits at the first of the marks. Both parts lose the blanks at their ends. */
bool from_span_split(struct from_span span, const char *marks, struct from_span *left,
                     struct from_span *right);

/* Takes the next word, which blanks or the mark (0: none) separate. Returns false if none is left.
 */
bool from_span_word(struct from_span *rest, char mark, struct from_span *word);

/* Reads a decimal number that is the whole span. */
bool from_span_number(struct from_span span, int64_t *number);

/* Reads numbers that are separated by blanks or commas. Returns how many; -1 if one is none, or if
   there are more than most. */
int from_span_numbers(struct from_span span, int64_t *list, int most);

#endif
