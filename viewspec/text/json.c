/* SPDX-License-Identifier: MIT */
#include "json.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "viewspec/spec_private.h"

/* Reasons why a text is no JSON. */

/* Returns the length of the token that jansson quotes as "near '...'", less one; 0 if there is
 * none. */
static int syntax_token_tail(const char *reason)
{
    const char *token = strstr(reason, " near '"), *end = strrchr(reason, '\'');
    int characters = 0;
    for (const char *c = token ? token + 7 : end; c && c < end; c++)
        characters += ((unsigned char)*c & 0xc0) != 0x80;
    return characters ? characters - 1 : 0;
}

/* Returns the reason for a text that does not begin with '{', or NULL if it does. */
static const char *syntax_other_format(const struct vs_text *text)
{
    static const struct {
        const char *magic, *name;
    } formats[] = {
        {"CDF", "a netCDF file, not a spec (mpiio-view spec --from FILE makes one)"},
        {"\x89HDF", "an HDF5 file, not a spec (mpiio-view spec --from FILE makes one)"},
        {"\x93NUMPY", "a .npy file, not a spec (mpiio-view spec --from FILE makes one)"},
    };

    for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++)
        if (strncmp(text->bytes, formats[i].magic, strlen(formats[i].magic)) == 0)
            return formats[i].name;
    if (text->bytes[strspn(text->bytes, " \t\r\n")] == '{')
        return NULL;
    return text->length == 0 ? "an empty file, not a spec"
                             : "not a spec: a spec begins with '{' (-f names the shared file)";
}

/* Returns the comma before the bracket that the parser did not expect, or NULL if there is none. */
static const char *syntax_comma_before(const struct vs_text *text, const json_error_t *json)
{
    const char *c = text->bytes + json->position, *token = strstr(json->text, " near '");

    if (json->position < 2 || (size_t)json->position > text->length || token == NULL ||
        (strcmp(token, " near '}'") != 0 && strcmp(token, " near ']'") != 0))
        return NULL;
    for (c -= 2; c > text->bytes && isspace((unsigned char)*c); c--)
        ;
    return c > text->bytes && *c == ',' ? c : NULL;
}

int vs_syntax_fail(const struct vs_text *text, const json_error_t *json, struct vs_error *error)
{
    const char *other = syntax_other_format(text);
    const char *comma = syntax_comma_before(text, json);
    int column;

    if (json_error_code(json) == json_error_out_of_memory || !json->text[0])
        return vs_fail_memory(error, text);
    if (other != NULL)
        return vs_note(error, -EINVAL, text->source, other);
    if (comma != NULL) {
        vs_note(error, -EINVAL, text->source, "a comma after the last value");
        vs_place_at(error, text->bytes, comma);
        return error->code;
    }
    /* jansson's column is the end of the token. */
    vs_note(error, -EINVAL, text->source, json->text);
    for (char *c = error->reason; *c; c++)
        if ((unsigned char)*c < ' ')
            *c = ' ';
    error->line = json->line < 1 ? 1 : json->line;
    column = json->column - syntax_token_tail(error->reason);
    error->column = column < 1 ? 1 : column;
    return error->code;
}

/* Checks of objects and nodes. */

int vs_check_keys(struct vs_scope *scope, const struct vs_place *place, json_t *object,
                  const char *const *keys)
{
    const char *key;
    json_t *value;

    if (!json_is_object(object))
        return vs_refuse(scope, place, "expected an object, got %s", vs_kind_name(object));
    json_object_foreach(object, key, value)
    {
        size_t i = 0;

        while (keys[i] && strcmp(keys[i], key) != 0)
            i++;
        if (!keys[i])
            return vs_refuse_key(scope, VS_KEY(place, key), "unknown key");
    }
    return 0;
}

int vs_check_arena(struct vs_scope *scope, const struct vs_arena *arena,
                   const struct vs_place *place)
{
    if (!arena->failure)
        return scope->error->code;
    return arena->failure == -EOVERFLOW ? vs_refuse(scope, place, "the type exceeds 2^63-1 bytes")
                                        : vs_refuse_memory(scope);
}

/* Paths. */

char *vs_path_from(const char *folder, const char *name)
{
    char *path = NULL;

    if (name[0] == '/')
        return strdup(name);
    return asprintf(&path, "%s/%s", strcmp(folder, "/") ? folder : "", name) < 0 ? NULL : path;
}

int vs_path_settle(struct vs_scope *scope, json_t *object, const char *key, const char *folder)
{
    char *path = vs_path_from(folder, json_string_value(json_object_get(object, key)));
    int failed = path ? json_object_set_new(object, key, json_string(path)) : -1;

    free(path);
    return failed ? vs_refuse_memory(scope) : 0;
}

/* The spec's "header": checksums of the file's header. This source does not read the file. */

#define SUM_DIGITS 8

/* Parses the sum, eight hexadecimal digits; returns false if it is not a sum. */
static bool read_sum(const json_t *value, uint32_t *sum)
{
    static const char digits[] = "0123456789abcdef";
    const char *text = json_string_value(value);
    if (text == NULL || strlen(text) != SUM_DIGITS || strspn(text, digits) != SUM_DIGITS)
        return false;
    *sum = (uint32_t)strtoul(text, NULL, 16);
    return true;
}

/* Checks a number of bytes. It may be absent, and otherwise must be `least` or more. */
static int check_bytes(struct vs_scope *scope, const struct vs_place *up, const json_t *part,
                       const char *key, int64_t least)
{
    const json_t *value = json_object_get(part, key);

    if (value == NULL || (json_is_integer(value) && json_integer_value(value) >= least))
        return 0;
    return vs_refuse(scope, VS_KEY(up, key), "expected a number of bytes, %lld or more",
                     (long long)least);
}

static int settle_part(struct vs_scope *scope, const struct vs_place *place, json_t *part,
                       const char *folder)
{
    static const char *const keys[] = {"file", "at", "size", "crc32", NULL};
    const json_t *value = json_object_get(part, "crc32"), *file = json_object_get(part, "file");
    uint32_t sum;

    if (vs_check_keys(scope, place, part, keys))
        return scope->error->code;
    if (!json_object_get(part, "size") || value == NULL)
        return vs_refuse(scope, place, "\"size\" or \"crc32\" is missing");
    if (!read_sum(value, &sum))
        return vs_refuse(scope, VS_KEY(place, "crc32"),
                         "expected a string of 8 hexadecimal digits in lower case");
    if (check_bytes(scope, place, part, "at", 0) || check_bytes(scope, place, part, "size", 1))
        return scope->error->code;
    if (file && !json_string_length(file))
        return vs_refuse(scope, VS_KEY(place, "file"), "expected a file's name");
    return file ? vs_path_settle(scope, part, "file", folder) : 0;
}

int vs_header_settle(struct vs_spec *spec)
{
    struct vs_scope *scope = &spec->scope;
    json_t *parts = vs_scope_member(scope, NULL, spec->root, "header", JSON_ARRAY), *part;
    size_t index;

    json_array_foreach(parts, index, part)
    {
        if (settle_part(scope, VS_ITEM(VS_KEY(NULL, "header"), index), part, spec->folder))
            break;
    }
    /* Another representation means another file, whose header is unknown. */
    if (spec->overrides->datarep)
        json_object_del(spec->root, "header");
    return scope->error->code;
}

bool vs_spec_header(const struct vs_spec *spec, size_t index, struct vs_header *header)
{
    const json_t *parts = json_object_get(spec->root, "header");
    const json_t *part = json_array_get(parts, index);
    if (part == NULL)
        return false;
    *header = (struct vs_header){.file = json_string_value(json_object_get(part, "file")),
                                 .at = json_integer_value(json_object_get(part, "at")),
                                 .size = json_integer_value(json_object_get(part, "size"))};
    return read_sum(json_object_get(part, "crc32"), &header->crc32);
}

/* The text of JSON for people. */

#define WIDTH 96

struct output {
    FILE *file;
    bool failed;
};

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

static void new_line(struct output *out, int depth)
{
    fprintf(out->file, "\n%*s", 2 * depth, "");
}

static void write_value(struct output *out, json_t *json, int depth, size_t used);

static void write_key(struct output *out, const char *key, json_t *value, int depth)
{
    json_t *name = json_string(key);
    char *text = name ? json_dumps(name, JSON_ENCODE_ANY) : NULL;

    json_decref(name);
    if (text == NULL) {
        out->failed = true;
        return;
    }
    fprintf(out->file, "%s: ", text);
    write_value(out, value, depth, strlen(text) + 2);
    free(text);
}

/* Writes a value after depth levels of indentation and `used` characters. A comma may follow it. */
static void write_value(struct output *out, json_t *json, int depth, size_t used)
{
    size_t left = used + 2 * (size_t)depth + 1;
    bool whole = !json_object_size(json) && !json_array_size(json);
    const char *key, *comma = "";
    json_t *value;
    size_t index;

    if (whole || (depth && left < WIDTH && fits(json, WIDTH - left))) {
        out->failed |= json_dumpf(json, out->file, JSON_ENCODE_ANY) != 0;
        return;
    }
    fputs(json_is_object(json) ? "{" : "[", out->file);
    json_object_foreach(json, key, value)
    {
        fputs(comma, out->file);
        comma = ",";
        new_line(out, depth + 1);
        write_key(out, key, value, depth + 1);
    }
    json_array_foreach(json, index, value)
    {
        fputs(comma, out->file);
        comma = ",";
        new_line(out, depth + 1);
        write_value(out, value, depth + 1, 0);
    }
    new_line(out, depth);
    fputs(json_is_object(json) ? "}" : "]", out->file);
}

char *vs_pretty(json_t *json)
{
    char *text = NULL;
    size_t length;
    struct output out = {.file = open_memstream(&text, &length)};

    if (out.file == NULL)
        return NULL;
    write_value(&out, json, 0, 0);
    out.failed |= ferror(out.file) != 0;
    if (fclose(out.file) || out.failed) {
        free(text);
        return NULL;
    }
    return text;
}
