/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "viewspec/error.h"
#include "line.h"

/*
 * Returns the pointer, or of shorthand its last key and indices ("dargs/0"), because the user has
 * not seen the JSON.
 */
static const char *name_of(const struct vs_error *error)
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
    const char *name = name_of(error);
    char place[64] = "";
    if (error->line > 0)
        snprintf(place, sizeof(place), ":%d:%d", error->line, error->column);
    snprintf(text, size, "%s%s%s%s%s%s", error->source, place, error->source[0] ? ": " : "", name,
             name[0] ? ": " : "", error->reason);
    if (size > 0)
        vs_line_clean(text);
    return text;
}
