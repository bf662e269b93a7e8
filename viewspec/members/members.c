/* SPDX-License-Identifier: MIT */
#include "members.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "viewspec/text/keys.h"
#include "members_private.h"
#include "viewspec/base/path.h"
#include "viewspec/text/shorthand_private.h"

#define WIDTH_MAX 20

static const struct vs_place at_members = {.key = "members"};

#define fail_at(spec, error, name, ...)                                                            \
    vs_fail((error), &(spec)->text, &(struct vs_place){.up = &at_members, .key = (name)}, false,   \
            __VA_ARGS__)

/*
 * The first "{member}" or "{member:WIDTH}" in text: where it begins, and behind it, and its width.
 * False where there is none; a width that is none is -1.
 */
static bool find_number(const char *text, const char **begin, const char **end, int *width)
{
    static const char name[] = "{member";

    for (const char *at = strstr(text, name); at; at = strstr(at + 1, name)) {
        char *behind = (char *)at + strlen(name);

        *width = 0;
        if (*behind == ':') {
            long digits = isdigit((unsigned char)behind[1]) ? strtol(behind + 1, &behind, 10) : -1;

            *width = digits >= 1 && digits <= WIDTH_MAX && *behind == '}' ? (int)digits : -1;
        } else if (*behind != '}') {
            continue;
        }
        *begin = at;
        *end = behind + 1;
        return true;
    }
    return false;
}

/* The name that a pattern gives to a member. A new string; NULL without memory. */
static char *expand(const char *pattern, int64_t member)
{
    const char *begin, *end;
    char *name = strdup(""), *next;
    int width;

    while (name && find_number(pattern, &begin, &end, &width)) {
        next = NULL;
        if (asprintf(&next, "%s%.*s%0*lld", name, (int)(begin - pattern), pattern, width,
                     (long long)member) < 0)
            next = NULL;
        free(name);
        name = next;
        pattern = end;
    }
    next = NULL;
    if (name && asprintf(&next, "%s%s", name, pattern) < 0)
        next = NULL;
    free(name);
    return next;
}

static int read_pattern(struct vs_spec *spec, struct vs_members *members, json_t *value,
                        struct vs_error *error)
{
    const char *begin, *end;
    bool numbered = false;
    int width = 0;

    members->pattern = json_string_value(value);
    if (!members->pattern)
        return fail_at(spec, error, "file", "expected a file's name, got %s", vs_kind_name(value));
    if (!members->pattern[0])
        return fail_at(spec, error, "file", "the file's name is empty");
    for (const char *at = members->pattern; width >= 0 && find_number(at, &begin, &end, &width);
         at = end)
        numbered = true;
    if (width < 0)
        return fail_at(spec, error, "file", "expected {member} or {member:WIDTH}, WIDTH 1 to %d",
                       WIDTH_MAX);
    if (!numbered && members->count > 1)
        return fail_at(spec, error, "file",
                       "%lld members have one name: {member} or {member:WIDTH} stands for the "
                       "number of each",
                       (long long)members->count);
    spec->file = vs_path_from(members->folder, members->pattern);
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

        if (!name || !name[0])
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
    int64_t names = (int64_t)json_array_size(members->names);

    if (members->names && !json_is_array(members->names))
        return fail_at(spec, error, "files", "expected an array, got %s",
                       vs_kind_name(members->names));
    members->count = names;
    if (value == NULL && !members->names)
        return vs_fail(error, &spec->text, &at_members, false, "%s%s",
                       spec->text.shorthand ? "their number is missing: " : "\"count\" is missing",
                       spec->text.shorthand ? spec->names->give_count : "");
    if (value && vs_scope_integer(&spec->scope, &spec->text, &place, value, &members->count))
        return error->code;
    if (members->names && members->count != names)
        return fail_at(spec, error, "files", "%lld names for %lld members", (long long)names,
                       (long long)members->count);
    if (members->count < 1 || members->count > VS_MEMBERS_MAX)
        return fail_at(spec, error, members->names ? "files" : "count",
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

/* Members have the bytes of the whole as they are: what they mean is said by views of it. */
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
    if (read_count(spec, members, error) || read_overlap(spec, members, error) ||
        vs_members_read_missing(spec, members, error) ||
        (file ? read_pattern(spec, members, file, error) : read_names(spec, members, error)))
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

/* {"count": ..., "file": ..., "view": ...} from the spec that pieces were translated to. */
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

json_t *vs_members_translate(const char *text, const struct vs_overrides *overrides,
                             json_t **places, struct vs_error *error)
{
    const struct vs_names *names = overrides->from_options ? &vs_names_options : &vs_names_fields;
    const char *pieces = overrides->pieces ? overrides->pieces : text;
    json_t *inner = NULL, *root;

    root = vs_shorthand_translate(pieces, overrides->pieces ? names->pieces : names->view,
                                  names, overrides->defines, overrides->define_count, &inner, error);
    if (root == NULL)
        return NULL;
    json_t *members = members_of(root, overrides);
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

json_t *vs_members_resolved(const struct vs_members *members)
{
    json_t *copy = json_copy(members->json), *names;
    int failed = json_object_set_new(copy, "count", json_integer(members->count));

    if (members->pattern) {
        char *path = vs_path_from(members->folder, members->pattern);

        failed |= json_object_set_new(copy, "file", path ? json_string(path) : NULL);
        free(path);
    } else {
        names = json_array();
        for (int64_t i = 0; i < members->count; i++) {
            char *path = vs_members_file(members, i);

            failed |= json_array_append_new(names, path ? json_string(path) : NULL);
            free(path);
        }
        failed |= json_object_set_new(copy, "files", names);
    }
    if (failed) {
        json_decref(copy);
        return NULL;
    }
    return copy;
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
    name = expand(members->pattern, member);
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
