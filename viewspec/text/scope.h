/* SPDX-License-Identifier: MIT */
#ifndef VS_SCOPE_H
#define VS_SCOPE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "viewspec/base/place.h"

/* Private to viewspec/: integers, the names that they may use, expressions over these, and the
   words and marks of shorthand. */

/* One name of "let". The value is a JSON integer or an expression over the names before it. */
struct vs_binding {
    const char *name;
    json_t *value;              /* borrowed */
    const struct vs_text *text; /* the text that holds the value: the spec, or a -D option */
    const struct vs_place *place;
};

enum vs_binding_state {
    VS_UNKNOWN,
    VS_COMMON,         /* the same for every rank */
    VS_RANK_DEPENDENT, /* valid for the scope's rank only */
};

/* The computed bindings of one rank. One thread uses a scope at a time. */
struct vs_scope {
    const struct vs_binding *bindings;
    size_t count;
    json_t *indexes; /* name -> number of its binding; borrowed */
    int64_t *values;
    enum vs_binding_state *states;
    int64_t ranks;   /* 0: not known yet */
    int64_t rank;    /* -1: none */
    bool uses_rank;  /* set if a value depended on the rank */
    bool names_rank; /* set if the dependence was by its name */
    int64_t work;    /* values evaluated and types built; a long expression counts several times */
    const struct vs_text *text; /* the spec's text, which errors refer to; borrowed */
    struct vs_error *error;     /* the result of the caller's function */
};

/* Record an error of the value at place, or of its key, or lack of memory. Return the error's code.
 */
#define vs_refuse(scope, place, ...)                                                               \
    vs_fail((scope)->error, (scope)->text, (place), false, __VA_ARGS__)
#define vs_refuse_key(scope, place, ...)                                                           \
    vs_fail((scope)->error, (scope)->text, (place), true, __VA_ARGS__)
#define vs_refuse_memory(scope) vs_fail_memory((scope)->error, (scope)->text)

/*
 * Computes the unknown bindings, in order. If strict, records and returns the first error (a
 * negative errno). Otherwise bindings that are wrong, or that need a rank or ranks not known yet,
 * remain unknown; nothing is recorded, and 0 is returned.
 */
int vs_scope_settle(struct vs_scope *scope, bool strict);

/*
 * Evaluates value at place, a JSON integer or a string expression. Returns 0, or a negative errno
 * after recording an error.
 */
int vs_scope_integer(struct vs_scope *scope, const struct vs_place *place, const json_t *value,
                     int64_t *result);

/*
 * The position of a reader in a text. After an error, which is recorded in error, the reader
 * behaves as at the end of the text: it finds nothing.
 */
struct vs_words {
    struct vs_text text; /* the text; its bytes end with a '\0' */
    const char *at;
    const char *ends;           /* the characters that end what errors quote */
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

/* Returns how many characters at the beginning of text can be part of a name. */
size_t vs_scope_name_length(const char *text);

/* Returns true if name can be bound: a C identifier that is not rank, ranks, min or max. */
bool vs_scope_name_ok(const char *name);

/* Returns the kind of value for messages: "an object", "a string", ... */
const char *vs_kind_name(const json_t *value);

/*
 * Returns the value under key of the object at `up`. NULL if there is none, or after recording an
 * error if it has another type than the wanted one. Borrowed.
 */
json_t *vs_scope_member(struct vs_scope *scope, const struct vs_place *up, const json_t *object,
                        const char *key, json_type wanted);

#endif
