/* SPDX-License-Identifier: MIT */
#include "members.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "viewspec/base/integer.h"
#include "viewspec/text/json.h"
#include "members_private.h"
#include "viewspec/text/shorthand_private.h"

static const struct vs_place at_members = {.key = "members"};

#define fail_at(spec, name, ...) vs_refuse(&(spec)->scope, VS_KEY(&at_members, name), __VA_ARGS__)

static int read_pattern(struct vs_spec *spec, const json_t *value)
{
    const char *text = json_string_value(value);

    if (value == NULL)
        return 0;
    if (text == NULL)
        return fail_at(spec, "file", "expected a file's name, got %s", vs_kind_name(value));
    if (!text[0])
        return fail_at(spec, "file", "the file's name is empty");
    return vs_pattern_read(spec, VS_KEY(&at_members, "file"), text, &spec->members->pattern);
}

/* Checks that the pattern gives members different names, and sets the name of the whole. */
static int name_members(struct vs_spec *spec)
{
    const struct vs_members *members = spec->members;
    const struct vs_pattern *pattern = &members->pattern;

    if (!pattern->named && !pattern->indices && members->count > 1)
        return fail_at(spec, "file",
                       "%lld members have one name: {member} or {member:WIDTH} stands for the "
                       "number of each",
                       (long long)members->count);
    spec->file = vs_path_from(members->folder, pattern->text);
    return spec->file ? 0 : vs_refuse_memory(&spec->scope);
}

static int read_names(struct vs_spec *spec)
{
    const struct vs_members *members = spec->members;
    size_t count = json_array_size(members->names), i;
    json_t *name;
    char *first;

    json_array_foreach(members->names, i, name)
    {
        if (!json_string_length(name))
            return vs_refuse(&spec->scope, VS_ITEM(VS_KEY(&at_members, "files"), i),
                             "expected a file's name, got %s",
                             json_is_string(name) ? "an empty one" : vs_kind_name(name));
    }
    first = vs_path_from(members->folder, json_string_value(json_array_get(members->names, 0)));
    if (first == NULL || (count > 1 ? asprintf(&spec->file, "%s, ... (%zu files)", first, count)
                                    : asprintf(&spec->file, "%s", first)) < 0)
        spec->file = NULL;
    free(first);
    return spec->file ? 0 : vs_refuse_memory(&spec->scope);
}

static int read_count(struct vs_spec *spec)
{
    struct vs_members *members = spec->members;
    json_t *value = json_object_get(members->json, "count");
    int64_t names = members->names          ? (int64_t)json_array_size(members->names)
                    : members->pattern.text ? vs_pattern_count(&members->pattern)
                                            : 0;

    members->count = names;
    if (value == NULL && !members->names && !names)
        return vs_refuse(&spec->scope, &at_members, "%s%s",
                         spec->text.shorthand ? "their number is missing: "
                                              : "\"count\" is missing",
                         spec->text.shorthand ? spec->text.names->give_count : "");
    if (value &&
        vs_scope_integer(&spec->scope, VS_KEY(&at_members, "count"), value, &members->count))
        return spec->scope.error->code;
    if (names < 0)
        return fail_at(spec, "file", "{member} and the indices have different numbers");
    if ((members->names || names) && members->count != names)
        return fail_at(spec, members->names ? "files" : "file", "%lld names for %lld members",
                       (long long)names, (long long)members->count);
    if (members->count < 1 || members->count > VS_MEMBERS_MAX)
        return fail_at(spec,
                       members->names ? "files"
                       : value        ? "count"
                                      : "file",
                       "%lld members: must be 1 to %d", (long long)members->count, VS_MEMBERS_MAX);
    return 0;
}

static int read_overlap(struct vs_spec *spec)
{
    const json_t *value = json_object_get(spec->members->json, "overlap");
    const char *word = json_string_value(value);

    if (value == NULL)
        return 0;
    if (word && strcmp(word, "first") == 0)
        spec->members->facts.overlap = VS_OVERLAP_FIRST;
    else if (word && strcmp(word, "last") == 0)
        spec->members->facts.overlap = VS_OVERLAP_LAST;
    else
        return fail_at(spec, "overlap", "expected \"first\" or \"last\"");
    return 0;
}

/* Returns the value of "missing" as text: the string, or the number as jansson prints it. */
static const char *missing_text(struct vs_spec *spec, const json_t *value)
{
    char *printed;
    const char *text;

    if (!json_is_number(value))
        return json_string_value(value);
    printed = json_dumps(value, JSON_ENCODE_ANY);
    text = printed ? vs_arena_text(&spec->arena, printed) : NULL;
    free(printed);
    return text;
}

/* Returns true if the text is a word of "missing" or a number. */
static bool is_missing(const char *text)
{
    char *end = NULL;

    if (text == NULL || !strcmp(text, "error") || !strcmp(text, "zero"))
        return text != NULL;
    strtod(text, &end);
    return end != text && !*end;
}

int vs_members_override_missing(json_t *members, const char *text, struct vs_error *error)
{
    static const struct vs_text option = {.source = "missing"};

    if (!is_missing(text))
        return vs_fail(error, &option, NULL, false, "expected error, zero or a number, got %s",
                       text);
    return json_object_set_new(members, "missing", json_string(text))
               ? vs_fail_memory(error, &option)
               : 0;
}

static int read_missing(struct vs_spec *spec)
{
    const json_t *value = json_object_get(spec->members->json, "missing");
    struct vs_members_facts *facts = &spec->members->facts;
    const char *text = missing_text(spec, value);

    if (value == NULL)
        return 0;
    if (!is_missing(text))
        return fail_at(spec, "missing", "expected \"error\", \"zero\" or a number");
    if (!strcmp(text, "error"))
        return 0;
    facts->missing = strcmp(text, "zero") ? VS_MISSING_VALUE : VS_MISSING_ZERO;
    facts->missing_value = facts->missing == VS_MISSING_VALUE ? text : NULL;
    return 0;
}

/* Reads bytes in hexadecimal. Returns their number, or 0 if the text is not hexadecimal. */
static unsigned read_bytes(const char *text, unsigned char *bytes)
{
    static const char digits[] = "0123456789abcdef";
    size_t length = text ? strlen(text) : 0;

    if (length % 2 || length > 2 * VS_FILL_BYTES)
        return 0;
    for (size_t i = 0; i < length; i++) {
        const char *digit = strchr(digits, tolower((unsigned char)text[i]));
        if (digit == NULL)
            return 0;
        bytes[i / 2] = (unsigned char)(bytes[i / 2] << 4 | (digit - digits));
    }
    return (unsigned)length / 2;
}

/* Reads the integer under key of the object at place; an absent one keeps its value. */
static int read_integer(struct vs_scope *scope, const struct vs_place *place, const json_t *json,
                        const char *key, int64_t *value)
{
    const json_t *found = json_object_get(json, key);

    return found ? vs_scope_integer(scope, VS_KEY(place, key), found, value) : 0;
}

/* Reads a fill. Sets *filled to its end if that is higher. */
static int read_fill(struct vs_scope *scope, const struct vs_place *place, json_t *json,
                     struct vs_fill *fill, int64_t *filled)
{
    static const char *const keys[] = {"at", "size", "count", "every", "value", NULL};
    int64_t end;

    *fill = (struct vs_fill){.size = -1, .count = 1};
    if (vs_check_keys(scope, place, json, keys) ||
        read_integer(scope, place, json, "at", &fill->at) ||
        read_integer(scope, place, json, "size", &fill->size) ||
        read_integer(scope, place, json, "count", &fill->count) ||
        read_integer(scope, place, json, "every", &fill->every))
        return scope->error->code;
    fill->length = read_bytes(json_string_value(json_object_get(json, "value")), fill->value);
    if (fill->length == 0)
        return vs_refuse(scope, VS_KEY(place, "value"),
                         "expected the bytes of a value in hexadecimal, 1 to %d of them",
                         VS_FILL_BYTES);
    if (fill->at < 0 || fill->size < 0 || fill->count < 0 ||
        (fill->count > 1 && fill->every < fill->size))
        return vs_refuse(scope, place,
                         "\"at\", \"size\" and \"count\" are 0 or more, \"every\" is not less than "
                         "\"size\"");
    if (__builtin_mul_overflow(fill->every, vs_max(fill->count - 1, 0), &end) ||
        __builtin_add_overflow(end, fill->size, &end) ||
        __builtin_add_overflow(end, fill->at, &end))
        return vs_refuse(scope, place, "it ends behind byte 2^63-1");
    if (fill->count > 0 && fill->size > 0)
        *filled = vs_max(*filled, end);
    return 0;
}

/* Reads "fill". */
static int read_fills(struct vs_spec *spec)
{
    struct vs_members_facts *facts = &spec->members->facts;
    struct vs_scope *scope = &spec->scope;
    json_t *list, *json;
    size_t i;

    list = vs_scope_member(scope, &at_members, spec->members->json, "fill", JSON_ARRAY);
    facts->fill_count = json_array_size(list);
    facts->fills = vs_arena_array(&spec->arena, (int64_t)facts->fill_count, sizeof(*facts->fills));
    if (facts->fills == NULL)
        return vs_refuse_memory(scope);
    json_array_foreach(list, i, json)
    {
        read_fill(scope, VS_ITEM(VS_KEY(&at_members, "fill"), i), json, &facts->fills[i],
                  &facts->filled);
    }
    return scope->error->code;
}

/*
 * Refuses a data representation. Members hold the bytes of the whole unchanged; only views of the
 * whole give them a meaning.
 */
static int refuse_datarep(struct vs_scope *scope, const struct vs_place *place, const json_t *view)
{
    static const char reason[] =
        "members hold bytes as they are: this is for the views of the whole";
    const struct vs_place *list = VS_KEY(place, "per_rank");
    json_t *entry;
    size_t i;

    if (json_object_get(view, "datarep"))
        return vs_refuse_key(scope, VS_KEY(place, "datarep"), reason);
    json_array_foreach(json_object_get(view, "per_rank"), i, entry)
    {
        if (json_object_get(entry, "datarep"))
            return vs_refuse_key(scope, VS_KEY(VS_ITEM(list, i), "datarep"), reason);
    }
    return 0;
}

static int list_views(struct vs_spec *spec)
{
    static const char *const names[VS_MEMBER_VIEWS] = {"view", "local", "whole"};
    struct vs_place *places = vs_arena_array(&spec->arena, VS_MEMBER_VIEWS, sizeof(*places));
    struct vs_members *members = spec->members;

    if (places == NULL)
        return vs_refuse_memory(&spec->scope);
    for (int i = 0; i < VS_MEMBER_VIEWS; i++) {
        json_t *json = i == VS_MEMBER_WHOLE ? NULL : json_object_get(members->json, names[i]);

        places[i] = *VS_KEY(&at_members, names[i]);
        members->named[i].json = json ? json : members->none;
        members->named[i].place = &places[i];
        if (refuse_datarep(&spec->scope, &places[i], json))
            return spec->scope.error->code;
    }
    return 0;
}

static int read_members(struct vs_spec *spec)
{
    static const char *const keys[] = {"count",   "file",    "files", "view", "local",
                                       "overlap", "missing", "fill",  NULL};
    struct vs_members *members = spec->members;
    json_t *file = json_object_get(members->json, "file");
    struct vs_scope *scope = &spec->scope;

    if (vs_check_keys(scope, &at_members, members->json, keys))
        return scope->error->code;
    if (json_object_get(spec->root, "file"))
        return vs_refuse_key(scope, VS_KEY(NULL, "file"),
                             "\"members\" is there too: only one of them can be");
    if ((file == NULL) == (json_object_get(members->json, "files") == NULL))
        return vs_refuse(scope, &at_members,
                         file ? "\"file\" and \"files\": only one of them can be"
                              : "\"file\" (or \"files\") is missing");
    if (!json_object_get(members->json, "view"))
        return vs_refuse(scope, &at_members, "\"view\" is missing");
    members->names = vs_scope_member(scope, &at_members, members->json, "files", JSON_ARRAY);
    if (scope->error->code || read_pattern(spec, file) || read_count(spec) || read_overlap(spec) ||
        read_missing(spec) || read_fills(spec) || (file ? name_members(spec) : read_names(spec)))
        return scope->error->code;
    return list_views(spec);
}

int vs_members_read(struct vs_spec *spec)
{
    struct vs_members *members = spec->members = calloc(1, sizeof(*members));

    if (members == NULL)
        return vs_refuse_memory(&spec->scope);
    members->json = json_object_get(spec->root, "members");
    members->none = json_object();
    members->folder = strdup(spec->folder);
    if (!members->none || !members->folder)
        return vs_refuse_memory(&spec->scope);
    return read_members(spec);
}

/*
 * Returns the object {"count": ..., "file": ..., "view": ...}, made from the spec that pieces were
 * translated to.
 */
static json_t *members_of(json_t *pieces, const struct vs_overrides *overrides)
{
    json_t *count = json_incref(json_object_get(pieces, "ranks"));

    if (count == NULL && !overrides->pieces && overrides->ranks) {
        count = json_integer(overrides->ranks);
        if (count == NULL)
            return NULL;
    }
    return json_pack("{s:s, s:O, s:o*}", "file", overrides->members, "view",
                     json_object_get(pieces, "view"), "count", count);
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

const struct vs_members_facts *vs_members_facts(const struct vs_members *members)
{
    return &members->facts;
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
    vs_fail(error, &members->views->text, &at_members, true, "%s", reason);
    return error->code = code;
}

int vs_members_views(const struct vs_members *members, int64_t member, struct vs_view **view,
                     struct vs_view **local, struct vs_error *error)
{
    int failure;

    *view = *local = NULL;
    failure = vs_spec_view(members->views, VS_MEMBER_VIEW, member, view, error);
    return failure ? failure : vs_spec_view(members->views, VS_MEMBER_LOCAL, member, local, error);
}

struct vs_view *vs_members_whole(const struct vs_members *members)
{
    struct vs_error error = {0};
    struct vs_view *view = NULL;

    /* The view is the same for all members, so it was compiled with the spec. */
    return vs_spec_view(members->views, VS_MEMBER_WHOLE, 0, &view, &error) ? NULL : view;
}
