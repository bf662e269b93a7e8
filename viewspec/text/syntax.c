/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "syntax.h"

/* Returns the length of the token that jansson quotes as "near '...'", less one; 0 if there is
 * none. */
static int token_tail(const char *reason)
{
    const char *token = strstr(reason, " near '"), *end = strrchr(reason, '\'');
    int characters = 0;
    for (const char *c = token ? token + 7 : end; c && c < end; c++)
        characters += ((unsigned char)*c & 0xc0) != 0x80;
    return characters ? characters - 1 : 0;
}

/* Returns the reason for a text that does not begin with '{', or NULL if it does. */
static const char *other_format(const struct vs_text *text)
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

/* Returns the comma in front of the bracket that the parser did not expect; NULL if there is none.
 */
static const char *comma_before(const struct vs_text *text, const json_error_t *json)
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
    const char *other = other_format(text);
    const char *comma = comma_before(text, json);

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
    int column = json->column - token_tail(error->reason);
    error->column = column < 1 ? 1 : column;
    return error->code;
}
