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

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *block, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *block, size_t size);
char *__wrap_strdup(const char *text);

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *block, size_t size)
{
    return fails() ? NULL : __real_realloc(block, size);
}

char *__wrap_strdup(const char *text)
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

/* Loads a spec by its name in tests/specs/valid, by its text, or a view in shorthand after
   "--view ". */
static int load(const char *name)
{
    struct vs_error error = {0};
    struct vs_spec *spec = NULL;
    char path[256];

    snprintf(path, sizeof(path), "../specs/valid/%s.json", name);
    int rc = name[0] == '{' ? vs_spec_parse(name, strlen(name), "text", "/folder", &with_made_up,
                                            &spec, &error)
             : strncmp(name, "--view ", 7) == 0
                 ? mpiio_spec_load_shorthand(name + 7, &with_file, &spec, &error)
                 : mpiio_spec_load(path, NULL, &spec, &error);
    for (size_t v = 0; !rc && v < vs_spec_view_count(spec); v++) {
        for (int64_t rank = 0; !rc && rank < vs_spec_ranks(spec); rank++) {
            struct vs_view *view = NULL;
            rc = vs_spec_view(spec, v, rank, &view, &error);
            vs_view_unref(view);
        }
    }
    if (rc)
        assert_int_equal(error.code, rc);
    if (rc)
        assert_true(error.reason[0] != '\0');
    else
        free(vs_spec_resolved(spec, true)); /* NULL if memory ran out */
    vs_spec_free(spec);
    return rc;
}

/* Loads once for each allocation, and fails that allocation. Returns their number. */
static long fail_each(const char *name)
{
    for (long n = 0;; n++) {
        countdown = n;
        int rc = load(name);
        bool done = countdown >= 0; /* the load needed fewer allocations */
        countdown = -1;
        /* If jansson cannot store a token, it reports a syntax error. */
        if (rc != 0 && rc != -ENOMEM && (spare_json || rc != -EINVAL))
            fail_msg("%s: allocation %ld: error %d", name, n, rc);
        if (done)
            return n;
    }
}

static const char user_defined[] =
    "{\"viewspec\": 1, \"file\": \"f\", \"view\": {\"etype\": \"long\", "
    "\"datarep\": {\"name\": \"made-up\", \"library\": \"x.so\"}, \"per_rank\": [{}, "
    "{\"datarep\": {\"name\": \"other\", \"library\": \"x.so\"}}]}}";

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

TEST(own_allocations)
{
    spare_json = true;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        assert_true(fail_each(names[i]) > 2);
}

TEST(all_allocations)
{
    spare_json = false;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        assert_true(fail_each(names[i]) > 50);
}

/*
 * Writes a long in parts and others whole, and reads all back through a new slice. Returns 0 or a
 * negative errno. After an error, bytes may be missing, but none are wrong.
 */
static int convert(struct mpiio_store *store, struct vs_view *view)
{
    static const int64_t written[4] = {-1, 7, -2, 9};
    int64_t read[4] = {0}, offset, length;
    struct mpiio_slice *slice;
    ssize_t done = mpiio_slice_new(store, vs_view_ref(view), MPIIO_NARROW_REFUSE, &slice);

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
    int fd = make_file(), failed = 0;
    struct mpiio_store *store = open_store_for(fd, O_RDWR);
    struct vs_view *view = make_view("\"etype\": \"long\", \"datarep\": \"external32\"");
    bool done = false;

    for (long n = 0; !done; n++) {
        int error;

        assert_int_equal(ftruncate(fd, 0), 0);
        countdown = n;
        error = convert(store, view);
        done = countdown >= 0;
        countdown = -1;
        assert_true(error == 0 || error == -ENOMEM || error == -ERANGE);
        failed += error != 0;
    }
    assert_true(failed > 5);
    vs_view_unref(view);
    mpiio_store_close(store);
    close(fd);
}

/* More members than an assembly searches one by one. All but the last overlap or are too short. */
#define MEMBERS 100

/* Returns 0 or a negative errno of assembling the views, checking them and finding the first
   bytes. */
static int assemble(struct vs_view *const *views, bool overlap)
{
    struct vs_assembly *assembly = vs_assembly_new(false);
    struct vs_assembly_fault fault;
    struct vs_assembly_part none, *parts = NULL;
    size_t count;
    int error = assembly != NULL ? 0 : -ENOMEM;

    for (int i = 0; i < MEMBERS && error == 0; i++)
        error = vs_assembly_add(assembly, views[overlap ? i / 2 * 2 : i], i % 2 ? 8 : 16);
    if (error == 0) {
        vs_assembly_finish(assembly);
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

/* Returns 0 or a negative errno of covering the file by views whose periods do not fit together. */
static int cover(struct vs_view *const *views)
{
    struct vs_cover *sum = vs_cover_new();
    struct vs_cover_result result;
    int error = sum != NULL ? 0 : -ENOMEM;

    for (int i = 0; i < 3 && error == 0; i++)
        error = vs_cover_add(sum, vs_view_map(views[i]), 1);
    if (error == 0)
        error = vs_cover_compute(sum, VS_COVER_STEPS, &result);
    vs_cover_free(sum);
    return error;
}

/* Fails each allocation of an assembly, or of a cover if kind is 2. */
static long fail_each_of(struct vs_view *const *views, int kind)
{
    for (long n = 0;; n++) {
        int error;

        countdown = n;
        error = kind == 2 ? cover(views) : assemble(views, kind == 1);
        if (countdown >= 0) {
            countdown = -1;
            assert_int_equal(error, 0);
            return n;
        }
        assert_true(error == 0 || error == -ENOMEM);
    }
}

TEST(assemblies_and_covers)
{
    struct vs_view *members[MEMBERS], *loops[3];

    for (int i = 0; i < MEMBERS; i++)
        members[i] = make_view("\"disp\": %d, \"filetype\": {\"type\": \"vector\", \"count\": 2, "
                               "\"blocklength\": 8, \"stride\": %d}",
                               8 * i, 8 * MEMBERS);
    for (int i = 0; i < 3; i++)
        loops[i] = make_view(
            "\"filetype\": {\"type\": \"resized\", \"lb\": 0, \"extent\": %d, \"oldtype\": "
            "{\"type\": \"indexed_block\", \"blocklength\": 2, \"displacements\": [0, 5, %d]}}",
            30 + i * i, 12 + 3 * i);
    assert_true(fail_each_of(members, 0) > 10);
    assert_true(fail_each_of(members, 1) > 10);
    assert_true(fail_each_of(loops, 2) > 3);
    for (int i = 0; i < MEMBERS; i++)
        vs_view_unref(members[i]);
    for (int i = 0; i < 3; i++)
        vs_view_unref(loops[i]);
}

BEFORE_TESTS
{
    json_set_alloc_funcs(json_allocate, free);
}
