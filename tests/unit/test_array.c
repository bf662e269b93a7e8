/* SPDX-License-Identifier: MIT */
/* Finds the array that a filetype is a part of, and the part. Some arrays are large. */

#include "spec_fixture.h"
#include "viewspec/spec.h"

#define SUBARRAY                                                                                   \
    "{'type': 'subarray', 'sizes': [7, '2 * 5'], 'subsizes': [2, 3], 'starts': [0, '3 * (rank %% " \
    "2)'], 'order': 'Fortran'%s}"

/* Makes the view of rank 3 of 4 with these types. */
static struct vs_view *view_of(const char *etype, const char *filetype)
{
    return view_from(
        3, NULL,
        "{'viewspec': 1, 'file': 'f', 'ranks': 4, 'types': {'pair': {'type': 'contiguous', "
        "'count': 2, 'oldtype': 'int'}, 'part': {'type': 'darray', 'gsizes': [4, 6, 5], 'psizes': "
        "[2, 2, 1], 'distribs': ['block', 'cyclic', 'none'], 'order': 'C', 'oldtype': 'pair'}}, "
        "'view': {'etype': %s, 'filetype': %s}}",
        etype, filetype);
}

static struct vs_view *subarray_of(const char *etype, const char *oldtype)
{
    char *filetype = NULL;

    assert_true(asprintf(&filetype, SUBARRAY, oldtype) > 0);
    struct vs_view *view = view_of(etype, filetype);
    free(filetype);
    return view;
}

static void check_array(struct vs_view *view, bool fortran, int64_t element, int64_t dimensions,
                        const int64_t *sizes)
{
    const struct vs_array *array = vs_view_facts(view)->array;
    int64_t all = element;

    assert_non_null(array);
    assert_int_equal(array->dimensions, dimensions);
    assert_int_equal(array->element, element);
    assert_int_equal(array->fortran, fortran);
    for (int64_t d = 0; d < dimensions; d++) {
        assert_int_equal(array->sizes[d], sizes[d]);
        all *= sizes[d];
    }
    assert_int_equal(all, vs_map_facts(vs_view_map(view))->tile_extent);
    vs_view_unref(view);
}

TEST(subarray)
{
    check_array(subarray_of("'double'", ""), true, 8, 2, (int64_t[]){7, 10});
    check_array(subarray_of("'int'", ", 'oldtype': 'pair'"), true, 8, 2, (int64_t[]){7, 10});
}

TEST(darray)
{
    check_array(view_of("'int'", "'part'"), false, 8, 3, (int64_t[]){4, 6, 5});
    check_array(view_of("'int'", "{'type': 'dup', 'oldtype': 'part'}"), false, 8, 3,
                (int64_t[]){4, 6, 5});
}

/* Types that contain a part of an array are not such a part themselves. */
TEST(others)
{
    static const char *const types[][2] = {
        {"'int'", "'etype'"},
        {"'int'", "{'type': 'scatter'}"},
        {"'int'", "{'type': 'hpf_block', 'size': 12}"},
        {"'int'", "{'type': 'contiguous', 'count': 1, 'oldtype': 'part'}"},
        {"'int'", "{'type': 'resized', 'lb': 0, 'extent': 960, 'oldtype': 'part'}"},
        {"'int'",
         "{'type': 'struct', 'blocklengths': [1], 'displacements': [0], 'types': ['part']}"},
        {"'part'", "'etype'"},
    };

    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
        struct vs_view *view = view_of(types[i][0], types[i][1]);
        assert_null(vs_view_facts(view)->array);
        vs_view_unref(view);
    }
}

/* The next block of rank 3, or the first one that it lacks, would start past byte 2^63. */
TEST(far_blocks)
{
#define ROWS(rows, block)                                                                          \
    "{'type': 'darray', 'gsizes': [" rows                                                          \
    ", 144115188075855872], 'psizes': [4, 1], 'distribs': ['cyclic', 'none'], 'dargs': [" block    \
    ", null], 'order': 'C'}"
    static const int64_t row = INT64_C(1) << 60;
    static const struct {
        const char *filetype;
        int64_t size, extent;
    } cases[] = {
        {ROWS("3", "3"), 0, 3 * row},
        {ROWS("6", "2"), 0, 6 * row},
        {ROWS("7", "2"), row, 7 * row},
        {"{'type': 'hpf_cyclic', 'size': 3, 'blocklength': 9223372036854775807}", 0, 24},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct vs_view *view = view_of("'double'", cases[i].filetype);
        assert_int_equal(vs_map_facts(vs_view_map(view))->tile_size, cases[i].size);
        assert_int_equal(vs_map_facts(vs_view_map(view))->tile_extent, cases[i].extent);
        vs_view_unref(view);
    }
#undef ROWS
}
