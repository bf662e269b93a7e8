/* SPDX-License-Identifier: MIT */
#ifndef SPEC_FIXTURE_H
#define SPEC_FIXTURE_H

/* Makes specs and views from text. The test fails if the library refuses the text. */

#include "unit.h"
#include "viewspec/spec.h"

static inline struct vs_spec *spec_from_va(const struct vs_overrides *overrides, const char *format,
                                           va_list arguments)
{
    struct vs_error error = {0};
    struct vs_spec *spec = NULL;
    char *text = NULL;

    assert_true(vasprintf(&text, format, arguments) > 0);
    if (vs_spec_parse(text, strlen(text), "text", "/folder", overrides, &spec, &error) != 0)
        fail_msg("%s: %s in %.4000s", error.pointer, error.reason, text);
    free(text);
    return spec;
}

/* Returns the spec that the text describes. */
__attribute__((format(printf, 1, 2))) static inline struct vs_spec *spec_from(const char *format,
                                                                              ...)
{
    struct vs_spec *spec;
    va_list arguments;

    va_start(arguments, format);
    spec = spec_from_va(NULL, format, arguments);
    va_end(arguments);
    return spec;
}

/* Returns a rank's first view of the spec that the text describes. overrides may be NULL. */
__attribute__((format(printf, 3, 4))) static inline struct vs_view *
view_from(int64_t rank, const struct vs_overrides *overrides, const char *format, ...)
{
    struct vs_error error = {0};
    struct vs_view *view = NULL;
    struct vs_spec *spec;
    va_list arguments;

    va_start(arguments, format);
    spec = spec_from_va(overrides, format, arguments);
    va_end(arguments);
    if (vs_spec_view(spec, 0, rank, &view, &error) != 0)
        fail_msg("%s: %s", error.pointer, error.reason);
    vs_spec_free(spec);
    return view;
}

#endif
