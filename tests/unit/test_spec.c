/* SPDX-License-Identifier: MIT */
/*
 * Tests tests/specs. Every spec under invalid/ is refused with the message in its file "error", and
 * every spec under valid/ compiles for all ranks. Also tests the other functions of spec.h.
 */
#include <glob.h>
#include <limits.h>

#include "core/load.h"
#include "spec_fixture.h"

#define FIXTURES "../specs"

/* Loads the spec at path and compiles all its views, as every user of a spec does. */
static int load_all(const char *path, struct vs_spec **spec, struct vs_error *error)
{
    int rc = mpiio_spec_load(path, NULL, spec, error);

    return rc ? rc : compile_views(*spec, error);
}

static void read_line(const char *path, char *text, int size)
{
    FILE *file = fopen(path, "r");

    if (file == NULL)
        fail_msg("no file %s", path);
    assert_non_null(fgets(text, size, file));
    text[strcspn(text, "\n")] = '\0';
    assert_int_equal(fgetc(file), EOF);
    fclose(file);
}

/* Returns true if the spec of this folder is refused as its file "error" says. */
static bool check_invalid(const char *folder)
{
    char expected[1400], text[1400] = "accepted";
    struct vs_error error = {0};
    struct vs_spec *spec = NULL;
    bool right;
    int rc;

    assert_int_equal(chdir(folder), 0);
    read_line("error", expected, sizeof(expected));
    rc = load_all("spec.json", &spec, &error);
    vs_spec_free(spec);
    if (rc)
        vs_error_text(&error, text, sizeof(text));
    right = rc == -EINVAL && error.code == rc && strcmp(text, expected) == 0;
    if (!right)
        print_message("# %s: %s (%d)\n#   expected: %s\n", folder, text, rc, expected);
    assert_int_equal(chdir("../../../unit"), 0);
    return right;
}

TEST(invalid_specs)
{
    size_t right = 0;
    glob_t found;

    assert_int_equal(glob(FIXTURES "/invalid/*", 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++)
        right += check_invalid(found.gl_pathv[i]);
    assert_int_equal(right, found.gl_pathc);
    assert_true(right >= 60);
    globfree(&found);
}

/* Checks that the resolved text of a spec is a spec which describes the same views. */
static void check_resolved(const struct vs_spec *spec)
{
    char *text = vs_spec_resolved(spec, true);
    struct vs_spec *again = spec_from("%s", text);

    assert_string_equal(vs_spec_file(again), vs_spec_file(spec));
    assert_int_equal(vs_spec_ranks(again), vs_spec_ranks(spec));
    assert_int_equal(vs_spec_view_count(again), vs_spec_view_count(spec));
    for (size_t v = 0; v < vs_spec_view_count(spec); v++) {
        for (int64_t rank = 0; rank < vs_spec_ranks(spec); rank++) {
            struct vs_view *a = view_at(spec, v, rank), *b = view_at(again, v, rank);
            for (int64_t p = 0; p < 300; p++)
                assert_int_equal(vs_map_displacement(vs_view_map(a), p),
                                 vs_map_displacement(vs_view_map(b), p));
            vs_view_unref(a);
            vs_view_unref(b);
        }
    }
    free(text);
    vs_spec_free(again);
}

TEST(valid_specs)
{
    char text[1400];
    glob_t found;

    assert_int_equal(glob(FIXTURES "/valid/*", 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        struct vs_error error = {0};
        struct vs_spec *spec = NULL;

        if (load_all(found.gl_pathv[i], &spec, &error))
            fail_msg("%s", vs_error_text(&error, text, sizeof(text)));
        check_resolved(spec);
        vs_spec_free(spec);
    }
    globfree(&found);
}

/* Returns the displacement of a position of a rank's view, in tests/specs/valid/NAME.json. */
static int64_t place(const char *name, const char *view_name, int64_t rank, int64_t position)
{
    struct vs_error error = {0};
    struct vs_spec *spec = NULL;
    struct vs_view *view;
    char path[PATH_MAX];

    snprintf(path, sizeof(path), FIXTURES "/valid/%s.json", name);
    assert_int_equal(mpiio_spec_load(path, NULL, &spec, &error), 0);
    long index = view_name ? vs_spec_find_view(spec, view_name) : 0;
    assert_true(index >= 0);
    view = view_at(spec, (size_t)index, rank);
    vs_spec_free(spec);
    int64_t displacement = vs_map_displacement(vs_view_map(view), position);
    vs_view_unref(view);
    return displacement;
}

/* The worked examples of the literature, item by item. */
TEST(examples)
{
    for (int64_t rank = 0; rank < 4; rank++) {
        for (int64_t item = 0; item < 12; item++) {
            /* The tutorial: item i of the file belongs to process i % 4. */
            assert_int_equal(place("tutorial-darray", NULL, rank, 4 * item), 4 * (4 * item + rank));
            assert_int_equal(place("tutorial-items", NULL, rank, 4 * item), 4 * (4 * item + rank));
        }
        for (int64_t row = 0; row < 2; row++) {
            /* The 1995 overview: rows of 8 items, dealt to the processes one by one. */
            for (int64_t column = 0; column < 8; column++)
                assert_int_equal(place("overview-row-cyclic", NULL, rank, 8 * (8 * row + column)),
                                 8 * (8 * (4 * row + rank) + column));
        }
        assert_int_equal(place("overview-column-block", NULL, rank, 8 * 3), 8 * (8 + 2 * rank + 1));
        assert_int_equal(place("several-views", "columns", rank, 8 * 5), 8 * (16 + 4 * rank + 1));
        assert_int_equal(place("struct-etype", NULL, rank, 12), 16 * rank + 64 + 2);
    }
    assert_int_equal(place("owns-nothing", NULL, 3, 0), -1);
}

/* Checks that the file's path is absolute and ends in end. */
static void assert_file(const struct vs_spec *spec, const char *end)
{
    const char *path = vs_spec_file(spec);

    assert_int_equal(path[0], '/');
    assert_true(strlen(path) > strlen(end));
    assert_string_equal(path + strlen(path) - strlen(end), end);
}

TEST(accessors)
{
    struct vs_error error = {0};
    struct vs_spec *spec = NULL;
    const char *key, *value;

    assert_int_equal(mpiio_spec_load(FIXTURES "/valid/several-views.json", NULL, &spec, &error), 0);
    assert_int_equal(vs_spec_ranks(spec), 4);
    assert_true(vs_spec_atomic(spec));
    assert_int_equal(vs_spec_view_count(spec), 3);
    assert_string_equal(vs_spec_view_name(spec, 0), "rows");
    assert_string_equal(vs_spec_view_name(spec, 1), "columns");
    assert_string_equal(vs_spec_view_name(spec, 2), "by-item.1");
    assert_int_equal(vs_spec_find_view(spec, "columns"), 1);
    assert_int_equal(vs_spec_find_view(spec, "column"), -1);
    assert_true(vs_spec_hint(spec, 0, &key, &value));
    assert_string_equal(key, "cb_nodes");
    assert_string_equal(value, "2");
    assert_true(vs_spec_hint(spec, 1, &key, &value));
    assert_false(vs_spec_hint(spec, 2, &key, &value));
    assert_false(vs_spec_view_is_common(spec, 0));
    assert_file(spec, "/specs/valid/data.bin");
    vs_spec_free(spec);
    struct vs_overrides over = {.file = "other.bin"};
    assert_int_equal(mpiio_spec_load(FIXTURES "/valid/several-views.json", &over, &spec, &error),
                     0);
    assert_file(spec, "/other.bin");
    vs_spec_free(spec);
    spec = spec_from("{'viewspec': 1, 'file': 'data.bin', 'view': {}}");
    assert_null(vs_spec_view_name(spec, 0));
    assert_int_equal(vs_spec_ranks(spec), 1);
    assert_false(vs_spec_atomic(spec));
    assert_true(vs_spec_view_is_common(spec, 0));
    assert_string_equal(vs_spec_file(spec), "/folder/data.bin");
    vs_spec_free(spec);
    vs_spec_free(NULL);
}

TEST(overrides)
{
    char text[] = "{'viewspec': 1, 'file': 'data.bin', 'ranks': 'n / 10', 'let': "
                  "{'n': 40, 'rows': 'n / ranks'}, 'view': {'disp': 'rank * rows'}}";
    const char *defines[] = {"n=80"}, *wrong[] = {"m=80"}, *syntax[] = {"n=8 8"};
    struct vs_overrides over = {.file = "other.bin", .ranks = 5, .defines = defines};
    struct vs_error error = {0};

    struct vs_spec *spec = spec_from("%s", text);
    assert_int_equal(vs_spec_ranks(spec), 4);
    assert_int_equal(disp_at(spec, 0, 3), 30);
    vs_spec_free(spec);
    spec = spec_with(&over, "%s", text);
    assert_string_equal(vs_spec_file(spec), "other.bin");
    assert_int_equal(vs_spec_ranks(spec), 5);
    assert_int_equal(disp_at(spec, 0, 4), 32);
    vs_spec_free(spec);
    over.define_count = 1;
    spec = spec_with(&over, "%s", text);
    assert_int_equal(disp_at(spec, 0, 4), 64);
    vs_spec_free(spec);
    over.defines = wrong;
    spec = NULL;
    assert_int_equal(
        vs_spec_parse(quoted(text), strlen(text), "text", "/folder", &over, &spec, &error),
        -EINVAL);
    assert_string_equal(error.source, "m=80");
    error = (struct vs_error){0};
    over.from_options = true;
    over.defines = syntax;
    assert_int_equal(vs_spec_parse(text, strlen(text), "text", "/folder", &over, &spec, &error),
                     -EINVAL);
    assert_string_equal(error.source, "-D n=8 8");
}

TEST(missing_file)
{
    struct vs_error error = {0};
    struct vs_spec *spec = NULL;

    assert_int_equal(mpiio_spec_load(FIXTURES "/no-such.json", NULL, &spec, &error), -ENOENT);
    assert_int_equal(error.code, -ENOENT);
    assert_null(spec);
    error = (struct vs_error){0};
    assert_int_equal(mpiio_spec_load(FIXTURES, NULL, &spec, &error), -EISDIR);
}

/* Views outlive their spec. A large number of ranks costs nothing until a rank is used. */
TEST(many_ranks)
{
    struct vs_spec *spec = spec_from("{'viewspec': 1, 'file': 'f', 'ranks': 2147483647, 'view': "
                                     "{'etype': 'double', 'filetype': {'type': 'scatter'}}}");
    struct vs_error error = {0};
    struct vs_view *view = NULL;

    assert_int_equal(vs_spec_view(spec, 0, 2147483647, &view, &error), -EINVAL);
    assert_string_equal(error.reason, "the spec has no such view or rank");
    assert_int_equal(vs_spec_view(spec, 0, -1, &view, &error), -EINVAL);
    assert_int_equal(vs_spec_view(spec, 1, 0, &view, &error), -EINVAL);
    assert_null(view);
    view = view_at(spec, 0, 2147483646);
    vs_spec_free(spec);
    assert_int_equal(vs_map_displacement(vs_view_map(view), 8), 8 * (2147483647LL + 2147483646LL));
    vs_view_unref(vs_view_ref(view));
    vs_view_unref(view);
}

/* Reordering an array needs only a few loops, however it is dealt and however large it is. */
TEST(large_orders)
{
    static const char *const views[] = {
        "darray 1000003,1000033 cyclic(7),cyclic(5) on 3,4 of double memory Fortran",
        "darray 103,1000033,57 cyclic(7),block,cyclic(5) on 3,2,2 of double order Fortran memory C",
        ("subarray 1000,2000,3000,4000 part 999,1999,2999,3999 from 1,1,1,1 of int memory Fortran "
         "tiles 3"),
    };

    for (size_t i = 0; i < sizeof(views) / sizeof(*views); i++) {
        struct vs_spec *spec =
            shorthand_with(&(struct vs_overrides){.file_optional = true}, views[i]);
        struct vs_view *view = view_at(spec, 0, vs_spec_ranks(spec) - 1);

        assert_true(vs_view_facts(view)->work < 1000);
        const struct vs_map *map = vs_view_map(view);
        for (int64_t p = 12345; p < vs_map_facts(map)->tile_size; p += p / 3)
            assert_int_equal(vs_map_find(map, vs_map_displacement(map, p)), p);
        vs_view_unref(view);
        vs_spec_free(spec);
    }
}
