/* SPDX-License-Identifier: MIT */
#ifndef VS_SHORTHAND_PRIVATE_H
#define VS_SHORTHAND_PRIVATE_H

/* Private to viewspec/: the JSON of a view in shorthand. */

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "viewspec/base/place.h"

/*
 * Translates text as vs_shorthand_json does, but returns the JSON itself, a new reference. Sets
 * places, also a new reference, to the origin of each value: JSON pointer -> byte offset in text.
 * Errors use names, which may be NULL.
 */
json_t *vs_shorthand_translate(const char *text, const char *source, const struct vs_names *names,
                               const char *const *defines, size_t define_count, json_t **places,
                               struct vs_error *error);

/* words.c: the words, marks and expressions of a shorthand. */

/*
 * The position of a reader in a text. After an error, which is recorded in error, the reader
 * behaves as at the end of the text: it finds nothing.
 */
struct vs_words {
    struct vs_text text; /* the text; its bytes end with a '\0' */
    const char *at;
    const char *const *defines; /* "NAME=VALUE": names that expressions may use */
    size_t define_count;
    struct vs_error *error;
};

/* Returns true if one of the defines ("NAME=VALUE") has the name, of length characters. */
bool vs_words_defined(const char *const *defines, size_t count, const char *name, size_t length);

/*
 * Records an error at a place in the text, unless there is one already. Returns the error's code.
 */
int vs_words_fail(struct vs_words *w, const char *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Records that `what` was expected here. Returns the error's code. */
int vs_words_expected(struct vs_words *w, const char *what);

/* Returns the next character that is not blank, without consuming it; '\0' at the end. */
char vs_words_peek(struct vs_words *w);

/* Consumes the next character if it is the wanted one. */
bool vs_words_accept(struct vs_words *w, char wanted);

/* Returns the length of the name or number at this position. */
size_t vs_words_length(struct vs_words *w);

/* Consumes the name or number at this position if it is the given word. */
bool vs_words_accept_word(struct vs_words *w, const char *word);

/* Reads a label (vs_is_label). A new string; NULL after an error. */
json_t *vs_words_label(struct vs_words *w);

/* Reads a number with or without a fraction. A new reference; NULL after an error. */
json_t *vs_words_number(struct vs_words *w);

/*
 * Reads an expression and returns it as a JSON integer if it is a plain number, else as a string.
 * Numbers may have the suffixes k, M, G, T. A new reference; NULL: out of memory.
 */
json_t *vs_words_integer(struct vs_words *w);

#endif
