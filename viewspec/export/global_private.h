/* SPDX-License-Identifier: MIT */
#ifndef VS_GLOBAL_PRIVATE_H
#define VS_GLOBAL_PRIVATE_H

#include "viewspec/base/arena.h"
#include "viewspec/global.h"
#include "viewspec/spec_private.h"
#include "viewspec/types/view.h"

/* Private to viewspec/export/: the contents of a global array. */

struct vs_global {
    struct vs_arena arena;
    const struct vs_spec *spec; /* borrowed */
    size_t index;
    json_t *whole;        /* the VIEW that the array is cut out of; owned */
    struct vs_view *view; /* the whole array, with all records */
    struct vs_global_facts facts;
    struct vs_global_field *field; /* facts.field */
    bool given;          /* "global" is the whole array; the ranks' parts have other filetypes */
    struct vs_cut *cuts; /* by field: its part of the etype */
};

/* Record an error of the view. Return its code. */
#define vs_global_fail(global, error, ...)                                                         \
    vs_fail((error), &(global)->spec->text, (global)->spec->views[(global)->index].place, false,   \
            __VA_ARGS__)
#define vs_global_no_memory(global, error) vs_fail_memory((error), &(global)->spec->text)

/* Returns a new VIEW object of the given keys of a rank's view, without "per_rank", or NULL. */
json_t *vs_global_merged(const struct vs_global *global, int64_t rank, const char *const *keys);

/*
 * Sets the names of the array and of its dimensions, its records and its grid. Returns 0 or a
 * negative errno, with error filled.
 */
int vs_global_label(struct vs_global *global, int64_t file_size, struct vs_error *error);

#endif
