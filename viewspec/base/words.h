/* SPDX-License-Identifier: MIT */
#ifndef VS_WORDS_H
#define VS_WORDS_H

/* Private to viewspec/: the words, marks and expressions that a shorthand consists of. */

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "place.h"

/*
 * Where a reader stands in a text. After an error, which is noted in error, nothing is there any
 * more: whatever is asked for is not found.
 */
struct vs_words {
    struct vs_text text; /* what is read; its bytes end with a '\0' */
    const char *at;
    const char *const *defines; /* "NAME=VALUE": names that expressions may use */
    size_t define_count;
    struct vs_error *error;
};

/* Notes an error at a place in the text, unless there is one already. Returns the error's code. */
int vs_words_fail(struct vs_words *w, const char *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Notes that something else was expected than what is there. Returns the error's code. */
int vs_words_expected(struct vs_words *w, const char *what);

/* The next character that is no blank, which stays; '\0' behind the last. */
char vs_words_peek(struct vs_words *w);

/* Takes that character where it is the one wanted. */
bool vs_words_accept(struct vs_words *w, char wanted);

/* Whether c can be in a name. */
bool vs_words_is_name(char c);

/* Length of the name or number that is there. */
size_t vs_words_length(struct vs_words *w);

/* Takes it where it is this word. */
bool vs_words_accept_word(struct vs_words *w, const char *word);

/*
 * Takes an expression: as a JSON integer where it is nothing but a number, else as a string.
 * Numbers take the suffixes k, M, G, T. A new reference; NULL without memory.
 */
json_t *vs_words_integer(struct vs_words *w);

#endif
