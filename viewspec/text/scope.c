/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "expr.h"
#include "scope.h"

/* The number of characters in an expression that count as one value of work. */
#define TOKENS 4

struct lookup {
    struct vs_scope *scope;
    size_t visible; /* number of bindings that may be used: those before the present one */
};

static int look_up(void *context, const char *name, int64_t *value)
{
    struct lookup *lookup = context;
    struct vs_scope *scope = lookup->scope;
    if (strcmp(name, "ranks") == 0) {
        *value = scope->ranks;
        return scope->ranks ? 0 : -ENOENT;
    }
    if (strcmp(name, "rank") == 0) {
        *value = scope->rank;
        scope->uses_rank = scope->names_rank = true;
        return scope->rank < 0 ? -ENOENT : 0;
    }
    const json_t *found = json_object_get(scope->indexes, name);
    size_t index = (size_t)json_integer_value(found);
    if (found == NULL || index >= lookup->visible || scope->states[index] == VS_UNKNOWN)
        return -ENOENT;
    *value = scope->values[index];
    scope->uses_rank |= scope->states[index] == VS_RANK_DEPENDENT;
    scope->names_rank |= scope->states[index] == VS_RANK_DEPENDENT;
    return 0;
}

const char *vs_kind_name(const json_t *value)
{
    static const char *const names[] = {
        [JSON_OBJECT] = "an object",   [JSON_ARRAY] = "an array",     [JSON_STRING] = "a string",
        [JSON_INTEGER] = "an integer", [JSON_REAL] = "a real number", [JSON_TRUE] = "true",
        [JSON_FALSE] = "false",        [JSON_NULL] = "null",
    };
    return names[json_typeof(value)];
}

static int evaluate(struct vs_scope *scope, size_t visible, const struct vs_text *text,
                    const struct vs_place *place, const json_t *value, int64_t *result)
{
    scope->work++;
    if (json_is_integer(value)) {
        *result = json_integer_value(value);
        return 0;
    }
    const char *expression = json_string_value(value);
    if (expression == NULL)
        return vs_fail(scope->error, text, place, false, "expected an integer, got %s",
                       vs_kind_name(value));
    scope->work += (int64_t)(json_string_length(value) / TOKENS);
    struct lookup lookup = {.scope = scope, .visible = visible};
    char reason[300];
    if (!vs_expr_evaluate(expression, look_up, &lookup, result, reason, sizeof(reason)))
        return 0;
    if (vs_scope_name_ok(expression))
        return vs_fail(scope->error, text, place, false, "expected an integer, got \"%.100s\"",
                       expression);
    return vs_fail(scope->error, text, place, false, "\"%.100s\": %s", expression, reason);
}

int vs_scope_integer(struct vs_scope *scope, const struct vs_text *text,
                     const struct vs_place *place, json_t *value, int64_t *result)
{
    return evaluate(scope, scope->count, text, place, value, result);
}

int vs_scope_settle(struct vs_scope *scope, bool strict)
{
    struct vs_error *noted = scope->error, ignored;
    bool before = scope->uses_rank;
    int error = 0;
    for (size_t i = 0; i < scope->count && !error; i++) {
        const struct vs_binding *binding = &scope->bindings[i];
        if (scope->states[i] != VS_UNKNOWN)
            continue;
        ignored.code =
            strict ? 0 : -EINVAL; /* a preset error suppresses the search for its place */
        scope->error = strict ? noted : &ignored;
        scope->uses_rank = false;
        int wrong =
            evaluate(scope, i, binding->text, binding->place, binding->value, &scope->values[i]);
        if (!wrong)
            scope->states[i] = scope->uses_rank ? VS_RANK_DEPENDENT : VS_COMMON;
        before |= strict && wrong && scope->uses_rank;
        error = strict ? wrong : 0;
    }
    scope->error = noted;
    scope->uses_rank = before;
    return error;
}

bool vs_scope_name_ok(const char *name)
{
    static const char *const reserved[] = {"rank", "ranks", "min", "max"};
    for (size_t i = 0; i < sizeof(reserved) / sizeof(reserved[0]); i++)
        if (strcmp(name, reserved[i]) == 0)
            return false;
    if (!isalpha((unsigned char)*name) && *name != '_')
        return false;
    for (; *name; name++)
        if (!isalnum((unsigned char)*name) && *name != '_')
            return false;
    return true;
}

bool vs_scope_view_name_ok(const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789_-.";
    size_t length = strlen(name);
    if (!length || length > 255 || name[0] == '.' || strspn(name, letters) != length)
        return false;
    bool rank_form =
        strncmp(name, "rank", 4) == 0 && name[4] && strspn(name + 4, "0123456789") == length - 4;
    return strcmp(name, "self") != 0 && !rank_form;
}
