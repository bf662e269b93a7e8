/* SPDX-License-Identifier: MIT */
#include "check.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "scope.h"

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

int vs_check_keys(struct vs_error *error, const struct vs_text *text, const struct vs_place *place,
                  json_t *object, const char *const *keys)
{
    const char *key;
    json_t *value;

    if (!json_is_object(object))
        return vs_fail(error, text, place, false, "expected an object, got %s",
                       vs_kind_name(object));
    json_object_foreach(object, key, value)
    {
        size_t i = 0;
        struct vs_place here;

        while (keys[i] && strcmp(keys[i], key) != 0)
            i++;
        here = (struct vs_place){.up = place, .key = key};
        if (!keys[i])
            return vs_fail(error, text, &here, true, "unknown key");
    }
    return 0;
}

int vs_check_arena(struct vs_arena *arena, struct vs_error *error, const struct vs_text *text,
                   const struct vs_place *place)
{
    if (!arena->failure)
        return 0;
    if (arena->failure == -EOVERFLOW)
        return vs_fail(error, text, place, false, "the type exceeds 2^63-1 bytes");
    return vs_fail_memory(error, text);
}

int vs_hints_check(const struct vs_text *text, json_t *root, struct vs_error *error)
{
    const char *key;
    json_t *value;
    struct vs_place hints = {.key = "hints"}, place = {.up = &hints};
    json_object_foreach(json_object_get(root, "hints"), key, value)
    {
        place.key = key;
        if (!json_is_string(value))
            return vs_fail(error, text, &place, false, "expected a string, got %s",
                           vs_kind_name(value));
    }
    return 0;
}
