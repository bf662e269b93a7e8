/* SPDX-License-Identifier: MIT */
/*
 * Tests the elements of views: every basic type against its elements written out one by one, in all
 * representations, and etypes that nest deep or are too large to be written out. tests/fuzz
 * (fuzz_slice) compares the elements of random etypes with a model.
 */

#include "viewspec/element.h"
#include "made_up.h"

static const char *const datareps[] = {"native",   "little-endian", "big-endian",
                                       "internal", "external32",    "made-up"};

#define DATAREPS (sizeof(datareps) / sizeof(datareps[0]))

/* An etype as JSON, and its elements as numbers of basic types. */
struct made {
    char *json;
    int *basics;
    int count;
};

static int64_t size_in(const char *datarep, int number)
{
    const struct vs_basic *basic = vs_basic_at((size_t)number);

    if (strcmp(datarep, "made-up") == 0)
        return made_up_size((size_t)number);
    return datarep[0] == 'e' || datarep[0] == 'i' ? basic->external : basic->size;
}

/* Several etypes written out: the offset and position of each element. The last entry is the
   end. */
struct plain {
    int count;
    const struct vs_basic **basics;
    int64_t *offsets, *positions;
};

static struct plain write_out(const struct made *etype, const char *datarep, int etypes)
{
    size_t n = (size_t)(etype->count * etypes);
    struct plain plain = {.count = (int)n};

    plain.basics = calloc(n, sizeof(*plain.basics));
    plain.offsets = calloc(n + 1, sizeof(*plain.offsets));
    plain.positions = calloc(n + 1, sizeof(*plain.positions));
    assert_true(plain.basics && plain.offsets && plain.positions);
    for (size_t i = 0; i < n; i++) {
        int number = etype->basics[i % (size_t)etype->count];
        plain.basics[i] = vs_basic_at((size_t)number);
        plain.offsets[i + 1] = plain.offsets[i] + plain.basics[i]->size;
        plain.positions[i + 1] = plain.positions[i] + size_in(datarep, number);
    }
    return plain;
}

static void free_plain(struct plain *plain)
{
    free(plain->basics);
    free(plain->offsets);
    free(plain->positions);
}

/* Checks that the runs of a range are exactly the elements first .. last, and that each run is
   as long as possible. */
static void check_range(const struct vs_view *view, const struct plain *plain, int64_t offset,
                        int64_t length)
{
    struct vs_element_cursor cursor;
    struct vs_elements run;
    const struct vs_basic *before = NULL;
    int at = 0;

    while (plain->offsets[at + 1] <= offset)
        at++;
    vs_elements_start(&cursor, view, offset, length);
    while (vs_elements_next(&cursor, &run)) {
        assert_true(run.count > 0 && at + run.count <= plain->count);
        assert_true(run.basic != before);
        assert_int_equal(run.offset, plain->offsets[at]);
        assert_int_equal(run.position, plain->positions[at]);
        assert_int_equal(run.native, run.basic->size);
        assert_int_equal(run.file, plain->positions[at + 1] - plain->positions[at]);
        for (int64_t i = 0; i < run.count; i++)
            assert_ptr_equal(plain->basics[at + i], run.basic);
        at += (int)run.count;
        before = run.basic;
    }
    assert_true(plain->offsets[at] >= offset + length);
    assert_true(plain->offsets[at - 1] < offset + length);
}

static void check_etype(const struct made *etype, const char *datarep)
{
    struct vs_view *view = view_in(datarep, etype->json);
    const struct vs_view_facts *facts = vs_view_facts(view);
    int etypes = 1 + 100 / etype->count + 1;
    struct plain plain = write_out(etype, datarep, etypes);
    int64_t end = plain.offsets[plain.count];
    bool uniform = true;

    assert_int_equal(facts->etype_size, plain.offsets[etype->count]);
    assert_int_equal(facts->etype_file_size, plain.positions[etype->count]);
    for (int i = 1; i < etype->count; i++)
        uniform = uniform && etype->basics[i] == etype->basics[0];
    assert_ptr_equal(facts->basic, uniform ? plain.basics[0] : NULL);
    check_range(view, &plain, 0, end);
    for (int i = 0; i < 30; i++) {
        int64_t offset = rand() % end;
        check_range(view, &plain, offset,
                    1 + rand() % (i % 2 || end - offset < 40 ? end - offset : 40));
    }
    vs_view_unref(view);
    free_plain(&plain);
}

/* Each basic type alone, and behind a byte, so that elements also begin at odd offsets. The record
   of both is repeated within another one. */
TEST(all_basics)
{
    for (int number = 0; number < VS_BASICS; number++) {
        const char *name = vs_basic_at((size_t)number)->name;
        int byte = (int)vs_basic_number(vs_basic_find("byte"));
        int basics[] = {byte, number, number, byte, number, number, number};
        struct made alone = {.basics = basics + 1, .count = 1};
        struct made record = {.basics = basics, .count = 7};
        assert_true(asprintf(&alone.json, "'MPI_%s'", name) > 0);
        assert_true(
            asprintf(&record.json,
                     "{'type': 'struct', 'blocklengths': [2, 1], 'displacements': [0, 256], "
                     "'types': [{'type': 'struct', 'blocklengths': [1, 2], 'displacements': "
                     "[0, 32], 'types': ['byte', '%s']}, '%s']}",
                     name, name) > 0);
        assert_int_equal(vs_basic_number(vs_basic_at((size_t)number)), number);
        for (size_t d = 0; d < DATAREPS; d++) {
            check_etype(&alone, datareps[d]);
            check_etype(&record, datareps[d]);
        }
        free(alone.json);
        free(record.json);
    }
    assert_null(vs_basic_at(VS_BASICS));
}

static struct vs_elements first_run(const struct vs_view *view, int64_t offset, int64_t length)
{
    struct vs_element_cursor cursor;
    struct vs_elements run = {0};

    vs_elements_start(&cursor, view, offset, length);
    assert_true(vs_elements_next(&cursor, &run));
    return run;
}

static void expect_none(const struct vs_view *view, int64_t offset, int64_t length)
{
    struct vs_element_cursor cursor;
    struct vs_elements run;

    vs_elements_start(&cursor, view, offset, length);
    assert_false(vs_elements_next(&cursor, &run));
}

/* Elements of one type make a single run, across the ends of etypes. */
TEST(one_type)
{
    static const char struct_text[] =
        "{'type': 'struct', 'blocklengths': [1, 0, 3], 'displacements': [0, 0, 16], 'types': "
        "[{'type': 'dup', 'oldtype': 'long'}, 'byte', {'type': 'contiguous', 'count': 2, "
        "'oldtype': 'long'}]}";
    struct vs_view *view = view_in("external32", struct_text);

    struct vs_elements run = first_run(view, 8 * 7000 + 5, 80004);
    assert_ptr_equal(run.basic, vs_basic_find("long"));
    assert_int_equal(run.offset, 8 * 7000);
    assert_int_equal(run.position, 4 * 7000);
    assert_int_equal(run.count, 10002);
    vs_view_unref(view);
}

/* Etypes far too large to be written out, and ranges near the end of 64 bits. */
TEST(huge_etypes)
{
    struct vs_view *view =
        view_in("external32",
                "{'type': 'contiguous', 'count': 100000000000000000, 'oldtype': {'type': 'struct', "
                "'blocklengths': [1, 1], 'displacements': [0, 8], 'types': ['long', 'byte']}}");
    int64_t records = INT64_C(99999999999999999);

    struct vs_elements run = first_run(view, records * 9 + 1, 20);
    assert_int_equal(run.offset, records * 9);
    assert_int_equal(run.position, records * 5);
    assert_int_equal(run.count, 1);
    run = first_run(view, records * 9 + 8, 1);
    assert_ptr_equal(run.basic, vs_basic_find("byte"));
    assert_int_equal(run.position, records * 5 + 4);
    vs_view_unref(view);
    view = view_in("native", "'double'");
    run = first_run(view, 0, INT64_MAX);
    assert_int_equal(run.count, INT64_MAX / 8);
    run = first_run(view, INT64_MAX / 8 * 8 - 1, INT64_MAX);
    assert_int_equal(run.count, 1);
    expect_none(view, INT64_MAX / 8 * 8, 1);
    expect_none(view, INT64_MAX, INT64_MAX);
    expect_none(view, -1, 10);
    expect_none(view, 8, 0);
    expect_none(view, 8, -1);
    vs_view_unref(view);
    view = view_in("external32", "'long'");
    assert_int_equal(first_run(view, 0, INT64_MAX).count, INT64_MAX / 8);
    vs_view_unref(view);
}

/* Types of the maximal depth. */
TEST(deep)
{
    char *json = strdup("'int'");
    struct made etype = {0};

    for (int depth = 0; depth < VS_ELEMENT_DEPTH; depth++) {
        char *inner = json;
        assert_true(asprintf(&json,
                             "{'type': 'struct', 'blocklengths': [1, 1], 'displacements': [0, %d], "
                             "'types': [%s, 'byte']}",
                             1000 + 100 * depth, inner) > 0);
        free(inner);
    }
    etype.json = json;
    etype.count = VS_ELEMENT_DEPTH + 1;
    etype.basics = calloc((size_t)etype.count, sizeof(int));
    assert_non_null(etype.basics);
    for (int i = 0; i < etype.count; i++)
        etype.basics[i] = (int)vs_basic_number(vs_basic_find(i ? "byte" : "int"));
    check_etype(&etype, "external32");
    free(etype.json);
    free(etype.basics);
}
