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

#define MAX_EXPRESSION 512 /* bytes, with the terminator */
#define MAX_NESTING    64

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

/* An expression while it is read. */
struct expression {
    char text[MAX_EXPRESSION];
    size_t length;
    int64_t literal; /* the value if it is a plain number */
    int tokens, nesting;
};

static void add_token(struct vs_words *w, struct expression *e, const char *token, size_t length)
{
    if (length >= sizeof(e->text) - e->length) {
        vs_words_fail(w, w->at, "the expression is longer than %d characters", MAX_EXPRESSION - 1);
        return;
    }
    memcpy(e->text + e->length, token, length);
    e->length += length;
    e->text[e->length] = '\0';
    e->tokens++;
}

/* Reads decimal digits and a suffix; "4x4" is two numbers, and so is "4kx4k". */
static void number(struct vs_words *w, struct expression *e)
{
    static const char suffixes[] = "kmgt";
    const char *start = w->at, *suffix;
    int64_t value = 0;
    bool overflow = false;
    char digits[24];

    for (; isdigit((unsigned char)*w->at); w->at++)
        overflow |= __builtin_mul_overflow(value, 10, &value) ||
                    __builtin_add_overflow(value, *w->at - '0', &value);
    suffix = *w->at ? strchr(suffixes, tolower((unsigned char)*w->at)) : NULL;
    if (suffix) {
        overflow |=
            __builtin_mul_overflow(value, INT64_C(1024) << (10 * (suffix - suffixes)), &value);
        w->at++;
    }
    if (vs_scope_name_length(w->at) && *w->at != 'x') {
        vs_words_fail(w, start, "'%.20s' is neither a number nor a name", start);
        return;
    }
    if (overflow) {
        vs_words_fail(w, start, "%.*s exceeds 2^63-1", (int)(w->at - start), start);
        return;
    }
    add_token(w, e, digits, (size_t)snprintf(digits, sizeof(digits), "%lld", (long long)value));
    e->literal = value;
}

bool vs_words_defined(const char *const *defines, size_t count, const char *name, size_t length)
{
    for (size_t i = 0; i < count; i++)
        if (strncmp(defines[i], name, length) == 0 && defines[i][length] == '=')
            return true;
    return false;
}

static bool is_known(const struct vs_words *w, const char *name, size_t length)
{
    return vs_words_defined(w->defines, w->define_count, name, length) ||
           (length == 4 && strncmp(name, "rank", 4) == 0) ||
           (length == 5 && strncmp(name, "ranks", 5) == 0);
}

static void terms(struct vs_words *w, struct expression *e);

static void in_parentheses(struct vs_words *w, struct expression *e, int values)
{
    if (++e->nesting > MAX_NESTING) {
        vs_words_fail(w, w->at, "nested too deep");
        return;
    }
    if (!vs_words_accept(w, '('))
        vs_words_expected(w, "'('");
    add_token(w, e, "(", 1);
    terms(w, e);
    if (values == 2) {
        if (!vs_words_accept(w, ','))
            vs_words_expected(w, "','");
        add_token(w, e, ", ", 2);
        terms(w, e);
    }
    if (!vs_words_accept(w, ')'))
        vs_words_expected(w, "')'");
    add_token(w, e, ")", 1);
    e->nesting--;
}

static void unknown_name(struct vs_words *w, const char *name, int length)
{
    if (w->text.names)
        vs_words_fail(w, name, "unknown name \"%.*s\" (%s%.*s=VALUE would define it)", length, name,
                      w->text.names->define, length, name);
    else
        vs_words_fail(w, name, "unknown name \"%.*s\"", length, name);
}

static void operand(struct vs_words *w, struct expression *e)
{
    char next;
    const char *start;

    while (vs_words_accept(w, '-'))
        add_token(w, e, "-", 1);
    next = vs_words_peek(w);
    start = w->at;
    if (isdigit((unsigned char)next)) {
        number(w, e);
    } else if (next == '(') {
        in_parentheses(w, e, 1);
    } else if (vs_words_accept_word(w, "min") || vs_words_accept_word(w, "max")) {
        add_token(w, e, start, 3);
        in_parentheses(w, e, 2);
    } else if (isalpha((unsigned char)next) || next == '_') {
        size_t length = vs_words_length(w);
        if (!is_known(w, start, length))
            unknown_name(w, start, length > 128 ? 128 : (int)length);
        add_token(w, e, start, length);
        w->at += length;
    } else {
        vs_words_expected(w, "a number, a name or '('");
    }
}

static void terms(struct vs_words *w, struct expression *e)
{
    operand(w, e);
    while (vs_words_peek(w) && strchr("+-*/%", *w->at)) {
        add_token(w, e, (char[]){' ', *w->at, ' '}, 3);
        w->at++;
        operand(w, e);
    }
}

json_t *vs_words_integer(struct vs_words *w)
{
    struct expression e = {0};
    terms(w, &e);
    return e.tokens == 1 && isdigit((unsigned char)e.text[0]) ? json_integer(e.literal)
                                                              : json_string(e.text);
}
