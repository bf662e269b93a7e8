/* SPDX-License-Identifier: MIT */
/*
 * Tests data representations: sizes and extents of types in the file (MPI 3.1, 13.7.1), and how
 * user-defined ones are loaded, shared, refused and unloaded.
 */
#include <jansson.h>

#include "made_up.h"

/* Checks an etype's size and extent in the file. */
static void expect_extent(const char *datarep, const char *etype, int64_t size, int64_t extent)
{
    struct vs_view *view = view_in(datarep, etype);
    const struct vs_view_facts *facts = vs_view_facts(view);

    if (facts->etype_file_size != size || facts->etype_extent != extent ||
        vs_map_facts(vs_view_map(view))->tile_extent != extent)
        fail_msg("%s in %s: size %ld, extent %ld, tile extent %ld", etype, datarep,
                 (long)facts->etype_file_size, (long)facts->etype_extent,
                 (long)vs_map_facts(vs_view_map(view))->tile_extent);
    vs_view_unref(view);
}

#define LONG ", 'oldtype': 'long'}"

/*
 * A long has 8 bytes in memory and 4 in external32. Counts and strides in oldtypes scale with that.
 * Those in bytes do not, nor do the types built on them.
 */
TEST(scaling)
{
    static const struct {
        const char *etype;
        int64_t native_size, native_extent, size, extent;
    } cases[] = {
        {"'long'", 8, 8, 4, 4},
        {"{'type': 'contiguous', 'count': 3" LONG, 24, 24, 12, 12},
        {"{'type': 'vector', 'count': 2, 'blocklength': 1, 'stride': 3" LONG, 16, 32, 8, 16},
        {"{'type': 'indexed', 'blocklengths': [1, 2], 'displacements': [0, 5]" LONG, 24, 56, 12,
         28},
        {"{'type': 'indexed_block', 'blocklength': 1, 'displacements': [0, 5]" LONG, 16, 48, 8, 24},
        {"{'type': 'subarray', 'sizes': [10], 'subsizes': [3], 'starts': [2], 'order': 'C'" LONG,
         24, 80, 12, 40},
        {"{'type': 'darray', 'gsizes': [10], 'psizes': [1], 'distribs': ['block'], 'order': "
         "'C'" LONG,
         80, 80, 40, 40},
        {"{'type': 'dup'" LONG, 8, 8, 4, 4},
        {"{'type': 'hvector', 'count': 2, 'blocklength': 2, 'stride': 100" LONG, 32, 116, 16, 108},
        {"{'type': 'hindexed', 'blocklengths': [1, 2], 'displacements': [0, 50]" LONG, 24, 66, 12,
         58},
        {"{'type': 'hindexed_block', 'blocklength': 1, 'displacements': [0, 50]" LONG, 16, 58, 8,
         54},
        {"{'type': 'resized', 'lb': 0, 'extent': 50" LONG, 8, 50, 4, 50},
        {"{'type': 'contiguous', 'count': 2, 'oldtype': {'type': 'resized', 'lb': 0, 'extent': "
         "50" LONG "}",
         16, 100, 8, 100},
        /* In memory the gap is padding. In the file the displacement makes it. */
        {"{'type': 'struct', 'blocklengths': [1, 1], 'displacements': [0, 8], 'types': ['char', "
         "'long']}",
         9, 16, 5, 12},
        /* external32 aligns nothing, so types have no padding at their end. */
        {"{'type': 'struct', 'blocklengths': [1, 1], 'displacements': [0, 8], 'types': ['long', "
         "'char']}",
         9, 16, 5, 9},
        {"{'type': 'struct', 'blocklengths': [2, 1], 'displacements': [0, 16], 'types': ['wchar', "
         "'c_long_double_complex']}",
         40, 48, 36, 48},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        expect_extent("native", cases[i].etype, cases[i].native_size, cases[i].native_extent);
        expect_extent("big-endian", cases[i].etype, cases[i].native_size, cases[i].native_extent);
        expect_extent("external32", cases[i].etype, cases[i].size, cases[i].extent);
        expect_extent("internal", cases[i].etype, cases[i].size, cases[i].extent);
    }
}

/* The loader supplies the sizes by which types are laid out. */
TEST(user_sizes)
{
    int64_t size = made_up_size(vs_basic_number(vs_basic_find("long")));

    assert_true(size != 8 && size != 4);
    expect_extent("made-up", "'long'", size, size);
    expect_extent("made-up", "{'type': 'contiguous', 'count': 3" LONG, 3 * size, 3 * size);
    expect_extent("made-up", "{'type': 'hvector', 'count': 2, 'blocklength': 1, 'stride': 100" LONG,
                  2 * size, 100 + size);
    expect_extent("made-up",
                  "{'type': 'struct', 'blocklengths': [1, 1], 'displacements': [0, 20], 'types': "
                  "['long', 'byte']}",
                  size + 1, 21);
}

#define HEAD       "{'viewspec': 1, 'file': 'f', "
#define USER(n, l) "{'name': '" n "', 'library': '" l "'}"

static struct vs_spec *parse(const char *text)
{
    made_up.loads = made_up.unloads = 0;
    return spec_with(&with_made_up, "%s", text);
}

TEST(facts)
{
    struct vs_view *view = first_view(
        parse(HEAD "'view': {'etype': 'long', 'datarep': " USER("made-up", "d/x.so") "}}"), 0);
    const struct vs_view_facts *facts = vs_view_facts(view);

    assert_int_equal(facts->datarep, VS_USER);
    assert_string_equal(facts->datarep_name, "made-up");
    assert_ptr_equal(facts->user->library, &made_up);
    assert_false(facts->identical);
    assert_int_equal(facts->etype_size, 8);
    assert_string_equal(made_up.name, "made-up");
    assert_string_equal(made_up.library, "/folder/d/x.so");
    vs_view_unref(view);
    /* Bytes are never converted. */
    view = first_view(parse(HEAD "'view': {'datarep': " USER("made-up", "/d/x.so") "}}"), 0);
    assert_string_equal(made_up.library, "/d/x.so");
    assert_true(vs_view_facts(view)->identical);
    vs_view_unref(view);
    view = view_in("big-endian", "'long'");
    assert_null(vs_view_facts(view)->user);
    vs_view_unref(view);
}

/* Each pair of name and library is loaded once, and unloaded with its last view. */
TEST(sharing)
{
    struct vs_spec *spec = parse(
        HEAD "'views': {'a': {'datarep': {'name': 'made-up', 'library': 'x.so'}}, 'b': {'datarep': "
             "{'name': 'made-up', 'library': '/folder/x.so'}, 'per_rank': [{}, {'datarep': "
             "{'name': 'other', 'library': 'x.so'}}, {'datarep': 'external32'}]}, 'c': {'etype': "
             "'int', 'datarep': {'name': 'made-up', 'library': 'y.so'}}}}");
    struct vs_view *first = view_at(spec, 0, 2), *own = view_at(spec, 1, 1);
    struct vs_view *same = view_at(spec, 1, 0), *third = view_at(spec, 2, 0);

    assert_int_equal(made_up.loads, 3);
    assert_ptr_equal(vs_view_facts(first)->user, vs_view_facts(same)->user);
    assert_ptr_not_equal(vs_view_facts(first)->user, vs_view_facts(own)->user);
    assert_ptr_not_equal(vs_view_facts(first)->user, vs_view_facts(third)->user);
    assert_string_equal(vs_view_facts(own)->datarep_name, "other");
    vs_spec_free(spec);
    assert_int_equal(made_up.unloads, 0);
    vs_view_unref(first);
    vs_view_unref(own);
    assert_int_equal(made_up.unloads, 1);
    assert_string_equal(vs_view_facts(same)->datarep_name, "made-up");
    vs_view_unref(same);
    vs_view_unref(third);
    assert_int_equal(made_up.unloads, 3);
}

/* The resolved text keeps the object, with the library's resolved path. */
TEST(resolved)
{
    struct vs_spec *spec = parse(
        HEAD "'view': {'etype': 'int', 'per_rank': [{'datarep': " USER("made-up", "d/x.so") "}]}}");
    char *text = vs_spec_resolved(spec, true);

    assert_non_null(text);
    vs_spec_free(spec);
    json_t *root = json_loads(text, 0, NULL), *entries = NULL;
    assert_int_equal(json_unpack(root, "{s:{s:o}}", "view", "per_rank", &entries), 0);
    json_t *datarep = json_object_get(json_array_get(entries, 0), "datarep");
    assert_string_equal(json_string_value(json_object_get(datarep, "name")), "made-up");
    assert_string_equal(json_string_value(json_object_get(datarep, "library")), "/folder/d/x.so");
    json_decref(root);
    spec = parse(text);
    assert_int_equal(made_up.loads, 1);
    assert_string_equal(made_up.library, "/folder/d/x.so");
    vs_spec_free(spec);
    free(text);
}

/* An override replaces the representation of every view, for any loader. */
TEST(overridden)
{
    char text[] = HEAD "'views': {'a': {'etype': 'long', 'datarep': {'name': 'made-up', 'library': "
                       "'d/x.so'}}, 'b': {'etype': 'int', 'per_rank': [{'datarep': 'native'}]}}}";
    struct vs_overrides overrides = with_made_up;

    for (int user = 0; user < 2; user++) {
        overrides.datarep = user ? "made-up" : "external32";
        overrides.datarep_library = user ? "/y.so" : NULL;
        made_up.loads = 0;
        struct vs_spec *spec = spec_with(&overrides, "%s", quoted(text));
        assert_int_equal(made_up.loads, user);
        for (size_t i = 0; i < 2; i++) {
            struct vs_view *view = view_at(spec, i, 0);
            assert_string_equal(vs_view_facts(view)->datarep_name, overrides.datarep);
            vs_view_unref(view);
        }
        size_t length;
        bool shorthand;
        assert_string_equal(vs_spec_text(spec, &length, &shorthand), text);
        assert_false(shorthand);
        assert_int_equal(length, strlen(text));
        char *again = vs_spec_resolved(spec, true);
        vs_spec_free(spec);
        spec = parse(again);
        struct vs_view *view = view_at(spec, 1, 0);
        assert_string_equal(vs_view_facts(view)->datarep_name, overrides.datarep);
        vs_view_unref(view);
        vs_spec_free(spec);
        free(again);
    }
}

static void expect_error(const struct vs_overrides *overrides, const char *view, int code,
                         const char *place, const char *reason)
{
    struct vs_error error = {0};
    struct vs_spec *spec = NULL;
    char text[1024];

    made_up.loads = made_up.unloads = 0;
    snprintf(text, sizeof(text), HEAD "'view': %s}", view);
    if (!vs_spec_parse(quoted(text), strlen(text), "text", "/folder", overrides, &spec, &error))
        compile_views(spec, &error);
    vs_spec_free(spec);
    if (error.code != code || strcmp(error.pointer, place) != 0 ||
        strcmp(error.reason, reason) != 0)
        fail_msg("%s\n%d %s: %s\nexpected\n%d %s: %s", view, error.code, error.pointer,
                 error.reason, code, place, reason);
    assert_true(made_up.unloads <= made_up.loads);
}

TEST(errors)
{
    static const struct {
        const char *view, *place, *reason;
    } cases[] = {
        {"{'datarep': " USER("broken", "x.so") "}", "/view/datarep", "/folder/x.so is no library"},
        {"{'datarep': " USER("silent", "x.so") "}", "/view/datarep", "Permission denied"},
        {"{'datarep': {'name': 'a'}}", "/view/datarep", "\"library\" is missing"},
        {"{'datarep': {'library': 'a'}}", "/view/datarep", "\"name\" is missing"},
        {"{'datarep': " USER("", "x.so") "}", "/view/datarep/name", "the name is empty"},
        {"{'datarep': " USER("a", "") "}", "/view/datarep/library", "the library is empty"},
        {"{'datarep': " USER("external32", "x.so") "}", "/view/datarep/name", "the name is taken"},
        {"{'datarep': {'name': 1, 'library': 'x'}}", "/view/datarep/name",
         "expected a string, got an integer"},
        {"{'datarep': {'name': 'a', 'library': 'x', 'path': 'y'}}", "/view/datarep/path",
         "unknown key"},
        {"{'per_rank': [{}, {'datarep': " USER("broken", "y") "}]}", "/view/per_rank/1/datarep",
         "/folder/y is no library"},
        {"{'etype': 'long', 'datarep': " USER("partial", "x.so") "}", "/view/etype",
         "representation \"partial\" has no MPI_LONG"},
        {"{'etype': {'type': 'struct', 'blocklengths': [1, 1], 'displacements': [0, 8], 'types': "
         "['int', 'long']}, 'per_rank': [{}, {'datarep': " USER("partial", "x.so") "}]}",
         "/view/etype/types/1", "representation \"partial\" has no MPI_LONG"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        expect_error(&with_made_up, cases[i].view, -EINVAL, cases[i].place, cases[i].reason);
    expect_error(&with_made_up, "{'datarep': " USER("starved", "x.so") "}", -ENOMEM, "",
                 "out of memory");
    expect_error(NULL, "{'datarep': " USER("made-up", "x.so") "}", -EINVAL, "/view/datarep",
                 "user-defined data representations are not supported");
}

/* A loaded library is unloaded if the spec has another error. */
TEST(given_back)
{
    expect_error(&with_made_up,
                 "{'datarep': " USER("made-up", "x.so") ", 'per_rank': [{}, {'datarep': " USER(
                     "broken", "y.so") "}]}",
                 -EINVAL, "/view/per_rank/1/datarep", "/folder/y.so is no library");
    assert_int_equal(made_up.loads, 2);
    assert_int_equal(made_up.unloads, 1);
    expect_error(&with_made_up, "{'etype': 'no', 'datarep': " USER("made-up", "x.so") "}", -EINVAL,
                 "/view/etype", "unknown type \"no\"");
    assert_int_equal(made_up.unloads, 1);
}
