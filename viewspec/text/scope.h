/* SPDX-License-Identifier: MIT */
#ifndef VS_SCOPE_H
#define VS_SCOPE_H

/* Private to viewspec/: integers, the names they may use, and the expressions over them. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "viewspec/base/place.h"

/* One name of "let". The value is a JSON integer or an expression over the names before it. */
struct vs_binding {
    const char *name;
    json_t *value;              /* borrowed */
    const struct vs_text *text; /* where the value stands: the spec, or a -D option */
    const struct vs_place *place;
};

enum vs_binding_state {
    VS_UNKNOWN,
    VS_COMMON,         /* the same for every rank */
    VS_RANK_DEPENDENT, /* holds for the scope's rank only */
};

/* What has been computed of the bindings for one rank. One thread uses a scope. */
struct vs_scope {
    const struct vs_binding *bindings;
    size_t count;
    json_t *indexes; /* name -> number of its binding; borrowed */
    int64_t *values;
    enum vs_binding_state *states;
    int64_t ranks;   /* 0: not known yet */
    int64_t rank;    /* -1: none */
    bool uses_rank;  /* set where a value depended on the rank */
    bool names_rank; /* set where that was said by its name */
    int64_t work;    /* values evaluated and types built, long expressions several times */
    struct vs_error *error;
};

/*
 * Computes the bindings that are unknown, in order. Strict: the first error is noted and returned
 * (a negative errno). Otherwise those that need a rank or ranks not known yet, or are wrong, stay
 * unknown, nothing is noted, and 0 is returned.
 */
int vs_scope_settle(struct vs_scope *scope, bool strict);

/*
 * The integer that value (a JSON integer or a string expression) stands for. Errors are noted
 * with text and place. Returns 0 or a negative errno.
 */
int vs_scope_integer(struct vs_scope *scope, const struct vs_text *text,
                     const struct vs_place *place, json_t *value, int64_t *result);

/* Whether name can be bound: a C identifier that is not rank, ranks, min or max. */
bool vs_scope_name_ok(const char *name);

/* Whether a view can have the name: it will be a folder's beside files named rankN and self. */
bool vs_scope_view_name_ok(const char *name);

/* "an object", "a string", ...: what value is, for messages. */
const char *vs_kind_name(const json_t *value);

#endif
