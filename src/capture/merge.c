/* SPDX-License-Identifier: MIT */
#include "views.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Merging the views of single ranks into one. */

#define MAX_TERMS  4
#define EXPRESSION 256 /* maximum length of the text in bytes */

/* A term of an expression: adds step for each of `count` positions along a dimension of the grid
   of ranks, where neighbors are `apart` ranks from each other. */
struct term {
    size_t apart, count; /* count 0: up to the last rank */
    int64_t step;
};

/* Returns how many of the values at 0, apart, 2 * apart, ... have equal steps. */
static size_t run_length(const int64_t *values, size_t count, size_t apart, int64_t *step)
{
    size_t length = 2;
    int64_t next;

    if (__builtin_sub_overflow(values[apart], values[0], step))
        return 0;
    while (length * apart < count &&
           !__builtin_add_overflow(values[(length - 1) * apart], *step, &next) &&
           values[length * apart] == next)
        length++;
    return length;
}

/* Evaluates the terms for a rank. Returns false on overflow. */
static bool evaluate_terms(const struct term *terms, size_t count, size_t rank, int64_t *sum)
{
    for (size_t i = 0; i < count; i++) {
        size_t index = rank / terms[i].apart;
        int64_t product;
        if (terms[i].count)
            index %= terms[i].count;
        if (__builtin_mul_overflow((int64_t)index, terms[i].step, &product) ||
            __builtin_add_overflow(*sum, product, sum))
            return false;
    }
    return true;
}

/* Finds the terms of an expression, and returns their number, or 0. A dimension extends as long
   as the values continue in equal steps. */
static size_t find_terms(const int64_t *values, size_t count, struct term terms[MAX_TERMS])
{
    size_t apart = 1, found = 0;

    while (apart < count) {
        int64_t step;
        size_t length = run_length(values, count, apart, &step);
        if (!length || found == MAX_TERMS)
            return 0;
        bool last = length * apart >= count;
        if (step)
            terms[found++] = (struct term){apart, last ? 0 : length, step};
        apart *= length;
    }
    for (size_t rank = 0; rank < count; rank++) {
        int64_t sum = values[0];
        if (!evaluate_terms(terms, found, rank, &sum) || sum != values[rank])
            return 0;
    }
    return found;
}

/* Formats "rank/4%3*8", without operations that have no effect; step is written without its
   sign. */
static int format_term(const struct term *term, char *text, size_t size)
{
    char apart[32] = "", count[32] = "", step[32] = "";
    uint64_t factor = term->step < 0 ? -(uint64_t)term->step : (uint64_t)term->step;

    if (term->apart > 1)
        snprintf(apart, sizeof(apart), "/%zu", term->apart);
    if (term->count)
        snprintf(count, sizeof(count), "%%%zu", term->count);
    if (factor > 1)
        snprintf(step, sizeof(step), "*%" PRIu64, factor);
    return snprintf(text, size, "rank%s%s%s", apart, count, step);
}

bool capture_expression(const int64_t *values, size_t count, char *text, size_t size)
{
    struct term terms[MAX_TERMS];
    size_t found = find_terms(values, count, terms), used = 0;

    if (!found)
        return false;
    if (values[0] || terms[0].step < 0)
        used = (size_t)snprintf(text, size, "%" PRId64, values[0]);
    for (size_t i = 0; i < found && used < size; i++) {
        if (used)
            used +=
                (size_t)snprintf(text + used, size - used, "%s", terms[i].step < 0 ? " - " : " + ");
        if (used < size)
            used += (size_t)format_term(&terms[i], text + used, size - used);
    }
    return used < size;
}

static bool all_equal(json_t *const *values, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (!json_equal(values[0], values[i]))
            return false;
    return true;
}

/* Returns true if all values have the same type and the same number of members. */
static bool all_alike(json_t *const *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!values[i] || json_typeof(values[i]) != json_typeof(values[0]) ||
            json_object_size(values[i]) != json_object_size(values[0]) ||
            json_array_size(values[i]) != json_array_size(values[0]))
            return false;
    return true;
}

static json_t *merge_integers(json_t *const *values, size_t count)
{
    int64_t *integers = calloc(count, sizeof(*integers));
    char text[EXPRESSION];
    json_t *merged = NULL;

    for (size_t i = 0; integers && i < count; i++)
        integers[i] = json_integer_value(values[i]);
    if (integers && capture_expression(integers, count, text, sizeof(text)))
        merged = json_string(text);
    free(integers);
    return merged;
}

static json_t *merge_values(json_t *const *values, size_t count);

/* Merges objects member by member, or arrays element by element. */
static json_t *merge_members(json_t *const *values, size_t count)
{
    json_t *merged = json_is_object(values[0]) ? json_object() : json_array();
    json_t **members = calloc(count, sizeof(*members));
    size_t size = json_object_size(values[0]) + json_array_size(values[0]);
    void *member = json_object_iter(values[0]);
    int error = members ? 0 : -1;

    for (size_t m = 0; m < size && !error; m++) {
        const char *key = json_object_iter_key(member); /* NULL in an array */
        for (size_t i = 0; i < count; i++)
            members[i] = key ? json_object_get(values[i], key) : json_array_get(values[i], m);
        error = key ? json_object_set_new(merged, key, merge_values(members, count))
                    : json_array_append_new(merged, merge_values(members, count));
        member = json_object_iter_next(values[0], member);
    }
    free(members);
    if (!error)
        return merged;
    json_decref(merged);
    return NULL;
}

/* Returns one value for all ranks as a new reference, or NULL if there is none. */
static json_t *merge_values(json_t *const *values, size_t count)
{
    if (!all_alike(values, count))
        return NULL;
    if (all_equal(values, count))
        return json_incref(values[0]);
    if (json_is_integer(values[0]))
        return merge_integers(values, count);
    return json_is_object(values[0]) || json_is_array(values[0]) ? merge_members(values, count)
                                                                 : NULL;
}

/* A key of a view, and the value that omitting it means; NULL: none. */
struct key {
    const char *name, *standard;
};

/* Returns a rank's value of a key as a new reference; NULL if it has none. */
static json_t *value_of(json_t *view, const struct key *key)
{
    json_t *value = json_object_get(view, key->name);

    return value ? json_incref(value) : json_string(key->standard);
}

static bool is_standard(const struct key *key, const json_t *value)
{
    return key->standard && json_is_string(value) &&
           strcmp(json_string_value(value), key->standard) == 0;
}

/* Stores the key in the view, or in the parts of the ranks that have it. Returns 1 in the latter
   case. */
static int merge_key(json_t *merged, json_t *per_rank, const struct key *key, json_t *const *values,
                     size_t count)
{
    json_t *common = merge_values(values, count);
    int differ = 0;

    if (is_standard(key, common)) {
        json_decref(common);
        return 0;
    }
    if (common)
        return json_object_set_new(merged, key->name, common);
    for (size_t i = 0; i < count; i++) {
        if (values[i] && json_object_set(json_array_get(per_rank, i), key->name, values[i]))
            return -1;
        differ = differ || values[i];
    }
    return differ;
}

/* Returns merged, with the ranks' parts if they differ, and frees the rest. NULL if result < 0. */
static json_t *finish_merge(json_t *merged, json_t *per_rank, json_t **values, int result,
                            bool differ)
{
    if (result >= 0 && differ)
        result = json_object_set(merged, "per_rank", per_rank);
    json_decref(per_rank);
    free(values);
    if (result >= 0)
        return merged;
    json_decref(merged);
    return NULL;
}

json_t *capture_merge(json_t *const *views, size_t count)
{
    static const struct key keys[] = {{"disp", NULL},
                                      {"etype", NULL},
                                      {"filetype", "etype"},
                                      {"datarep", "native"},
                                      {"tiles", NULL}};
    json_t *merged = json_object(), *per_rank = json_array();
    json_t **values = calloc(count, sizeof(*values));
    int result = merged && per_rank && values ? 0 : -1, differ = 0;

    for (size_t i = 0; i < count && !result; i++)
        result = json_array_append_new(per_rank, json_object());
    for (size_t key = 0; key < sizeof(keys) / sizeof(*keys) && result >= 0; key++) {
        for (size_t i = 0; i < count; i++)
            values[i] = value_of(views[i], &keys[key]);
        result = merge_key(merged, per_rank, &keys[key], values, count);
        differ += result > 0;
        for (size_t i = 0; i < count; i++)
            json_decref(values[i]);
    }
    for (size_t i = 0; i < count && result >= 0; i++)
        values[i] = json_object_get(views[i], "name");
    if (result >= 0 && values[0] && all_equal(values, count)) /* all ranks have given one name */
        json_object_set(merged, "name", values[0]);
    return finish_merge(merged, per_rank, values, result, differ > 0);
}

json_t *capture_merge_tiles(const json_t *view, const json_t *tiles)
{
    size_t count = json_array_size(tiles);
    json_t *merged = json_copy((json_t *)view), **values = calloc(count + 1, sizeof(*values));
    json_t *per_rank = json_deep_copy(json_object_get(view, "per_rank"));
    int result = merged && values ? 0 : -1;

    if (per_rank == NULL)
        per_rank = json_array();
    for (size_t i = 0; i < count && !result; i++) {
        values[i] = json_array_get(tiles, i);
        if (json_integer_value(values[i]) < 0)
            values[i] = NULL;
        if (json_array_size(per_rank) == i)
            result = json_array_append_new(per_rank, json_object());
    }
    if (!result)
        result = merge_key(merged, per_rank, &(struct key){"tiles", NULL}, values, count);
    return finish_merge(merged, per_rank, values, result, result > 0);
}
