/* SPDX-License-Identifier: MIT */
/* Merges the views of single ranks into one view. The library that reads all specs reads it
   back. */

#include "capture_fixture.h"

#define MAX_RANKS 512

/* Checks that each rank of the merged view has the displacement that it had alone. */
static void check_displacements(json_t *merged, const int64_t *values, size_t ranks)
{
    struct vs_spec *spec = spec_of_view(merged, ranks);

    for (size_t rank = 0; rank < ranks; rank++)
        assert_int_equal(disp_at(spec, 0, (int64_t)rank), values[rank]);
    vs_spec_free(spec);
}

/* Returns the merged view of ranks with these displacements. */
static json_t *merge_displacements(const int64_t *values, size_t ranks)
{
    json_t *views[MAX_RANKS], *merged;

    for (size_t i = 0; i < ranks; i++)
        views[i] = json_pack("{s:I, s:s}", "disp", (json_int_t)values[i], "etype", "int");
    merged = capture_merge(views, ranks);
    assert_non_null(merged);
    for (size_t i = 0; i < ranks; i++)
        json_decref(views[i]);
    check_displacements(merged, values, ranks);
    return merged;
}

/* base + a step for each dimension of a grid. They become one rule, however many ranks the last
   row has. */
TEST(grids_become_expressions)
{
    int64_t values[MAX_RANKS];

    for (int round = 0; round < 300; round++) {
        size_t fast = 1 + (size_t)draw(6), slow = 1 + (size_t)draw(5);
        size_t ranks = 2 + (size_t)draw(MAX_RANKS - 2);
        /* With these steps no row continues the one before it. */
        int64_t base = draw(1000), a = draw(3) * 8, b = 1000 + draw(50), c = 100000 + draw(90);
        for (size_t i = 0; i < ranks; i++)
            values[i] = base + a * (int64_t)(i % fast) + b * (int64_t)(i / fast % slow) +
                        c * (int64_t)(i / fast / slow);
        json_t *merged = merge_displacements(values, ranks);
        assert_null(json_object_get(merged, "per_rank"));
        json_decref(merged);
    }
}

/* Any displacements are merged such that each rank keeps its own. */
TEST(any_numbers_survive)
{
    int64_t values[MAX_RANKS];

    for (int round = 0; round < 500; round++) {
        size_t ranks = 1 + (size_t)draw(24);
        int64_t range = 1 + draw(4);
        for (size_t i = 0; i < ranks; i++)
            values[i] = draw(range) * 4 + (draw(2) ? (int64_t)i * 16 : 0);
        json_decref(merge_displacements(values, ranks));
    }
}

static void assert_expression(const char *expected, size_t count, const int64_t *values)
{
    char text[128];

    assert_int_equal(capture_expression(values, count, text, sizeof(text)), expected != NULL);
    if (expected)
        assert_string_equal(text, expected);
}

TEST(expressions_read_well)
{
    assert_expression("rank*800", 4, (int64_t[]){0, 800, 1600, 2400});
    assert_expression("100 + rank*8", 3, (int64_t[]){100, 108, 116});
    assert_expression("rank", 2, (int64_t[]){0, 1});
    assert_expression("9 - rank*3", 4, (int64_t[]){9, 6, 3, 0});
    assert_expression("rank/2*50", 6, (int64_t[]){0, 0, 50, 50, 100, 100});
    assert_expression("rank%2*5", 4, (int64_t[]){0, 5, 0, 5});
    assert_expression("7 + rank%2 + rank/2*10", 4, (int64_t[]){7, 8, 17, 18});
    assert_expression("0 - rank*2", 2, (int64_t[]){0, -2});
    assert_expression("3 - rank/3*2", 4, (int64_t[]){3, 3, 3, 1});
    assert_expression(NULL, 5, (int64_t[]){0, 1, 2, 4, 8});
    assert_expression(NULL, 5, (int64_t[]){0, 5, 0, 6, 1});
    assert_expression(NULL, 2, (int64_t[]){INT64_MIN, INT64_MAX});
}

/* Returns the JSON that a text describes. */
static json_t *json_from(const char *text)
{
    char *copy = quoted(strdup(text));
    json_t *json = json_loads(copy, 0, NULL);

    assert_non_null(json);
    free(copy);
    return json;
}

/* Checks that JSON, which it frees, is that of a text. */
static void assert_json(json_t *json, const char *text)
{
    json_t *expected = json_from(text);
    char *found = json_dumps(json, JSON_COMPACT);

    if (!json_equal(json, expected))
        fail_msg("%s\n%s", found, text);
    free(found);
    json_decref(expected);
    json_decref(json);
}

static void assert_merged(const char *text, const char *expected)
{
    json_t *list = json_from(text), *views[8];
    size_t count = json_array_size(list);

    for (size_t i = 0; i < count; i++)
        views[i] = json_array_get(list, i);
    assert_json(capture_merge(views, count), expected);
    json_decref(list);
}

TEST(only_what_differs_is_per_rank)
{
    assert_merged("[{'disp':0,'etype':'int'},{'disp':0,'etype':'int'}]",
                  "{'disp':0,'etype':'int'}");
    assert_merged("[{'disp':0,'etype':'int'},{'disp':8,'etype':'byte'}]",
                  "{'disp':'rank*8','per_rank':[{'etype':'int'},{'etype':'byte'}]}");
    /* Lists of different lengths; a filetype that only one rank lacks; a representation. */
    assert_merged("[{'disp':0,'etype':'int','filetype':{'type':'indexed','blocklengths':[1,2],"
                  "'displacements':[0,4]}},{'disp':0,'etype':'int','datarep':'external32'}]",
                  "{'disp':0,'etype':'int','per_rank':[{'filetype':{'type':'indexed',"
                  "'blocklengths':[1,2],'displacements':[0,4]},'datarep':'native'},"
                  "{'filetype':'etype','datarep':'external32'}]}");
    /* Inside lists, too. */
    assert_merged("[{'disp':0,'etype':'int','filetype':{'type':'indexed','blocklengths':[1,2],"
                  "'displacements':[0,4]}},{'disp':0,'etype':'int','filetype':{'type':'indexed',"
                  "'blocklengths':[1,3],'displacements':[0,4]}}]",
                  "{'disp':0,'etype':'int','filetype':{'type':'indexed','blocklengths':"
                  "[1,'2 + rank'],'displacements':[0,4]}}");
}

static void assert_tiles(const char *view, const char *tiles, const char *expected)
{
    json_t *merged = json_from(view), *list = json_from(tiles);

    assert_json(capture_merge_tiles(merged, list), expected);
    assert_json(merged, view);
    json_decref(list);
}

TEST(tiles_join_a_merged_view)
{
    assert_tiles("{'disp':0}", "[7]", "{'disp':0,'tiles':7}");
    assert_tiles("{'disp':0}", "[7,7,7]", "{'disp':0,'tiles':7}");
    assert_tiles("{'disp':0}", "[5,6,7]", "{'disp':0,'tiles':'5 + rank'}");
    assert_tiles("{'disp':0}", "[-1,-1]", "{'disp':0}");
    assert_tiles("{'disp':0}", "[-1,1]", "{'disp':0,'per_rank':[{},{'tiles':1}]}");
    assert_tiles("{'per_rank':[{'disp':0},{'disp':8},{'disp':9}]}", "[1,-1,0]",
                 "{'per_rank':[{'disp':0,'tiles':1},{'disp':8},{'disp':9,'tiles':0}]}");
}
