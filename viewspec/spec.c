/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "viewspec/types/view.h"
#include "viewspec/text/shorthand_private.h"
#include "spec_private.h"
#include "viewspec/text/json.h"
#include "viewspec/members/members_private.h"

#define MAX_RANKS INT32_MAX

static int no_memory(const struct vs_spec *spec, struct vs_error *error)
{
    return vs_fail_memory(error, &spec->text);
}

#define fail_at(spec, error, name, ...)                                                            \
    vs_fail((error), &(spec)->text, &(struct vs_place){.key = (name)}, false, __VA_ARGS__)

/* Reads the -D options into an object of strings by name. */
static int read_defines(struct vs_spec *spec, const struct vs_overrides *overrides,
                        struct vs_error *error)
{
    json_t *let = json_object_get(spec->root, "let");
    if (!(spec->defines = json_object()))
        return no_memory(spec, error);
    for (size_t i = 0; i < overrides->define_count; i++) {
        const char *define = overrides->defines[i], *equals = strchr(define, '=');
        char source[200];
        char *name;

        snprintf(source, sizeof(source), "%s%s", spec->text.names->define, define);
        if (!equals || equals == define)
            return vs_note(error, -EINVAL, source, "expected NAME=VALUE");
        name = vs_arena_text(&spec->arena, define);
        if (name == NULL)
            return no_memory(spec, error);
        name[equals - define] = '\0';
        if (!json_object_get(let, name))
            return vs_note(error, -EINVAL, source, "the spec's \"let\" has no such name");
        if (json_object_set_new(spec->defines, name, json_string(equals + 1)))
            return vs_note(error, -EINVAL, source, "the value is not valid UTF-8");
    }
    return 0;
}

static int bind_names(struct vs_spec *spec, struct vs_error *error)
{
    json_t *let = json_object_get(spec->root, "let"), *value;
    struct vs_scope *scope = &spec->scope;
    size_t count = json_object_size(let);
    struct vs_binding *bindings = vs_arena_array(&spec->arena, (int64_t)count, sizeof(*bindings));
    struct vs_place *up = vs_arena_alloc(&spec->arena, sizeof(*up));
    struct vs_place *places = vs_arena_array(&spec->arena, (int64_t)count, sizeof(*places));
    const char *name;

    scope->values = vs_arena_array(&spec->arena, (int64_t)count, sizeof(*scope->values));
    scope->states = vs_arena_array(&spec->arena, (int64_t)count, sizeof(*scope->states));
    scope->indexes = json_object();
    if (spec->arena.failure || !scope->indexes)
        return no_memory(spec, error);
    up->key = "let";
    scope->bindings = bindings;
    json_object_foreach(let, name, value)
    {
        size_t i = scope->count++;
        json_t *define;
        struct vs_text *text;
        const char *before;
        size_t size;
        char *source;

        places[i] = (struct vs_place){.up = up, .key = name};
        if (!vs_scope_name_ok(name))
            return vs_fail(error, &spec->text, &places[i], true,
                           "a name is a letter or _, then letters, digits and _, and not rank, "
                           "ranks, min or max");
        bindings[i] = (struct vs_binding){name, value, &spec->text, &places[i]};
        if (json_object_set_new(scope->indexes, name, json_integer((json_int_t)i)))
            return no_memory(spec, error);
        define = json_object_get(spec->defines, name);
        if (define == NULL)
            continue;
        text = vs_arena_alloc(&spec->arena, sizeof(*text));
        before = spec->text.names->define;
        size = strlen(before) + strlen(name) + strlen(json_string_value(define)) + 2;
        source = vs_arena_alloc(&spec->arena, size);
        if (text == NULL || source == NULL)
            return no_memory(spec, error);
        snprintf(source, size, "%s%s=%s", before, name, json_string_value(define));
        text->source = source;
        bindings[i] = (struct vs_binding){name, define, text, NULL};
    }
    return 0;
}

/* Returns the number of per_rank entries of the first view that has them, or 1. */
static int64_t default_ranks(const struct vs_spec *spec)
{
    for (size_t i = 0; i < spec->view_count; i++) {
        json_t *list = json_object_get(spec->views[i].json, "per_rank");
        if (json_array_size(list))
            return (int64_t)json_array_size(list);
    }
    return 1;
}

static int read_ranks(struct vs_spec *spec, const struct vs_overrides *overrides,
                      struct vs_error *error)
{
    json_t *value = json_object_get(spec->root, "ranks");
    struct vs_place place = {.key = "ranks"};
    spec->scope.rank = -1;
    spec->scope.error = error;
    if (vs_scope_settle(&spec->scope, false))
        return error->code;
    if (overrides->ranks)
        spec->ranks = overrides->ranks;
    else if (value == NULL)
        spec->ranks = default_ranks(spec);
    else if (vs_scope_integer(&spec->scope, &spec->text, &place, value, &spec->ranks))
        return error->code;
    if (spec->ranks < 1 || spec->ranks > MAX_RANKS) {
        char reason[100];
        snprintf(reason, sizeof(reason), "%lld ranks: must be 1 to %lld", (long long)spec->ranks,
                 (long long)MAX_RANKS);
        return overrides->ranks ? vs_note(error, -EINVAL, spec->text.names->ranks, reason)
                                : vs_fail(error, &spec->text, &place, false, "%s", reason);
    }
    spec->scope.ranks = spec->ranks;
    return vs_scope_settle(&spec->scope, false);
}

static int list_views(struct vs_spec *spec, struct vs_error *error)
{
    json_t *one = json_object_get(spec->root, "view");
    json_t *many = json_object_get(spec->root, "views"), *value;
    size_t count, i = 0;
    struct vs_place *places;
    const char *name;

    if (one == NULL && many == NULL && vs_members_see_all(spec->root))
        one = json_object_get(spec->root, "view");
    if (one && many)
        return fail_at(spec, error, "views", "\"view\" is there too: only one of them can be");
    if (one == NULL && many == NULL)
        return vs_fail(error, &spec->text, NULL, false, "\"view\" (or \"views\") is missing");
    if (many && !json_is_object(many))
        return fail_at(spec, error, "views", "expected an object, got %s", vs_kind_name(many));
    if (many && !json_object_size(many))
        return fail_at(spec, error, "views", "expected at least one view");
    count = many ? json_object_size(many) : 1;
    spec->views = vs_arena_array(&spec->arena, (int64_t)count, sizeof(*spec->views));
    places = vs_arena_array(&spec->arena, (int64_t)count + 1, sizeof(*places));
    if (!spec->views || places == NULL)
        return no_memory(spec, error);
    places[count].key = many ? "views" : "view";
    spec->view_count = count;
    if (one) {
        spec->views[0].json = one;
        spec->views[0].place = &places[count];
        return 0;
    }
    json_object_foreach(many, name, value)
    {
        places[i] = (struct vs_place){.up = &places[count], .key = name};
        spec->views[i] = (struct named_view){.name = name, .json = value, .place = &places[i]};
        if (!vs_scope_view_name_ok(name))
            return vs_fail(error, &spec->text, &places[i], true,
                           "a view's name is letters, digits, _, - and ., begins with no ., and "
                           "is neither self nor of the form rankN");
        if (strcmp(name, "whole") == 0 && json_object_get(spec->root, "members"))
            return vs_fail(error, &spec->text, &places[i], true,
                           "the name is taken: it is that of all bytes of the members");
        i++;
    }
    return 0;
}

static int read_file_name(struct vs_spec *spec, const char *folder,
                          const struct vs_overrides *overrides, struct vs_error *error)
{
    json_t *value = json_object_get(spec->root, "file");
    const char *name = json_string_value(value);
    json_t *members;

    if (value && name == NULL)
        return fail_at(spec, error, "file", "expected a file's name, got %s", vs_kind_name(value));
    if (value && !name[0])
        return fail_at(spec, error, "file", "the file's name is empty");
    members = json_object_get(spec->root, "members");
    if (json_is_object(members) && overrides->missing &&
        vs_members_override_missing(members, overrides->missing, error))
        return error->code;
    if (members && !overrides->file)
        return vs_members_read(spec, folder, error);
    if (overrides->file) {
        spec->file = strdup(overrides->file);
        json_object_del(spec->root, "members"); /* the file replaces them, too */
    } else if (name == NULL && overrides->file_optional)
        return 0;
    else if (name == NULL)
        return vs_fail(error, &spec->text, NULL, false, "\"file\" is missing%s",
                       spec->text.shorthand ? spec->text.names->give_file : "");
    else
        spec->file = vs_path_from(folder, name);
    return spec->file ? 0 : no_memory(spec, error);
}

static int check_rest(const struct vs_spec *spec, struct vs_error *error)
{
    static const char *const objects[] = {"let", "types", "hints"};
    json_t *atomic;

    for (size_t i = 0; i < sizeof(objects) / sizeof(objects[0]); i++) {
        json_t *object = json_object_get(spec->root, objects[i]);
        if (object && !json_is_object(object))
            return fail_at(spec, error, objects[i], "expected an object, got %s",
                           vs_kind_name(object));
    }
    if (vs_hints_check(&spec->text, spec->root, error))
        return error->code;
    atomic = json_object_get(spec->root, "atomic");
    if (atomic && !json_is_boolean(atomic))
        return fail_at(spec, error, "atomic", "expected true or false, got %s",
                       vs_kind_name(atomic));
    return 0;
}

static int check_head(const struct vs_spec *spec, struct vs_error *error)
{
    json_t *version;

    if (vs_check_keys(error, &spec->text, NULL, spec->root, vs_spec_keys))
        return error->code;
    version = json_object_get(spec->root, "viewspec");
    if (version == NULL)
        return vs_fail(error, &spec->text, NULL, false, "\"viewspec\" is missing");
    if (!json_is_integer(version))
        return fail_at(spec, error, "viewspec", "expected 1, got %s", vs_kind_name(version));
    if (json_integer_value(version) != 1)
        return fail_at(spec, error, "viewspec", "version %lld is not known: expected 1",
                       (long long)json_integer_value(version));
    return check_rest(spec, error);
}

/* Adds the indices in the members' names to "let" of the nested spec, after its other names. */
static int bind_indices(struct vs_spec *spec, const struct vs_spec *outer, struct vs_error *error)
{
    json_t *let = json_copy(json_object_get(spec->root, "let"));
    let = let ? let : json_object();
    return vs_pattern_bind(&outer->members->pattern, let) ||
                   json_object_set_new(spec->root, "let", let)
               ? no_memory(outer, error)
               : 0;
}

/* Parses the members' views as a spec inside this one; the members are its ranks. */
static int nest_members(struct vs_spec *outer, const struct vs_overrides *overrides,
                        struct vs_error *error)
{
    struct vs_overrides own = {.ranks = vs_members_count(outer->members),
                               .defines = overrides->defines,
                               .define_count = overrides->define_count};
    static const char *const shared[] = {"let", "types"};
    struct vs_spec *spec = outer->members->views = calloc(1, sizeof(*spec));
    int result;

    if (spec == NULL)
        return no_memory(outer, error);
    spec->text = outer->text;
    spec->rank_word = "member";
    spec->views = outer->members->named;
    spec->view_count = VS_MEMBER_VIEWS;
    spec->root = json_object();
    for (size_t i = 0; i < 2; i++)
        if (json_object_get(outer->root, shared[i]) &&
            json_object_set(spec->root, shared[i], json_object_get(outer->root, shared[i])))
            return no_memory(outer, error);
    if ((result = bind_indices(spec, outer, error)) || (result = read_defines(spec, &own, error)) ||
        (result = bind_names(spec, error)) || (result = read_ranks(spec, &own, error)))
        return result;
    return vs_spec_compile(spec, "/", &own, error);
}

static int resolve(struct vs_spec *spec, const char *folder, const struct vs_overrides *overrides,
                   struct vs_error *error)
{
    int result;

    spec->by_file = overrides->by_file;
    if ((result = check_head(spec, error)) || (result = list_views(spec, error)) ||
        (result = read_defines(spec, overrides, error)) || (result = bind_names(spec, error)) ||
        (result = read_ranks(spec, overrides, error)) ||
        (result = read_file_name(spec, folder, overrides, error)) ||
        (result = vs_header_settle(&spec->text, spec->root, folder, overrides, error)))
        return result;
    if (spec->members && (result = nest_members(spec, overrides, error)))
        return result;
    return vs_spec_compile(spec, folder, overrides, error);
}

static void read_json(struct vs_spec *spec, size_t length, struct vs_error *error)
{
    json_error_t json;

    spec->text.bytes = spec->bytes;
    spec->text.length = length;
    spec->root = json_loadb(spec->bytes, length, JSON_REJECT_DUPLICATES, &json);
    if (spec->root == NULL)
        vs_syntax_fail(&spec->text, &json, error);
}

static void read_shorthand(struct vs_spec *spec, const struct vs_overrides *overrides,
                           struct vs_error *error)
{
    const struct vs_names *names = spec->text.names;

    if (overrides->members && !overrides->file)
        spec->root = vs_members_translate(spec->bytes, overrides, &spec->origins, error);
    else
        spec->root =
            vs_shorthand_translate(spec->bytes, spec->text.source, names, overrides->defines,
                                   overrides->define_count, &spec->origins, error);
    spec->text.shorthand = spec->bytes;
    spec->text.pieces = overrides->pieces ? names->pieces : names->view;
    spec->text.origins = spec->origins;
}

/* Parses `length` bytes of JSON, or of shorthand, as vs_spec_parse does. */
static int parse(const char *text, size_t length, bool shorthand, const char *source,
                 const char *folder, const struct vs_overrides *overrides, struct vs_spec **result,
                 struct vs_error *error)
{
    static const struct vs_overrides none;
    struct vs_spec *spec = calloc(1, sizeof(*spec));

    if (spec == NULL)
        return vs_note(error, -ENOMEM, source, "out of memory");
    overrides = overrides ? overrides : &none;
    spec->text.source = vs_arena_text(&spec->arena, source);
    spec->text.names = overrides->from_options ? &vs_names_options : &vs_names_fields;
    spec->rank_word = "rank";
    spec->bytes = vs_arena_alloc(&spec->arena, length + 1);
    if (spec->arena.failure) {
        vs_note(error, -ENOMEM, source, "out of memory");
    } else {
        memcpy(spec->bytes, text, length);
        if (shorthand)
            read_shorthand(spec, overrides, error);
        else
            read_json(spec, length, error);
    }
    if (!error->code)
        resolve(spec, folder, overrides, error);
    if (error->code)
        vs_spec_free(spec);
    else
        *result = spec;
    return error->code;
}

int vs_spec_parse(const char *text, size_t length, const char *source, const char *folder,
                  const struct vs_overrides *overrides, struct vs_spec **spec,
                  struct vs_error *error)
{
    if (length > VS_SPEC_MAX_BYTES)
        return vs_note(error, -EFBIG, source, "a spec is at most 64 MiB");
    return parse(text, length, false, source, folder, overrides, spec, error);
}

int vs_spec_parse_shorthand(const char *text, const char *source, const char *folder,
                            const struct vs_overrides *overrides, struct vs_spec **spec,
                            struct vs_error *error)
{
    return parse(text, strlen(text), true, source, folder, overrides, spec, error);
}

void vs_spec_free(struct vs_spec *spec)
{
    if (spec == NULL)
        return;
    for (size_t i = 0; i < spec->view_count; i++) {
        vs_view_unref(spec->views[i].common);
        vs_view_unref(spec->views[i].dealt);
        vs_types_unref(spec->views[i].shared);
    }
    if (spec->members)
        vs_spec_free(spec->members->views);
    vs_members_free(spec->members);
    vs_representations_free(spec->representations);
    json_decref(spec->root);
    json_decref(spec->origins);
    json_decref(spec->defines);
    json_decref(spec->scope.indexes);
    free(spec->file);
    vs_arena_free(&spec->arena);
    free(spec);
}

const char *vs_spec_text(const struct vs_spec *spec, size_t *length, bool *shorthand)
{
    *shorthand = spec->text.shorthand;
    *length = *shorthand ? strlen(spec->bytes) : spec->text.length;
    return spec->bytes;
}

const char *vs_spec_file(const struct vs_spec *spec)
{
    return spec->file;
}

int64_t vs_spec_ranks(const struct vs_spec *spec)
{
    return spec->ranks;
}

bool vs_spec_atomic(const struct vs_spec *spec)
{
    return json_is_true(json_object_get(spec->root, "atomic"));
}

size_t vs_spec_view_count(const struct vs_spec *spec)
{
    return spec->view_count;
}

const char *vs_spec_view_name(const struct vs_spec *spec, size_t index)
{
    return spec->views[index].name;
}

long vs_spec_find_view(const struct vs_spec *spec, const char *name)
{
    for (size_t i = 0; i < spec->view_count; i++)
        if (spec->views[i].name && strcmp(spec->views[i].name, name) == 0)
            return (long)i;
    return -1;
}

bool vs_spec_hint(const struct vs_spec *spec, size_t index, const char **key, const char **value)
{
    json_t *hints = json_object_get(spec->root, "hints"), *hint;
    json_object_foreach(hints, *key, hint)
    {
        *value = json_string_value(hint);
        if (!index--)
            return true;
    }
    return false;
}
