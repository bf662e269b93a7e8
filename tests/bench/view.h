/* SPDX-License-Identifier: MIT */
#ifndef BENCH_VIEW_H
#define BENCH_VIEW_H

#include <stdio.h>
#include <string.h>

#include "core/slice.h"

/* Returns rank 0's view of the file at path, from a spec's text. Returns NULL after a message on
   stderr. */
static inline struct vs_view *bench_view(const char *program, const char *path, const char *text)
{
    struct vs_error error = {0};
    struct vs_overrides overrides = {.file = path};
    struct vs_spec *spec = NULL;
    struct vs_view *view = NULL;

    if (vs_spec_parse(text, strlen(text), program, ".", &overrides, &spec, &error) < 0 ||
        vs_spec_view(spec, 0, 0, &view, &error) < 0) {
        char why[1300];

        fprintf(stderr, "%s: %s\n", program, vs_error_text(&error, why, sizeof(why)));
    }
    vs_spec_free(spec);
    return view;
}

#endif
