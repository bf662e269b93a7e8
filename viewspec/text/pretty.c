/* SPDX-License-Identifier: MIT */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "pretty.h"

#define WIDTH 96

struct text {
    char *bytes;
    size_t length, room;
    bool failed;
};

static int append(const char *bytes, size_t length, void *argument)
{
    struct text *text = argument;
    if (text->failed)
        return -1;
    if (length > text->room - text->length) {
        size_t room = (text->room + length) * 2;
        char *larger = realloc(text->bytes, room);
        if (larger == NULL) {
            text->failed = true;
            return -1;
        }
        text->bytes = larger;
        text->room = room;
    }
    memcpy(text->bytes + text->length, bytes, length);
    text->length += length;
    return 0;
}

static int use_room(const char *bytes, size_t length, void *argument)
{
    size_t *room = argument;
    (void)bytes;
    if (length > *room)
        return -1;
    *room -= length;
    return 0;
}

/*
 * Returns true if json fits into room characters. Stops when the room is used up, so that a long
 * value costs no more than a line.
 */
static bool fits(const json_t *json, size_t room)
{
    return json_dump_callback(json, use_room, &room, JSON_ENCODE_ANY) == 0;
}

static void new_line(struct text *text, int depth)
{
    append("\n", 1, text);
    for (int i = 0; i < depth; i++)
        append("  ", 2, text);
}

static void write_value(struct text *text, json_t *json, int depth, size_t used);

static void write_key(struct text *text, const char *key, json_t *value, int depth)
{
    json_t *name = json_string(key);
    size_t before = text->length;
    if (name == NULL || json_dump_callback(name, append, text, JSON_ENCODE_ANY))
        text->failed = true;
    json_decref(name);
    append(": ", 2, text);
    write_value(text, value, depth, text->length - before);
}

/* Writes a value after depth levels of indentation and `used` characters. A comma may follow it. */
static void write_value(struct text *text, json_t *json, int depth, size_t used)
{
    size_t left = used + 2 * (size_t)depth + 1;
    bool whole = !json_object_size(json) && !json_array_size(json);
    const char *key;
    json_t *value;
    size_t index, count = 0;
    bool object;

    if (whole || (depth && left < WIDTH && fits(json, WIDTH - left))) {
        if (json_dump_callback(json, append, text, JSON_ENCODE_ANY))
            text->failed = true;
        return;
    }
    object = json_is_object(json);
    append(object ? "{" : "[", 1, text);
    if (object) {
        json_object_foreach(json, key, value)
        {
            append(",", count++ > 0, text);
            new_line(text, depth + 1);
            write_key(text, key, value, depth + 1);
        }
    } else {
        json_array_foreach(json, index, value)
        {
            append(",", index > 0, text);
            new_line(text, depth + 1);
            write_value(text, value, depth + 1, 0);
        }
    }
    new_line(text, depth);
    append(object ? "}" : "]", 1, text);
}

char *vs_pretty(json_t *json)
{
    struct text text = {0};
    write_value(&text, json, 0, 0);
    append("", 1, &text);
    if (text.failed) {
        free(text.bytes);
        return NULL;
    }
    return text.bytes;
}
