/* SPDX-License-Identifier: MIT */
#ifndef VS_SCOPE_H
#define VS_SCOPE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "viewspec/base/place.h"

/* Private to viewspec/: integers, the names that they may use, and expressions over these. */

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

/* The longest expression in shorthand, with its zero byte. */
#define VS_EXPRESSION_MAX 512

/* An expression that is translated from shorthand. Zero all but the first two before use. */
struct vs_expression {
    /* Returns true if expressions may use the name. Otherwise it has reported the error. */
    bool (*known)(void *argument, const char *name, size_t length);
    void *argument;
    char text[VS_EXPRESSION_MAX]; /* without suffixes of numbers */
    size_t length;                /* of text */
    int tokens;                   /* in text */
    int64_t number;               /* the last one in text */
    const char *end;              /* the text behind the expression, or the place of the error */
    char reason[512];
};

/*
 * Reads the expression at the beginning of text. The grammar is that of other expressions, except
 * that a number may have a suffix (k, M, G, T) and may be followed by x. Returns 0 or -EINVAL.
 * After -EINVAL, reason and end describe the error, unless `known` has reported it.
 */
int vs_expression_read(const char *text, struct vs_expression *result);

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
