/* SPDX-License-Identifier: MIT */
#ifndef FROM_TEXT_H
#define FROM_TEXT_H

#include "formats.h"

/* Parses text headers into lines, keys, values, words and numbers, without copying. */

/* A section of the text. */
struct from_span {
    const char *at;
    size_t length;
};

/* Text of a file that has not been read yet. */
struct from_lines {
    struct from_file *file;
    const char *at, *end;
    int64_t number; /* of the line that was read last, from 1 */
};

/* Starts at the beginning of head. */
struct from_lines from_lines_of(const struct from_bytes *head, struct from_file *file);

/* Takes the next line, without blanks at its ends. Returns false at the end of the text. */
bool from_lines_next(struct from_lines *lines, struct from_span *line);

/* Records an error in the line that was read last. */
void from_lines_fail(struct from_lines *lines, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Returns true if the span is this word, ignoring case. */
bool from_span_is(struct from_span span, const char *word);

struct from_span from_span_of(const char *text);

/* Returns the text from at to end without blanks at its ends. */
struct from_span from_span_trim(const char *at, const char *end);

/* Splits at the first of the marks, and trims blanks from both parts. */
bool from_span_split(struct from_span span, const char *marks, struct from_span *left,
                     struct from_span *right);

/* Takes the next word. Words are separated by blanks or the mark (0: none). Returns false if none
   is left. */
bool from_span_word(struct from_span *rest, char mark, struct from_span *word);

/* Reads a decimal number that spans the whole text. Returns false if it is no number, or less than
   `least`. */
bool from_span_number(struct from_span span, int64_t least, int64_t *number);

/* Reads such numbers, which are separated by blanks or commas. Returns their count, or -1 if an
   item is not one or there are more than most. */
int from_span_numbers(struct from_span span, int64_t least, int64_t *list, int most);

/* Words of text headers: strings in quotes, numbers, names, marks. */

/* The position of a reader. After an error there is nothing left to read. */
struct from_words {
    const char *at, *end;
    const char *wrong; /* the error, borrowed; NULL: none */
};

/* Records an error, unless there already is one. */
void from_words_fail(struct from_words *words, const char *what);

/* Returns the next character that is not blank, without taking it; '\0' at the end. */
char from_words_peek(struct from_words *words);

/* Takes the next character if it is the wanted one. from_words_need makes its absence an error. */
bool from_words_accept(struct from_words *words, char wanted);
void from_words_need(struct from_words *words, char wanted);

/* Takes a name of letters, digits and _ if it is this word. */
bool from_words_accept_word(struct from_words *words, const char *word);

/* Takes a decimal number, which is not negative. Without one, records an error and returns 0. */
int64_t from_words_number(struct from_words *words);

/*
 * Takes a string in single or double quotes, and omits characters that a backslash escapes. Stores
 * it in text, which may be NULL, truncated to size. Without a string, records an error and returns
 * false.
 */
bool from_words_string(struct from_words *words, char *text, size_t size);

/* Values that a text header describes: one block of bytes, in the header's own file or in another
   one, or blocks of equal size in several files. */

/* The value of disp if the block is at the end of its file. */
#define FROM_AT_END (-1)

/* Starts with lines set, and everything else zero. from_brick_finish releases it. */
struct from_brick {
    struct from_lines lines; /* of the header */
    struct from_paths names; /* of the data files, in the order of the values; none: the header's */
    int64_t bytes;           /* of all values */
    int64_t start;           /* displacement in each file from which lines are counted */
    int64_t skipped;         /* lines of text to skip from start */
    int64_t disp;            /* of the block, from the end of these lines; or FROM_AT_END */
    json_t *view;            /* of the members; NULL: the blocks follow each other */
    const char *reason;      /* why no variable can be a view; NULL: they can */
};

/* The functions below record errors in the file. */

/* Adds a data file. A relative name is resolved against the header's folder. */
void from_brick_add(struct from_brick *brick, struct from_span name);

/* Adds the data files that the following lines name, one on each, up to the end of the text. */
void from_brick_add_list(struct from_brick *brick);

/* Adds the files named by a printf pattern with one %d, for the numbers min to max. If the pattern
   or the numbers cannot be used, the error is the text `what`. */
void from_brick_add_numbered(struct from_brick *brick, struct from_span pattern, int64_t min,
                             int64_t max, int64_t step, const char *what);

/* The values of an array, as a header describes them. */
struct from_values {
    char kind; /* as for from_number; 'V': no number; 0: not known yet */
    int size;
    char order; /* of bytes: '<' or '>'; 0: not known */
    int dimensions;
    int64_t shape[FROM_DIMENSIONS_MAX]; /* the fastest dimension first */
    int64_t components;                 /* of an element, if there are several */
};

/*
 * Adds a variable of that name with all values of the brick, and sets the brick's bytes. Without a
 * name, it is named after the header, without its suffix.
 */
void from_brick_variable(struct from_brick *brick, struct from_span name,
                         const struct from_values *values);

/*
 * Ends the reading of a header, and releases the brick. Without an error, moves the file's
 * variables, whose displacements count from the first value, to the data files. Adds the lines of
 * head that were read to the parts that the spec checks. Refuses the variables if the block cannot
 * be found, or the brick has a reason. Returns the code of the file's error.
 */
int from_brick_finish(struct from_brick *brick, const struct from_bytes *head);

#endif
