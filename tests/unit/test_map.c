/* SPDX-License-Identifier: MIT */
/* Tests edge cases of maps that small random types do not reach. */

#include "spec_fixture.h"
#include "viewspec/spec.h"

static struct vs_view *view_of(int64_t rank, const char *body)
{
    return view_from(rank, NULL, "{'viewspec': 1, 'file': 'f', 'ranks': 4, 'view': %s}", body);
}

#define PAIRS                                                                                      \
    "{'etype': 'int', 'filetype': {'type': 'resized', 'lb': 0, 'extent': 16, 'oldtype': {'type': " \
    "'contiguous', 'count': 2}}}"

/* A strided view is one batch, not one batch for each tile. */
TEST(strided_batch)
{
    struct vs_view *view = view_of(0, PAIRS);
    struct vs_cursor cursor;
    struct vs_batch batch;

    vs_cursor_start(&cursor, vs_view_map(view), 0, 8000);
    assert_true(vs_cursor_batch(&cursor, &batch));
    assert_int_equal(batch.count, 1000);
    assert_int_equal(batch.length, 8);
    assert_int_equal(batch.stride, 16);
    assert_false(vs_cursor_batch(&cursor, &batch));
    /* The range cuts its first and its last run. */
    vs_cursor_start(&cursor, vs_view_map(view), 3, 8000);
    int64_t at = 3, batches = 0;
    for (; vs_cursor_batch(&cursor, &batch); batches++) {
        assert_int_equal(batch.position, at);
        at += batch.count * batch.length;
    }
    assert_int_equal(at, 8003);
    assert_in_range(batches, 1, 3);
    vs_view_unref(view);
}

/* A view of all bytes is one run, however many tiles it has. */
TEST(contiguous_run)
{
    struct vs_view *view = view_of(0, "{'disp': 100, 'etype': 'double'}");
    struct vs_runs runs;
    struct vs_run run;

    vs_runs_start(&runs, vs_view_map(view), 5, INT64_C(1) << 50);
    assert_true(vs_runs_next(&runs, &run));
    assert_int_equal(run.position, 5);
    assert_int_equal(run.displacement, 105);
    assert_int_equal(run.length, INT64_C(1) << 50);
    assert_false(vs_runs_next(&runs, &run));
    vs_view_unref(view);
}

TEST(ranges_are_cut)
{
    struct vs_view *view = view_of(0, PAIRS);
    const struct vs_map *map = vs_view_map(view);
    int64_t limit = vs_map_facts(map)->limit;
    struct vs_runs runs;
    struct vs_run run;

    vs_runs_start(&runs, map, 0, 0);
    assert_false(vs_runs_next(&runs, &run));
    vs_runs_start(&runs, map, limit, 10);
    assert_false(vs_runs_next(&runs, &run));
    vs_runs_start(&runs, map, limit - 4, INT64_MAX);
    assert_true(vs_runs_next(&runs, &run));
    assert_int_equal(run.length, 4);
    assert_false(vs_runs_next(&runs, &run));
    vs_view_unref(view);
}

/* A file has at most 2^63 - 1 bytes. Positions past that do not exist. */
TEST(limit)
{
    static const struct {
        const char *body;
        int64_t limit; /* 0: not checked */
    } cases[] = {
        {"{}", 0},
        {PAIRS, 0},
        {"{'disp': 9223372036854775800}", 7},
        {"{'disp': 9223372036854775806}", 1},
        {"{'etype': 'double', 'filetype': {'type': 'scatter'}}", 0},
        {"{'filetype': {'type': 'resized', 'lb': 0, 'extent': 9223372036854775807}}", 1},
        {"{'disp':5, 'filetype':{'type':'resized','lb':0,'extent':9223372036854775000}}", 0},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct vs_view *view = view_of(1, cases[i].body);
        const struct vs_map *map = vs_view_map(view);
        int64_t end = vs_map_facts(map)->limit;
        assert_true(end > 0);
        int64_t last = vs_map_displacement(map, end - 1);
        assert_true(last >= 0);
        assert_int_equal(vs_map_displacement(map, end), -1);
        assert_int_equal(vs_map_displacement(map, INT64_MAX), -1);
        assert_int_equal(vs_map_find(map, last), end - 1);
        assert_true(vs_view_positions(view, INT64_MAX) <= end);
        if (cases[i].limit != 0) {
            assert_int_equal(end, cases[i].limit);
            assert_int_equal(vs_view_slice_size(view, INT64_MAX), end);
        }
        vs_view_unref(view);
    }
}

/* If external32 has a shorter representation, the slice is longer than the file. */
TEST(slice_too_long)
{
    struct vs_view *view = view_of(0, "{'etype': 'long', 'datarep': 'external32'}");

    assert_int_equal(vs_view_slice_size(view, 11), 16);
    assert_true(vs_view_slice_size(view, INT64_MAX) < 0);
    vs_view_unref(view);
}

/* Tiles interleave, so the slice's order is not the file's. The slice ends at its first byte
   past the file's end. */
TEST(interleaved_tiles)
{
    struct vs_view *view = view_of(
        0, "{'etype': 'int', 'filetype': {'type': 'resized', 'lb': 0, 'extent': 4, 'oldtype': "
           "{'type': 'indexed', 'blocklengths': [1, 1], 'displacements': [0, 100]}}}");
    const struct vs_map *map = vs_view_map(view);

    assert_false(vs_map_facts(map)->monotonic && vs_map_facts(map)->disjoint);
    assert_int_equal(vs_map_displacement(map, 4), 400);
    assert_int_equal(vs_map_displacement(map, 8), 4);
    assert_int_equal(vs_map_find(map, 400), 4);
    assert_int_equal(vs_map_find(map, 404), 12);
    assert_int_equal(vs_map_lower_bound(map, 300), 4);
    assert_int_equal(vs_view_positions(view, 400), 4);
    assert_int_equal(vs_view_positions(view, 404), 12);
    vs_view_unref(view);
}

/* Every block of a long list is found, by position and by displacement. */
TEST(long_list)
{
    enum { BLOCKS = 20000 };
    char *body = malloc(BLOCKS * 16 + 200), *end = body;
    int64_t displacement = 0;

    assert_non_null(body);
    end += sprintf(end,
                   "{'filetype': {'type': 'hindexed_block', 'blocklength': 3, 'displacements': [");
    for (int i = 0; i < BLOCKS; i++) {
        end += sprintf(end, "%s%ld", i ? "," : "", (long)displacement);
        displacement += 3 + i % 7;
    }
    strcpy(end, "]}}");
    struct vs_view *view = view_of(0, body);
    const struct vs_map *map = vs_view_map(view);
    displacement = 0;
    for (int i = 0; i < BLOCKS; i++) {
        assert_int_equal(vs_map_displacement(map, 3 * i + 2), displacement + 2);
        assert_int_equal(vs_map_find(map, displacement + 1), 3 * i + 1);
        assert_int_equal(vs_map_find(map, displacement + 3), i % 7 ? -1 : 3 * i + 3);
        displacement += 3 + i % 7;
    }
    vs_view_unref(view);
    free(body);
}

/* Appends a list of 26 equal values to text. */
static char *put_26(char *end, const char *name, const char *value)
{
    end += sprintf(end, ", '%s': [%s", name, value);
    for (int i = 1; i < 26; i++)
        end += sprintf(end, ", %s", value);
    return stpcpy(end, "]");
}

/*
 * A map with about as many levels as its size and the nesting of types allow: 62 structs around a
 * darray whose last block is shorter in each of its 26 dimensions. A cursor has frames for all
 * levels.
 */
TEST(deepest_map)
{
    char body[8192], *end = body;
    struct vs_cursor cursor;
    struct vs_batch batch;

    for (int i = 0; i < 62; i++)
        end = stpcpy(end, "{'type': 'struct', 'blocklengths': [1, 1], 'displacements': [0, 2], "
                          "'types': ['byte', ");
    end = stpcpy(end, "{'type': 'darray', 'order': 'C'");
    end = put_26(end, "gsizes", "5");
    end = put_26(end, "distribs", "'cyclic'");
    end = put_26(end, "dargs", "2");
    end = stpcpy(put_26(end, "psizes", "2"), "}");
    for (int i = 0; i < 62; i++)
        end = stpcpy(end, "]}");
    struct vs_view *view =
        view_from(0, NULL, "{'viewspec': 1, 'file': 'f', 'ranks': %d, 'view': {'filetype': %s}}",
                  1 << 26, body);
    const struct vs_map *map = vs_view_map(view);
    int64_t size = vs_map_facts(map)->tile_size;

    assert_true(size > INT64_C(1) << 41); /* 3^26 */
    for (int64_t at = size - 1; at > 0; at /= 3) {
        vs_cursor_start(&cursor, map, at, 1000);
        assert_true(vs_cursor_batch(&cursor, &batch));
        assert_int_equal(batch.displacement, vs_map_displacement(map, at));
    }
    vs_view_unref(view);
}

/*
 * Returns a spec whose buftype has pairs around each other, as parentheses are: (((...))). In the
 * file the bytes of a pair are neighbors. The caller frees it.
 */
static char *make_pairs(int count)
{
    char *text = malloc(200 * (size_t)(count + 2)), *end = text;

    end += sprintf(end,
                   "{'viewspec': 1, 'file': 'f', 'view': {'filetype': {'type': 'vector', 'count': "
                   "%d, 'blocklength': 1, 'stride': 2, 'oldtype': 'byte'}, 'buftype': {'type': "
                   "'struct', 'types': [",
                   2 * count);
    for (int i = 0; i < count; i++)
        end += sprintf(
            end,
            "%s{'type': 'vector', 'count': 2, 'blocklength': 1, 'stride': %d, 'oldtype': 'byte'}",
            i > 0 ? ", " : "", 2 * (count - i) - 1);
    end = stpcpy(end, "], 'blocklengths': [1");
    for (int i = 1; i < count; i++)
        end = stpcpy(end, ", 1");
    end = stpcpy(end, "], 'displacements': [0");
    for (int i = 1; i < count; i++)
        end += sprintf(end, ", %d", i);
    stpcpy(end, "]}}}");
    return quoted(text);
}

TEST(pairs_around_each_other)
{
    struct vs_error error = {0};
    struct vs_cursor cursor;
    struct vs_batch batch;
    char *text = make_pairs(100), *deep = make_pairs(300);
    struct vs_view *view = view_from(0, NULL, "%s", text);
    struct vs_spec *spec;

    for (int64_t at = 0; at < 200; at++) {
        int64_t in_file = at < 100 ? 2 * at : 2 * (199 - at) + 1;

        vs_cursor_start(&cursor, vs_view_map(view), at, 1);
        assert_true(vs_cursor_batch(&cursor, &batch));
        assert_int_equal(batch.displacement, 2 * in_file);
    }
    vs_view_unref(view);
    assert_true(vs_spec_parse(deep, strlen(deep), "text", "/", NULL, &spec, &error) < 0);
    assert_string_equal(error.reason, "the view nests too deep");
    free(text);
    free(deep);
}
