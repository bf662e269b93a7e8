/* SPDX-License-Identifier: MIT */
/* Runs tests/vectors/cases.jsonl against the library: all slices that the cases list. */
#include <jansson.h>

#include "native.h"
#include "slice_fixture.h"
#include "viewspec/element.h"

#define CASES 258

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

/* The cases have native values of little-endian machines. Converts the values to this machine's
   order. */
static void turn_native(const struct vs_view *view, unsigned char *bytes, size_t length)
{
    struct vs_element_cursor cursor;
    struct vs_elements run;

    if (!NATIVE_IS_BIG || vs_view_facts(view)->datarep == VS_NATIVE)
        return;
    vs_elements_start(&cursor, view, 0, (int64_t)length);
    while (vs_elements_next(&cursor, &run) && run.offset < (int64_t)length) {
        size_t size = run.basic->size, left = (length - (size_t)run.offset) / size;

        reverse_each(bytes + run.offset,
                     size * ((size_t)run.count < left ? (size_t)run.count : left),
                     size / run.basic->parts);
    }
}

static void check_rank(const struct vs_spec *spec, const json_t *test, size_t rank,
                       struct mpiio_store *store)
{
    long number = (long)json_integer_value(json_object_get(test, "case"));
    struct vs_error error = {0};
    struct vs_view *view = NULL;
    struct mpiio_slice *slice;
    size_t length;
    unsigned char *expected =
        from_hex(json_array_get(json_object_get(test, "slices"), rank), &length);
    unsigned char *found = malloc(length + 1);

    assert_non_null(found);
    if (vs_spec_view(spec, 0, (int64_t)rank, &view, &error))
        fail_msg("case %ld rank %zu: %s: %s", number, rank, error.pointer, error.reason);
    turn_native(view, expected, length);
    slice = make_slice(store, view);
    if (mpiio_slice_size(slice) != (int64_t)length)
        fail_msg("case %ld rank %zu: the slice has %ld bytes, expected %zu", number, rank,
                 (long)mpiio_slice_size(slice), length);
    assert_int_equal(mpiio_slice_read(slice, found, length + 1, 0), length);
    if (memcmp(found, expected, length) != 0)
        fail_msg("case %ld rank %zu: the slice has other bytes", number, rank);
    mpiio_slice_free(slice);
    free(found);
    free(expected);
}

static void check_case(const json_t *test)
{
    size_t length;
    unsigned char *data = from_hex(json_object_get(test, "data"), &length);
    char *text = json_dumps(json_object_get(test, "spec"), 0);
    struct vs_spec *spec = spec_from("%s", text);
    struct opened file = open_slice(O_RDONLY, NULL);

    write_file(file.fd, data, length, 0);
    assert_int_equal(json_array_size(json_object_get(test, "slices")), vs_spec_ranks(spec));
    for (size_t rank = 0; rank < (size_t)vs_spec_ranks(spec); rank++)
        check_rank(spec, test, rank, file.store);
    close_opened(&file);
    free(data);
    free(text);
    vs_spec_free(spec);
}

TEST(all_cases)
{
    FILE *file = fopen("../vectors/cases.jsonl", "r");
    char *line = NULL;
    size_t room = 0;
    int cases = 0;

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
