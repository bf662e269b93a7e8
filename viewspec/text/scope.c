/* SPDX-License-Identifier: MIT */
#include "scope.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Integer expressions (viewspec(5), INTEGERS). */

#define EXPR_NESTING_MAX 64
#define EXPR_NAME_MAX    128

/* The position of a parser, and the reason why it failed. */
struct expr {
    const char *at;
    struct vs_scope *scope; /* NULL: the expression is translated, and has no value */
    size_t visible;         /* number of bindings that may be used: those before the current one */
    struct vs_expression *out; /* the translation; NULL: the expression is evaluated */
    const char *wrong;         /* the place of the error */
    char *reason;
    size_t size;
    bool failed;
    int nesting;
};

static int64_t expr_sum(struct expr *p);

__attribute__((format(printf, 3, 4))) static int64_t expr_fail(struct expr *p, const char *at,
                                                               const char *format, ...)
{
    va_list arguments;

    if (p->failed)
        return 0;
    p->failed = true;
    p->wrong = at;
    va_start(arguments, format);
    vsnprintf(p->reason, p->size, format, arguments);
    va_end(arguments);
    return 0;
}

static char expr_peek(struct expr *p)
{
    while (isspace((unsigned char)*p->at))
        p->at++;
    return p->failed ? '\0' : *p->at;
}

/* Appends a token to the translation, if there is one. */
static void expr_emit(struct expr *p, const char *token, size_t length)
{
    struct vs_expression *out = p->out;

    if (out == NULL)
        return;
    if (length >= sizeof(out->text) - out->length) {
        expr_fail(p, p->at, "the expression is longer than %zu characters", sizeof(out->text) - 1);
        return;
    }
    memcpy(out->text + out->length, token, length);
    out->length += length;
    out->tokens++;
}

/* Consumes the next character if it is the wanted one, whose translation is token. */
static bool expr_accept(struct expr *p, char wanted, const char *token)
{
    if (expr_peek(p) != wanted)
        return false;
    expr_emit(p, token, strlen(token));
    p->at++;
    return true;
}

static int64_t expr_expected(struct expr *p, const char *what)
{
    /* In shorthand, more words follow, so quote only the first one. */
    int found = expr_peek(p) ? (int)strcspn(p->at, p->out ? " \t\n" : "") : 0;

    return found ? expr_fail(p, p->at, "expected %s, found '%.*s'", what, found > 20 ? 20 : found,
                             p->at)
                 : expr_fail(p, p->at, "expected %s at the end", what);
}

/* Reads decimal digits. In a translation they may have a suffix; "4x4" is two numbers then, and so
   is "4kx4k". */
static int64_t expr_number(struct expr *p)
{
    static const char suffixes[] = "kmgt";
    const char *start = p->at, *suffix = NULL;
    int64_t value = 0;
    bool overflow = false;
    char digits[24];

    for (; isdigit((unsigned char)*p->at); p->at++)
        overflow |= __builtin_mul_overflow(value, 10, &value) ||
                    __builtin_add_overflow(value, *p->at - '0', &value);
    if (p->out && *p->at)
        suffix = strchr(suffixes, tolower((unsigned char)*p->at));
    if (suffix) {
        overflow |=
            __builtin_mul_overflow(value, INT64_C(1024) << (10 * (suffix - suffixes)), &value);
        p->at++;
    }
    if (vs_scope_name_length(p->at) && !(p->out && *p->at == 'x'))
        return expr_fail(p, start, "'%.20s' is neither a number nor a name", start);
    if (overflow)
        return expr_fail(p, start, "%.*s exceeds 2^63-1", (int)(p->at - start), start);
    if (p->out == NULL)
        return value;
    p->out->number = value;
    expr_emit(p, digits, (size_t)snprintf(digits, sizeof(digits), "%lld", (long long)value));
    return 0;
}

/* Reads a value in parentheses. If two, reads the two arguments of min or max, and returns the
   smaller or the larger one. */
static int64_t expr_parentheses(struct expr *p, bool two, bool smallest)
{
    int64_t a, b;

    if (++p->nesting > EXPR_NESTING_MAX)
        return expr_fail(p, p->at, "nested too deep");
    if (!expr_accept(p, '(', "("))
        return expr_expected(p, "'('");
    a = expr_sum(p);
    if (two && !expr_accept(p, ',', ", "))
        expr_expected(p, "','");
    b = two ? expr_sum(p) : a;
    if (!expr_accept(p, ')', ")"))
        expr_expected(p, "')'");
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
        return scope->rank < 0 ? expr_fail(p, p->at, "unknown name \"rank\"") : scope->rank;
    }
    found = json_object_get(scope->indexes, name);
    index = (size_t)json_integer_value(found);
    if (found == NULL || index >= p->visible || scope->states[index] == VS_UNKNOWN)
        return expr_fail(p, p->at, "unknown name \"%s\"", name);
    dependent = scope->states[index] == VS_RANK_DEPENDENT;
    scope->uses_rank |= dependent;
    scope->names_rank |= dependent;
    return scope->values[index];
}

static int64_t expr_name(struct expr *p)
{
    const char *start = p->at;
    char text[EXPR_NAME_MAX];
    size_t length = vs_scope_name_length(start);

    p->at += length;
    expr_emit(p, start, length);
    if (length == 3 && (strncmp(start, "min", 3) == 0 || strncmp(start, "max", 3) == 0))
        return expr_parentheses(p, true, start[1] == 'i');
    if (p->out) {
        p->failed |= !p->out->known(p->out->argument, start, length);
        return 0;
    }
    if (length >= sizeof(text))
        return expr_fail(p, start, "unknown name \"%.20s...\"", start);
    snprintf(text, sizeof(text), "%.*s", (int)length, start);
    return expr_look_up(p, text);
}

static int64_t expr_negate(struct expr *p, int64_t value)
{
    if (__builtin_sub_overflow((int64_t)0, value, &value))
        return expr_fail(p, p->at, "the result exceeds 64 bits");
    return value;
}

static int64_t expr_factor(struct expr *p)
{
    int64_t value = 0;
    bool negative = false;
    char next;

    while (expr_accept(p, '-', "-"))
        negative = !negative;
    next = expr_peek(p);
    if (isdigit((unsigned char)next))
        value = expr_number(p);
    else if (isalpha((unsigned char)next) || next == '_')
        value = expr_name(p);
    else if (next == '(')
        value = expr_parentheses(p, false, false);
    else
        return expr_expected(p, "a number, a name or '('");
    return negative ? expr_negate(p, value) : value;
}

static int64_t expr_divide(struct expr *p, int64_t a, int64_t b, bool rest)
{
    int64_t quotient, remainder;

    if (p->failed || p->out)
        return 0;
    if (!b)
        return expr_fail(p, p->at, "division by zero");
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
                expr_fail(p, p->at, "the result exceeds 64 bits");
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
            expr_fail(p, p->at, "the result exceeds 64 bits");
    }
}

/*
 * Evaluates text with checked 64-bit arithmetic; / and % round towards minus infinity. It may use
 * the first `visible` bindings. Returns 0, or -EINVAL with the reason in `reason` (size bytes).
 */
static int expr_evaluate(const char *text, struct vs_scope *scope, size_t visible, int64_t *result,
                         char *reason, size_t size)
{
    struct expr p = {
        .at = text, .scope = scope, .visible = visible, .reason = reason, .size = size};
    *result = expr_sum(&p);
    if (!p.failed && expr_peek(&p))
        expr_fail(&p, p.at, "unexpected '%.20s'", p.at);
    return p.failed ? -EINVAL : 0;
}

int vs_expression_read(const char *text, struct vs_expression *result)
{
    struct expr p = {
        .at = text, .out = result, .reason = result->reason, .size = sizeof(result->reason)};

    expr_sum(&p);
    result->end = p.failed ? p.wrong : p.at;
    return p.failed ? -EINVAL : 0;
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

static int scope_evaluate(struct vs_scope *scope, size_t visible, const struct vs_text *text,
                          const struct vs_place *place, const json_t *value, int64_t *result)
{
    const char *expression;
    char reason[300];

    scope->work++;
    if (json_is_integer(value)) {
        *result = json_integer_value(value);
        return 0;
    }
    expression = json_string_value(value);
    if (expression == NULL)
        return vs_fail(scope->error, text, place, false, "expected an integer, got %s",
                       vs_kind_name(value));
    scope->work += (int64_t)(json_string_length(value) / TOKENS_PER_VALUE);
    if (!expr_evaluate(expression, scope, visible, result, reason, sizeof(reason)))
        return 0;
    if (vs_scope_name_ok(expression))
        return vs_fail(scope->error, text, place, false, "expected an integer, got \"%.100s\"",
                       expression);
    return vs_fail(scope->error, text, place, false, "\"%.100s\": %s", expression, reason);
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
