/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "viewspec/error.h"
#include "line.h"

const char *vs_error_text(const struct vs_error *error, char *text, unsigned long size)
{
    char place[64] = "";
    if (error->line > 0)
        snprintf(place, sizeof(place), ":%d:%d", error->line, error->column);
    snprintf(text, size, "%s%s%s%s%s%s", error->source, place, error->source[0] ? ": " : "",
             error->pointer, error->pointer[0] ? ": " : "", error->reason);
    if (size > 0)
        vs_line_clean(text);
    return text;
}
