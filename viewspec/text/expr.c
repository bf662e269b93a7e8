/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "expr.h"

#define MAX_NESTING 64
#define MAX_NAME    128

struct parser {
    const char *at;
    vs_expr_lookup *lookup;
    void *context;
    char *reason;
    size_t size;
    bool failed;
    int nesting;
};

static int64_t sum(struct parser *p);

static int64_t fail_expr(struct parser *p, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static int64_t fail_expr(struct parser *p, const char *format, ...)
{
    if (p->failed)
        return 0;
    p->failed = true;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(p->reason, p->size, format, arguments);
    va_end(arguments);
    return 0;
}

static char peek(struct parser *p)
{
    while (isspace((unsigned char)*p->at))
        p->at++;
    return p->failed ? '\0' : *p->at;
}

static bool accept(struct parser *p, char wanted)
{
    if (peek(p) != wanted)
        return false;
    p->at++;
    return true;
}

static void expect(struct parser *p, char wanted)
{
    char found = peek(p);
    if (accept(p, wanted))
        return;
    if (found)
        fail_expr(p, "expected '%c', found '%.20s'", wanted, p->at);
    else
        fail_expr(p, "expected '%c' at the end", wanted);
}

static int64_t number(struct parser *p)
{
    const char *start = p->at;
    int64_t value = 0;
    bool overflow = false;
    for (; isdigit((unsigned char)*p->at); p->at++)
        overflow |= __builtin_mul_overflow(value, 10, &value) ||
                    __builtin_add_overflow(value, *p->at - '0', &value);
    if (isalpha((unsigned char)*p->at) || *p->at == '_')
        return fail_expr(p, "'%.20s' is neither a number nor a name", start);
    return overflow ? fail_expr(p, "%.*s exceeds 2^63-1", (int)(p->at - start), start) : value;
}

static int64_t extreme(struct parser *p, bool smallest)
{
    expect(p, '(');
    int64_t a = sum(p);
    expect(p, ',');
    int64_t b = sum(p);
    expect(p, ')');
    return (a < b) == smallest ? a : b;
}

static int64_t name(struct parser *p)
{
    char text[MAX_NAME];
    size_t length = 0;
    while (isalnum((unsigned char)p->at[length]) || p->at[length] == '_')
        length++;
    if (length >= sizeof(text))
        return fail_expr(p, "unknown name \"%.20s...\"", p->at);
    memcpy(text, p->at, length);
    text[length] = '\0';
    p->at += length;
    if (strcmp(text, "min") == 0 || strcmp(text, "max") == 0)
        return extreme(p, strcmp(text, "min") == 0);
    int64_t value = 0;
    int result = p->lookup(p->context, text, &value);
    if (result == -ENOENT)
        return fail_expr(p, "unknown name \"%s\"", text);
    if (result)
        p->failed = true;
    return value;
}

static int64_t factor(struct parser *p)
{
    int64_t value = 0;
    bool negative = false;
    while (peek(p) == '-') {
        negative = !negative;
        p->at++;
    }
    char next = peek(p);
    if (isdigit((unsigned char)next)) {
        value = number(p);
    } else if (isalpha((unsigned char)next) || next == '_') {
        value = ++p->nesting > MAX_NESTING ? fail_expr(p, "nested too deep") : name(p);
        p->nesting--;
    } else if (accept(p, '(')) {
        value = ++p->nesting > MAX_NESTING ? fail_expr(p, "nested too deep") : sum(p);
        p->nesting--;
        expect(p, ')');
    } else if (next) {
        return fail_expr(p, "expected a number, a name or '(', found '%.20s'", p->at);
    } else {
        return fail_expr(p, "expected a number, a name or '(' at the end");
    }
    if (negative && __builtin_sub_overflow((int64_t)0, value, &value))
        return fail_expr(p, "the result exceeds 64 bits");
    return value;
}

static int64_t divide(struct parser *p, int64_t a, int64_t b, bool rest)
{
    if (p->failed)
        return 0;
    if (!b)
        return fail_expr(p, "division by zero");
    if (b == -1) {
        int64_t negated;
        if (rest)
            return 0;
        if (__builtin_sub_overflow((int64_t)0, a, &negated))
            return fail_expr(p, "the result exceeds 64 bits");
        return negated;
    }
    int64_t quotient = a / b, remainder = a % b;
    if (remainder && (remainder < 0) != (b < 0)) {
        quotient--;
        remainder += b;
    }
    return rest ? remainder : quotient;
}

static int64_t product(struct parser *p)
{
    int64_t value = factor(p);
    for (;;) {
        if (accept(p, '*')) {
            if (__builtin_mul_overflow(value, factor(p), &value))
                fail_expr(p, "the result exceeds 64 bits");
        } else if (accept(p, '/')) {
            value = divide(p, value, factor(p), false);
        } else if (accept(p, '%')) {
            value = divide(p, value, factor(p), true);
        } else {
            return value;
        }
    }
}

static int64_t sum(struct parser *p)
{
    int64_t value = product(p);
    for (;;) {
        bool overflow;
        if (accept(p, '+'))
            overflow = __builtin_add_overflow(value, product(p), &value);
        else if (accept(p, '-'))
            overflow = __builtin_sub_overflow(value, product(p), &value);
        else
            return value;
        if (overflow)
            fail_expr(p, "the result exceeds 64 bits");
    }
}

int vs_expr_evaluate(const char *text, vs_expr_lookup *lookup, void *context, int64_t *result,
                     char *reason, size_t size)
{
    struct parser p = {
        .at = text, .lookup = lookup, .context = context, .reason = reason, .size = size};
    reason[0] = '\0';
    *result = sum(&p);
    if (!p.failed && peek(&p))
        fail_expr(&p, "unexpected '%.20s'", p.at);
    return p.failed ? -EINVAL : 0;
}
