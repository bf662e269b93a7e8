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

/* Replaces the value of a name of "let" by that of a -D option, NAME=VALUE. */
static int apply_define(struct vs_spec *spec, struct vs_binding *bindings, const char *define)
{
    struct vs_error *error = spec->scope.error;
    const char *equals = strchr(define, '='), *prefix = spec->text.names->define;
    size_t size = strlen(prefix) + strlen(define) + 1;
    struct vs_text *text = vs_arena_alloc(&spec->arena, sizeof(*text));
    char *name = vs_arena_text(&spec->arena, define), *source = vs_arena_alloc(&spec->arena, size);
    json_t *value, *index;

    if (spec->arena.failure)
        return vs_refuse_memory(&spec->scope);
    snprintf(source, size, "%s%s", prefix, define);
    text->source = source;
    if (equals == NULL || equals == define)
        return vs_note(error, -EINVAL, source, "expected NAME=VALUE");
    name[equals - define] = '\0';
    index = json_object_get(spec->scope.indexes, name);
    if (index == NULL)
        return vs_note(error, -EINVAL, source, "the spec's \"let\" has no such name");
    value = json_string(equals + 1);
    if (json_object_set_new(spec->defines, name, value))
        return vs_note(error, -EINVAL, source, "the value is not valid UTF-8");
    bindings[json_integer_value(index)] = (struct vs_binding){name, value, text, NULL};
    return 0;
}

static int bind_names(struct vs_spec *spec)
{
    json_t *let = json_object_get(spec->root, "let"), *value;
    struct vs_scope *scope = &spec->scope;
    int64_t count = (int64_t)json_object_size(let);
    struct vs_binding *bindings = vs_arena_array(&spec->arena, count, sizeof(*bindings));
    struct vs_place *up = vs_arena_alloc(&spec->arena, sizeof(*up));
    struct vs_place *places = vs_arena_array(&spec->arena, count, sizeof(*places));
    const char *name;

    scope->values = vs_arena_array(&spec->arena, count, sizeof(*scope->values));
    scope->states = vs_arena_array(&spec->arena, count, sizeof(*scope->states));
    scope->indexes = json_object();
    spec->defines = json_object();
    if (spec->arena.failure || !scope->indexes || !spec->defines)
        return vs_refuse_memory(scope);
    up->key = "let";
    scope->bindings = bindings;
    json_object_foreach(let, name, value)
    {
        size_t i = scope->count++;

        places[i] = *VS_KEY(up, name);
        if (!vs_scope_name_ok(name))
            return vs_refuse_key(scope, &places[i],
                                 "a name is a letter or _, then letters, digits and _, and not "
                                 "rank, ranks, min or max");
        bindings[i] = (struct vs_binding){name, value, &spec->text, &places[i]};
        if (json_object_set_new(scope->indexes, name, json_integer((json_int_t)i)))
            return vs_refuse_memory(scope);
    }
    for (size_t i = 0; i < spec->overrides->define_count; i++)
        if (apply_define(spec, bindings, spec->overrides->defines[i]))
            return scope->error->code;
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

static int read_ranks(struct vs_spec *spec)
{
    struct vs_scope *scope = &spec->scope;
    const struct vs_place *place = VS_KEY(NULL, "ranks");
    json_t *value = json_object_get(spec->root, "ranks");
    int64_t given = spec->overrides->ranks;

    scope->rank = -1;
    if (vs_scope_settle(scope, false))
        return scope->error->code;
    if (given)
        spec->ranks = given;
    else if (value == NULL)
        spec->ranks = default_ranks(spec);
    else if (vs_scope_integer(scope, place, value, &spec->ranks))
        return scope->error->code;
    if (spec->ranks < 1 || spec->ranks > MAX_RANKS) {
        char reason[100];
        snprintf(reason, sizeof(reason), "%lld ranks: must be 1 to %lld", (long long)spec->ranks,
                 (long long)MAX_RANKS);
        return given ? vs_note(scope->error, -EINVAL, spec->text.names->ranks, reason)
                     : vs_refuse(scope, place, "%s", reason);
    }
    scope->ranks = spec->ranks;
    return vs_scope_settle(scope, false);
}

/* Returns true if a view can have the name: its folder will be beside files named rankN and self.
 */
static bool is_view_name(const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789_-.";
    size_t length = strlen(name);
    bool rank_form;

    if (!length || length > 255 || name[0] == '.' || strspn(name, letters) != length)
        return false;
    rank_form =
        strncmp(name, "rank", 4) == 0 && name[4] && strspn(name + 4, "0123456789") == length - 4;
    return strcmp(name, "self") != 0 && !rank_form;
}

/* Names the views in the object `many`, whose place is up. */
static int name_views(struct vs_spec *spec, json_t *many, const struct vs_place *up,
                      struct vs_place *places)
{
    const char *name;
    json_t *value;
    size_t i = 0;

    json_object_foreach(many, name, value)
    {
        places[i] = *VS_KEY(up, name);
        spec->views[i] = (struct named_view){.name = name, .json = value, .place = &places[i]};
        if (!is_view_name(name))
            return vs_refuse_key(&spec->scope, &places[i],
                                 "a view's name is letters, digits, _, - and ., begins with no ., "
                                 "and is neither self nor of the form rankN");
        if (strcmp(name, "whole") == 0 && json_object_get(spec->root, "members"))
            return vs_refuse_key(&spec->scope, &places[i],
                                 "the name is taken: it is that of all bytes of the members");
        i++;
    }
    return 0;
}

static int list_views(struct vs_spec *spec)
{
    struct vs_scope *scope = &spec->scope;
    json_t *one = json_object_get(spec->root, "view"), *many;
    struct vs_place *places;
    size_t count;

    if (one && json_object_get(spec->root, "views"))
        return vs_refuse(scope, VS_KEY(NULL, "views"),
                         "\"view\" is there too: only one of them can be");
    many = vs_scope_member(scope, NULL, spec->root, "views", JSON_OBJECT);
    /* The default with members is one view of all bytes. */
    if (one == NULL && many == NULL && json_object_get(spec->root, "members") &&
        json_object_set_new(spec->root, "view", json_object()) == 0)
        one = json_object_get(spec->root, "view");
    if (one == NULL && many == NULL)
        return vs_refuse(scope, NULL, "\"view\" (or \"views\") is missing");
    count = many ? json_object_size(many) : 1;
    if (count == 0)
        return vs_refuse(scope, VS_KEY(NULL, "views"), "expected at least one view");
    spec->views = vs_arena_array(&spec->arena, (int64_t)count, sizeof(*spec->views));
    places = vs_arena_array(&spec->arena, (int64_t)count + 1, sizeof(*places));
    if (spec->arena.failure)
        return vs_refuse_memory(scope);
    spec->view_count = count;
    places[count].key = many ? "views" : "view";
    if (many)
        return name_views(spec, many, &places[count], places);
    spec->views[0].json = one;
    spec->views[0].place = &places[count];
    return scope->error->code;
}

static int read_file_name(struct vs_spec *spec)
{
    const struct vs_overrides *overrides = spec->overrides;
    struct vs_scope *scope = &spec->scope;
    json_t *value = json_object_get(spec->root, "file");
    json_t *members = json_object_get(spec->root, "members");
    const char *name = json_string_value(value);

    if (value && name == NULL)
        return vs_refuse(scope, VS_KEY(NULL, "file"), "expected a file's name, got %s",
                         vs_kind_name(value));
    if (value && !name[0])
        return vs_refuse(scope, VS_KEY(NULL, "file"), "the file's name is empty");
    if (json_is_object(members) && overrides->missing &&
        vs_members_override_missing(members, overrides->missing, scope->error))
        return scope->error->code;
    if (members && !overrides->file)
        return vs_members_read(spec);
    if (overrides->file) {
        spec->file = strdup(overrides->file);
        json_object_del(spec->root, "members"); /* the file replaces them, too */
    } else if (name == NULL && overrides->file_optional)
        return 0;
    else if (name == NULL)
        return vs_refuse(scope, NULL, "\"file\" is missing%s",
                         spec->text.shorthand ? spec->text.names->give_file : "");
    else
        spec->file = vs_path_from(spec->folder, name);
    return spec->file ? 0 : vs_refuse_memory(scope);
}

static int check_head(struct vs_spec *spec)
{
    struct vs_scope *scope = &spec->scope;
    const json_t *version = json_object_get(spec->root, "viewspec");
    const json_t *atomic = json_object_get(spec->root, "atomic");
    json_t *hints, *hint;
    const char *key;

    if (vs_check_keys(scope, NULL, spec->root, vs_spec_keys))
        return scope->error->code;
    if (version == NULL)
        return vs_refuse(scope, NULL, "\"viewspec\" is missing");
    if (!json_is_integer(version))
        return vs_refuse(scope, VS_KEY(NULL, "viewspec"), "expected 1, got %s",
                         vs_kind_name(version));
    if (json_integer_value(version) != 1)
        return vs_refuse(scope, VS_KEY(NULL, "viewspec"), "version %lld is not known: expected 1",
                         (long long)json_integer_value(version));
    vs_scope_member(scope, NULL, spec->root, "let", JSON_OBJECT);
    vs_scope_member(scope, NULL, spec->root, "types", JSON_OBJECT);
    hints = vs_scope_member(scope, NULL, spec->root, "hints", JSON_OBJECT);
    json_object_foreach(hints, key, hint)
        vs_scope_member(scope, VS_KEY(NULL, "hints"), hints, key, JSON_STRING);
    if (atomic && !json_is_boolean(atomic))
        vs_refuse(scope, VS_KEY(NULL, "atomic"), "expected true or false, got %s",
                  vs_kind_name(atomic));
    return scope->error->code;
}

/* Adds the indices in the members' names to "let" of the nested spec, after its other names. */
static int bind_indices(struct vs_spec *spec, const struct vs_spec *outer)
{
    json_t *let = json_copy(json_object_get(spec->root, "let"));
    let = let ? let : json_object();
    return vs_pattern_bind(&outer->members->pattern, let) ||
                   json_object_set_new(spec->root, "let", let)
               ? vs_refuse_memory(&spec->scope)
               : 0;
}

/* Parses the members' views as a spec inside this one; the members are its ranks. */
static int nest_members(struct vs_spec *outer)
{
    struct vs_overrides own = {.ranks = vs_members_count(outer->members),
                               .defines = outer->overrides->defines,
                               .define_count = outer->overrides->define_count};
    static const char *const shared[] = {"let", "types"};
    struct vs_spec *spec = outer->members->views = calloc(1, sizeof(*spec));
    struct vs_error *error = outer->scope.error;

    if (spec == NULL)
        return vs_refuse_memory(&outer->scope);
    spec->text = outer->text;
    spec->scope.text = &spec->text;
    spec->scope.error = error;
    spec->overrides = &own;
    spec->folder = "/";
    spec->views = outer->members->named;
    spec->view_count = VS_MEMBER_VIEWS;
    spec->root = json_object();
    for (size_t i = 0; i < 2; i++)
        if (json_object_get(outer->root, shared[i]) &&
            json_object_set(spec->root, shared[i], json_object_get(outer->root, shared[i])))
            return vs_refuse_memory(&outer->scope);
    if (!bind_indices(spec, outer) && !bind_names(spec) && !read_ranks(spec))
        vs_spec_compile(spec);
    spec->overrides = NULL;
    return error->code;
}

static void resolve(struct vs_spec *spec)
{
    spec->by_file = spec->overrides->by_file;
    if (!check_head(spec) && !list_views(spec) && !bind_names(spec) && !read_ranks(spec) &&
        !read_file_name(spec) && !vs_header_settle(spec) && !(spec->members && nest_members(spec)))
        vs_spec_compile(spec);
}

static void read_json(struct vs_spec *spec, size_t length)
{
    json_error_t json;

    spec->text.bytes = spec->bytes;
    spec->text.length = length;
    spec->root = json_loadb(spec->bytes, length, JSON_REJECT_DUPLICATES, &json);
    if (spec->root == NULL)
        vs_syntax_fail(&spec->text, &json, spec->scope.error);
}

static void read_shorthand(struct vs_spec *spec)
{
    const struct vs_overrides *overrides = spec->overrides;
    const struct vs_names *names = spec->text.names;

    if (overrides->members && !overrides->file)
        spec->root =
            vs_members_translate(spec->bytes, overrides, &spec->origins, spec->scope.error);
    else
        spec->root =
            vs_shorthand_translate(spec->bytes, spec->text.source, names, overrides->defines,
                                   overrides->define_count, &spec->origins, spec->scope.error);
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
    spec->overrides = overrides ? overrides : &none;
    spec->folder = folder;
    spec->text.source = vs_arena_text(&spec->arena, source);
    spec->text.names = spec->overrides->from_options ? &vs_names_options : &vs_names_fields;
    spec->scope.text = &spec->text;
    spec->scope.error = error;
    spec->bytes = vs_arena_alloc(&spec->arena, length + 1);
    if (spec->arena.failure) {
        vs_note(error, -ENOMEM, source, "out of memory");
    } else {
        memcpy(spec->bytes, text, length);
        if (shorthand)
            read_shorthand(spec);
        else
            read_json(spec, length);
    }
    if (!error->code)
        resolve(spec);
    spec->overrides = NULL;
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
