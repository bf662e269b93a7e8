/* SPDX-License-Identifier: MIT */
/*
 * tests/vectors/cases.jsonl through the library: the bytes at the displacements of a map are the
 * slice that each case expects. Of external32 only the order of an element's bytes is undone here.
 */
#include <jansson.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <setjmp.h>

#include <cmocka.h>

#include "spec.h"

#define CASES 258

/* Sizes of the numbers in one etype, in typemap order. */
struct signature {
    int sizes[256];
    int count;
};

static void add_number(struct signature *signature, int size, int parts)
{
    for (int i = 0; i < parts; i++) {
        assert_true(signature->count < 256);
        signature->sizes[signature->count++] = size;
    }
}

static void add_basic(struct signature *signature, const char *name)
{
    static const struct {
        const char *name;
        int size, parts;
    } basics[] = {
        {"byte", 1, 1},
        {"char", 1, 1},
        {"int8_t", 1, 1},
        {"short", 2, 1},
        {"int16_t", 2, 1},
        {"int", 4, 1},
        {"unsigned", 4, 1},
        {"int32_t", 4, 1},
        {"float", 4, 1},
        {"double", 8, 1},
        {"int64_t", 8, 1},
        {"uint64_t", 8, 1},
        {"long_long_int", 8, 1},
        {"c_float_complex", 4, 2},
        {"c_double_complex", 8, 2},
    };

    for (size_t i = 0; i < sizeof(basics) / sizeof(basics[0]); i++) {
        if (!strcasecmp(basics[i].name, name)) {
            add_number(signature, basics[i].size, basics[i].parts);
            return;
        }
    }
    fail_msg("a basic type this test does not know: %s", name);
}

/* The etypes of the cases are basic types, and structs and resized types of them. */
static void add_type(struct signature *signature, const json_t *type)
{
    const char *kind = json_string_value(json_object_get(type, "type"));

    if (json_is_string(type)) {
        add_basic(signature, json_string_value(type));
        return;
    }
    if (!strcmp(kind, "struct")) {
        const json_t *lengths = json_object_get(type, "blocklengths");
        for (size_t i = 0; i < json_array_size(lengths); i++) {
            json_int_t length = json_integer_value(json_array_get(lengths, i));
            for (json_int_t j = 0; j < length; j++)
                add_type(signature, json_array_get(json_object_get(type, "types"), i));
        }
        return;
    }
    if (!strcmp(kind, "contiguous")) {
        json_int_t count = json_integer_value(json_object_get(type, "count"));
        for (json_int_t i = 0; i < count; i++)
            add_type(signature, json_object_get(type, "oldtype"));
        return;
    }
    assert_string_equal(kind, "resized");
    add_type(signature, json_object_get(type, "oldtype"));
}

static void swap(const struct signature *signature, unsigned char *bytes, size_t length)
{
    for (size_t at = 0; at < length;) {
        for (int i = 0; i < signature->count; i++) {
            for (int b = 0; b < signature->sizes[i] / 2; b++) {
                unsigned char *low = bytes + at + b;
                unsigned char *high = bytes + at + signature->sizes[i] - 1 - b;
                unsigned char byte = *low;
                *low = *high;
                *high = byte;
            }
            at += (size_t)signature->sizes[i];
        }
    }
}

static unsigned char *from_hex(const json_t *json, size_t *length)
{
    const char *hex = json_string_value(json);
    unsigned char *bytes = malloc(strlen(hex) / 2 + 1);

    assert_non_null(bytes);
    *length = strlen(hex) / 2;
    for (size_t i = 0; i < *length; i++)
        assert_int_equal(sscanf(hex + 2 * i, "%2hhx", &bytes[i]), 1);
    return bytes;
}

static const json_t *etype_of(const json_t *view, size_t rank)
{
    const json_t *over = json_array_get(json_object_get(view, "per_rank"), rank);
    const json_t *etype = json_object_get(over, "etype");

    return etype ? etype : json_object_get(view, "etype");
}

static void check_rank(const struct vs_spec *spec, const json_t *test, size_t rank,
                       const unsigned char *data, size_t data_length)
{
    long number = (long)json_integer_value(json_object_get(test, "case"));
    const json_t *json_view = json_object_get(json_object_get(test, "spec"), "view");
    struct vs_error error = {0};
    struct vs_view *view = NULL;
    size_t length;
    unsigned char *expected =
        from_hex(json_array_get(json_object_get(test, "slices"), rank), &length);

    if (vs_spec_view(spec, 0, (int64_t)rank, &view, &error))
        fail_msg("case %ld rank %zu: %s: %s", number, rank, error.pointer, error.reason);
    if (vs_view_slice_size(view, (int64_t)data_length) != (int64_t)length)
        fail_msg("case %ld rank %zu: the slice has %ld bytes, expected %zu", number, rank,
                 (long)vs_view_slice_size(view, (int64_t)data_length), length);
    unsigned char *slice = malloc(length + 1);
    assert_non_null(slice);
    for (size_t i = 0; i < length; i++) {
        int64_t at = vs_map_displacement(vs_view_map(view), (int64_t)i);
        assert_in_range(at, 0, data_length - 1);
        slice[i] = data[at];
    }
    if (vs_view_facts(view)->datarep == VS_EXTERNAL32) {
        struct signature signature = {.count = 0};
        add_type(&signature, etype_of(json_view, rank));
        swap(&signature, slice, length);
    }
    if (memcmp(slice, expected, length) != 0)
        fail_msg("case %ld rank %zu: the slice has other bytes", number, rank);
    free(slice);
    free(expected);
    vs_view_unref(view);
}

static void check_case(const json_t *test)
{
    struct vs_error error = {0};
    struct vs_spec *spec = NULL;
    size_t length;
    char *text = json_dumps(json_object_get(test, "spec"), 0);

    assert_non_null(text);
    if (vs_spec_parse(text, strlen(text), "case", "/", NULL, &spec, &error))
        fail_msg("case %ld: %s: %s", (long)json_integer_value(json_object_get(test, "case")),
                 error.pointer, error.reason);
    unsigned char *data = from_hex(json_object_get(test, "data"), &length);
    assert_int_equal(json_array_size(json_object_get(test, "slices")), vs_spec_ranks(spec));
    for (size_t rank = 0; rank < (size_t)vs_spec_ranks(spec); rank++)
        check_rank(spec, test, rank, data, length);
    free(data);
    free(text);
    vs_spec_free(spec);
}

static void all_cases(void **state)
{
    FILE *file = fopen("../vectors/cases.jsonl", "r");
    char *line = NULL;
    size_t room = 0;
    int cases = 0;

    (void)state;
    assert_non_null(file);
    while (getline(&line, &room, file) > 0) {
        json_t *test = json_loads(line, 0, NULL);
        assert_non_null(test);
        check_case(test);
        json_decref(test);
        cases++;
    }
    free(line);
    fclose(file);
    assert_int_equal(cases, CASES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_cases)};

    return cmocka_run_group_tests_name("vectors", tests, NULL, NULL);
}
