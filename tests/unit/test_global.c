/* SPDX-License-Identifier: MIT */
/*
 * Tests global arrays: shapes, names, and boxes of all kinds of filetypes. The oracle computes the
 * displacement of each element of a box from the array's sizes.
 */

#include "spec_fixture.h"
#include "native.h"
#include "viewspec/global.h"
#include "viewspec/map.h"

#define FILE_SIZE ((int64_t)1 << 40)

/* A layout as the tests know it: where the elements of a field lie. */
struct layout {
    int64_t disp, element, offset; /* bytes: of the array, between elements, of the field */
    int64_t record;                /* bytes between records */
    int64_t field, size;           /* number of the field, bytes of its values in an element */
    int dimensions;
    int64_t sizes[4], block[4];
    bool fortran, records;
};

static struct vs_spec *spec_of(const char *view, int ranks)
{
    return spec_from("{'viewspec': 1, 'file': 'f', 'ranks': %d, 'view': {%s}}", ranks, view);
}

/* Returns the global array of a spec's first view, in a file of some bytes. */
static struct vs_global *global_of(const struct vs_spec *spec, int64_t file_size)
{
    struct vs_error error = {0};
    struct vs_global *global;

    if (vs_global_new(spec, 0, file_size, &global, &error))
        fail_msg("%s", error.reason);
    return global;
}

/* Returns the displacement of the field in an element. */
static int64_t displacement_of(const struct layout *layout, int64_t record, const int64_t *index)
{
    int64_t element = 0;

    for (int i = 0; i < layout->dimensions; i++) {
        int d = layout->fortran ? layout->dimensions - 1 - i : i;
        element = element * layout->sizes[d] + index[d];
    }
    return layout->disp + record * layout->record + element * layout->element + layout->offset;
}

/* Compares the view of a box with the oracle, element by element. */
static void check_box(const struct layout *layout, const struct vs_box *box, struct vs_view *view)
{
    int64_t index[4], position = 0, elements = box->records;

    for (int d = 0; d < layout->dimensions; d++)
        elements *= box->count[d];
    assert_int_equal(vs_view_positions(view, FILE_SIZE), elements * layout->size);
    for (int64_t i = 0; i < elements; i++, position += layout->size) {
        int64_t rest = i;

        for (int k = 0; k < layout->dimensions; k++) {
            int d = layout->fortran ? k : layout->dimensions - 1 - k;
            index[d] = box->start[d] + rest % box->count[d];
            rest /= box->count[d];
        }
        for (int64_t byte = 0; byte < layout->size; byte++)
            assert_int_equal(vs_map_displacement(vs_view_map(view), position + byte),
                             displacement_of(layout, box->record + rest, index) + byte);
    }
}

static void check_boxes(const char *view_keys, const struct layout *layout,
                        const struct vs_global *global)
{
    for (int round = 0; round < UNIT_ROUNDS(100); round++) {
        int64_t start[4], count[4];
        struct vs_box box = {
            .field = layout->field, .records = 1, .start = start, .count = count, .raw = round % 2};
        struct vs_error error = {0};
        struct vs_view *view;

        for (int d = 0; d < layout->dimensions; d++) {
            start[d] = rand() % layout->sizes[d];
            count[d] = 1 + rand() % (layout->sizes[d] - start[d]);
        }
        if (layout->records) {
            box.record = rand() % 5;
            box.records = 1 + rand() % 3;
        }
        if (vs_global_box(global, &box, &view, &error))
            fail_msg("%s: %s", view_keys, error.reason);
        check_box(layout, &box, view);
        vs_view_unref(view);
    }
}

/* Checks the array of a view with these keys, and boxes of it, against the layout. */
static void check(const char *view, int ranks, struct layout layout)
{
    int64_t one = layout.disp + layout.record; /* a file of one record */
    struct vs_spec *spec = spec_of(view, ranks);
    const struct vs_global_facts *facts;
    struct vs_global *global = global_of(spec, layout.records ? FILE_SIZE : one);

    facts = vs_global_facts(global);
    assert_int_equal(facts->dimensions, layout.dimensions);
    assert_int_equal(facts->fortran, layout.fortran);
    assert_int_equal(facts->records, layout.records);
    for (int d = 0; d < layout.dimensions; d++) {
        assert_int_equal(facts->sizes[d], layout.sizes[d]);
        assert_int_equal(facts->block[d], layout.block[d]);
    }
    assert_int_equal(vs_global_records(global, one), 1);
    assert_int_equal(vs_global_records(global, layout.disp), 0);
    check_boxes(view, &layout, global);
    vs_global_free(global);
    vs_spec_free(spec);
}

#define DARRAY(gsizes, distribs, dargs, psizes, order)                                             \
    "'filetype': {'type': 'darray', 'gsizes': " gsizes ", 'distribs': " distribs                   \
    ", 'dargs': " dargs ", 'psizes': " psizes ", 'order': " order "}"
#define COLUMNS DARRAY("[2, 3]", "['none', 'block']", "[null, null]", "[1, 2]", "'C'")
#define RECORD                                                                                     \
    "{'type': 'struct', 'blocklengths': [1, 2, 1], 'displacements': [0, 8, 24], 'types': ['int', " \
    "'double', 'char']}"

TEST(distributed_arrays)
{
    check("'disp': 64, 'etype': 'double', " DARRAY("[7, 10]", "['block', 'block']", "[null, null]",
                                                   "[2, 2]", "'C'"),
          4, (struct layout){64, 8, 0, 560, 0, 8, 2, {7, 10}, {4, 5}, false, false});
    check("'etype': 'int', " DARRAY("[7, 10, 3]", "['block', 'none', 'block']", "[2, null, null]",
                                    "[4, 1, 3]", "'Fortran'"),
          12, (struct layout){0, 4, 0, 840, 0, 4, 3, {7, 10, 3}, {2, 10, 1}, true, true});
    check("'etype': 'float', " DARRAY("[9, 4]", "['cyclic', 'none']", "[2, null]", "[2, 1]", "'C'"),
          2, (struct layout){0, 4, 0, 144, 0, 4, 2, {9, 4}, {9, 4}, false, false});
}

TEST(arrays_of_one_dimension)
{
    check("'etype': 'short', 'filetype': {'type': 'hpf_block', 'size': 11}", 3,
          (struct layout){0, 2, 0, 22, 0, 2, 1, {11}, {4}, false, true});
    check("'etype': 'short', 'filetype': {'type': 'hpf_cyclic', 'size': 11}", 3,
          (struct layout){0, 2, 0, 22, 0, 2, 1, {11}, {11}, false, false});
    check("'disp': 5, 'etype': 'int', 'filetype': {'type': 'scatter', 'blocklength': 2}", 3,
          (struct layout){5, 4, 0, 4, 0, 4, 0, {0}, {0}, false, true});
}

TEST(subarrays)
{
    check("'etype': 'double', 'filetype': {'type': 'subarray', 'sizes': [6, 8], 'subsizes': "
          "[3, 8], 'starts': ['3 * rank', 0], 'order': 'C'}",
          2, (struct layout){0, 8, 0, 384, 0, 8, 2, {6, 8}, {3, 8}, false, false});
    check("'disp': 4, 'etype': 'double', 'datarep': 'big-endian', 'filetype': {'type': 'resized', "
          "'lb': 0, 'extent': 392, 'oldtype': {'type': 'subarray', 'sizes': [6, 8], 'subsizes': "
          "[6, 4], 'starts': [0, '4 * rank'], 'order': 'Fortran'}}",
          2, (struct layout){4, 8, 0, 392, 0, 8, 2, {6, 8}, {6, 4}, true, true});
    check("'etype': 'int', 'filetype': {'type': 'subarray', 'sizes': [6, 8], 'subsizes': [6, 8], "
          "'starts': [0, 0], 'order': 'C', 'oldtype': {'type': 'contiguous', 'count': 3}}",
          1, (struct layout){0, 12, 0, 576, 0, 12, 2, {6, 8}, {6, 8}, false, false});
    check("'per_rank': [{'filetype': {'type': 'subarray', 'sizes': [10], 'subsizes': [3], "
          "'starts': [0], 'order': 'C'}}, {'filetype': {'type': 'subarray', 'sizes': [10], "
          "'subsizes': [7], 'starts': [3], 'order': 'C'}}]",
          2, (struct layout){0, 1, 0, 10, 0, 1, 1, {10}, {3}, false, false});
}

/* Checks that a spec's first view forms no array, in a file of some bytes. Frees the spec. Returns
   the error. */
static struct vs_error expect_none(struct vs_spec *spec, int64_t file_size, const char *reason)
{
    struct vs_error error = {0};
    struct vs_global *global;

    assert_int_equal(vs_global_new(spec, 0, file_size, &global, &error), -EINVAL);
    assert_string_equal(error.reason, reason);
    vs_spec_free(spec);
    return error;
}

/* Types of several kinds make the same array, whose elements have holes. */
TEST(ranks_whose_types_differ)
{
    static const char view[] =
        "'etype': 'int', 'per_rank': [{'filetype': {'type': 'dup', 'oldtype': {'type': 'subarray', "
        "'sizes': [%s], 'subsizes': [3], 'starts': [0], 'order': 'C', 'oldtype': {'type': "
        "'resized', 'lb': 0, 'extent': 12, 'oldtype': 'etype'}}}}, {'filetype': {'type': "
        "'hpf_block', 'size': 6, 'oldtype': {'type': 'resized', 'lb': 0, 'extent': %d, 'oldtype': "
        "'int'}}}]";
    static const struct {
        const char *size;
        int extent;
    } others[] = {{"7", 12}, {"6", 8}};
    char text[512];

    snprintf(text, sizeof(text), view, "6", 12);
    check(text, 2, (struct layout){0, 12, 0, 72, 0, 4, 1, {6}, {3}, false, false});
    for (int i = 0; i < 2; i++) {
        snprintf(text, sizeof(text), view, others[i].size, others[i].extent);
        expect_none(spec_of(text, 2), 72, "the ranks' parts belong to different arrays");
    }
}

/* A tile of a scatter has elements of all ranks; "tiles" limits them. */
TEST(elements_of_a_scatter_that_ends)
{
    struct vs_spec *spec =
        spec_of("'disp': 8, 'etype': 'int', 'tiles': '1 + 1', 'filetype': {'type': 'scatter', "
                "'blocklength': 5, 'oldtype': {'type': 'contiguous', 'count': 2}}",
                3);
    struct vs_global *global = global_of(spec, FILE_SIZE);

    assert_int_equal(vs_global_records(global, FILE_SIZE), 30);
    assert_int_equal(vs_global_records(global, 8 + 17), 2);
    assert_int_equal(vs_global_facts(global)->field->values, 2);
    vs_global_free(global);
    vs_spec_free(spec);
}

TEST(fields_of_structs)
{
    static const char grid[] = "'etype': " RECORD ", " DARRAY("[5, 4]", "['block', 'cyclic']",
                                                              "[null, 1]", "[2, 2]", "'C'");
    static const char line[] =
        "'etype': " RECORD ", 'filetype': {'type': 'hpf_block', 'size': 9, 'oldtype': " RECORD "}";
    static const int64_t offsets[] = {0, 8, 24}, sizes[] = {4, 16, 1};

    for (int64_t i = 0; i < 3; i++) {
        check(
            grid, 4,
            (struct layout){0, 32, offsets[i], 640, i, sizes[i], 2, {5, 4}, {5, 4}, false, false});
        check(line, 4,
              (struct layout){0, 32, offsets[i], 288, i, sizes[i], 1, {9}, {3}, false, true});
    }
}

TEST(names)
{
    struct vs_spec *spec =
        spec_of("'name': 'T', 'dims': ['t', 'y', 'x'], 'grid': {'origin': [1, 2.5]}, 'etype': "
                "'int', " DARRAY("[2, 3]", "['none', 'none']", "[null, null]", "[1, 1]", "'C'"),
                1);
    struct vs_global *global = global_of(spec, 24);
    const struct vs_global_facts *facts = vs_global_facts(global);
    struct vs_global_shape shape;

    assert_string_equal(facts->name, "T");
    assert_true(facts->records); /* "dims" names them */
    assert_true(facts->has_grid);
    assert_true(facts->origin[0] == 1 && facts->origin[1] == 2.5 && facts->spacing[1] == 1);
    vs_global_shape(global, 0, vs_global_records(global, 100), &shape);
    assert_int_equal(shape.dimensions, 3);
    assert_int_equal(shape.sizes[0], 4);
    assert_int_equal(shape.block[0], 1);
    assert_string_equal(shape.dims[0], "t");
    assert_string_equal(shape.dims[2], "x");
    vs_global_free(global);
    vs_spec_free(spec);
}

/* Checks the names of the dimensions of a field of 2 x 3 elements, or of the only dimension. */
static void check_names(const char *labels, const char *etype, bool line, int64_t field,
                        const char *const *names)
{
    struct vs_spec *spec = spec_from(
        "{'viewspec': 1, 'file': 'f', 'view': {%s, 'tiles': 1, 'etype': %s, %s}}", labels, etype,
        line ? DARRAY("[6]", "['none']", "[null]", "[1]", "'C'")
             : DARRAY("[2, 3]", "['none', 'none']", "[null, null]", "[1, 1]", "'C'"));
    struct vs_global *global = global_of(spec, 100);
    struct vs_global_shape shape;

    vs_global_shape(global, field, 1, &shape);
    for (int d = 0; d < shape.dimensions; d++)
        assert_string_equal(shape.dims[d], names[d]);
    assert_null(names[shape.dimensions]);
    vs_global_free(global);
    vs_spec_free(spec);
}

/* xarray refuses an array with a dimension of its own name. If two have one name, it selects in
 * both. */
TEST(names_of_dimensions_that_are_taken)
{
    static const char two[] = "{'type': 'struct', 'blocklengths': [3, 1], 'displacements': [0, "
                              "12], 'types': ['int', 'float']}";
    static const char pair[] = "{'type': 'contiguous', 'count': 2, 'oldtype': 'int'}";
    static const struct {
        const char *labels, *etype;
        bool line;
        int64_t field;
        const char *names[5];
    } cases[] = {
        {"'name': 'x', 'dims': ['x', 'y']", "'int'", false, 0, {"x_", "y"}},
        {"'name': 'x', 'dims': ['x', 'x_']", "'int'", false, 0, {"x__", "x_"}},
        {"'name': 'x', 'dims': ['x']", "'int'", true, 0, {"x"}},
        {"'name': 'x', 'dims': ['t', 'x']", "'int'", true, 0, {"t", "x_"}},
        {"'name': 'x', 'dims': ['x']", pair, true, 0, {"x_", "value"}},
        {"'name': 'x', 'dims': ['y', 'x']", pair, true, 0, {"y", "x_"}},
        {"'name': 'dim_1'", "'int'", false, 0, {"dim_0", "dim_1_"}},
        {"'name': 'value'", pair, true, 0, {"dim_0", "value_"}},
        {"'name': 'x', 'dims': ['value']", pair, true, 0, {"value", "value_"}},
        {"'dims': ['f0', 'f1']", two, false, 1, {"f0_", "f1_"}},
        {"'dims': ['f0_value', 'y']", two, false, 0, {"f0_value", "y", "f0_value_"}},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        check_names(cases[i].labels, cases[i].etype, cases[i].line, cases[i].field, cases[i].names);
}

TEST(views_without_an_array)
{
    static const struct {
        const char *view, *reason;
    } cases[] = {
        {"'disp': '4 * rank', 'filetype': {'type': 'contiguous', 'count': 4}",
         "the ranks form no array (the filetype must be a subarray, darray, hpf_block, "
         "hpf_cyclic or scatter)"},
        {"'disp': '6 * rank', 'tiles': 1, " COLUMNS, "the ranks' parts belong to different arrays"},
        {"'dims': ['x'], " COLUMNS, "\"dims\" has 1 names: the array has 2 dimensions"},
        {"'grid': {'spacing': [1]}, " COLUMNS,
         "\"spacing\" of the grid has 1 numbers: the array has 2 dimensions"},
        {"'etype': {'type': 'contiguous', 'count': 100000, 'oldtype': {'type': 'struct', "
         "'blocklengths': [1, 1, 1], 'displacements': [0, 4, 8], 'types': ['int', 'float', "
         "'int']}}",
         "the etype has too many parts for fields"},
        {"'etype': 'long', 'datarep': 'external32', 'filetype': {'type': 'hvector', 'count': "
         "1000000000000000000, 'blocklength': 1, 'stride': 0}",
         "the array has more than 2^62 bytes"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        expect_none(spec_of(cases[i].view, 2), 6, cases[i].reason);
}

/* Types of a spec with members are checked when a view uses them: here, rank 1's. */
TEST(a_type_of_a_later_rank_that_contains_itself)
{
    struct vs_spec *spec = spec_from(
        "{'viewspec': 1, 'members': {'count': 2, 'file': '{member}', 'view': {'disp': '8 * "
        "rank'}}, 'ranks': 2, 'types': {'a': {'type': 'resized', 'lb': 0, 'extent': 8, 'oldtype': "
        "'a'}}, 'view': {'per_rank': [{'filetype': {'type': 'subarray', 'sizes': [4], 'subsizes': "
        "[2], 'starts': [0], 'order': 'C'}}, {'filetype': 'a'}]}}");
    struct vs_error error = expect_none(spec, 16, "type \"a\" contains itself");

    assert_string_equal(error.pointer, "/types/a/oldtype");
}
