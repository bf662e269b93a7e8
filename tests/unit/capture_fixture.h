/* SPDX-License-Identifier: MIT */
#ifndef CAPTURE_FIXTURE_H
#define CAPTURE_FIXTURE_H

/* Random numbers, and specs from the JSON of a captured view. */

#include "spec_fixture.h"
#include "capture/views.h"

static inline int64_t draw(int64_t below)
{
    return (int64_t)((unsigned)rand() % (uint64_t)below);
}

static inline struct vs_spec *spec_of_view(const json_t *view, size_t ranks)
{
    json_t *json = json_pack("{s:i, s:s, s:i, s:O}", "viewspec", 1, "file", "f", "ranks",
                             (int)ranks, "view", view);
    char *text = json_dumps(json, 0);
    struct vs_spec *spec = spec_from("%s", text);

    free(text);
    json_decref(json);
    return spec;
}

#endif
