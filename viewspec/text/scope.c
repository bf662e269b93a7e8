/* SPDX-License-Identifier: MIT */
#include "scope.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Words, marks and numbers. */

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
    int found = vs_words_peek(w) ? (int)strcspn(w->at, w->ends) : 0;

    return found ? vs_words_fail(w, w->at, "expected %s, found '%.*s'", what,
                                 found > 20 ? 20 : found, w->at)
                 : vs_words_fail(w, w->at, "expected %s at the end", what);
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

/* Integer expressions (viewspec(5), INTEGERS). */

#define EXPR_NESTING_MAX 64
#define EXPR_NAME_MAX    128

/* The longest expression in shorthand, with its zero byte. */
#define EXPRESSION_MAX 512

/* An expression that is translated from shorthand. */
struct translation {
    char text[EXPRESSION_MAX]; /* without suffixes of numbers */
    size_t length;
    int tokens;
    int64_t number; /* the last one */
};

/*
 * A parser of expressions. In shorthand, numbers may have a suffix, k, M, G or T, and x may follow
 * them.
 */
struct expr {
    struct vs_words *in;
    struct vs_scope *scope;  /* NULL: the expression is translated, and has no value */
    size_t visible;          /* number of bindings that may be used: those before the current one */
    struct translation *out; /* NULL: the expression is evaluated */
    int nesting;
};

static int64_t expr_sum(struct expr *p);

/* Reports a name that expressions cannot use: neither rank, ranks nor one of the defines. */
static void check_known(struct vs_words *w, const char *name, size_t length)
{
    int shown = length > 128 ? 128 : (int)length;

    if (vs_words_defined(w->defines, w->define_count, name, length) ||
        (length == 4 && strncmp(name, "rank", 4) == 0) ||
        (length == 5 && strncmp(name, "ranks", 5) == 0))
        return;
    if (w->text.names)
        vs_words_fail(w, name, "unknown name \"%.*s\" (%s%.*s=VALUE would define it)", shown, name,
                      w->text.names->define, shown, name);
    else
        vs_words_fail(w, name, "unknown name \"%.*s\"", shown, name);
}

/* Appends a token to the translation, if there is one. */
static void expr_emit(struct expr *p, const char *token, size_t length)
{
    struct translation *out = p->out;

    if (out == NULL)
        return;
    if (length >= sizeof(out->text) - out->length) {
        vs_words_fail(p->in, p->in->at, "the expression is longer than %zu characters",
                      sizeof(out->text) - 1);
        return;
    }
    memcpy(out->text + out->length, token, length);
    out->length += length;
    out->tokens++;
}

/* Consumes the next character if it is the wanted one, whose translation is token. */
static bool expr_accept(struct expr *p, char wanted, const char *token)
{
    if (vs_words_peek(p->in) != wanted)
        return false;
    expr_emit(p, token, strlen(token));
    p->in->at++;
    return true;
}

/* Reads decimal digits. In a translation they may have a suffix; "4x4" is two numbers then, and so
   is "4kx4k". */
static int64_t expr_number(struct expr *p)
{
    static const char suffixes[] = "kmgt";
    const char *start = p->in->at, *suffix = NULL;
    int64_t value = 0;
    bool overflow = false;
    char digits[24];

    for (; isdigit((unsigned char)*p->in->at); p->in->at++)
        overflow |= __builtin_mul_overflow(value, 10, &value) ||
                    __builtin_add_overflow(value, *p->in->at - '0', &value);
    if (p->out && *p->in->at)
        suffix = strchr(suffixes, tolower((unsigned char)*p->in->at));
    if (suffix) {
        overflow |=
            __builtin_mul_overflow(value, INT64_C(1024) << (10 * (suffix - suffixes)), &value);
        p->in->at++;
    }
    if (vs_scope_name_length(p->in->at) && !(p->out && *p->in->at == 'x'))
        return vs_words_fail(p->in, start, "'%.20s' is neither a number nor a name", start);
    if (overflow)
        return vs_words_fail(p->in, start, "%.*s exceeds 2^63-1", (int)(p->in->at - start), start);
    if (p->out == NULL)
        return value;
    p->out->number = value;
    expr_emit(p, digits, (size_t)snprintf(digits, sizeof(digits), "%lld", (long long)value));
    return 0;
}

/* Reads a value in parentheses. If two, reads the two arguments of min or max, and returns the
 * smaller or the larger one. */
static int64_t expr_parentheses(struct expr *p, bool two, bool smallest)
{
    int64_t a, b;

    if (++p->nesting > EXPR_NESTING_MAX)
        return vs_words_fail(p->in, p->in->at, "nested too deep");
    if (!expr_accept(p, '(', "("))
        return vs_words_expected(p->in, "'('");
    a = expr_sum(p);
    if (two && !expr_accept(p, ',', ", "))
        vs_words_expected(p->in, "','");
    b = two ? expr_sum(p) : a;
    if (!expr_accept(p, ')', ")"))
        vs_words_expected(p->in, "')'");
    p->nesting--;
    return (a < b) == smallest ? a : b;
}

static int64_t expr_look_up(struct expr *p, const char *name)
{
    struct vs_scope *scope = p->scope;
    const json_t *found;
    size_t index;
    bool dependent;

    if (strcmp(name, "ranks") == 0 && scope->ranks)
        return scope->ranks;
    if (strcmp(name, "rank") == 0) {
        scope->uses_rank = scope->names_rank = true;
        return scope->rank < 0 ? vs_words_fail(p->in, p->in->at, "unknown name \"rank\"")
                               : scope->rank;
    }
    found = json_object_get(scope->indexes, name);
    index = (size_t)json_integer_value(found);
    if (found == NULL || index >= p->visible || scope->states[index] == VS_UNKNOWN)
        return vs_words_fail(p->in, p->in->at, "unknown name \"%s\"", name);
    dependent = scope->states[index] == VS_RANK_DEPENDENT;
    scope->uses_rank |= dependent;
    scope->names_rank |= dependent;
    return scope->values[index];
}

static int64_t expr_name(struct expr *p)
{
    const char *start = p->in->at;
    char text[EXPR_NAME_MAX];
    size_t length = vs_scope_name_length(start);

    p->in->at += length;
    expr_emit(p, start, length);
    if (length == 3 && (strncmp(start, "min", 3) == 0 || strncmp(start, "max", 3) == 0))
        return expr_parentheses(p, true, start[1] == 'i');
    if (p->out) {
        check_known(p->in, start, length);
        return 0;
    }
    if (length >= sizeof(text))
        return vs_words_fail(p->in, start, "unknown name \"%.20s...\"", start);
    snprintf(text, sizeof(text), "%.*s", (int)length, start);
    return expr_look_up(p, text);
}

static int64_t expr_negate(struct expr *p, int64_t value)
{
    if (__builtin_sub_overflow((int64_t)0, value, &value))
        return vs_words_fail(p->in, p->in->at, "the result exceeds 64 bits");
    return value;
}

static int64_t expr_factor(struct expr *p)
{
    int64_t value = 0;
    bool negative = false;
    char next;

    while (expr_accept(p, '-', "-"))
        negative = !negative;
    next = vs_words_peek(p->in);
    if (isdigit((unsigned char)next))
        value = expr_number(p);
    else if (isalpha((unsigned char)next) || next == '_')
        value = expr_name(p);
    else if (next == '(')
        value = expr_parentheses(p, false, false);
    else
        return vs_words_expected(p->in, "a number, a name or '('");
    return negative ? expr_negate(p, value) : value;
}

static int64_t expr_divide(struct expr *p, int64_t a, int64_t b, bool rest)
{
    int64_t quotient, remainder;

    if (p->in->error->code || p->out)
        return 0;
    if (!b)
        return vs_words_fail(p->in, p->in->at, "division by zero");
    if (b == -1)
        return rest ? 0 : expr_negate(p, a);
    quotient = a / b;
    remainder = a % b;
    if (remainder && (remainder < 0) != (b < 0)) {
        quotient--;
        remainder += b;
    }
    return rest ? remainder : quotient;
}

static int64_t expr_product(struct expr *p)
{
    int64_t value = expr_factor(p);
    for (;;) {
        if (expr_accept(p, '*', " * ")) {
            if (__builtin_mul_overflow(value, expr_factor(p), &value))
                vs_words_fail(p->in, p->in->at, "the result exceeds 64 bits");
        } else if (expr_accept(p, '/', " / ")) {
            value = expr_divide(p, value, expr_factor(p), false);
        } else if (expr_accept(p, '%', " % ")) {
            value = expr_divide(p, value, expr_factor(p), true);
        } else {
            return value;
        }
    }
}

static int64_t expr_sum(struct expr *p)
{
    int64_t value = expr_product(p);
    for (;;) {
        bool overflow;
        if (expr_accept(p, '+', " + "))
            overflow = __builtin_add_overflow(value, expr_product(p), &value);
        else if (expr_accept(p, '-', " - "))
            overflow = __builtin_sub_overflow(value, expr_product(p), &value);
        else
            return value;
        if (overflow)
            vs_words_fail(p->in, p->in->at, "the result exceeds 64 bits");
    }
}

json_t *vs_words_integer(struct vs_words *w)
{
    struct translation out = {0};
    struct expr p = {.in = w, .out = &out};

    if (!w->error->code)
        expr_sum(&p);
    if (w->error->code)
        return json_null();
    return out.tokens == 1 && isdigit((unsigned char)out.text[0]) ? json_integer(out.number)
                                                                  : json_string(out.text);
}

/* Names, and values that use them. */

/* The number of characters in an expression that count as one value of work. */
#define TOKENS_PER_VALUE 4

static const char *kind_name(json_type type)
{
    static const char *const names[] = {
        [JSON_OBJECT] = "an object",   [JSON_ARRAY] = "an array",     [JSON_STRING] = "a string",
        [JSON_INTEGER] = "an integer", [JSON_REAL] = "a real number", [JSON_TRUE] = "true",
        [JSON_FALSE] = "false",        [JSON_NULL] = "null",
    };
    return names[type];
}

const char *vs_kind_name(const json_t *value)
{
    return kind_name(json_typeof(value));
}

json_t *vs_scope_member(struct vs_scope *scope, const struct vs_place *up, const json_t *object,
                        const char *key, json_type wanted)
{
    json_t *value = json_object_get(object, key);

    if (value == NULL || json_typeof(value) == wanted)
        return value;
    vs_refuse(scope, VS_KEY(up, key), "expected %s, got %s", kind_name(wanted),
              vs_kind_name(value));
    return NULL;
}

/*
 * Evaluates value with checked 64-bit arithmetic; / and % round towards minus infinity. It may use
 * the first `visible` bindings. Returns 0, or a negative errno after recording an error.
 */
static int scope_evaluate(struct vs_scope *scope, size_t visible, const struct vs_text *text,
                          const struct vs_place *place, const json_t *value, int64_t *result)
{
    const char *expression = json_string_value(value);
    struct vs_error wrong;
    struct vs_words in = {
        .text = {.source = "", .bytes = expression}, .at = expression, .ends = "", .error = &wrong};
    struct expr p = {.in = &in, .scope = scope, .visible = visible};

    scope->work++;
    if (json_is_integer(value)) {
        *result = json_integer_value(value);
        return 0;
    }
    if (expression == NULL)
        return vs_fail(scope->error, text, place, false, "expected an integer, got %s",
                       vs_kind_name(value));
    scope->work += (int64_t)(json_string_length(value) / TOKENS_PER_VALUE);
    wrong.code = 0;
    *result = expr_sum(&p);
    if (vs_words_peek(&in))
        vs_words_fail(&in, in.at, "unexpected '%.20s'", in.at);
    if (wrong.code == 0)
        return 0;
    if (vs_scope_name_ok(expression))
        return vs_fail(scope->error, text, place, false, "expected an integer, got \"%.100s\"",
                       expression);
    return vs_fail(scope->error, text, place, false, "\"%.100s\": %s", expression, wrong.reason);
}

int vs_scope_integer(struct vs_scope *scope, const struct vs_place *place, const json_t *value,
                     int64_t *result)
{
    return scope_evaluate(scope, scope->count, scope->text, place, value, result);
}

int vs_scope_settle(struct vs_scope *scope, bool strict)
{
    struct vs_error *noted = scope->error, ignored;
    bool before = scope->uses_rank;
    int error = 0;
    for (size_t i = 0; i < scope->count && !error; i++) {
        const struct vs_binding *binding = &scope->bindings[i];
        int wrong;

        if (scope->states[i] != VS_UNKNOWN)
            continue;
        ignored.code =
            strict ? 0 : -EINVAL; /* a preset error suppresses the search for its place */
        scope->error = strict ? noted : &ignored;
        scope->uses_rank = false;
        wrong = scope_evaluate(scope, i, binding->text, binding->place, binding->value,
                               &scope->values[i]);
        if (!wrong)
            scope->states[i] = scope->uses_rank ? VS_RANK_DEPENDENT : VS_COMMON;
        before |= strict && wrong && scope->uses_rank;
        error = strict ? wrong : 0;
    }
    scope->error = noted;
    scope->uses_rank = before;
    return error;
}

size_t vs_scope_name_length(const char *text)
{
    size_t length = 0;

    while (isalnum((unsigned char)text[length]) || text[length] == '_')
        length++;
    return length;
}

bool vs_scope_name_ok(const char *name)
{
    static const char *const reserved[] = {"rank", "ranks", "min", "max"};
    for (size_t i = 0; i < sizeof(reserved) / sizeof(reserved[0]); i++)
        if (strcmp(name, reserved[i]) == 0)
            return false;
    return *name && !isdigit((unsigned char)*name) && !name[vs_scope_name_length(name)];
}
