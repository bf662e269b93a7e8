/* SPDX-License-Identifier: MIT */
#include "shorthand_private.h"
#include "scope.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The words, marks and expressions of a shorthand. */

int vs_words_fail(struct vs_words *w, const char *at, const char *format, ...)
{
    struct vs_error *error = w->error;
    va_list arguments;

    if (error->code)
        return error->code;
    error->code = -EINVAL;
    snprintf(error->source, sizeof(error->source), "%s", w->text.source);
    va_start(arguments, format);
    vsnprintf(error->reason, sizeof(error->reason), format, arguments);
    va_end(arguments);
    vs_place_at(error, w->text.bytes, at);
    return error->code;
}

char vs_words_peek(struct vs_words *w)
{
    while (isspace((unsigned char)*w->at))
        w->at++;
    return w->error->code ? '\0' : *w->at;
}

bool vs_words_accept(struct vs_words *w, char wanted)
{
    if (vs_words_peek(w) != wanted)
        return false;
    w->at++;
    return true;
}

size_t vs_words_length(struct vs_words *w)
{
    vs_words_peek(w);
    return vs_scope_name_length(w->at);
}

bool vs_words_accept_word(struct vs_words *w, const char *word)
{
    size_t length = vs_words_length(w);
    if (w->error->code || length != strlen(word) || strncmp(w->at, word, length) != 0)
        return false;
    w->at += length;
    return true;
}

int vs_words_expected(struct vs_words *w, const char *what)
{
    if (!vs_words_peek(w))
        return vs_words_fail(w, w->at, "expected %s at the end", what);
    return vs_words_fail(w, w->at, "expected %s, found '%.*s'", what,
                         (int)strcspn(w->at, " \t\n") > 20 ? 20 : (int)strcspn(w->at, " \t\n"),
                         w->at);
}

json_t *vs_words_label(struct vs_words *w)
{
    char first = vs_words_peek(w);
    size_t length = vs_scope_name_length(w->at);

    if (!isalpha((unsigned char)first) && first != '_') {
        vs_words_expected(w, "a name");
        return NULL;
    }
    while (w->at[length] == '-' || w->at[length] == '.')
        length += 1 + vs_scope_name_length(w->at + length + 1);
    w->at += length;
    return json_stringn(w->at - length, length);
}

json_t *vs_words_number(struct vs_words *w)
{
    char *end;
    double number;

    vs_words_peek(w);
    number = strtod(w->at, &end);
    if (w->error->code || end == w->at || !isfinite(number)) {
        vs_words_expected(w, "a number");
        return NULL;
    }
    w->at = end;
    return fabs(number) < 1e15 && number == (double)(json_int_t)number
               ? json_integer((json_int_t)number)
               : json_real(number);
}

bool vs_words_defined(const char *const *defines, size_t count, const char *name, size_t length)
{
    for (size_t i = 0; i < count; i++)
        if (strncmp(defines[i], name, length) == 0 && defines[i][length] == '=')
            return true;
    return false;
}

/* Reports a name that expressions cannot use: neither rank, ranks nor one of the defines. */
static bool is_known(void *argument, const char *name, size_t length)
{
    struct vs_words *w = argument;
    int shown = length > 128 ? 128 : (int)length;

    if (vs_words_defined(w->defines, w->define_count, name, length) ||
        (length == 4 && strncmp(name, "rank", 4) == 0) ||
        (length == 5 && strncmp(name, "ranks", 5) == 0))
        return true;
    if (w->text.names)
        vs_words_fail(w, name, "unknown name \"%.*s\" (%s%.*s=VALUE would define it)", shown, name,
                      w->text.names->define, shown, name);
    else
        vs_words_fail(w, name, "unknown name \"%.*s\"", shown, name);
    return false;
}

json_t *vs_words_integer(struct vs_words *w)
{
    struct vs_expression e = {.known = is_known, .argument = w};

    if (!w->error->code && vs_expression_read(w->at, &e))
        vs_words_fail(w, e.end, "%s", e.reason);
    if (w->error->code)
        return json_null();
    w->at = e.end;
    return e.tokens == 1 && isdigit((unsigned char)e.text[0]) ? json_integer(e.number)
                                                              : json_string(e.text);
}
