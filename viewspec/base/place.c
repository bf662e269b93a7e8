/* SPDX-License-Identifier: MIT */
#include "place.h"

#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "viewspec/error.h"
#include "line.h"

const struct vs_names vs_names_options = {
    .view = "--view",
    .members = "--members",
    .pieces = "--pieces",
    .ranks = "-n",
    .define = "-D ",
    .give_file = ": give it with -f",
    .give_count = "'on N' or -n N",
};

const struct vs_names vs_names_fields = {
    .view = "view",
    .members = "members",
    .pieces = "pieces",
    .ranks = "ranks",
    .define = "",
    .give_file = "",
    .give_count = "'on N'",
};

static const char *skip_space(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r'))
        at++;
    return at;
}

/* Reads the JSON value at *at, which is valid, and moves *at behind it. Returns NULL and moves *at
   to the end if out of memory. */
static json_t *take_value(const char **at, const char *end)
{
    json_error_t error;
    json_t *value =
        json_loadb(*at, (size_t)(end - *at), JSON_DECODE_ANY | JSON_DISABLE_EOF_CHECK, &error);

    *at = value ? *at + error.position : end;
    return value;
}

/* Finds the value of a member or element in the container at `at`; NULL if there is none. */
static const char *find_part(const char *at, const char *end, const struct vs_place *place,
                             bool at_key)
{
    size_t index = 0;
    at = skip_space(at + 1, end);
    while (at < end && *at != '}' && *at != ']') {
        const char *start = at;
        bool found = !place->key && index == place->index;
        if (place->key) {
            json_t *key = take_value(&at, end);
            found = json_is_string(key) && strcmp(json_string_value(key), place->key) == 0;
            json_decref(key);
            at = skip_space(at, end);
            at = skip_space(at + (at < end), end); /* the colon */
        }
        if (found)
            return at_key ? start : at;
        json_decref(take_value(&at, end));
        at = skip_space(at, end);
        at = skip_space(at + (at < end && *at == ','), end);
        index++;
    }
    return NULL;
}

static const char *find_place(const struct vs_text *text, const struct vs_place *place, bool at_key)
{
    const char *end = text->bytes + text->length;
    const char *container;

    if (place == NULL)
        return skip_space(text->bytes, end);
    container = find_place(text, place->up, false);
    return container && container < end ? find_part(container, end, place, at_key) : NULL;
}

static void write_pointer(struct vs_error *error, const struct vs_place *place)
{
    size_t used, size;
    char *out, *last;

    if (place == NULL)
        return;
    write_pointer(error, place->up);
    used = strlen(error->pointer);
    size = sizeof(error->pointer);
    if (!place->key) {
        snprintf(error->pointer + used, size - used, "/%zu", place->index);
        return;
    }
    out = error->pointer + used;
    last = error->pointer + size - 3;
    if (out < last)
        *out++ = '/';
    for (const char *in = place->key; *in && out < last; in++) {
        if (*in == '~' || *in == '/')
            *out++ = '~';
        *out++ = *in == '~' ? '0' : *in == '/' ? '1' : *in;
    }
    *out = '\0';
}

void vs_place_at(struct vs_error *error, const char *start, const char *at)
{
    error->line = error->column = 1;
    for (const char *c = start; c < at; c++) {
        if (*c == '\n') {
            error->line++;
            error->column = 1;
        } else if (((unsigned char)*c & 0xc0) != 0x80) {
            error->column++;
        }
    }
}

/* Finds the place in the shorthand of the value at pointer, or of its nearest container. */
static const char *find_origin(const struct vs_text *text, const char *pointer)
{
    char part[sizeof((struct vs_error *)0)->pointer];
    snprintf(part, sizeof(part), "%s", pointer);
    for (;;) {
        json_t *offset = json_object_get(text->origins, part);
        if (offset || !part[0])
            return text->shorthand + json_integer_value(offset);
        *strrchr(part, '/') = '\0';
    }
}

/* Names the option that a value comes from, and the place in it if that is known. */
static void name_option(struct vs_error *error, const struct vs_text *text)
{
    static const char members[] = "/members";
    const char *part = error->pointer;

    error->shorthand = true;
    if (strncmp(part, members, strlen(members)) == 0) {
        part += strlen(members);
        snprintf(error->source, sizeof(error->source), "%s",
                 strncmp(part, "/view", 5) == 0 || strcmp(part, "/count") == 0
                     ? text->pieces
                     : text->names->members);
        if (strncmp(part, "/view", 5) != 0 || strcmp(text->pieces, text->source) != 0)
            return;
    }
    vs_place_at(error, text->shorthand, find_origin(text, part));
}

int vs_fail(struct vs_error *error, const struct vs_text *text, const struct vs_place *place,
            bool at_key, const char *format, ...)
{
    va_list arguments;
    const char *at;

    if (error->code)
        return error->code;
    error->code = -EINVAL;
    snprintf(error->source, sizeof(error->source), "%s", text->source);
    va_start(arguments, format);
    vsnprintf(error->reason, sizeof(error->reason), format, arguments);
    va_end(arguments);
    write_pointer(error, place);
    if (text->shorthand) {
        name_option(error, text);
        return error->code;
    }
    at = text->length ? find_place(text, place, at_key) : NULL;
    if (at)
        vs_place_at(error, text->bytes, at);
    return error->code;
}

int vs_note(struct vs_error *error, int code, const char *source, const char *reason)
{
    if (error->code)
        return error->code;
    snprintf(error->source, sizeof(error->source), "%s", source);
    snprintf(error->reason, sizeof(error->reason), "%s", reason);
    return error->code = code;
}

int vs_fail_memory(struct vs_error *error, const struct vs_text *text)
{
    return vs_note(error, -ENOMEM, text->source, "out of memory");
}

const struct vs_place *vs_place_keep(struct vs_arena *arena, const struct vs_place *place)
{
    struct vs_place *kept;

    if (place == NULL)
        return NULL;
    kept = vs_arena_alloc(arena, sizeof(*kept));
    if (kept == NULL)
        return NULL;
    *kept = *place;
    if (place->key)
        kept->key = vs_arena_text(arena, place->key);
    kept->up = vs_place_keep(arena, place->up);
    return kept;
}

/*
 * Returns the pointer, or of shorthand its last key and indices ("dargs/0"), because the user has
 * not seen the JSON.
 */
static const char *error_name(const struct vs_error *error)
{
    const char *key = strrchr(error->pointer, '/');

    if (!error->shorthand)
        return error->pointer;
    if (key == NULL || strcmp(error->pointer, "/members") == 0)
        return "";
    while (key > error->pointer && isdigit((unsigned char)key[1]))
        while (*--key != '/')
            ;
    return key + 1;
}

const char *vs_error_text(const struct vs_error *error, char *text, unsigned long size)
{
    const char *name = error_name(error);
    char place[64] = "";
    if (error->line > 0)
        snprintf(place, sizeof(place), ":%d:%d", error->line, error->column);
    snprintf(text, size, "%s%s%s%s%s%s", error->source, place, error->source[0] ? ": " : "", name,
             name[0] ? ": " : "", error->reason);
    if (size > 0)
        vs_line_clean(text);
    return text;
}
