/* SPDX-License-Identifier: MIT */
/*
 * Tests shorthand: each form is the same view as JSON written by hand, for every rank; errors
 * report their position in the shorthand; and printed shorthand reads back as the same text.
 */

#include "spec_fixture.h"
#include "viewspec/shorthand.h"
#include "viewspec/spec.h"

#define DARRAY(grid, distribs, dargs, order)                                                       \
    "'etype': 'double', 'filetype': {'type': 'darray', 'gsizes': [12, 10], 'psizes': " grid        \
    ", 'distribs': " distribs ", 'dargs': " dargs ", 'order': '" order "'}"

/* A view in shorthand, its number of ranks, and the same view as members of "view". In names, n
   is 5 and m is 2 * n. */
static const struct {
    const char *shorthand;
    int64_t ranks;
    const char *view;
} forms[] = {
    {"darray 12x10 block,cyclic(3) on 2x2 of double at 4096", 4,
     "'disp': 4096, " DARRAY("[2, 2]", "['block', 'cyclic']", "[null, 3]", "C")},
    {"darray 12x10 block cyclic(3) at 4k on 2x2 order C of MPI_DOUBLE", 4,
     "'disp': 4096, " DARRAY("[2, 2]", "['block', 'cyclic']", "[null, 3]", "C")},
    {" darray 12 x 10 cyclic(n-3) , block(n) order fortran on 3 x 2 of double ", 6,
     DARRAY("[3, 2]", "['cyclic', 'block']", "[2, 5]", "Fortran")},
    {"darray 12,m block,none on 4 of double", 4,
     DARRAY("[4, 1]", "['block', 'none']", "[null, null]", "C")},
    {"darray 12x10 none,cyclic on 1x5 of double", 5,
     DARRAY("[1, 5]", "['none', 'cyclic']", "[null, null]", "C")},
    {"darray 8x12x10 block,none,cyclic on 3x2 of double", 6,
     "'etype': 'double', 'filetype': {'type': 'darray', 'gsizes': [8, 12, 10], 'psizes': [3, 1, "
     "2], 'distribs': ['block', 'none', 'cyclic'], 'dargs': [null, null, null], 'order': 'C'}"},
    {"darray 12x10 none,none of double", 1,
     DARRAY("[1, 1]", "['none', 'none']", "[null, null]", "C")},
    {"darray 12x10 block,block on ranks/2 x 2 of double", 1, NULL},
    {"contiguous of byte", 1, "'filetype': {'type': 'contiguous', 'count': 1}"},
    {"contiguous 3 of short at 6*rank every 6*ranks on 4", 4,
     "'disp': '6 * rank', 'etype': 'short', 'filetype': {'type': 'resized', 'lb': 0, 'extent': '6 "
     "* "
     "ranks', 'oldtype': {'type': 'contiguous', 'count': 3}}"},
    {"vector 4x2 stride 3*ranks at 8 * rank of int on 2", 2,
     "'disp': '8*rank', 'etype': 'int', 'filetype': {'type': 'vector', 'count': 4, 'blocklength': "
     "2, 'stride': 6}"},
    {"vector n x 1 stride m", 1,
     "'filetype': {'type': 'vector', 'count': 5, 'blocklength': 1, 'stride': 10}"},
    {"subarray 12x10 part 3xmax(4, n) from 3*rank,5 on 4 of float", 4,
     "'etype': 'float', 'filetype': {'type': 'subarray', 'sizes': [12, 10], 'subsizes': [3, 5], "
     "'starts': ['3 * rank', 5], 'order': 'C'}"},
    {"subarray 1kx10 part (256)x10 from (rank%2)*512x0 order Fortran on 2", 2,
     "'filetype': {'type': 'subarray', 'sizes': [1024, 10], 'subsizes': [256, 10], 'starts': ['512 "
     "* rank', 0], 'order': 'Fortran'}"},
    {"scatter on 3", 3, "'filetype': {'type': 'scatter'}"},
    {"scatter 2k at 1M on 3", 3,
     "'disp': 1048576, 'filetype': {'type': 'scatter', 'blocklength': 2048}"},
    {"scatter 2 of 3 int on 3", 3,
     "'etype': {'type': 'contiguous', 'count': 3, 'oldtype': 'int'}, 'filetype': {'type': "
     "'scatter', 'blocklength': 2}"},
    {"scatter of (n - 2) int on 3", 3,
     "'etype': {'type': 'contiguous', 'count': 3, 'oldtype': 'int'}, 'filetype': {'type': "
     "'scatter'}"},
    {"hpf_block 7 of int on 3", 3, "'etype': 'int', 'filetype': {'type': 'hpf_block', 'size': 7}"},
    {"hpf_cyclic 7 of int on 2", 2,
     "'etype': 'int', 'filetype': {'type': 'hpf_cyclic', 'size': 7}"},
    {"hpf_cyclic 7 by -(-2) of int on 2", 2,
     "'etype': 'int', 'filetype': {'type': 'hpf_cyclic', 'size': 7, 'blocklength': 2}"},
    {"broadcast of double at 100 on 2", 2,
     "'disp': 100, 'etype': 'double', 'filetype': {'type': 'broadcast'}"},
    {"scatter of long as external32 on 2", 2,
     "'etype': 'long', 'datarep': 'external32', 'filetype': {'type': 'scatter'}"},
    {"scatter of long as big-endian on 2", 2,
     "'etype': 'long', 'datarep': 'big-endian', 'filetype': {'type': 'scatter'}"},
};

static const char *const defines[] = {"n=5", "m=2*n"};

static const struct vs_overrides with_names = {.file = "/f", .defines = defines, .define_count = 2};

static struct vs_spec *parse(const char *text, struct vs_error *error)
{
    struct vs_spec *spec = NULL;

    vs_spec_parse_shorthand(text, "--view", "/", &with_names, &spec, error);
    return spec;
}

static void assert_same(const char *name, const struct vs_spec *one, const struct vs_spec *other,
                        int64_t rank)
{
    struct vs_view *a = view_at(one, 0, rank), *b = view_at(other, 0, rank);
    struct vs_runs left, right;
    struct vs_run run, expected;

    assert_int_equal(vs_view_facts(a)->etype_size, vs_view_facts(b)->etype_size);
    assert_int_equal(vs_view_facts(a)->etype_extent, vs_view_facts(b)->etype_extent);
    assert_string_equal(vs_view_facts(a)->datarep_name, vs_view_facts(b)->datarep_name);
    assert_int_equal(vs_map_facts(vs_view_map(a))->tile_extent,
                     vs_map_facts(vs_view_map(b))->tile_extent);
    vs_runs_start(&left, vs_view_map(a), 0, 5000);
    vs_runs_start(&right, vs_view_map(b), 0, 5000);
    while (vs_runs_next(&right, &expected)) {
        if (!vs_runs_next(&left, &run) || memcmp(&run, &expected, sizeof(run)) != 0)
            fail_msg("%s: rank %lld: the runs at %lld differ", name, (long long)rank,
                     (long long)expected.position);
    }
    assert_false(vs_runs_next(&left, &run));
    vs_view_unref(a);
    vs_view_unref(b);
}

/* Checks that two specs have the same ranks and views. */
static void expect_same(const char *name, const struct vs_spec *one, const struct vs_spec *other)
{
    assert_int_equal(vs_spec_ranks(one), vs_spec_ranks(other));
    for (int64_t rank = 0; rank < vs_spec_ranks(one); rank++)
        assert_same(name, one, other, rank);
}

TEST(forms_are_json)
{
    for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
        struct vs_error error = {0};
        struct vs_spec *spec = parse(forms[i].shorthand, &error), *other;
        char *json = vs_shorthand_json(forms[i].shorthand, "x", defines, 2, &(struct vs_error){0});

        assert_non_null(json);
        if (!forms[i].view) { /* psizes must fit the number of ranks, which is 1 */
            assert_null(spec);
            assert_string_equal(error.pointer, "/view/filetype/psizes/0");
            free(json);
            continue;
        }
        if (spec == NULL)
            fail_msg("%s: column %d: %s", forms[i].shorthand, error.column, error.reason);
        other = spec_from("{'viewspec': 1, 'file': 'f', 'ranks': %lld, 'view': {%s}}",
                          (long long)forms[i].ranks, forms[i].view);
        expect_same(forms[i].shorthand, spec, other);
        vs_spec_free(other);
        /* The form is printed as JSON of the same view, which prints as the same text again. */
        other = spec_with(&with_names, "%s", json);
        expect_same(forms[i].shorthand, spec, other);
        char *text = vs_spec_resolved(other, true);
        struct vs_spec *again = spec_from("%s", text);
        char *same = vs_spec_resolved(again, true);
        assert_string_equal(text, same);
        expect_same(forms[i].shorthand, spec, again);
        free(json);
        free(text);
        free(same);
        vs_spec_free(again);
        vs_spec_free(other);
        vs_spec_free(spec);
    }
}

TEST(json_text)
{
    struct vs_error error = {0};
    char *json = vs_shorthand_json("darray 1000x1000 block,cyclic(8) on 2x2 of double at 4096", "x",
                                   NULL, 0, &error);

    assert_string_equal(json, "{\n"
                              "  \"viewspec\": 1,\n"
                              "  \"ranks\": 4,\n"
                              "  \"view\": {\n"
                              "    \"disp\": 4096,\n"
                              "    \"etype\": \"double\",\n"
                              "    \"filetype\": {\n"
                              "      \"type\": \"darray\",\n"
                              "      \"gsizes\": [1000, 1000],\n"
                              "      \"psizes\": [2, 2],\n"
                              "      \"distribs\": [\"block\", \"cyclic\"],\n"
                              "      \"dargs\": [null, 8],\n"
                              "      \"order\": \"C\"\n"
                              "    }\n"
                              "  }\n"
                              "}");
    free(json);
}

TEST(overrides)
{
    const char *const rows[] = {"rows=6"};
    const struct vs_overrides none = {.file_optional = true},
                              six = {.ranks = 6,
                                     .defines = rows,
                                     .define_count = 1,
                                     .file_optional = true},
                              both = {.file = "/a", .ranks = 3};
    struct vs_error error = {0};
    struct vs_spec *spec = shorthand_with(&none, "scatter on 4");

    assert_null(vs_spec_file(spec));
    assert_int_equal(vs_spec_ranks(spec), 4);
    vs_spec_free(spec);
    spec = shorthand_with(&both, "scatter on 4");
    assert_string_equal(vs_spec_file(spec), "/a");
    assert_int_equal(vs_spec_ranks(spec), 3);
    vs_spec_free(spec);
    spec = shorthand_with(&six, "darray rows x 2 block,block on ranks/2 x 2");
    assert_int_equal(vs_spec_ranks(spec), 6);
    vs_spec_free(spec);
    assert_int_equal(vs_spec_parse_shorthand("scatter", "v", "/", NULL, &spec, &error), -EINVAL);
    assert_string_equal(error.reason, "\"file\" is missing");
}

/* Texts, and their errors as "LINE:COLUMN: POINTER: reason". */
static const char *const errors[][2] = {
    {"", "1:1: expected contiguous, vector, subarray, darray, scatter, hpf_block, hpf_cyclic or "
         "broadcast at the end"},
    {"blocks 3", "1:1: expected contiguous, vector, subarray, darray, scatter, hpf_block, "
                 "hpf_cyclic or broadcast, found 'blocks'"},
    {"vector 4", "1:9: expected x and the blocks' length at the end"},
    {"vector 4x2 every 3", "1:12: expected stride, found 'every'"},
    {"subarray 4 part 2 at 0", "1:19: expected from, found 'at'"},
    {"darray 4x4", "1:11: expected block, cyclic or none at the end"},
    {"darray 4x4 block, on 2", "1:19: expected block, cyclic or none, found 'on'"},
    {"darray 4x4 block(2", "1:19: expected ')' at the end"},
    {"darray 4x4 block,block", "1:1: 2 dimensions are distributed: the grid of ranks is missing, "
                               "such as on 2x2"},
    {"darray 4x4 block on 2", "1:12: distribs: expected 2 entries, got 1"},
    {"darray 4x4 block(1),none on 2", "1:18: dargs/0: 2 blocks of 1 do not cover 4 "
                                      "elements"},
    {"subarray 4x4 part 2x5 from 0x0", "1:21: subsizes/1: 5 elements from 0 on "
                                       "exceed the size 4"},
    {"subarray 4x4 part 2x2 from 0 x 3", "1:21: subsizes/1: 2 elements from 3 on "
                                         "exceed the size 4"},
    {"scatter 0", "1:9: blocklength: 0 is less than 1"},
    {"contiguous every 0 of\nint as\nfoo", "3:1: datarep: unknown data representation "
                                           "\"foo\""},
    {"scatter of doubl", "1:12: expected a basic type, such as double, found 'doubl'"},
    {"scatter of 3", "1:13: expected a basic type, such as double at the end"},
    {"scatter at 5q", "1:12: '5q' is neither a number nor a name"},
    {"scatter at 9223372036854775808", "1:12: 9223372036854775808 exceeds 2^63-1"},
    {"scatter at 9000000T", "1:12: 9000000T exceeds 2^63-1"},
    {"scatter at (1 + 2", "1:18: expected ')' at the end"},
    {"scatter at min(1)", "1:17: expected ',', found ')'"},
    {"scatter at rows", "1:12: unknown name \"rows\" (rows=VALUE would define it)"},
    {"scatter at 0 at 1", "1:14: \"at\" is said twice"},
    {"scatter 5 bytes", "1:11: expected of, at, as, every, on, order, tiles, memory, name, dims or "
                        "grid, found 'bytes'"},
    {"scatter order C", "1:15: only a subarray and a darray have an order"},
    {"darray 4 block order c++",
     "1:23: expected of, at, as, every, on, order, tiles, memory, name, dims or grid, found '++'"},
    {"scatter on 2x2", "1:12: only a darray has a grid: expected the number of ranks"},
    {"scatter on 0", "1:12: ranks: 0 ranks: must be 1 to 2147483647"},
    {"darray 4x4 block,block on 4000000000x4000000000", "1:27: the grid is too large"},
    {"scatter as =x", "1:12: expected a data representation or NAME=LIBRARY, found '=x'"},
    {"scatt\xc3\xa9r", "1:1: expected contiguous, vector, subarray, darray, scatter, hpf_block, "
                       "hpf_cyclic or broadcast, found 'scatt\xc3\xa9r'"},
    {"scatter \xff", "1:1: not valid UTF-8"},
    {"scatter at 1/0", "1:12: disp: \"1 / 0\": division by zero"},
    {"scatter 1-rank on 2", "1:9: blocklength: 0 is less than 1 (rank 1)"},
};

TEST(errors_have_places)
{
    int wrong = 0;

    for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++) {
        struct vs_error error = {0};
        struct vs_view *view = NULL;
        struct vs_spec *spec = parse(errors[i][0], &error);
        char text[1400] = "accepted", expected[1400];

        if (spec && vs_spec_ranks(spec) > 1)
            vs_spec_view(spec, 0, 1, &view, &error);
        if (error.code)
            vs_error_text(&error, text, sizeof(text));
        snprintf(expected, sizeof(expected), "--view:%s", errors[i][1]);
        if (strcmp(text, expected) != 0) {
            print_message("# %s\n#   says:     %s\n#   expected: %s\n", errors[i][0], text,
                          expected);
            wrong++;
        }
        vs_view_unref(view);
        vs_spec_free(spec);
    }
    assert_int_equal(wrong, 0);
}

/* Many nested parentheses, and an expression that is too long, only cause an error. */
TEST(limits)
{
    char text[3000] = "scatter at ";
    struct vs_error error = {0};

    memset(text + strlen(text), '(', 2000);
    assert_null(parse(text, &error));
    assert_string_equal(error.reason, "nested too deep");
    error = (struct vs_error){0};
    memset(text + 11, '-', 2000);
    assert_null(parse(text, &error));
    assert_string_equal(error.reason, "the expression is longer than 511 characters");
    char *long_text = calloc(1, VS_SHORTHAND_MAX_BYTES + 2);
    memset(long_text, ' ', VS_SHORTHAND_MAX_BYTES + 1);
    error = (struct vs_error){0};
    assert_null(parse(long_text, &error));
    assert_string_equal(error.reason, "a shorthand is at most 65536 bytes");
    free(long_text);
}
