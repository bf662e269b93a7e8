/* SPDX-License-Identifier: MIT */
/*
 * Tests running out of memory. Every allocation of loading and compiling a rich spec fails in turn,
 * jansson's included. The program is linked with --wrap for malloc, calloc, realloc and strdup.
 * Builds with sanitizers check that nothing leaks.
 */
#include <jansson.h>

#include "core/load.h"
#include "slice_fixture.h"
#include "made_up.h"
#include "viewspec/map/assembly.h"
#include "viewspec/map/cover.h"

/* The allocations that succeed before one fails. If negative, none fails. */
static long countdown = -1;
static bool spare_json; /* jansson's allocations never fail */

static int fails(void)
{
    if (countdown < 0)
        return 0;
    return countdown-- == 0;
}

WRAP(void *, malloc, size_t size)
{
    return fails() ? NULL : __real_malloc(size);
}

WRAP(void *, calloc, size_t count, size_t size)
{
    return fails() ? NULL : __real_calloc(count, size);
}

WRAP(void *, realloc, void *block, size_t size)
{
    return fails() ? NULL : __real_realloc(block, size);
}

WRAP(char *, strdup, const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = fails() ? NULL : __real_malloc(size);

    return copy ? memcpy(copy, text, size) : NULL;
}

static const char *const one_name[] = {"n=4"};

static const struct vs_overrides with_file = {.file = "f", .defines = one_name, .define_count = 1};

static void *json_allocate(size_t size)
{
    return !spare_json && fails() ? NULL : __real_malloc(size);
}

static long failures; /* how often the work of the last fail_each failed */

/* Does the work once for each of its allocations, and fails that allocation. The work may then fail
   with -ENOMEM or the error other. Returns the number of allocations. */
static long fail_each(int (*work)(const void *argument), const void *argument, const char *name,
                      int other)
{
    failures = 0;
    for (long n = 0;; n++) {
        int error;

        countdown = n;
        error = work(argument);
        if (countdown >= 0) { /* the work needed fewer allocations */
            countdown = -1;
            assert_int_equal(error, 0);
            return n;
        }
        if (error != 0 && error != -ENOMEM && error != other)
            fail_msg("%s: allocation %ld: error %d", name, n, error);
        failures += error != 0;
    }
}

/* Loads a spec by its name in tests/specs/valid, by its text, or a view in shorthand after
   "--view ". */
static int load(const void *argument)
{
    const char *name = argument;
    struct vs_error error = {0};
    struct vs_spec *spec = NULL;
    char path[256];

    snprintf(path, sizeof(path), "../specs/valid/%s.json", name);
    int rc = name[0] == '{' ? vs_spec_parse(name, strlen(name), "text", "/folder", &with_made_up,
                                            &spec, &error)
             : strncmp(name, "--view ", 7) == 0
                 ? mpiio_spec_load_shorthand(name + 7, &with_file, &spec, &error)
                 : mpiio_spec_load(path, NULL, &spec, &error);
    if (!rc)
        rc = compile_views(spec, &error);
    if (rc) {
        assert_int_equal(error.code, rc);
        assert_true(error.reason[0] != '\0');
    } else {
        free(vs_spec_resolved(spec, true)); /* NULL if memory ran out */
    }
    vs_spec_free(spec);
    return rc;
}

static char user_defined[] =
    "{'viewspec': 1, 'file': 'f', 'view': {'etype': 'long', 'datarep': {'name': 'made-up', "
    "'library': 'x.so'}, 'per_rank': [{}, {'datarep': {'name': 'other', 'library': 'x.so'}}]}}";

static const char *const names[] = {
    "several-views",
    "struct-etype",
    "constructor-darray",
    "constructor-struct",
    "constructor-indexed",
    "per-rank",
    "buftype-transpose",
    "buftype-columns",
    "memory",
    user_defined,
    "--view darray 4xn block,cyclic(1) on 2x2 of 2 int at 8 * n every 1k as big-endian"};

/* If jansson cannot store a token, it reports a syntax error. */
TEST(allocations)
{
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        spare_json = true;
        assert_true(fail_each(load, names[i], names[i], 0) > 2);
        spare_json = false;
        assert_true(fail_each(load, names[i], names[i], -EINVAL) > 50);
    }
}

static struct vs_view *view; /* that convert uses */

/*
 * Writes a long in parts and others whole, and reads all back through a new slice. Returns 0 or a
 * negative errno. After an error, bytes may be missing, but none are wrong.
 */
static int convert(const void *argument)
{
    const struct opened *file = argument;
    static const int64_t written[4] = {-1, 7, -2, 9};
    int64_t read[4] = {0}, offset, length;
    struct mpiio_slice *slice;
    ssize_t done;

    assert_int_equal(ftruncate(file->fd, 0), 0);
    done = mpiio_slice_new(file->store, vs_view_ref(view), MPIIO_NARROW_REFUSE, &slice);
    if (done < 0)
        return (int)done;
    done = mpiio_slice_write(slice, written, 5, 0);
    if (done >= 0)
        done = mpiio_slice_write(slice, (const char *)written + 5, 27, 5);
    if (done >= 0)
        done = mpiio_slice_settle(slice, true, &offset, &length);
    if (done >= 0)
        done = mpiio_slice_read(slice, read, sizeof(read), 0);
    if (done > 0 && (done != sizeof(read) || memcmp(read, written, sizeof(read)) != 0))
        done = -EIO;
    mpiio_slice_free(slice);
    return done < 0 ? (int)done : 0;
}

/* -ERANGE: half of -1 does not fit into the file, and there is no memory to keep it. */
TEST(conversions)
{
    struct opened file = open_slice(O_RDWR, NULL);

    view = make_view("'etype': 'long', 'datarep': 'external32'");
    fail_each(convert, &file, "conversions", -ERANGE);
    assert_true(failures > 5);
    vs_view_unref(view);
    close_opened(&file);
}

/* More members than an assembly searches one by one. All but the last overlap or are too short. */
#define MEMBERS 100

static struct vs_view *members[MEMBERS], *loops[3];

/* Returns 0 or a negative errno of assembling the members, checking them and finding the first
   bytes. The argument says whether they overlap. */
static int assemble(const void *argument)
{
    const bool overlap = *(const bool *)argument;
    struct vs_assembly *assembly = vs_assembly_new(false);
    struct vs_assembly_fault fault;
    struct vs_assembly_part none, *parts = NULL;
    size_t count;
    int error = assembly != NULL ? 0 : -ENOMEM;

    for (int i = 0; i < MEMBERS && error == 0; i++)
        error = vs_assembly_add(assembly, members[overlap ? i / 2 * 2 : i], i % 2 ? 8 : 16);
    if (error == 0) {
        vs_assembly_finish(assembly, 0);
        error = vs_assembly_check(assembly, &fault);
    }
    if (error == 0) {
        assert_int_equal(fault.kind, overlap ? VS_ASSEMBLY_OVERLAP : VS_ASSEMBLY_SHORT);
        parts = &none;
        error = vs_assembly_parts(assembly, 0, 1000, &parts, &count);
        if (error != 0)
            assert_null(parts);
    }
    if (error == 0)
        assert_int_equal(count, MEMBERS);
    free(parts);
    vs_assembly_free(assembly);
    return error;
}

/* Returns 0 or a negative errno of covering the file by loops whose periods do not fit together. */
static int cover(const void *unused)
{
    struct vs_cover *sum = vs_cover_new();
    struct vs_cover_result result;
    int error = sum != NULL ? 0 : -ENOMEM;

    for (int i = 0; i < 3 && error == 0; i++)
        error = vs_cover_add(sum, vs_view_map(loops[i]), 1);
    if (error == 0)
        error = vs_cover_compute(sum, VS_COVER_STEPS, &result);
    vs_cover_free(sum);
    return error;
}

TEST(assemblies_and_covers)
{
    for (int i = 0; i < MEMBERS; i++)
        members[i] = make_view("'disp': %d, 'filetype': {'type': 'vector', 'count': 2, "
                               "'blocklength': 8, 'stride': %d}",
                               8 * i, 8 * MEMBERS);
    for (int i = 0; i < 3; i++)
        loops[i] =
            make_view("'filetype': {'type': 'resized', 'lb': 0, 'extent': %d, 'oldtype': "
                      "{'type': 'indexed_block', 'blocklength': 2, 'displacements': [0, 5, %d]}}",
                      30 + i * i, 12 + 3 * i);
    assert_true(fail_each(assemble, &(bool){false}, "short members", 0) > 10);
    assert_true(fail_each(assemble, &(bool){true}, "members that overlap", 0) > 10);
    assert_true(fail_each(cover, NULL, "loops", 0) > 3);
    unref_views(members, MEMBERS);
    unref_views(loops, 3);
}

BEFORE_TESTS
{
    json_set_alloc_funcs(json_allocate, free);
    quoted(user_defined);
}
