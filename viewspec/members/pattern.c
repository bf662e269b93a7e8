/* SPDX-License-Identifier: MIT */
#include "members_private.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "viewspec/base/integer.h"

/* The pattern of members' names: reading, counting, expanding. */

#define WIDTH_MAX  20
#define NUMBER_MAX INT64_C(1000000000000000000) /* 19 digits, far from overflow */
#define RANGE_MAX  256                          /* bytes of FIRST..LAST..STEP */

/* {NAME}, {NAME:WIDTH}, {NAME=RANGE} or {NAME:WIDTH=RANGE} in a pattern. */
struct field {
    const char *begin, *end; /* including the braces */
    const char *name;
    size_t length;      /* of the name */
    const char *behind; /* the text from the end of the name to the closing brace */
    const char *range;  /* the text after the =; NULL: none */
    size_t range_length;
};

/* Finds the next field in text. Other braces are ordinary characters of the name. */
static bool next_field(const char *text, struct field *field)
{
    for (const char *at = strchr(text, '{'); at; at = strchr(at + 1, '{')) {
        const char *end = strchr(at, '}'), *equals;
        const char *behind = at + 1 + vs_scope_name_length(at + 1);

        if (end == NULL || behind == at + 1 || !strchr(":=}", *behind) ||
            memchr(behind, '{', (size_t)(end - behind)))
            continue;
        equals = memchr(behind, '=', (size_t)(end - behind));
        *field = (struct field){
            .begin = at,
            .end = end + 1,
            .name = at + 1,
            .length = (size_t)(behind - at) - 1,
            .behind = behind,
            .range = equals ? equals + 1 : NULL,
            .range_length = equals ? (size_t)(end - equals) - 1 : 0,
        };
        return true;
    }
    return false;
}

/* Returns the number of the field's index. Returns -1 if it has none: the field is plain text. */
static int find_index(const struct vs_pattern *pattern, const struct field *field)
{
    for (int i = 0; i <= pattern->indices; i++)
        if (strlen(pattern->index[i].name) == field->length &&
            strncmp(pattern->index[i].name, field->name, field->length) == 0)
            return i;
    return -1;
}

/* Returns the field's width, 0 if it has none, or -1 if the width is invalid. */
static int width_of(const struct field *field)
{
    char *end;
    long width;

    if (*field->behind != ':')
        return 0;
    width = isdigit((unsigned char)field->behind[1]) ? strtol(field->behind + 1, &end, 10) : -1;
    return width >= 1 && width <= WIDTH_MAX && (*end == '}' || *end == '=') ? (int)width : -1;
}

/* Evaluates a part of a range, up to the next "..". Returns the text after it, or NULL if it fails.
 */
static const char *read_part(struct vs_spec *spec, const struct vs_place *place, const char *text,
                             int64_t *value)
{
    const char *dots = strstr(text, "..");
    json_t *number = json_stringn(text, dots ? (size_t)(dots - text) : strlen(text));
    int failed = number ? vs_scope_integer(&spec->scope, place, number, value)
                        : vs_refuse_memory(&spec->scope);

    json_decref(number);
    if (failed)
        return NULL;
    return dots ? dots + 2 : text + strlen(text);
}

/* Reads FIRST, FIRST..LAST or FIRST..LAST..STEP. */
static int read_range(struct vs_spec *spec, const struct vs_place *place, const struct field *field,
                      struct vs_index *index)
{
    char text[RANGE_MAX];
    int64_t last = 0, step = 0;
    const char *at = text;
    bool has_last;

    if (field->range_length >= sizeof(text))
        return vs_refuse(&spec->scope, place, "%s: the range is too long", index->name);
    snprintf(text, sizeof(text), "%.*s", (int)field->range_length, field->range);
    has_last = strstr(text, "..") != NULL;
    if (!(at = read_part(spec, place, at, &index->first)) ||
        (has_last && !(at = read_part(spec, place, at, &last))))
        return spec->scope.error->code;
    step = last < index->first ? -1 : 1;
    if (*at && !(at = read_part(spec, place, at, &step)))
        return spec->scope.error->code;
    if (*at)
        return vs_refuse(&spec->scope, place, "%s: expected FIRST..LAST or FIRST..LAST..STEP",
                         index->name);
    if (index->first < 0 || last < 0 || index->first > NUMBER_MAX || last > NUMBER_MAX)
        return vs_refuse(&spec->scope, place, "%s: a number must be 0 to %lld", index->name,
                         (long long)NUMBER_MAX);
    if (!has_last) {
        index->step = 1;
        return 0;
    }
    if (step == 0 || (last != index->first && (step < 0) != (last < index->first)))
        return vs_refuse(&spec->scope, place, "%s: steps of %lld do not lead from %lld to %lld",
                         index->name, (long long)step, (long long)index->first, (long long)last);
    index->step = step;
    index->count = (last - index->first) / step + 1;
    return 0;
}

/* Reads a field with a range: the definition of an index, or the range of {member}. */
static int define(struct vs_spec *spec, const struct vs_place *place, const struct field *field,
                  struct vs_pattern *pattern)
{
    int found = find_index(pattern, field);
    struct vs_index *index = &pattern->index[found < 0 ? pattern->indices + 1 : found];

    if (found > 0 || (found == 0 && index->step))
        return vs_refuse(&spec->scope, place, "%s has two ranges", index->name);
    if (found < 0) {
        if (pattern->indices == VS_INDICES_MAX)
            return vs_refuse(&spec->scope, place, "more than %d indices", VS_INDICES_MAX);
        *index = (struct vs_index){.step = 0};
        snprintf(index->name, sizeof(index->name), "%.*s", (int)field->length, field->name);
        pattern->indices++;
    }
    if (field->length >= sizeof(index->name) || !vs_scope_name_ok(index->name))
        return vs_refuse(&spec->scope, place,
                         "\"%s\": a name is up to %zu letters, digits and _, and not rank, ranks, "
                         "min or max",
                         index->name, sizeof(index->name) - 1);
    if (json_object_get(json_object_get(spec->root, "let"), index->name))
        return vs_refuse(&spec->scope, place, "\"%s\" is also a name in \"let\"", index->name);
    if (read_range(spec, place, field, index))
        return spec->scope.error->code;
    if (found && !index->count)
        return vs_refuse(&spec->scope, place, "%s: expected FIRST..LAST", index->name);
    return 0;
}

static void set_strides(struct vs_pattern *pattern)
{
    int64_t stride = 1;

    for (int i = pattern->indices; i > 0; i--) {
        pattern->index[i].stride = stride;
        stride = vs_mul_capped(stride, pattern->index[i].count);
    }
    pattern->index[0].stride = 1;
}

int vs_pattern_read(struct vs_spec *spec, const struct vs_place *place, const char *text,
                    struct vs_pattern *pattern)
{
    struct field field;

    *pattern = (struct vs_pattern){.text = text, .index = {{.name = "member"}}};
    if (strlen(text) >= PATH_MAX)
        return vs_refuse(&spec->scope, place, "a name of more than %d bytes", PATH_MAX - 1);
    for (const char *at = text; next_field(at, &field); at = field.end)
        if (field.range && define(spec, place, &field, pattern))
            return spec->scope.error->code;
    if (!pattern->index[0].step)
        pattern->index[0].step = 1;
    set_strides(pattern);
    for (const char *at = text; next_field(at, &field); at = field.end) {
        int index = find_index(pattern, &field);
        if (index >= 0 && width_of(&field) < 0)
            return vs_refuse(&spec->scope, place, "expected {%s} or {%s:WIDTH}, WIDTH 1 to %d",
                             pattern->index[index].name, pattern->index[index].name, WIDTH_MAX);
        pattern->named |= index == 0;
    }
    return 0;
}

int vs_pattern_names(const char *text, char names[VS_INDICES_MAX][VS_INDEX_NAME])
{
    struct field field;
    int count = 0;

    for (; count < VS_INDICES_MAX && next_field(text, &field); text = field.end) {
        bool member = field.length == 6 && strncmp(field.name, "member", 6) == 0;
        if (field.range && !member && field.length < VS_INDEX_NAME)
            snprintf(names[count++], VS_INDEX_NAME, "%.*s", (int)field.length, field.name);
    }
    return count;
}

int64_t vs_pattern_count(const struct vs_pattern *pattern)
{
    int64_t members = pattern->index[0].count, product = pattern->indices ? 1 : members;

    for (int i = 1; i <= pattern->indices; i++)
        product = vs_mul_capped(product, pattern->index[i].count);
    return members && members != product ? -1 : product;
}

char *vs_pattern_expand(const struct vs_pattern *pattern, int64_t member)
{
    struct field field;
    char *name = NULL;
    size_t size;
    FILE *out = open_memstream(&name, &size);
    const char *at = pattern->text;
    bool failed;

    if (out == NULL)
        return NULL;
    for (; next_field(at, &field); at = field.end) {
        int found = find_index(pattern, &field);
        const struct vs_index *index = &pattern->index[found < 0 ? 0 : found];
        int64_t position = member / index->stride;
        if (found > 0)
            position %= index->count;
        fprintf(out, "%.*s", (int)(field.begin - at), at);
        if (found < 0)
            fprintf(out, "%.*s", (int)(field.end - field.begin), field.begin);
        else
            fprintf(out, "%0*lld", width_of(&field),
                    (long long)(index->first + position * index->step));
    }
    fputs(at, out);
    failed = ferror(out);
    if (fclose(out) || failed) {
        free(name);
        return NULL;
    }
    return name;
}

int vs_pattern_bind(const struct vs_pattern *pattern, json_t *let)
{
    for (int i = 1; i <= pattern->indices; i++) {
        const struct vs_index *index = &pattern->index[i];
        char text[80];

        snprintf(text, sizeof(text), "rank / %lld %% %lld", (long long)index->stride,
                 (long long)index->count);
        if (json_object_set_new(let, index->name, json_string(text)))
            return -ENOMEM;
    }
    return 0;
}
