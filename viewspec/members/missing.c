/* SPDX-License-Identifier: MIT */
#include "members.h"

#include <ctype.h>
#include <string.h>

#include "viewspec/base/integer.h"
#include "members_private.h"
#include "viewspec/text/json.h"

/* Reads "missing" and "fill": the values of bytes of the whole that no member holds. */

static const struct vs_place at_members = {.key = "members"};

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
        return vs_refuse(&spec->scope, VS_KEY(&at_members, "missing"),
                         "expected \"error\", \"zero\" or a number");
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

int vs_members_read_missing(struct vs_spec *spec)
{
    struct vs_members_facts *facts = &spec->members->facts;
    struct vs_scope *scope = &spec->scope;
    json_t *list, *json;
    size_t i;

    if (read_missing(spec))
        return scope->error->code;
    list = vs_scope_member(scope, &at_members, spec->members->json, "fill", JSON_ARRAY);
    facts->fill_count = json_array_size(list);
    facts->fills = vs_arena_array(&spec->arena, (int64_t)facts->fill_count, sizeof(*facts->fills));
    if (facts->fills == NULL)
        return vs_refuse_memory(scope);
    json_array_foreach(list, i, json) read_fill(scope, VS_ITEM(VS_KEY(&at_members, "fill"), i),
                                                json, &facts->fills[i], &facts->filled);
    return scope->error->code;
}
