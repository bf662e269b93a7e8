/* SPDX-License-Identifier: MIT */
#ifndef BENCH_VIEW_H
#define BENCH_VIEW_H

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/slice.h"

/* Opens the file at path, and rank 0's slice of it by a spec's text. Returns 0 or a negative errno
   after a message on stderr. */
static inline int bench_open(const char *program, const char *path, const char *text, int flags,
                             struct mpiio_store **store, struct mpiio_slice **slice)
{
    struct vs_error error = {0};
    struct vs_overrides overrides = {.file = path};
    struct vs_spec *spec = NULL;
    struct vs_view *view = NULL;
    char why[1300];
    int rc;

    if (vs_spec_parse(text, strlen(text), program, ".", &overrides, &spec, &error) < 0 ||
        vs_spec_view(spec, 0, 0, &view, &error) < 0) {
        fprintf(stderr, "%s: %s\n", program, vs_error_text(&error, why, sizeof(why)));
        vs_spec_free(spec);
        return -EINVAL;
    }
    vs_spec_free(spec);
    rc = mpiio_store_open(path, flags, store);
    if (rc == 0)
        return mpiio_slice_new(*store, view, MPIIO_NARROW_REFUSE, slice);
    vs_view_unref(view);
    return rc;
}

#endif
