/* SPDX-License-Identifier: MIT */
#include "spec_private.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "global.h"
#include "viewspec/text/json.h"
#include "viewspec/types/build.h"

/*
 * The views of a spec. Each is compiled for rank 0 when the spec is read, and for other ranks on
 * demand.
 */

/* The work of compiling a view of any kind, in values. */
#define VIEW_WORK 8

/* Returns the input for compiling a view. settle_rank must have set up the scope. */
static struct vs_source source_of(const struct vs_spec *spec, size_t index, struct vs_scope *scope)
{
    const struct named_view *view = &spec->views[index];
    return (struct vs_source){
        .scope = scope,
        .types = json_object_get(spec->root, "types"),
        .view = view->json,
        .place = view->place,
        .shared = view->shared,
        .by_file = spec->by_file,
        .representations = spec->representations,
    };
}

/* Makes a scope for the rank, in arena, with the values that are common to all ranks. */
static int settle_rank(const struct vs_spec *spec, int64_t rank, struct vs_arena *arena,
                       struct vs_scope *scope, struct vs_error *error)
{
    *scope = spec->scope;
    scope->rank = rank;
    scope->error = error;
    scope->work = VIEW_WORK + (int64_t)scope->count;
    if (!scope->count)
        return 0;
    scope->values = vs_arena_array(arena, (int64_t)scope->count, sizeof(*scope->values));
    scope->states = vs_arena_array(arena, (int64_t)scope->count, sizeof(*scope->states));
    if (!scope->values || !scope->states)
        return vs_refuse_memory(scope);
    memcpy(scope->values, spec->scope.values, scope->count * sizeof(*scope->values));
    memcpy(scope->states, spec->scope.states, scope->count * sizeof(*scope->states));
    return vs_scope_settle(scope, true);
}

/* Adds the rank to an error that may concern this rank only. */
static int name_rank(const struct vs_spec *spec, const struct vs_scope *scope,
                     struct vs_error *error)
{
    size_t used = strlen(error->reason);
    if (error->code == -EINVAL && scope->uses_rank && spec->ranks > 1)
        snprintf(error->reason + used, sizeof(error->reason) - used, " (%s %lld)",
                 spec->bytes ? "rank" : "member", (long long)scope->rank);
    return error->code;
}

/* A label is a name that Zarr, netCDF and VTK accept and that can be a file's name, too. */
bool vs_is_label(const char *name)
{
    size_t length = strlen(name);

    if (length > VS_LABEL_MAX || !(isalpha((unsigned char)name[0]) || name[0] == '_'))
        return false;
    for (size_t i = 1; i < length; i++)
        if (!isalnum((unsigned char)name[i]) && !strchr("_-.", name[i]))
            return false;
    return true;
}

/* Checks that a string is a label. */
static int check_label(struct vs_scope *scope, const json_t *value, const struct vs_place *place)
{
    const char *name = json_string_value(value);

    if (name == NULL)
        return vs_refuse(scope, place, "expected a string, got %s", vs_kind_name(value));
    return vs_is_label(name) ? 0
                             : vs_refuse(scope, place,
                                         "a name is a letter or _, then letters, digits, _, - and "
                                         ".");
}

static int check_dims(const struct vs_source *source)
{
    struct vs_scope *scope = source->scope;
    const struct vs_place *place = VS_KEY(source->place, "dims");
    json_t *dims = vs_scope_member(scope, source->place, source->view, "dims", JSON_ARRAY), *name;
    size_t i;

    if (json_array_size(dims) > VS_GLOBAL_DIMENSIONS)
        return vs_refuse(scope, place, "%zu names: an array has at most %d", json_array_size(dims),
                         VS_GLOBAL_DIMENSIONS);
    json_array_foreach(dims, i, name)
    {
        if (check_label(scope, name, VS_ITEM(place, i)))
            return scope->error->code;
        for (size_t j = 0; j < i; j++)
            if (json_equal(name, json_array_get(dims, j)))
                return vs_refuse(scope, VS_ITEM(place, i), "the name occurs twice");
    }
    return scope->error->code;
}

static int check_grid(struct vs_scope *scope, const struct vs_place *place, json_t *grid)
{
    static const char *const keys[] = {"origin", "spacing", NULL};

    if (vs_check_keys(scope, place, grid, keys))
        return scope->error->code;
    for (int i = 0; keys[i]; i++) {
        const struct vs_place *at = VS_KEY(place, keys[i]);
        json_t *list = vs_scope_member(scope, place, grid, keys[i], JSON_ARRAY), *number;
        size_t j;

        if (json_array_size(list) > 3)
            return vs_refuse(scope, at, "expected at most 3 numbers");
        json_array_foreach(list, j, number)
        {
            if (!json_is_number(number))
                return vs_refuse(scope, VS_ITEM(at, j), "expected a number, got %s",
                                 vs_kind_name(number));
        }
    }
    return scope->error->code;
}

/* Checks the keys of a view that concern its global array. What depends on the array is checked
   when it is found. */
static int check_labels(const struct vs_source *source)
{
    static const char *const keys[] = {"disp", "filetype", "buftype", "memory", "shape", NULL};
    const json_t *name = json_object_get(source->view, "name");
    json_t *grid = json_object_get(source->view, "grid");
    json_t *global = json_object_get(source->view, "global");
    struct vs_scope *scope = source->scope;

    if ((name && check_label(scope, name, VS_KEY(source->place, "name"))) || check_dims(source) ||
        (grid && check_grid(scope, VS_KEY(source->place, "grid"), grid)))
        return scope->error->code;
    /* The values of "global" are checked when the global array is found. */
    return global ? vs_check_keys(scope, VS_KEY(source->place, "global"), global, keys) : 0;
}

/* Checks the keys of a VIEW and of its per_rank entries; there must be `ranks` of these. */
static int check_view_keys(const struct vs_source *source, int64_t ranks)
{
    /* The keys that per_rank's entries can have, too, are those from "disp" on. */
    static const char *const keys[] = {"per_rank", "name",  "dims",     "grid",  "global",
                                       "disp",     "etype", "filetype", "tiles", "buftype",
                                       "memory",   "shape", "datarep",  NULL};
    const struct vs_place *place = VS_KEY(source->place, "per_rank");
    struct vs_scope *scope = source->scope;
    json_t *list, *entry;
    size_t index;

    if (vs_check_keys(scope, source->place, source->view, keys) || check_labels(source))
        return scope->error->code;
    list = vs_scope_member(scope, source->place, source->view, "per_rank", JSON_ARRAY);
    if (list && (int64_t)json_array_size(list) != ranks)
        return vs_refuse(scope, place, "%zu entries for %lld ranks", json_array_size(list),
                         (long long)ranks);
    json_array_foreach(list, index, entry)
        vs_check_keys(scope, VS_ITEM(place, index), entry, keys + 5);
    return scope->error->code;
}

/* Checks all named types as parts of a filetype of bytes. */
static void check_named_types(const struct vs_spec *spec, struct vs_scope *scope)
{
    json_t *types = json_object_get(spec->root, "types"), *value;
    struct vs_arena arena = {0};
    struct vs_type byte = vs_type_basic(&arena, vs_basic_find("byte"), vs_representation_native());
    struct vs_type unit = vs_type_unit(&arena, &byte);
    struct vs_builder b = {
        .arena = &arena,
        .scope = scope,
        .types = types,
        .representation = vs_representation_native(),
        .etype = &unit,
        .any_leaf = true,
    };
    struct vs_place place = {.key = "types"}, here = {.up = &place};
    struct vs_error *error = scope->error;
    const char *name;
    json_object_foreach(types, name, value)
    {
        json_t *reference;

        here.key = name;
        if (vs_basic_find(name) || strcmp(name, "etype") == 0)
            vs_refuse_key(scope, &here, "the name is taken");
        reference = json_string(name);
        if (reference == NULL)
            vs_refuse_memory(scope);
        if (!error->code)
            vs_build_type(&b, reference, &here);
        json_decref(reference);
        if (error->code)
            break;
    }
    if (!error->code)
        vs_check_arena(scope, &arena, &place);
    vs_builder_free(&b);
    vs_arena_free(&arena);
}

/* Compiles a view for rank 0, whose scope is settled, and keeps it if it is common to all ranks. */
static void compile_first(struct vs_spec *spec, size_t index, struct vs_scope *scope)
{
    struct named_view *view = &spec->views[index];
    struct vs_view *first = NULL;
    struct vs_source source = source_of(spec, index, scope);
    bool alike;

    scope->uses_rank = scope->names_rank = false;
    scope->work = VIEW_WORK + (int64_t)scope->count;
    vs_view_compile(&source, &first, &view->shared);
    alike = first && !json_object_get(view->json, "per_rank");
    if (alike && !scope->uses_rank)
        view->common = first;
    else if (alike && !scope->names_rank && vs_view_filetype(first)->dealing)
        view->dealt = first;
    else
        vs_view_unref(first);
}

/* Returns true if the spec has no members and is not the nested spec of members. Otherwise a type
   may suit only one of the two. */
static bool is_alone(const struct vs_spec *spec)
{
    return spec->bytes && !spec->members;
}

int vs_spec_compile(struct vs_spec *spec)
{
    struct vs_error *error = spec->scope.error;
    struct vs_arena arena = {0};
    struct vs_scope scope;

    settle_rank(spec, 0, &arena, &scope, error);
    for (size_t i = 0; i < spec->view_count && !error->code; i++) {
        struct vs_source source = source_of(spec, i, &scope);
        if (!check_view_keys(&source, spec->ranks))
            vs_representations_load(&source, spec);
    }
    if (!error->code && is_alone(spec))
        check_named_types(spec, &scope);
    for (size_t i = 0; i < spec->view_count && !error->code; i++)
        compile_first(spec, i, &scope);
    vs_arena_free(&arena);
    return name_rank(spec, &scope, error);
}

int vs_spec_view_of(const struct vs_spec *spec, size_t index, const char *key, json_t *json,
                    const struct vs_cut *cut, int64_t rank, struct vs_view **view, bool *ranks,
                    struct vs_error *error)
{
    struct vs_place place = {.up = spec->views[index].place, .key = key};
    struct vs_arena arena = {0};
    struct vs_scope scope;

    if (!settle_rank(spec, rank, &arena, &scope, error)) {
        struct vs_source source = source_of(spec, index, &scope);

        source.view = json;
        source.place = key ? &place : source.place;
        source.shared = NULL;
        source.cut = cut;
        scope.uses_rank = false;
        vs_view_compile(&source, view, NULL);
    }
    *ranks = scope.uses_rank;
    vs_arena_free(&arena);
    return error->code;
}

bool vs_spec_view_is_common(const struct vs_spec *spec, size_t index)
{
    return spec->views[index].common != NULL;
}

int vs_spec_view(const struct vs_spec *spec, size_t index, int64_t rank, struct vs_view **view,
                 struct vs_error *error)
{
    struct vs_arena arena = {0};
    struct vs_scope scope;

    if (index >= spec->view_count || rank < 0 || rank >= spec->ranks)
        return vs_note(error, -EINVAL, spec->text.source, "the spec has no such view or rank");
    if (spec->views[index].common) {
        *view = vs_view_ref(spec->views[index].common);
        return 0;
    }
    if (!settle_rank(spec, rank, &arena, &scope, error)) {
        struct vs_source source = source_of(spec, index, &scope);
        vs_view_compile(&source, view, NULL);
    }
    vs_arena_free(&arena);
    return name_rank(spec, &scope, error);
}
