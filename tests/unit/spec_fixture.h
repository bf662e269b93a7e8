/* SPDX-License-Identifier: MIT */
#ifndef SPEC_FIXTURE_H
#define SPEC_FIXTURE_H

/*
 * Makes specs and views from text. In the text, ' stands for ", which C would need a backslash for.
 * The test fails if the library refuses the text.
 */

#include "unit.h"
#include "viewspec/spec.h"

/* Replaces each ' in a text by ". Returns the text. */
static inline char *quoted(char *text)
{
    for (char *at = text; (at = strchr(at, '\'')) != NULL;)
        *at = '"';
    return text;
}

/* Returns the spec that the text describes, with overrides unless they are NULL. */
__attribute__((format(printf, 2, 3))) static inline struct vs_spec *
spec_with(const struct vs_overrides *overrides, const char *format, ...)
{
    struct vs_error error = {0};
    struct vs_spec *spec = NULL;
    char *text = NULL;
    va_list arguments;

    va_start(arguments, format);
    assert_true(vasprintf(&text, format, arguments) > 0);
    va_end(arguments);
    quoted(text);
    if (vs_spec_parse(text, strlen(text), "text", "/folder", overrides, &spec, &error) != 0)
        fail_msg("%s: %s in %.4000s", error.pointer, error.reason, text);
    free(text);
    return spec;
}

#define spec_from(...) spec_with(NULL, __VA_ARGS__)

/* Returns the spec of a view in shorthand. */
static inline struct vs_spec *shorthand_with(const struct vs_overrides *overrides, const char *text)
{
    struct vs_error error = {0};
    struct vs_spec *spec = NULL;

    if (vs_spec_parse_shorthand(text, "--view", "/", overrides, &spec, &error) != 0)
        fail_msg("%s: %s", text, error.reason);
    return spec;
}

/* Compiles all views of a spec for all ranks. Returns 0 or the error of the first that fails. */
static inline int compile_views(const struct vs_spec *spec, struct vs_error *error)
{
    int rc = 0;

    for (size_t v = 0; !rc && v < vs_spec_view_count(spec); v++) {
        for (int64_t rank = 0; !rc && rank < vs_spec_ranks(spec); rank++) {
            struct vs_view *view = NULL;
            rc = vs_spec_view(spec, v, rank, &view, error);
            vs_view_unref(view);
        }
    }
    return rc;
}

/* Returns a rank's view with this index. */
static inline struct vs_view *view_at(const struct vs_spec *spec, size_t index, int64_t rank)
{
    struct vs_error error = {0};
    struct vs_view *view = NULL;

    if (vs_spec_view(spec, index, rank, &view, &error) != 0)
        fail_msg("%s: %s", error.pointer, error.reason);
    return view;
}

/* Returns the displacement of a rank's view with this index. */
static inline int64_t disp_at(const struct vs_spec *spec, size_t index, int64_t rank)
{
    struct vs_view *view = view_at(spec, index, rank);
    int64_t displacement = vs_map_facts(vs_view_map(view))->displacement;

    vs_view_unref(view);
    return displacement;
}

/* Returns a rank's first view of a spec, which it frees. */
static inline struct vs_view *first_view(struct vs_spec *spec, int64_t rank)
{
    struct vs_view *view = view_at(spec, 0, rank);

    vs_spec_free(spec);
    return view;
}

/* view_from(rank, overrides, format, ...): a rank's first view of the spec that the text describes.
 */
#define view_from(rank, ...) first_view(spec_with(__VA_ARGS__), rank)

static inline void unref_views(struct vs_view **views, int count)
{
    for (int i = 0; i < count; i++)
        vs_view_unref(views[i]);
}

/* Makes a view over bytes from the JSON text of its filetype, or of several keys of the view. */
__attribute__((format(printf, 1, 2))) static inline struct vs_view *make_view(const char *format,
                                                                              ...)
{
    char keys[8192];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(keys, sizeof(keys), format, arguments);
    va_end(arguments);
    return view_from(0, NULL, "{'viewspec': 1, 'file': 'f', 'view': {%s}}", keys);
}

#endif
