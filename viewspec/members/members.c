/* SPDX-License-Identifier: MIT */
#include "members.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "viewspec/text/json.h"
#include "members_private.h"
#include "viewspec/text/shorthand_private.h"

static const struct vs_place at_members = {.key = "members"};

#define fail_at(spec, error, name, ...)                                                            \
    vs_fail((error), &(spec)->text, &(struct vs_place){.up = &at_members, .key = (name)}, false,   \
            __VA_ARGS__)

static int read_pattern(struct vs_spec *spec, struct vs_members *members, json_t *value,
                        struct vs_error *error)
{
    struct vs_place place = {.up = &at_members, .key = "file"};
    const char *text = json_string_value(value);

    if (value == NULL)
        return 0;
    if (text == NULL)
        return fail_at(spec, error, "file", "expected a file's name, got %s", vs_kind_name(value));
    if (!text[0])
        return fail_at(spec, error, "file", "the file's name is empty");
    return vs_pattern_read(spec, &place, text, &members->pattern, error);
}

/* Checks that the pattern gives members different names, and sets the name of the whole. */
static int name_members(struct vs_spec *spec, const struct vs_members *members,
                        struct vs_error *error)
{
    const struct vs_pattern *pattern = &members->pattern;

    if (!pattern->named && !pattern->indices && members->count > 1)
        return fail_at(spec, error, "file",
                       "%lld members have one name: {member} or {member:WIDTH} stands for the "
                       "number of each",
                       (long long)members->count);
    spec->file = vs_path_from(members->folder, pattern->text);
    return spec->file ? 0 : vs_fail_memory(error, &spec->text);
}

static int read_names(struct vs_spec *spec, struct vs_members *members, struct vs_error *error)
{
    struct vs_place list = {.up = &at_members, .key = "files"};
    size_t count = json_array_size(members->names);
    char *first;

    for (size_t i = 0; i < count; i++) {
        struct vs_place place = {.up = &list, .index = i};
        const char *name = json_string_value(json_array_get(members->names, i));

        if (name == NULL || !name[0])
            return vs_fail(error, &spec->text, &place, false, "expected a file's name, got %s",
                           name ? "an empty one" : vs_kind_name(json_array_get(members->names, i)));
    }
    first = vs_path_from(members->folder, json_string_value(json_array_get(members->names, 0)));
    if (first == NULL || (count > 1 ? asprintf(&spec->file, "%s, ... (%zu files)", first, count)
                                    : asprintf(&spec->file, "%s", first)) < 0)
        spec->file = NULL;
    free(first);
    return spec->file ? 0 : vs_fail_memory(error, &spec->text);
}

static int read_count(struct vs_spec *spec, struct vs_members *members, struct vs_error *error)
{
    json_t *value = json_object_get(members->json, "count");
    struct vs_place place = {.up = &at_members, .key = "count"};
    int64_t names = members->names          ? (int64_t)json_array_size(members->names)
                    : members->pattern.text ? vs_pattern_count(&members->pattern)
                                            : 0;

    if (members->names && !json_is_array(members->names))
        return fail_at(spec, error, "files", "expected an array, got %s",
                       vs_kind_name(members->names));
    members->count = names;
    if (value == NULL && !members->names && !names)
        return vs_fail(error, &spec->text, &at_members, false, "%s%s",
                       spec->text.shorthand ? "their number is missing: " : "\"count\" is missing",
                       spec->text.shorthand ? spec->text.names->give_count : "");
    if (value && vs_scope_integer(&spec->scope, &spec->text, &place, value, &members->count))
        return error->code;
    if (names < 0)
        return fail_at(spec, error, "file", "{member} and the indices have different numbers");
    if ((members->names || names) && members->count != names)
        return fail_at(spec, error, members->names ? "files" : "file",
                       "%lld names for %lld members", (long long)names, (long long)members->count);
    if (members->count < 1 || members->count > VS_MEMBERS_MAX)
        return fail_at(spec, error,
                       members->names ? "files"
                       : value        ? "count"
                                      : "file",
                       "%lld members: must be 1 to %d", (long long)members->count, VS_MEMBERS_MAX);
    return 0;
}

static int read_overlap(struct vs_spec *spec, struct vs_members *members, struct vs_error *error)
{
    json_t *value = json_object_get(members->json, "overlap");
    const char *word = json_string_value(value);

    if (value == NULL)
        return 0;
    if (word && strcmp(word, "first") == 0)
        members->overlap = VS_OVERLAP_FIRST;
    else if (word && strcmp(word, "last") == 0)
        members->overlap = VS_OVERLAP_LAST;
    else
        return fail_at(spec, error, "overlap", "expected \"first\" or \"last\"");
    return 0;
}

/*
 * Refuses a data representation. Members hold the bytes of the whole unchanged; only views of the
 * whole give them a meaning.
 */
static int refuse_datarep(const struct vs_spec *spec, const struct vs_place *place, json_t *view,
                          struct vs_error *error)
{
    struct vs_place list = {.up = place, .key = "per_rank"}, key = {.up = place, .key = "datarep"};
    json_t *entries = json_object_get(view, "per_rank");
    struct vs_place entry = {.up = &list};
    bool found = json_object_get(view, "datarep") != NULL;

    for (size_t i = 0; i < json_array_size(entries) && !found; i++) {
        found = json_object_get(json_array_get(entries, i), "datarep") != NULL;
        entry.index = i;
        key.up = &entry;
    }
    return found ? vs_fail(error, &spec->text, &key, true,
                           "members hold bytes as they are: this is for the views of the whole")
                 : 0;
}

static int list_views(struct vs_spec *spec, struct vs_members *members, struct vs_error *error)
{
    static const char *const names[VS_MEMBER_VIEWS] = {"view", "local", "whole"};
    struct vs_place *places = vs_arena_array(&spec->arena, VS_MEMBER_VIEWS + 1, sizeof(*places));

    if (places == NULL)
        return vs_fail_memory(error, &spec->text);
    places[VS_MEMBER_VIEWS] = at_members;
    for (int i = 0; i < VS_MEMBER_VIEWS; i++) {
        json_t *json = i == VS_MEMBER_WHOLE ? NULL : json_object_get(members->json, names[i]);

        places[i] = (struct vs_place){.up = &places[VS_MEMBER_VIEWS], .key = names[i]};
        members->named[i].json = json ? json : members->none;
        members->named[i].place = &places[i];
        if (refuse_datarep(spec, &places[i], json, error))
            return error->code;
    }
    return 0;
}

bool vs_members_see_all(json_t *root)
{
    return json_object_get(root, "members") &&
           json_object_set_new(root, "view", json_object()) == 0;
}

static int read_members(struct vs_spec *spec, struct vs_members *members, struct vs_error *error)
{
    static const char *const keys[] = {"count",   "file",    "files", "view", "local",
                                       "overlap", "missing", "fill",  NULL};
    json_t *file = json_object_get(members->json, "file");

    if (vs_check_keys(error, &spec->text, &at_members, members->json, keys))
        return error->code;
    if (json_object_get(spec->root, "file"))
        return vs_fail(error, &spec->text, &(struct vs_place){.key = "file"}, true,
                       "\"members\" is there too: only one of them can be");
    if ((file == NULL) == (members->names == NULL))
        return vs_fail(error, &spec->text, &at_members, false,
                       file ? "\"file\" and \"files\": only one of them can be"
                            : "\"file\" (or \"files\") is missing");
    if (!json_object_get(members->json, "view"))
        return vs_fail(error, &spec->text, &at_members, false, "\"view\" is missing");
    if (read_pattern(spec, members, file, error) || read_count(spec, members, error) ||
        read_overlap(spec, members, error) || vs_members_read_missing(spec, members, error) ||
        (file ? name_members(spec, members, error) : read_names(spec, members, error)))
        return error->code;
    return list_views(spec, members, error);
}

int vs_members_read(struct vs_spec *spec, const char *folder, struct vs_error *error)
{
    struct vs_members *members = calloc(1, sizeof(*members));

    if (members == NULL)
        return vs_fail_memory(error, &spec->text);
    spec->members = members;
    members->json = json_object_get(spec->root, "members");
    members->names = json_object_get(members->json, "files");
    members->none = json_object();
    members->folder = strdup(folder);
    members->text = spec->text;
    if (!members->none || !members->folder)
        return vs_fail_memory(error, &spec->text);
    return read_members(spec, members, error);
}

/*
 * Returns the object {"count": ..., "file": ..., "view": ...}, made from the spec that pieces were
 * translated to.
 */
static json_t *members_of(json_t *pieces, const struct vs_overrides *overrides)
{
    json_t *ranks = json_object_get(pieces, "ranks");
    json_t *members = json_object();
    int failed = json_object_set_new(members, "file", json_string(overrides->members));

    failed |= json_object_set(members, "view", json_object_get(pieces, "view"));
    if (ranks)
        failed |= json_object_set(members, "count", ranks);
    else if (!overrides->pieces && overrides->ranks)
        failed |= json_object_set_new(members, "count", json_integer(overrides->ranks));
    if (!failed)
        return members;
    json_decref(members);
    return NULL;
}

/* Translates the pieces like vs_shorthand_translate. They may use the names of the indices. */
static json_t *translate_pieces(const struct vs_overrides *overrides, const struct vs_names *names,
                                json_t **places, struct vs_error *error)
{
    char indices[VS_INDICES_MAX][VS_INDEX_NAME], texts[VS_INDICES_MAX][VS_INDEX_NAME + 3];
    bool given[VS_INDICES_MAX]; /* among the defines */
    int found = vs_pattern_names(overrides->members, indices);
    size_t count = overrides->define_count;
    const char **defines = calloc(count + VS_INDICES_MAX, sizeof(*defines));
    json_t *root;

    if (defines == NULL) {
        vs_fail_memory(error, &(struct vs_text){.source = names->pieces});
        return NULL;
    }
    for (size_t i = 0; i < count; i++)
        defines[i] = overrides->defines[i];
    for (int i = 0; i < found; i++) {
        given[i] = vs_words_defined(overrides->defines, overrides->define_count, indices[i],
                                    strlen(indices[i]));
        snprintf(texts[i], sizeof(texts[i]), "%.*s=0", VS_INDEX_NAME, indices[i]);
        if (!given[i])
            defines[count++] = texts[i];
    }
    root = vs_shorthand_translate(overrides->pieces, names->pieces, names, defines, count, places,
                                  error);
    for (int i = 0; i < found; i++)
        if (!given[i])
            json_object_del(json_object_get(root, "let"), indices[i]);
    free(defines);
    return root;
}

json_t *vs_members_translate(const char *text, const struct vs_overrides *overrides,
                             json_t **places, struct vs_error *error)
{
    const struct vs_names *names = overrides->from_options ? &vs_names_options : &vs_names_fields;
    json_t *inner = NULL, *root;
    json_t *members;

    root = overrides->pieces ? translate_pieces(overrides, names, &inner, error)
                             : vs_shorthand_translate(text, names->view, names, overrides->defines,
                                                      overrides->define_count, &inner, error);
    if (root == NULL)
        return NULL;
    members = members_of(root, overrides);
    *places = overrides->pieces ? NULL : json_incref(inner);
    json_decref(inner);
    if (overrides->pieces && !text[0]) {
        json_object_set_new(root, "view", json_object());
        json_object_del(root, "ranks");
    } else if (overrides->pieces) {
        json_decref(root);
        root = vs_shorthand_translate(text, names->view, names, overrides->defines,
                                      overrides->define_count, places, error);
    }
    if (root && json_object_set_new(root, "members", members)) {
        vs_fail_memory(error, &(struct vs_text){.source = names->members});
        json_decref(root);
        return NULL;
    }
    if (root == NULL)
        json_decref(members);
    return root;
}

void vs_members_free(struct vs_members *members)
{
    if (members == NULL)
        return;
    json_decref(members->none);
    free(members->folder);
    free(members);
}

const struct vs_members *vs_spec_members(const struct vs_spec *spec)
{
    return spec->members;
}

int64_t vs_members_count(const struct vs_members *members)
{
    return members->count;
}

enum vs_overlap vs_members_overlap(const struct vs_members *members)
{
    return members->overlap;
}

char *vs_members_file(const struct vs_members *members, int64_t member)
{
    char *name, *path;

    if (members->names)
        return vs_path_from(members->folder,
                            json_string_value(json_array_get(members->names, (size_t)member)));
    name = vs_pattern_expand(&members->pattern, member);
    path = name ? vs_path_from(members->folder, name) : NULL;
    free(name);
    return path;
}

int vs_members_fail(const struct vs_members *members, int code, struct vs_error *error,
                    const char *format, ...)
{
    char reason[sizeof(error->reason)];
    va_list args;

    va_start(args, format);
    vsnprintf(reason, sizeof(reason), format, args);
    va_end(args);
    vs_fail(error, &members->text, &at_members, true, "%s", reason);
    return error->code = code;
}

int vs_members_view(const struct vs_members *members, int64_t member, struct vs_view **view,
                    struct vs_error *error)
{
    return vs_spec_view(members->views, VS_MEMBER_VIEW, member, view, error);
}

int vs_members_local(const struct vs_members *members, int64_t member, struct vs_view **view,
                     struct vs_error *error)
{
    return vs_spec_view(members->views, VS_MEMBER_LOCAL, member, view, error);
}

struct vs_view *vs_members_whole(const struct vs_members *members)
{
    struct vs_error error = {0};
    struct vs_view *view = NULL;

    /* The view is the same for all members, so it was compiled with the spec. */
    return vs_spec_view(members->views, VS_MEMBER_WHOLE, 0, &view, &error) ? NULL : view;
}
